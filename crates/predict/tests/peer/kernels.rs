//! The kernels of the paper's public implementation in the text form of accesses, from the definitions beside its outputs.

use serde_json::Value;
use warpsight_ir::accesses::text::{self, Written};

/// What one output of the original was computed for.
pub struct Config {
    pub block: [u64; 3],
    pub grid: [u64; 3],
    /// Points that are to be computed.
    pub domain: [u64; 3],
    /// Blocks it takes for resident.
    pub resident: u64,
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
    /// For each loaded field and axis, the first and last element beside the point.
    pub reach: Vec<[(i64, i64); 3]>,
}

impl Config {
    pub fn of(peer: &Value, config: &Value) -> Self {
        let launch = &config["launch"];
        let (device, kernel) = (&peer["device"], &peer["kernel"]);
        let three = |value: &Value| [0, 1, 2].map(|i| value[i].as_u64().unwrap_or(1));
        let number = |value: &Value| value.as_u64().unwrap_or(0);
        let loads = fields(kernel).into_iter().filter(|(head, _)| head.contains("# load"));
        let reach = loads.map(|(_, list)| [0, 1, 2].map(|i| bounds(list.iter().filter_map(|access| access.get(i)))));
        Self {
            block: three(&launch["block"]),
            grid: three(&launch["grid"]),
            domain: three(&launch["domain"]),
            resident: number(&launch["blocksPerSM"]) * number(&device["smCount"]),
            element: kernel["datatype_bytes"].as_u64().unwrap_or(if kernel["cin"].is_u64() { 4 } else { 8 }),
            align: number(&kernel["alignment_elements"]),
            warp: number(&device["warpSize"]),
            sector: number(&device["CLFetchSize"]),
            write: number(&device["CLWriteSize"]),
            fetch: number(&device["DRAMFetchSize"]),
            fuses: device["API"] == "HIP",
            reach: reach.collect(),
        }
    }

    /// The box that the original takes for a wave: the last row or layer is rounded up to a whole one.
    pub fn wave_box(&self) -> [u64; 3] {
        let per = |axis: usize| self.domain[axis] as f64 / self.block[axis] as f64;
        let rows = (self.resident as f64 / per(0)).ceil() as u64;
        let layers = (self.resident as f64 / per(0) / per(1)).ceil() as u64;
        [self.grid[0].min(self.resident), self.grid[1].min(rows), self.grid[2].min(layers)]
    }

    pub fn threads(&self) -> u64 {
        self.block.iter().product()
    }
}

/// The least and the greatest constant in coordinates.
fn bounds<'a>(texts: impl Iterator<Item = &'a String>) -> (i64, i64) {
    let constant = |text: &String| -> i64 {
        // As in tx+1-1.
        let mut signed = text.strip_prefix(['t']).map_or("", |rest| &rest[1..]).replace('-', "+-");
        signed.retain(|c| c != ' ');
        signed.split('+').filter_map(|term| term.parse::<i64>().ok()).sum()
    };
    texts.map(constant).fold((0, 0), |(lo, hi), c| (lo.min(c), hi.max(c)))
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

/// Which threads take part.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Threads {
    /// All of the grid.
    Grid,
    /// Those in the domain.
    Domain,
}

/// The kernel of a configuration.
pub fn kernel(peer: &Value, config: &Config, threads: Threads) -> Written {
    let extent = match threads {
        Threads::Grid => format!("grid = {:?}", config.grid),
        Threads::Domain => format!("domain = {:?}", config.domain),
    };
    let mut text = format!("name = \"peer\"\nblock = {:?}\n{extent}\nregisters = 32\n", config.block);
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

/// Loads of neighbours along x as wide ones, from the highest down: the original joins them too, in an order that is left to chance.
fn fused(accesses: Vec<Access>, element: u64) -> Vec<String> {
    let most = (16 / element) as usize;
    let split = |access: &Access| {
        let constant = access[0].strip_prefix("tx").map_or(0, |tail| tail.parse::<i64>().unwrap_or(0));
        (access[1..].to_vec(), -constant)
    };
    let mut sorted: Vec<(Vec<String>, i64)> = accesses.iter().map(split).collect();
    sorted.sort();
    let mut list = Vec::new();
    let mut i = 0;
    while i < sorted.len() {
        let (rest, first) = &sorted[i];
        let next = |k: &usize| sorted.get(i + k).is_some_and(|next| next.0 == *rest && next.1 == first + *k as i64);
        let run = 1 + (1..most).take_while(next).count();
        let width = if run.is_power_of_two() { run } else { 1 };
        let lowest = -(first + width as i64 - 1);
        let at: Vec<String> = std::iter::once(format!("tx{lowest:+}")).chain(rest.iter().cloned()).collect();
        list.push(format!("{{ at = {at:?}, width = {width} }}"));
        i += width;
    }
    list
}
