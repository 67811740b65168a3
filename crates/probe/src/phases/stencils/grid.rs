//! Kernels over a grid: each thread computes one point, or two neighbouring ones, from fields at fixed distances.
//!
//! Fields are addressed as in the paper's definitions: the byte address of (x, y, z) is (alignment + x + y·X + z·X·Y)·8, where X × Y × Z
//! are the field's extents, and points count from 0. Such addresses reach below the field, and above it, so that every field begins
//! `reach` planes and rows earlier and ends as much later; points that the original addresses outside are memory of its own here. This shifts
//! all addresses of a field by one distance, a multiple of its row and therefore of a cache line in all fields used, and changes no
//! volume. Where the domain leaves a margin (7-point star: 510³ in 512³) nothing is added at all.

use super::shapes::Shape;
use super::{Later, parameters};
use crate::kernels;
use crate::{Amounts, Context, Measurement};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;
use warpsight_ir::Scalar;
use warpsight_run::init::random;
use warpsight_run::{Init, Job, JobResult, LaunchSpec, MemoryKind, MemorySpec, Peek};

/// Names of coordinates, fastest first.
const AXES: [&str; 3] = ["x", "y", "z"];

/// Where the points of a kernel lie in its fields, which all have one shape.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Grid {
    /// Dimensions that count, 1 to 3.
    pub rank: usize,
    /// Points along x, y, z.
    pub domain: [i64; 3],
    /// Distance in elements of neighbours along x, y, z.
    pub strides: [i64; 3],
    /// The element of point (0, 0, 0).
    pub origin: i64,
    /// Elements of a field's memory.
    pub elements: i64,
}

impl Grid {
    /// A field of those extents, with its first point `alignment` elements from its start and neighbours up to `reach` away.
    pub fn new(dims: [i64; 3], domain: [i64; 3], alignment: i64, reach: [i64; 3]) -> Self {
        let strides = [1, dims[0], dims[0] * dims[1]];
        let front = reach[1] * strides[1] + reach[2] * strides[2];
        let origin = alignment + front;
        let last: i64 = domain.iter().zip(strides).map(|(n, stride)| (n - 1) * stride).sum();
        let rank = 1 + dims.iter().rposition(|&n| n > 1).unwrap_or(0);
        let elements = dims.iter().product::<i64>().max(origin + last + front + reach[0] + 1);
        Self { rank, domain, strides, origin, elements }
    }

    /// How far apart in elements.
    fn distance(&self, offset: [i64; 3]) -> i64 {
        offset.iter().zip(self.strides).map(|(d, stride)| d * stride).sum()
    }

    /// The element of a point.
    fn element(&self, point: [i64; 3]) -> i64 {
        self.origin + self.distance(point)
    }

    /// Whether an element is one of the domain's points.
    fn holds(&self, element: i64) -> bool {
        let from = element - self.origin;
        let rest = |axis: usize| if axis + 1 < self.rank { from % self.strides[axis + 1] } else { from };
        from >= 0 && (0..self.rank).all(|axis| rest(axis) / self.strides[axis] < self.domain[axis])
    }

    fn points(&self) -> f64 {
        self.domain.iter().map(|&n| n as f64).product()
    }
}

/// Loads of a point: the field's number and the distance.
pub(super) type Loads<'a> = dyn Fn(usize, [i64; 3]) -> f64 + 'a;

/// What each written field holds at a point, in `f64`.
pub(super) type Reference = Box<dyn Fn(&Loads) -> Vec<f64> + Send + Sync>;

/// A kernel over a grid.
pub(super) struct Kernel {
    /// Its name.
    pub name: &'static str,
    /// Its fields' shape.
    pub grid: Grid,
    /// Fields that are read.
    pub reads: Vec<String>,
    /// Fields that are written, at the point itself.
    pub writes: Vec<String>,
    /// Operations of a point; an FMA counts 2.
    pub flops: f64,
    /// Writes the statements of a point.
    pub point: Box<dyn Fn(&mut Body) + Send + Sync>,
    /// What the written fields then hold.
    pub reference: Reference,
    /// How far a result may be from the reference.
    pub tolerance: f64,
    /// How many points are compared, all written fields of each.
    pub samples: usize,
}

/// Statements of one work-item, whose loads happen once however many of its points use them.
pub(super) struct Body<'a> {
    kernel: &'a Kernel,
    /// The point at hand relative to the work-item's first.
    at: [i64; 3],
    /// How many points came before: keeps their variables' names apart.
    number: usize,
    loaded: BTreeMap<(usize, i64), String>,
    text: String,
}

