//! The kernels of the paper's public implementation in the text form of accesses, from the definitions beside its outputs.

use serde_json::Value;
use warpsight_ir::accesses::text::{self, Written};

/// What one output of the original was computed for.
pub struct Config {
    pub block: [u64; 3],
    pub grid: [u64; 3],
    /// Points that are to be computed.
    pub domain: [u64; 3],
    /// Blocks it takes for resident, as a box and as a number.
    pub wave: [u64; 3],
    pub resident: u64,
    pub dims: [u64; 3],
    /// Bytes of the widest element.
    pub element: u64,
    /// Elements by which origins are shifted.
    pub align: u64,
    /// Lanes of a warp, bytes of sectors, of stored sectors and of what memory delivers at once.
    pub warp: u64,
    pub sector: u64,
    pub write: u64,
    pub fetch: u64,
    /// Whether neighbouring loads become one of up to 16 bytes a lane.
    pub fuses: bool,
    /// How far loads of one field reach beside the point, along each axis.
    pub halo: [u64; 3],
}

impl Config {
    pub fn of(peer: &Value, config: &Value) -> Self {
        let launch = &config["launch"];
        let (device, kernel) = (&peer["device"], &peer["kernel"]);
        let three = |value: &Value| [0, 1, 2].map(|i| value[i].as_u64().unwrap_or(1));
        let number = |value: &Value| value.as_u64().unwrap_or(0);
        let mut halo = [0; 3];
        for (_, list) in fields(kernel).iter().filter(|(head, _)| head.contains("load")) {
            for access in list {
                for (i, text) in access.iter().enumerate() {
                    let constant = text.rsplit(['+', '-']).next().and_then(|tail| tail.parse::<u64>().ok());
                    halo[i] = halo[i].max(constant.filter(|_| text.starts_with('t') && !text.contains('*')).unwrap_or(0));
                }
            }
        }
        Self {
            block: three(&launch["block"]),
            grid: three(&launch["grid"]),
            domain: three(&launch["domain"]),
            wave: three(&launch["waveSize"]),
            resident: number(&launch["blocksPerSM"]) * number(&device["smCount"]),
            dims: if kernel["field_dims"].is_array() { three(&kernel["field_dims"]) } else { three(&launch["domain"]) },
            element: kernel["datatype_bytes"].as_u64().unwrap_or(if kernel["cin"].is_u64() { 4 } else { 8 }),
            align: number(&kernel["alignment_elements"]),
            warp: number(&device["warpSize"]),
            sector: number(&device["CLFetchSize"]),
            write: number(&device["CLWriteSize"]),
            fetch: number(&device["DRAMFetchSize"]),
            fuses: device["API"] == "HIP",
            halo,
        }
    }

    /// Blocks of the box that the original takes for a wave: the last row or layer is rounded up to a whole one.
    pub fn box_blocks(&self) -> u64 {
        let per = |axis: usize| self.domain[axis] as f64 / self.block[axis] as f64;
        let rows = (self.resident as f64 / per(0)).ceil() as u64;
        let layers = (self.resident as f64 / per(0) / per(1)).ceil() as u64;
        self.grid[0].min(self.resident) * self.grid[1].min(rows) * self.grid[2].min(layers)
    }

    pub fn threads(&self) -> u64 {
        self.block.iter().product()
    }
}

type Access = Vec<String>;

