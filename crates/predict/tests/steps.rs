//! Volumes of launches whose waves run in step, against every touch of every line in a strict LRU cache, in that order.

use std::collections::HashMap;
use warpsight_ir::accesses::text;
use warpsight_ir::profile::builtin;
use warpsight_ir::{AccessKind, Affine, Kernel, Nest, TensorPlace};
use warpsight_predict::volumes::behind::dram::{Between, Cause, Curve, Dram, Memory, Wave};
use warpsight_predict::volumes::behind::steps::dram;
use warpsight_predict::volumes::kernel::subject::Subject;
use warpsight_predict::volumes::report::{Settings, Work, report};

const STRICT: Curve = Curve { capacity: 1.0, steepness: 1e4, spread: 0.625, in_step: None, within: None };
const LINE: u32 = 64;

/// A cache of so many lines that gives up the one not used for longest.
struct Lru {
    lines: usize,
    held: HashMap<(usize, i64), u64>,
    clock: u64,
    /// Lines that loads, and stores, did not find.
    missed: [u64; 2],
}

impl Lru {
    fn touch(&mut self, line: (usize, i64), stores: bool) {
        self.clock += 1;
        if self.held.insert(line, self.clock).is_none() {
            self.missed[usize::from(stores)] += 1;
            if self.held.len() > self.lines {
                let oldest = self.held.iter().min_by_key(|own| own.1).map(|own| *own.0).unwrap();
                self.held.remove(&oldest);
            }
        }
    }
}

/// The accesses of a wave's blocks in step: each access of all of them, then the next.
fn walk(kernel: &Kernel, nest: &[Nest], (blocks, values): (&[Vec<i64>], &mut Vec<i64>), cache: &mut Lru) {
    let accesses = &kernel.accesses;
    let lanes: i64 = kernel.launch.lanes.iter().map(|&n| i64::from(n)).product();
    for node in nest {
        match node {
            Nest::Barrier => {}
            Nest::Loop { var, body } => {
                for trip in 0..accesses.vars[usize::from(var.0)].trips.unwrap() {
                    values[usize::from(var.0)] = i64::from(trip);
                    walk(kernel, body, (blocks, values), cache);
                }
            }
            Nest::Access(access) => {
                let taken = |values: &[i64]| {
                    access.guard.iter().all(|bound| {
                        let value = bound.value.eval(|var| values[usize::from(var.0)]).unwrap();
                        (0..bound.extent).contains(&value)
                    })
                };
                let tensor = usize::from(access.tensor);
                let TensorPlace::Buffer { element, dims, .. } = &accesses.tensors[tensor].place else { panic!() };
                for block in blocks {
                    values[..block.len()].copy_from_slice(block);
                    for lane in 0..lanes {
                        let mut rest = lane;
                        for (i, &n) in kernel.launch.lanes.iter().enumerate() {
                            values[block.len() + i] = rest % i64::from(n);
                            rest /= i64::from(n);
                        }
                        if !taken(values) {
                            continue;
                        }
                        let at = |form: &Affine| form.eval(|var| values[usize::from(var.0)]).unwrap();
                        let linear = access.coords.iter().zip(dims).fold(0, |sum, (form, dim)| sum * dim + at(form));
                        cache.touch(
                            (tensor, (linear * i64::from(element.bytes())).div_euclid(i64::from(LINE))),
                            access.kind != AccessKind::Load,
                        );
                    }
                }
            }
        }
    }
}

/// Bytes that the second of two launches loads, and stores.
fn brute(kernel: &Kernel, wave: usize, lines: usize) -> [f64; 2] {
    let mut cache = Lru { lines, held: HashMap::new(), clock: 0, missed: [0; 2] };
    let groups = &kernel.launch.groups;
    let count: u32 = groups.iter().product();
    let block = |n: u32| {
        let mut rest = n;
        groups.iter().map(|&size| (i64::from(rest % size), rest /= size).0).collect::<Vec<i64>>()
    };
    let blocks: Vec<Vec<i64>> = (0..count).map(block).collect();
    let mut values = vec![0; kernel.accesses.vars.len()];
    for _ in 0..2 {
        cache.missed = [0; 2];
        for blocks in blocks.chunks(wave) {
            walk(kernel, &kernel.accesses.nest, (blocks, &mut values), &mut cache);
        }
    }
    cache.missed.map(|lines| lines as f64 * f64::from(LINE))
}

fn counted(kernel: &Kernel, wave: u64, lines: usize) -> Dram {
    let memory =
        Memory { fetch: LINE, write: LINE, l2_effective: (lines * LINE as usize) as f64, last_level: None, between: Between::NOTHING };
    dram(&Subject::of(kernel).unwrap(), &memory, &Wave { blocks: wave }, &STRICT)
}

fn kernel(text: &str) -> Kernel {
    text::parse(text, &[]).unwrap_or_else(|error| panic!("{error:?} in\n{text}")).kernel
}