impl Body<'_> {
    /// A variable that holds a field's value at a distance from the point.
    pub fn load(&mut self, field: usize, offset: [i64; 3]) -> String {
        let distance = self.kernel.grid.distance([0, 1, 2].map(|axis| self.at[axis] + offset[axis]));
        if let Some(name) = self.loaded.get(&(field, distance)) {
            return name.clone();
        }
        let name = format!("v{}", self.loaded.len());
        let source = format!("{}[{}]", self.kernel.reads[field], shifted(distance));
        self.line(&format!("let {name} = {source}"));
        self.loaded.insert((field, distance), name.clone());
        name
    }

    /// A new variable of that name, with the point's number behind it.
    pub fn bind(&mut self, name: &str, value: &str) -> String {
        let name = format!("{name}_{}", self.number);
        self.line(&format!("let {name} = {value}"));
        name
    }

    /// Writes a field at the point.
    pub fn store(&mut self, field: usize, value: &str) {
        let target = format!("{}[{}]", self.kernel.writes[field], shifted(self.kernel.grid.distance(self.at)));
        self.line(&format!("{target} = {value}"));
    }

    fn line(&mut self, line: &str) {
        self.text.push_str("    ");
        self.text.push_str(line);
        self.text.push('\n');
    }
}

/// The work-item's element `c`, and so many further.
fn shifted(distance: i64) -> String {
    match distance {
        0 => "c".into(),
        d if d < 0 => format!("c - {}", -d),
        d => format!("c + {d}"),
    }
}

impl Kernel {
    /// Blocks along each axis, as the paper counts them.
    fn blocks(&self, shape: Shape) -> [i64; 3] {
        [0, 1, 2].map(|axis| (self.grid.domain[axis] - 1) / i64::from(shape.block[axis] * shape.fold[axis]) + 1)
    }

    /// The text of its Program. The domain is a multiple of the fold.
    fn program(&self, shape: Shape) -> String {
        let Grid { rank, domain, strides, origin, elements } = self.grid;
        let axes = || AXES[..rank].iter().zip(shape.block).zip(shape.fold).zip(self.blocks(shape));
        let list = |f: &dyn Fn(&str, u32, i64) -> String| axes().map(|(((a, b), _), g)| f(a, b, g)).collect::<Vec<_>>().join(", ");
        let declare = |word: &str, names: &[String]| -> String {
            names.iter().map(|name| format!("  {word} buffer {name}: f64[{elements}]\n")).collect()
        };
        let mut text = format!("program {} {{\n{}{}", self.name, declare("read", &self.reads), declare("write", &self.writes));
        let groups = list(&|axis, _, groups| format!("g{axis} = {groups}"));
        let lanes = list(&|axis, block, _| format!("l{axis} = {block}"));
        let _ = writeln!(text, "  groups {groups}\n  lanes {lanes}\n  {{");
        let mut guards = vec![];
        for ((((axis, block), fold), groups), n) in axes().zip(domain) {
            let index = format!("g{axis} * {block} + l{axis}");
            let index = if fold > 1 { format!("({index}) * {fold}") } else { index };
            let _ = writeln!(text, "    let {axis} = {index}");
            if groups * i64::from(block * fold) != n {
                guards.push(format!("({axis} < {n})"));
            }
        }
        let terms: Vec<String> =
            AXES[..rank].iter().zip(strides).map(|(axis, s)| if s == 1 { (*axis).into() } else { format!("{axis} * {s}") }).collect();
        let _ = writeln!(text, "    let c = {} + {origin}", terms.join(" + "));
        let mut body = Body { kernel: self, at: [0; 3], number: 0, loaded: BTreeMap::new(), text: String::new() };
        for z in 0..shape.fold[2] {
            for y in 0..shape.fold[1] {
                body.at = [0, y.into(), z.into()];
                (self.point)(&mut body);
                body.number += 1;
            }
        }
        match guards.is_empty() {
            true => text.push_str(&body.text),
            false => {
                let _ = write!(text, "    if {} {{\n{}    }}\n", guards.join(" & "), body.text);
            }
        }
        text + "  }\n}\n"
    }

    /// Elements whose results are compared: the domain's corners with their surroundings, where nothing may be written that is not of the
    /// domain, and points drawn at random.
    fn sample(&self, seed: u64) -> Vec<i64> {
        let Grid { rank, domain, .. } = self.grid;
        let mut elements = vec![0, self.grid.elements - 1];
        for corner in 0..1 << rank {
            let at: [i64; 3] = [0, 1, 2].map(|axis| if corner >> axis & 1 == 1 { domain[axis] - 1 } else { 0 });
            elements.push(self.grid.element(at));
            for axis in 0..rank {
                let mut beside = at;
                beside[axis] += if corner >> axis & 1 == 1 { 1 } else { -1 };
                elements.push(self.grid.element(beside));
            }
        }
        elements.retain(|e| (0..self.grid.elements).contains(e));
        let mut rng = fastrand::Rng::with_seed(seed);
        while elements.len() < self.samples {
            elements.push(self.grid.element(domain.map(|n| rng.i64(0..n))));
        }
        elements.sort_unstable();
        elements.dedup();
        elements
    }

