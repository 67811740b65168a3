//! Images: which lines the texels of warps, blocks and waves lie in.
//! .
//! In every tiled layout that is known ([`ImageLayout`]) a line of up to 256 bytes holds an aligned block of texels, and no two blocks share
//! a line. So distinct lines are distinct blocks, whatever order these lie in. Where texels lie row by row, an image is a buffer whose rows
//! are padded. Texels beyond the edge come from no memory.

use super::costs::{BlockUse, Instruction, Sizes};
use super::l1::Rule;
use super::warps::{Axis, shapes};
use crate::volumes::kernel::image::{ASSUMED, block};
use crate::volumes::kernel::lanes::classes;
use crate::volumes::kernel::pieces::period;
use crate::volumes::kernel::subject::{Field, Subject, Touch, Var};
use smallvec::SmallVec;
use warpsight_ir::layout::ImageLayout;
use warpsight_ir::occupancy::Occupancy;
use warpsight_ir::profile::{Fact, Profile};
use warpsight_ir::{AccessKind, Kernel, NoEstimate, TensorPlace};

/// A kernel on a device, its images as they lie there.
///
/// # Errors
/// Those of [`Subject::with_images`]; images on a device that has none.
pub fn subject(kernel: &Kernel, on: &Profile) -> Result<Subject, NoEstimate> {
    let layout = on.likely_layout().unwrap_or(ASSUMED);
    let image = kernel.accesses.tensors.iter().find(|tensor| matches!(tensor.place, TensorPlace::Image { .. }));
    match (&on.image.layout, image) {
        (Fact::Absent { absent }, Some(image)) => Err(NoEstimate::CannotRun(format!("`{}` is an image: {absent}", image.name))),
        _ => Subject::with_images(kernel, layout),
    }
}

/// Bytes of a line of texture caches that images have for themselves: those of devices whose buffers have no first-level cache.
pub fn own_line(on: &Profile) -> Option<u32> {
    let apart = matches!(on.memory.buffer_l1.bytes, Fact::Absent { .. });
    on.memory.texture_l1.line.get().filter(|_| apart).map(|line| line.0 as u32).filter(|&line| line > 0)
}

/// Bytes of a core's texture cache where buffers have another one beside it: ways to read of which a probe found that neither waits for the
/// other. Of NVIDIA's and AMD's both are one cache, whatever units are beside it.
pub fn beside_buffers(on: &Profile) -> Option<f64> {
    let m = &on.memory;
    let independent = Rule::of(on).is_err() && on.probed.read_paths.get().is_some_and(|paths| paths == "independent");
    m.texture_l1.bytes.get().filter(|_| independent && m.buffer_l1.bytes.get().is_some()).map(|bytes| bytes.0)
}

/// Bytes of repeated requests that texture caches answer where they are images' own.
pub fn kept(
    subject: &Subject,
    on: &Profile,
    (found, uses): (&[Instruction], &[BlockUse]),
    sizes: Sizes,
    resident: &Occupancy,
    notes: &mut Vec<String>,
) -> f64 {
    let (Some(line), Some(bytes)) = (sizes.texture.map(f64::from), on.memory.texture_l1.bytes.get()) else { return 0.0 };
    let images = || found.iter().filter(|i| subject.fields[i.field].tiled().is_some() && !matches!(i.kind, AccessKind::Store(_)));
    let requested = images().map(|i| i.sectors).sum::<u64>() as f64 * line;
    if requested == 0.0 {
        return 0.0;
    }
    let once: u64 = uses.iter().zip(&subject.fields).filter(|(_, field)| field.tiled().is_some()).map(|(own, _)| own.loaded_sectors).sum();
    // Lines of a warp's straight run of loads: the run that has most.
    let mut runs: SmallVec<[(&[Var], f64); 8]> = SmallVec::new();
    for i in images() {
        let each = i.sectors as f64 / i.executions.max(1) as f64;
        let touch = subject.fields[i.field].touches.iter().find(|touch| touch.position == i.position);
        let around = touch.map_or(&[][..], |touch| &touch.loops);
        match runs.iter_mut().find(|run| run.0 == around) {
            Some(run) => run.1 += each,
            None => runs.push((around, each)),
        }
    }
    let run = runs.iter().map(|run| run.1).fold(0.0, f64::max);
    let cores = f64::from(on.execution.cores.get().copied().unwrap_or(1));
    let instances = on.memory.texture_l1.instances.get().map_or(cores, |&n| f64::from(n));
    let groups: f64 = subject.groups.iter().map(|group| f64::from(group.count)).product();
    let lanes: u32 = subject.lanes.iter().map(|lane| lane.count).product();
    let warps = f64::from(resident.groups).min((groups / cores).ceil()).max(1.0) * f64::from(lanes.div_ceil(sizes.warp.max(1)));
    let missed = missed(requested, once as f64 * line, run * line * warps * cores / instances, bytes.0);
    notes.push(format!(
        "l2_load: of repeated requests of images {:.0} % are answered by texture caches of {} B, which the loads that resident warps have \
         under way share",
        100.0 * (requested - missed) / (requested - once as f64 * line).max(1.0),
        bytes.0
    ));
    requested - missed
}

/// Bytes that texture caches ask for: of what is requested at least all that is distinct, and as much of the rest as the lines that warps
/// have under way together do not fit the cache.
pub fn missed(requested: f64, distinct: f64, under_way: f64, cache: f64) -> f64 {
    let kept = (cache / under_way.max(1.0)).min(1.0);
    requested.min(distinct.max(requested * (1.0 - kept)))
}