/// Eight blocks that walk through one piece of 256 lines together, four times.
const SWEEP: &str = "name = \"sweep\"\nblock = [64]\ngrid = [8]\nregisters = 16\n[[loop]]\nname = \"again\"\ntrips = 4\n[[loop]]\nname = \"i\"\n\
    trips = 64\n[[field]]\nname = \"A\"\nelement = \"f32\"\ndims = [64, 64]\nload = [[\"lx\", \"i\"]]\n";

#[test]
fn a_sweep_by_all_blocks_together_misses_once_or_every_time() {
    let kernel = kernel(SWEEP);
    let all = 64.0 * 64.0 * 4.0;
    // It fits: the launch before has left it. It does not: every sweep loads all of it, however many blocks there are.
    for (lines, sweeps) in [(300, 0.0), (200, 4.0)] {
        let found = counted(&kernel, 8, lines);
        assert!((found.load - sweeps * all).abs() < 0.02 * all, "{lines}: {} of {all}", found.load);
        assert!((brute(&kernel, 8, lines)[0] - sweeps * all).abs() < 0.02 * all, "{lines}");
    }
    // In waves of four blocks the second one comes too late as well.
    assert!((counted(&kernel, 4, 200).load - 8.0 * all).abs() < 0.02 * all);
    assert!((brute(&kernel, 4, 200)[0] - 8.0 * all).abs() < 0.02 * all);
}

/// Products: blocks that walk along `k` share rows of one side and columns of the other, and store pieces of lines one after the other.
fn product(rng: &mut fastrand::Rng) -> Kernel {
    let (m, n, k) = (rng.i64(1..5), rng.i64(1..5), rng.i64(4..40));
    let row = *rng.choice(&[16, 20, 32]).unwrap();
    let repeats = rng.i64(1..3);
    let stores: Vec<String> = (0..rng.i64(1..5)).map(|i| format!("[{i}, \"lx\", \"bx\", \"by\"]")).collect();
    kernel(&format!(
        "name = \"product\"\nblock = [16]\ngrid = [{m}, {n}]\nregisters = 16\n[[loop]]\nname = \"r\"\ntrips = {repeats}\n[[loop]]\nname = \"k\"\ntrips = {k}\n\
         [[field]]\nname = \"A\"\nelement = \"f32\"\ndims = [{row}, {k}, {m}]\nload = [[\"lx\", \"k\", \"bx\"]]\n\
         [[field]]\nname = \"B\"\nelement = \"f32\"\ndims = [{row}, {k}, {n}]\nload = [[\"lx\", \"k\", \"by\"]]\n\
         [[field]]\nname = \"C\"\nelement = \"f32\"\ndims = [4, 16, {m}, {n}]\nstore = [{}]\n",
        stores.join(", ")
    ))
}

#[test]
fn volumes_of_random_products_are_near_every_touch_counted() {
    let mut rng = fastrand::Rng::with_seed(7);
    let (mut loads, mut stores) = (vec![], vec![]);
    for _ in 0..60 {
        let kernel = product(&mut rng);
        let wave = rng.usize(1..17);
        let lines = rng.usize(8..400);
        let [loaded, stored] = brute(&kernel, wave, lines);
        let found = counted(&kernel, wave as u64, lines);
        let off = |found: f64, expected: f64| ((found + 1000.0) / (expected + 1000.0)).ln().abs();
        // Of the lines that stores fill, those that are gone are read back.
        let partial: f64 = found.by_cause.iter().filter(|cause| cause.0 == Cause::PartialStore).map(|cause| cause.1).sum();
        loads.push(off(found.load - partial, loaded));
        stores.push(off(found.store, stored));
    }
    for (what, off, bounds) in [("loads", &mut loads, (0.01, 0.4)), ("stores", &mut stores, (0.01, 0.6))] {
        off.sort_unstable_by(f64::total_cmp);
        let (median, most) = (off[off.len() / 2], off[off.len() * 9 / 10]);
        println!("{what} off by: median {median:.3}, nine of ten {most:.3}, worst {:.3}", off[off.len() - 1]);
        assert!(median <= bounds.0 && most <= bounds.1, "{what}: {median} {most}");
    }
}

/// Convolutions of planes in blocks of channels: rows of several channels are one coordinate, and work-items beyond the last channel and the
/// last row do nothing.
fn planes(rng: &mut fastrand::Rng) -> Kernel {
    let (channels, rows, columns) = (rng.i64(1..4), rng.i64(3..12), *rng.choice(&[4, 8, 12]).unwrap());
    let taps = *rng.choice(&[1, 3, 5]).unwrap();
    let groups = rows.div_euclid(4) + 1;
    let pad = taps / 2;
    kernel(&format!(
        "name = \"planes\"\nblock = [4, 4]\ngrid = [1, {groups}, {columns}]\nregisters = 16\nguard = [\"0 <= tx < {channels}\", \"0 <= ty < {rows}\"]\n\
         [[loop]]\nname = \"r\"\ntrips = {taps}\n[[field]]\nname = \"input\"\nelement = \"f32\"\ndims = [16, {columns}, {rows}, {channels}]\n\
         load = [{{ at = [0, \"bz\", \"ty + r - {pad}\", \"tx\"], width = 16, guard = [\"0 <= ty + r - {pad} < {rows}\"] }}]\n\
         [[field]]\nname = \"output\"\nelement = \"f32\"\ndims = [16, {columns}, {rows}, {channels}]\nstore = [{{ at = [0, \"bz\", \"ty\", \"tx\"], width = 16 }}]\n"
    ))
}

