//! Short names for building Programs in tests.
#![allow(dead_code, missing_docs)] // each test file uses its part

use warpsight_ir::data::f32_bytes;
use warpsight_ir::*;

pub fn v(name: &str) -> Expr {
    Expr::var(name)
}
pub fn i(value: i64) -> Expr {
    Expr::int(value)
}
pub fn f(value: f32) -> Expr {
    Expr::f32(value)
}
pub fn add(a: Expr, b: Expr) -> Expr {
    Expr::binary(BinaryOp::Add, a, b)
}
pub fn sub(a: Expr, b: Expr) -> Expr {
    Expr::binary(BinaryOp::Sub, a, b)
}
pub fn mul(a: Expr, b: Expr) -> Expr {
    Expr::binary(BinaryOp::Mul, a, b)
}
pub fn bin(op: BinaryOp, a: Expr, b: Expr) -> Expr {
    Expr::binary(op, a, b)
}
pub fn fma(a: Expr, b: Expr, c: Expr) -> Expr {
    Expr::Fma(Box::new(a), Box::new(b), Box::new(c))
}
pub fn splat(a: Expr, width: u8) -> Expr {
    Expr::Splat(Box::new(a), width)
}
pub fn lane(a: Expr, start: u8) -> Expr {
    Expr::Slice { vector: Box::new(a), start, width: 1 }
}
pub fn load(source: &str, index: Vec<Expr>, width: u8) -> Expr {
    Expr::Load { source: source.into(), index, width, guard: vec![] }
}
pub fn texel(image: &str, x: Expr, y: Expr) -> Expr {
    Expr::Texel { image: image.into(), x: Box::new(x), y: Box::new(y), guard: vec![] }
}
pub fn bound(value: Expr, extent: Expr) -> Bound {
    Bound { value, extent, per_lane: false }
}
pub fn let_(name: &str, value: Expr) -> Stmt {
    Stmt::Let { name: name.into(), value }
}
pub fn var(name: &str, ty: Type, init: Expr) -> Stmt {
    Stmt::Var { name: name.into(), ty, init }
}
pub fn set(name: &str, value: Expr) -> Stmt {
    Stmt::Assign { name: name.into(), value }
}
pub fn store(target: &str, index: Vec<Expr>, value: Expr) -> Stmt {
    Stmt::Store { target: target.into(), index, value, guard: vec![], policy: StorePolicy::WriteBack }
}
pub fn store_if(target: &str, index: Vec<Expr>, value: Expr, guard: Vec<Bound>) -> Stmt {
    Stmt::Store { target: target.into(), index, value, guard, policy: StorePolicy::WriteBack }
}
pub fn for_(name: &str, to: Expr, unroll: Unroll, body: Vec<Stmt>) -> Stmt {
    Stmt::For { var: name.into(), from: i(0), to, step: 1, unroll, body }
}
pub fn barrier() -> Stmt {
    Stmt::Barrier { scope: Scope::Group, local: true, global: true }
}
pub fn buffer(name: &str, element: Scalar, dims: &[i64], access: Access) -> Param {
    let dims = dims.iter().map(|&d| i(d)).collect();
    Param { name: name.into(), kind: ParamKind::Buffer { space: Space::Global, element, dims, access } }
}
pub fn image(name: &str, format: ImageFormat, width: i64, height: i64, access: Access) -> Param {
    let kind = ParamKind::Image {
        kind: warpsight_ir::ImageKind::Image2d,
        format,
        width: i(width),
        height: i(height),
        access,
        border: Border::Zero,
    };
    Param { name: name.into(), kind }
}
pub fn array(name: &str, space: Space, element: Scalar, dims: &[u32]) -> Array {
    Array { name: name.into(), space, element, dims: dims.to_vec() }
}
pub fn launch(groups: &[(&str, i64)], lanes: &[(&str, u32)]) -> Launch {
    Launch {
        groups: groups.iter().map(|(n, e)| GroupAxis { name: (*n).into(), extent: i(*e) }).collect(),
        lanes: lanes.iter().map(|(n, e)| LaneAxis { name: (*n).into(), extent: *e }).collect(),
        subgroup: None,
    }
}
pub fn program(params: Vec<Param>, arrays: Vec<Array>, launch: Launch, body: Vec<Stmt>) -> Checked {
    let program = Program { name: "k".into(), sizes: vec![], params, arrays, launch, body };
    match Checked::new(program) {
        Ok(checked) => checked,
        Err(e) => panic!("{e}"),
    }
}
pub fn bindings(data: Vec<Vec<u8>>) -> Bindings {
    Bindings { sizes: Default::default(), data }
}
pub fn random_f32(rng: &mut fastrand::Rng, n: usize) -> Vec<u8> {
    f32_bytes(&(0..n).map(|_| rng.f32() * 2.0 - 1.0).collect::<Vec<_>>())
}
pub const F32: Type = Type::scalar(Scalar::F32);
pub const I32: Type = Type::scalar(Scalar::I32);
pub const F32X4: Type = Type::vector(Scalar::F32, 4);