/// What is to be said of images on a device.
pub fn remarks(subject: &Subject, on: &Profile, sizes: Sizes, notes: &mut Vec<String>) {
    let mut images: Vec<&Field> = subject.fields.iter().filter(|field| field.image.is_some()).collect();
    images.sort_by_key(|field| field.touches.iter().map(|touch| touch.number).min());
    let Some(first) = images.first() else { return };
    if let Fact::Unknown { unknown } = &on.image.layout {
        let likely = on.likely_layout();
        let (w, h, _) = block(likely.unwrap_or(ASSUMED), sizes.of(first).line.into(), first.geometry.element);
        let taken = if likely.is_some() { "as in the likeliest layout" } else { "for square blocks of texels" };
        notes.push(format!(
            "images: lines are taken {taken} (a line of `{}` for {w} × {h}), because image.layout is not known: {unknown}",
            first.name
        ));
    }
    if let Some(line) = on.memory.texture_l1.line.get().filter(|line| line.0 != f64::from(sizes.of(first).sector)) {
        notes.push(format!(
            "images are counted in pieces of {} B as buffers are; a line of the texture cache has {} B",
            sizes.sector, line.0
        ));
    }
    notes.push("wavefronts of images are unknown: they pass texture units, whose rate of texels is a limiter of its own".to_owned());
}

/// Texels (x, y) as one number, so that they add up like addresses; see [`crate::volumes::kernel::image::FARTHEST`].
const ROW: i64 = 1 << 32;

fn apart(at: i64) -> (i64, i64) {
    let y = (at + ROW / 2).div_euclid(ROW);
    (at - y * ROW, y)
}

/// What one access to an image in blocks costs over the launch. It takes no wavefront of the data pipe.
pub fn instruction(subject: &Subject, field: &Field, layout: ImageLayout, touch: &Touch, sizes: Sizes) -> Instruction {
    let texel = field.geometry.element;
    let sector = block(layout, sizes.sector.into(), texel);
    let line = block(layout, sizes.line.into(), texel);
    let (width, height) = (line.0.max(sector.0), line.1.max(sector.1));
    let step = |var: &Var| i64::from(touch.coords[0].coefficient(var.id)) + i64::from(touch.coords[1].coefficient(var.id)) * ROW;
    let axes: SmallVec<[Axis; 4]> = subject.lanes.iter().map(|lane| Axis { stride: step(lane), count: lane.count }).collect();
    let constant = touch.coords[0].constant + touch.coords[1].constant * ROW;
    let (position, kind) = (touch.position, touch.kind);
    let mut to = Instruction { position, field: 0, kind, executions: 0, sectors: 0, lines: 0, wavefronts: 0, price: 0.0 };
    let place = |at: i64| {
        let (x, y) = apart(at);
        (x.rem_euclid(width) + y.rem_euclid(height) * width) as usize
    };
    for class in classes(subject, touch) {
        let first: i64 = subject.groups.iter().zip(&class.blocks).map(|(group, at)| step(group) * at.0).sum();
        let groups = subject.groups.iter().zip(&class.blocks).map(|(group, at)| Var { id: group.id, count: at.1 });
        let moved: SmallVec<[Var; 8]> = groups.chain(touch.loops.iter().copied()).collect();
        for shape in shapes(&axes, &class.lanes, sizes.warp) {
            let texels: SmallVec<[(i64, i64); 64]> = shape.offsets.iter().map(|&offset| apart(offset)).collect();
            let mut begins = vec![0_u64; (width * height) as usize];
            shape.starts.iter().for_each(|start| begins[place(first + constant + start)] += 1);
            for var in &moved {
                begins = spread(&begins, (width, height), touch, var);
            }
            for (at, &times) in begins.iter().enumerate().filter(|begin| *begin.1 > 0) {
                let begin = (at as i64 % width, at as i64 / width);
                to.executions += times;
                to.sectors += times * blocks(&texels, begin, sector);
                to.lines += times * blocks(&texels, begin, line);
            }
        }
    }
    to
}

/// How often something begins at each place of a block, moved by every value of a variable.
fn spread(begins: &[u64], (width, height): (i64, i64), touch: &Touch, var: &Var) -> Vec<u64> {
    let [sx, sy] = [0, 1].map(|i| i64::from(touch.coords[i].coefficient(var.id)));
    let period = period(touch, var.id, width, height) as u32;
    let mut moved = vec![0; begins.len()];
    for value in 0..var.count.min(period) {
        let times = u64::from((var.count - value).div_ceil(period));
        for (at, count) in begins.iter().enumerate().filter(|begin| *begin.1 > 0) {
            let (x, y) = (at as i64 % width + sx * i64::from(value), at as i64 / width + sy * i64::from(value));
            moved[(x.rem_euclid(width) + y.rem_euclid(height) * width) as usize] += count * times;
        }
    }
    moved
}

/// Distinct lines of a warp's texels.
fn blocks(texels: &[(i64, i64)], begin: (i64, i64), (width, height, lines): (i64, i64, u64)) -> u64 {
    let of = |&(x, y): &(i64, i64)| ((y + begin.1).div_euclid(height), (x + begin.0).div_euclid(width));
    let mut found: SmallVec<[(i64, i64); 64]> = texels.iter().map(of).collect();
    found.sort_unstable();
    found.dedup();
    found.len() as u64 * lines
}