#[test]
fn volumes_of_planes_of_several_channels_are_near_every_touch_counted() {
    let mut rng = fastrand::Rng::with_seed(11);
    let mut off = vec![];
    for _ in 0..60 {
        let kernel = planes(&mut rng);
        let (wave, lines) = (rng.usize(1..40), rng.usize(8..400));
        let [loaded, stored] = brute(&kernel, wave, lines);
        let found = counted(&kernel, wave as u64, lines);
        let partial: f64 = found.by_cause.iter().filter(|cause| cause.0 == Cause::PartialStore).map(|cause| cause.1).sum();
        let line = f64::from(LINE);
        off.push([(found.load - partial, loaded), (found.store, stored)].map(|(found, all)| ((found + line) / (all + line)).ln().abs()));
    }
    for (n, what) in ["loads", "stores"].into_iter().enumerate() {
        let mut off: Vec<f64> = off.iter().map(|own| own[n]).collect();
        off.sort_unstable_by(f64::total_cmp);
        let (median, most) = (off[off.len() / 2], off[off.len() * 9 / 10]);
        assert!(median <= 0.02 && most <= 0.2, "{what}: {median} {most}");
    }
}

/// Bytes that a launch on the simulated Adreno 740 writes to memory.
fn written(kernel: &Kernel) -> f64 {
    let on = builtin("sim-adreno740").unwrap().unwrap();
    let points = kernel.launch.group_count() * u64::from(kernel.launch.group_size());
    let found = report(&Work { kernel, points }, &on, &Settings::default()).unwrap();
    found.volumes.dram_store.unwrap() * points as f64
}

/// Bytes that a launch on the simulated Adreno 740 writes, over those that it stores: four lines of 256 B a row, in halves.
fn halves(stores: &[(u32, u32)]) -> f64 {
    let stores: Vec<String> = stores.iter().map(|(half, line)| format!("[\"lx\", {half}, {line}, \"ly\", \"bx\"]")).collect();
    let kernel = kernel(&format!(
        "name = \"halves\"\nblock = [32, 2]\ngrid = [512]\nregisters = 16\n[[field]]\nname = \"A\"\nelement = \"f32\"\n\
         dims = [32, 2, 4, 2, 512]\nstore = [{}]\n",
        stores.join(", ")
    ));
    written(&kernel) / (4.0 * 32.0 * 2.0 * 4.0 * 2.0 * 512.0)
}

#[test]
fn stores_come_in_the_order_of_the_program_and_lines_are_written_whole() {
    let by_line: Vec<(u32, u32)> = (0..8).map(|n| (n % 2, n / 2)).collect();
    let by_half: Vec<(u32, u32)> = (0..8).map(|n| (n / 4, n % 4)).collect();
    // A wave stores 196 KB before a line's second half comes, or no more than 49 KB.
    let (once, twice) = (halves(&by_line), halves(&by_half));
    assert!((once - 1.0).abs() < 0.1 && (twice - 2.0).abs() < 0.15, "{once} {twice}");
}

/// Eight blocks that load 128 lines of their own together, meet, and load them again.
const AGAIN: &str = "name = \"again\"\nblock = [64]\ngrid = [8]\nregisters = 16\n[[field]]\nname = \"A\"\nelement = \"f32\"\ndims = [64, 4, 8]\n\
    load = [[\"lx\", 0, \"bx\"], [\"lx\", 1, \"bx\"], [\"lx\", 2, \"bx\"], [\"lx\", 3, \"bx\"]]\n";

#[test]
fn what_is_loaded_behind_a_barrier_is_loaded_later() {
    let again = AGAIN.split_once("[[field]]").unwrap().1.replace("element = \"f32\"\ndims = [64, 4, 8]\n", "");
    let kernel = kernel(&format!("{AGAIN}[[barrier]]\n[[field]]{again}"));
    let all = 64.0 * 4.0 * 8.0 * 4.0;
    for (lines, sweeps) in [(140, 0.0), (100, 2.0)] {
        let found = counted(&kernel, 8, lines).load;
        assert!((found - sweeps * all).abs() < 0.02 * all, "{lines}: {found} of {all}");
        assert!((brute(&kernel, 8, lines)[0] - sweeps * all).abs() < 0.02 * all, "{lines}");
    }
}