    /// The measurement with blocks of that shape.
    fn measurement(self: &Arc<Self>, shape: Shape, scale: crate::Scale, seed: u64) -> Measurement {
        let Shape { block: [bx, by, bz], fold } = shape;
        let program = kernels::program(&self.program(shape), &[]);
        let bytes = self.grid.elements as u64 * 8;
        let inputs = (0..self.reads.len()).map(|field| Init::Random { element: Scalar::F64, seed: field_seed(seed, field) });
        let contents = inputs.chain(self.writes.iter().map(|_| Init::Poison));
        let memory: Vec<_> = contents.map(|init| MemorySpec { kind: MemoryKind::Buffer { bytes }, init, canaries: true }).collect();
        let elements = self.sample(seed);
        let offsets: Vec<u64> = elements.iter().map(|&e| e as u64 * 8).collect();
        let peek = (self.reads.len()..memory.len()).map(|memory| Peek { memory, offsets: offsets.clone(), bytes: 8 }).collect();
        let job = Job {
            programs: vec![program.into()],
            launches: vec![LaunchSpec { program: 0, args: (0..memory.len()).collect(), sizes: vec![] }],
            memory,
            read: vec![],
            peek,
            timing: Some(super::timing(scale)),
        };
        let folds =
            [(fold[1], "2y"), (fold[2], "2z")].iter().filter(|(n, _)| *n > 1).map(|(_, word)| format!(" {word}")).collect::<String>();
        let grid = self.blocks(shape);
        let numbers = [
            ("block_x", bx.into()),
            ("block_y", by.into()),
            ("block_z", bz.into()),
            ("fold_y", fold[1].into()),
            ("fold_z", fold[2].into()),
            ("grid_x", grid[0]),
            ("grid_y", grid[1]),
            ("grid_z", grid[2]),
            ("domain_x", self.grid.domain[0]),
            ("domain_y", self.grid.domain[1]),
            ("domain_z", self.grid.domain[2]),
        ];
        let points = self.grid.points();
        let kernel = self.clone();
        Measurement {
            name: format!("{} {bx}x{by}x{bz}{folds}", self.name),
            params: parameters(self.name, "f64", &numbers),
            job,
            launch: 0,
            amounts: Amounts {
                bytes: points * 8.0 * (self.reads.len() + self.writes.len()) as f64,
                operations: points * self.flops,
                steps: 0.0,
                points,
            },
            check: Box::new(move |result| kernel.compare(&elements, seed, result)),
        }
    }

    /// Compares peeked elements with the reference; those outside the domain must be as they were.
    fn compare(&self, elements: &[i64], seed: u64, result: &JobResult) -> Result<(), String> {
        if let Some(&field) = result.damaged.first() {
            return Err(format!("memory beside buffer {field} was overwritten"));
        }
        if result.peeked.len() != self.writes.len() || result.peeked.iter().any(|p| p.0.len() != elements.len() * 8) {
            return Err("not all results came back".into());
        }
        for (at, &element) in elements.iter().enumerate() {
            let loads = |field: usize, offset: [i64; 3]| random(field_seed(seed, field), (element + self.grid.distance(offset)) as u64);
            let expected = self.grid.holds(element).then(|| (self.reference)(&loads));
            for (field, (name, data)) in self.writes.iter().zip(&result.peeked).enumerate() {
                let found = data.0.as_chunks::<8>().0[at];
                let value = f64::from_le_bytes(found);
                match &expected {
                    Some(expected) if (value - expected[field]).abs() <= self.tolerance => {}
                    Some(expected) => {
                        return Err(format!("{name}[{element}] is {value}, not {} (tolerance {:e})", expected[field], self.tolerance));
                    }
                    None if found == [0xff; 8] => {}
                    None => return Err(format!("{name}[{element}], outside the domain, was overwritten with {value}")),
                }
            }
        }
        Ok(())
    }

    /// One measurement for each shape, in order.
    pub fn over(self, shapes: Vec<Shape>, context: &Context) -> Vec<Later> {
        let kernel = Arc::new(self);
        let (scale, seed) = (context.scale, context.seed);
        let later = |shape| -> Later {
            let kernel = kernel.clone();
            Box::new(move || kernel.measurement(shape, scale, seed))
        };
        shapes.into_iter().map(later).collect()
    }
}

/// The seed of a field's contents.
fn field_seed(seed: u64, field: usize) -> u64 {
    seed.wrapping_add(field as u64)
}
