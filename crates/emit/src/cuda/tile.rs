//! Matrix tiles: which part of which product each one is, and what matrix units ask of memory.

use crate::clike::{Dialect, Result, Writer, lacks};
use std::collections::HashMap;
use warpsight_ir::{Array, Expr, Name, Program, Scalar, Space, Stmt};

/// Lanes of a warp.
pub(super) const WARP: u32 = 32;

/// What the address of a tile in memory is a multiple of, in bytes.
pub(super) const ADDRESS: u32 = 32;

/// What the distance of its rows is a multiple of, in bytes.
const STRIDE: u32 = 16;

/// The products m × n × k that matrix units have for 16-bit floats with sums in `f32`.
const SHAPES: [[u32; 3]; 3] = [[16, 16, 16], [32, 8, 16], [8, 32, 16]];

/// What a tile is in a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Left,
    Right,
    Sum,
}

/// A tile's part, the operands' type and the product's shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Form {
    part: Part,
    operand: Scalar,
    shape: [u32; 3],
}

/// The forms of a Program's tiles.
#[derive(Debug, Default)]
pub(super) struct Tiles(HashMap<Name, Form>);

impl Tiles {
    /// Reads the forms off the products.
    pub fn of(program: &Program) -> Result<Self> {
        let mut tiles = Self::default();
        if !program.arrays.iter().any(|array| array.space == Space::Tile) {
            return Ok(tiles);
        }
        if program.launch.subgroup != Some(WARP) {
            return lacks(format!("tiles of sub-groups that are no warps of {WARP} lanes"));
        }
        tiles.products(program, &program.body)?;
        for array in program.arrays.iter().filter(|array| array.space == Space::Tile) {
            tiles.alone(array)?;
        }
        Ok(tiles)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn products(&mut self, program: &Program, body: &[Stmt]) -> Result<()> {
        for stmt in body {
            if let Stmt::Mma { d, a, b } = stmt {
                let (Some(left), Some(sum)) = (program.array(a), program.array(d)) else { return lacks("a product of no tiles") };
                let shape = [sum.dims[0], sum.dims[1], left.dims[1]];
                if !matches!(left.element, Scalar::F16 | Scalar::Bf16) {
                    return lacks(format!("products of {} tiles: matrix units round such operands", left.element.name()));
                }
                if !SHAPES.contains(&shape) {
                    let [m, n, k] = shape;
                    return lacks(format!("a product of tiles {m} × {n} × {k}"));
                }
                for (name, part) in [(a, Part::Left), (b, Part::Right), (d, Part::Sum)] {
                    let form = Form { part, operand: left.element, shape };
                    if *self.0.entry(name.clone()).or_insert(form) != form {
                        return lacks(format!("tile `{name}` in two parts of products"));
                    }
                }
            }
            stmt.blocks().into_iter().try_for_each(|block| self.products(program, block))?;
        }
        Ok(())
    }

    /// A tile that no product uses can be a sum: it comes and goes unchanged.
    fn alone(&mut self, array: &Array) -> Result<()> {
        if self.0.contains_key(&array.name) {
            return Ok(());
        }
        let shape = SHAPES.into_iter().find(|[m, n, _]| array.dims == [*m, *n]);
        match shape {
            Some(shape) if array.element == Scalar::F32 => {
                self.0.insert(array.name.clone(), Form { part: Part::Sum, operand: Scalar::F16, shape });
                Ok(())
            }
            _ => lacks(format!("tile `{}` of {}, which no product uses", array.name, array.element.name())),
        }
    }

    fn get(&self, name: &Name) -> Result<Form> {
        self.0.get(name).copied().map_or_else(|| lacks(format!("tile `{name}`, which is not declared")), Ok)
    }

    /// Whether a statement moves tiles as matrix units can: only sums leave them.
    pub fn check(&self, stmt: &Stmt) -> Result<()> {
        match stmt {
            Stmt::TileStore { tile, .. } if self.get(tile)?.part != Part::Sum => {
                lacks(format!("storing tile `{tile}`: only sums leave matrix units"))
            }
            _ => Ok(()),
        }
    }

    /// The type of a tile.
    pub fn form(&self, name: &Name) -> Result<String> {
        let Form { part, operand, shape: [m, n, k] } = self.get(name)?;
        let part = match part {
            Part::Left => "ws_left",
            Part::Right => "ws_right",
            Part::Sum => "ws_sum",
        };
        let operand = if operand == Scalar::F16 { "ws_half" } else { "ws_brain" };
        Ok(format!("ws_tile<{part}, {operand}, {m}, {n}, {k}>"))
    }
}

/// Writes a statement about tiles.
pub(super) fn write<D: Dialect>(writer: &mut Writer<'_, D>, stmt: &Stmt) -> Result<()> {
    let line = match stmt {
        Stmt::TileLoad { tile, source, index } => {
            let (pointer, stride) = corner(writer, source, index)?;
            format!("ws_tile_load({}, {pointer}, {stride});", writer.names.of(tile))
        }
        Stmt::TileStore { target, index, tile } => {
            let (pointer, stride) = corner(writer, target, index)?;
            format!("ws_tile_store({pointer}, {}, {stride});", writer.names.of(tile))
        }
        Stmt::TileFill { tile, value } => {
            let value = writer.expr(value)?;
            format!("ws_tile_fill({}, {});", writer.names.of(tile), value.code)
        }
        Stmt::Mma { d, a, b } => format!("ws_mma({}, {}, {});", writer.names.of(d), writer.names.of(a), writer.names.of(b)),
        _ => return lacks("a statement about tiles"),
    };
    writer.line(line);
    Ok(())
}

/// The address of a tile's corner and the distance of its rows, in elements; both as matrix units ask, proved.
fn corner<D: Dialect>(writer: &mut Writer<'_, D>, memory: &Name, index: &[Expr]) -> Result<(String, String)> {
    let tensor = writer.tensor(memory)?;
    let Some(row) = tensor.dims.last().cloned() else { return lacks(format!("a tile of `{memory}`, which has no rows")) };
    let proved = |exponent: u32, bytes: u32| u64::from(tensor.element.bytes()) << exponent >= bytes.into();
    if !proved(writer.divisors.of(&row), STRIDE) {
        return lacks(format!("tiles of `{memory}`, whose rows are not known to lie a multiple of {STRIDE} bytes apart"));
    }
    let position = writer.position(&tensor, index);
    let place = writer.place(&tensor, &position)?;
    if !proved(place.divisor, ADDRESS) {
        return lacks(format!("tiles of `{memory}` at places that are not known to be multiples of {ADDRESS} bytes"));
    }
    Ok((place.pointer(tensor.identifier.clone()).code, writer.expr(&row)?.code))
}