/// Fields as their keys and accesses.
fn fields(kernel: &Value) -> Vec<(String, Vec<Access>)> {
    let head = |name: &str, side: &str, element: &str, dims: &str, align: u64| {
        format!("[[field]]\nname = \"{name}\"\nelement = \"{element}\"\ndims = {dims}\nalign = {align}\n# {side}\n")
    };
    let texts = |access: [String; 3]| access.to_vec();
    if kernel["cin"].is_u64() {
        // 3 × 3 convolution of 4 channels, whose weights every thread reads.
        let channels = kernel["cin"].as_u64().unwrap_or(1);
        let mut weights = vec![];
        let mut images = vec![];
        for c in 0..channels {
            for (x, y) in (0..9).map(|i| (i % 3, i / 3)) {
                weights.push(texts([x.to_string(), y.to_string(), c.to_string()]));
                images.push(texts([format!("tx+{x}-1"), format!("ty+{y}-1"), c.to_string()]));
            }
        }
        let outputs = (0..kernel["cout"].as_u64().unwrap_or(1)).map(|c| texts(["tx".into(), "ty".into(), c.to_string()]));
        return vec![
            (head("stencil", "load", "f32", "[3, 3, 4]", 0), weights),
            (head("images", "load", "f32", "[1024, 1024, 4]", 0), images),
            (head("output", "store", "f32", "[1024, 1024, 4]", 0), outputs.collect()),
        ];
    }
    if kernel["nb"].is_u64() {
        // Rows of 27 values, element by element far apart.
        let rows = (0..27).map(|row| vec![format!("tx+ty*256+tz*65536+{}", row * 256 * 256 * 512)]);
        let near = (0..27).map(|i| texts([format!("tx+{}-1", i % 3), format!("ty+{}-1", i / 3 % 3), format!("tz+{}-1", i / 9)]));
        return vec![
            (head("X", "load", "f64", "[258, 258, 514]", 0), near.collect()),
            (head("mat", "load", "f64", "[905969664]", 0), rows.clone().collect()),
            (head("idx", "load", "i32", "[905969664]", 0), rows.collect()),
            (head("Y", "store", "f64", "[258, 258, 514]", 0), vec![texts(["tx".into(), "ty".into(), "tz".into()])]),
        ];
    }
    let mut found = Vec::new();
    for (key, side) in [("loads", "load"), ("stores", "store")] {
        for (name, accesses) in kernel[key].as_object().into_iter().flatten() {
            let list = accesses.as_array().into_iter().flatten().map(|access| match access.as_array() {
                Some(access) => access.iter().map(|text| text.as_str().unwrap_or("0").replace("tid", "t")).collect(),
                // `C` is the point itself.
                None => texts(["tx".into(), "ty".into(), "tz".into()]),
            });
            // Loads and stores are separate fields there.
            let name = format!("{name}_{side}");
            found.push((
                head(&name, side, "f64", &kernel["field_dims"].to_string(), kernel["alignment_elements"].as_u64().unwrap_or(0)),
                list.collect(),
            ));
        }
    }
    found
}

/// The kernel of a configuration. Every thread of the grid takes part, as there.
pub fn kernel(peer: &Value, config: &Config) -> Written {
    let mut text = format!("name = \"peer\"\nblock = {:?}\ngrid = {:?}\nregisters = 32\n", config.block, config.grid);
    for (head, accesses) in fields(&peer["kernel"]) {
        let side = if head.contains("# load") { "load" } else { "store" };
        text += &head;
        let list = if config.fuses && side == "load" {
            fused(accesses, config.element)
        } else {
            accesses.iter().map(|at| format!("{at:?}")).collect()
        };
        text += &format!("{side} = [{}]\n", list.join(", "));
    }
    text::parse(&text, &[]).unwrap_or_else(|error| panic!("{error:?} in\n{text}"))
}

/// Loads of neighbours along x as wide ones, from the lowest up, as AMD's compiler joins them.
fn fused(accesses: Vec<Access>, element: u64) -> Vec<String> {
    let most = (16 / element) as usize;
    let split = |access: &Access| {
        let constant = access[0].strip_prefix("tx").map_or(0, |tail| tail.parse::<i64>().unwrap_or(0));
        (access[1..].to_vec(), constant)
    };
    let mut sorted: Vec<(Vec<String>, i64)> = accesses.iter().map(split).collect();
    sorted.sort();
    let mut list = Vec::new();
    let mut i = 0;
    while i < sorted.len() {
        let run = (1..most)
            .take_while(|&k| sorted.get(i + k).is_some_and(|next| next.0 == sorted[i].0 && next.1 == sorted[i].1 + k as i64))
            .count()
            + 1;
        let width = if run.is_power_of_two() { run } else { 1 };
        let (rest, constant) = &sorted[i];
        let mut at = vec![format!("tx{constant:+}")];
        at.extend(rest.iter().cloned());
        list.push(format!("{{ at = {at:?}, width = {width} }}"));
        i += width;
    }
    list
}
