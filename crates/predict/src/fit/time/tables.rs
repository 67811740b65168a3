//! Exhaustive tables of auto-tuned kernels (`data/tuning`), and their rows as kernels in the text form.

/// Outputs of the convolution along each axis, and rows or columns of the input beyond them.
const SIZE: u32 = 4096;
const BORDER: u32 = 14;
const IMAGE: &str = include_str!("../../../data/conv-image-15.toml");

/// Lines of a table after its head, without those that did not run or are shorter: numbers, and milliseconds at the end.
fn lines<const N: usize>(text: &str) -> Vec<([u32; N], f64)> {
    let line = |line: &str| {
        let (numbers, milliseconds) = line.rsplit_once(',')?;
        let numbers: Vec<u32> = numbers.split(',').map(str::parse).collect::<Result<_, _>>().ok()?;
        Some((numbers.get(..N)?.try_into().ok()?, milliseconds.parse().ok()?))
    };
    text.lines().skip(1).filter_map(line).collect()
}

/// A row of the 15 × 15 convolution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Convolution {
    /// Threads.
    pub block: [u32; 2],
    /// Outputs of a thread.
    pub tile: [u32; 2],
    /// Whether loads go through the read-only path.
    pub read_only: bool,
    /// Whether rows in local memory are padded.
    pub padded: bool,
    /// Whether the input is staged in local memory.
    pub shared: bool,
    /// Seconds.
    pub measured: f64,
}

impl Convolution {
    /// Those of a table.
    pub fn rows(text: &str) -> Vec<Self> {
        let row = |(n, milliseconds): ([u32; 7], f64)| Self {
            block: [n[0], n[1]],
            tile: [n[2], n[3]],
            read_only: n[4] == 1,
            padded: n[5] == 1,
            shared: n[6] == 1,
            measured: milliseconds * 1e-3,
        };
        let sound = |row: &Self| row.block.iter().chain(&row.tile).all(|n| (1..=1024).contains(n));
        lines(text).into_iter().map(row).filter(sound).collect()
    }

    /// Whether no guard is compiled in.
    pub fn divides(&self) -> bool {
        (0..2).all(|i| SIZE.is_multiple_of(self.block[i] * self.tile[i]))
    }

    /// The kernel as text, and what is set in it from outside.
    pub fn text(&self) -> (String, Vec<(String, String)>) {
        let pair = |[x, y]: [u32; 2]| format!("{x},{y}");
        let settings = vec![("block".to_owned(), pair(self.block)), ("fold".to_owned(), pair(self.tile))];
        match self.shared {
            true => (self.staged(), settings),
            false if self.read_only => {
                let dims = "element = \"f32\"\ndims = [\"n+14\"";
                (IMAGE.replacen(dims, "element = \"f32\"\npath = \"read_only\"\ndims = [\"n+14\"", 1), settings)
            }
            false => (IMAGE.to_owned(), settings),
        }
    }

    /// A block's input in local memory. Every thread computes; where blocks reach beyond the image, what is staged and what is stored is
    /// guarded.
    fn staged(&self) -> String {
        let extent = [0, 1].map(|i| self.block[i] * self.tile[i]);
        let held = extent.map(|extent| extent + BORDER);
        let trips = [0, 1].map(|i| held[i].div_ceil(self.block[i]));
        // Columns that keep two rows of a warp in different banks.
        let apart = held[0] - self.block[0];
        let pad = if self.padded && !self.block[0].is_multiple_of(32) && !apart.is_multiple_of(32) { 32 - apart % 32 } else { 0 };
        let own = [0, 1].map(|i| format!("{} + {}*{}", ["lx", "ly"][i], self.block[i], ["si", "sj"][i]));
        let at = [0, 1].map(|i| format!("{}*{} + {}", extent[i], ["bx", "by"][i], own[i]));
        let inside = |form: &str, end: String| format!("\"{form} < {end}\"");
        let held_guard = [0, 1].map(|i| inside(&own[i], held[i].to_string())).join(", ");
        let guard = match self.divides() {
            true => held_guard,
            false => format!("{held_guard}, {}", [0, 1].map(|i| inside(&at[i], (SIZE + BORDER).to_string())).join(", ")),
        };
        let [x, y] = extent;
        let ([w, h], [sx, sy], [own_x, own_y], [at_x, at_y]) = (held, trips, own, at);
        let path = if self.read_only { "path = \"read_only\"\n" } else { "" };
        let whole = extent.map(|extent| SIZE.div_ceil(extent) * extent);
        let stored = if self.divides() { String::new() } else { format!(", guard = [\"tx < {SIZE}\", \"ty < {SIZE}\"]") };
        let side = SIZE + BORDER;
        let loops: String = [("sj", sy), ("si", sx), ("j", 15), ("i", 15)]
            .map(|(name, trips)| format!("[[loop]]\nname = \"{name}\"\ntrips = {trips}\norder = \"unrolled\"\n"))
            .concat();
        format!(
            "name = \"conv-staged-15\"\nblock = {:?}\ndomain = {whole:?}\nfold = {:?}\nfold_mode = \"strided\"\nregisters = 32\nflops = {{ f32_fma = 225 }}\n\
             {loops}[[field]]\nname = \"input\"\nelement = \"f32\"\n{path}dims = [{side}, {side}]\nload = [{{ at = [\"{at_x}\", \"{at_y}\"], guard = [{guard}] }}]\n\
             [[field]]\nname = \"tile\"\nkind = \"local\"\nelement = \"f32\"\ndims = [{w}, {h}]\nstrides = [1, {}]\nstore = [{{ at = [\"{own_x}\", \"{own_y}\"], guard = [{guard}] }}]\n\
             [[barrier]]\n[[field]]\nname = \"tile\"\nload = [[\"tx - {x}*bx + i\", \"ty - {y}*by + j\"]]\n\
             [[field]]\nname = \"filter\"\nkind = \"constant\"\nelement = \"f32\"\ndims = [15, 15]\nload = [[\"i\", \"j\"]]\n\
             [[field]]\nname = \"output\"\nelement = \"f32\"\ndims = [{SIZE}, {SIZE}]\nstore = [{{ at = [\"tx\", \"ty\"]{stored} }}]\n",
            self.block,
            self.tile,
            w + pad
        )
    }
}

/// A row of the matrix product of 4096³.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gemm {
    /// Of C, in elements along M and N, and of a step along K.
    tile: [u32; 3],
    /// Work-items along M and N.
    block: [u32; 2],
    /// The same work-items along M where they stage A, along N where they stage B.
    staging: [u32; 2],
    width: [u32; 2],
    /// Whether A, B is staged in local memory.
    pub stages: [bool; 2],
    /// Seconds.
    pub measured: f64,
}

impl Gemm {
    /// Those of a table.
    pub fn rows(text: &str) -> Vec<Self> {
        let row = |(n, milliseconds): ([u32; 14], f64)| Self {
            tile: [n[0], n[1], n[2]],
            block: [n[3], n[4]],
            staging: [n[5], n[6]],
            width: [n[8], n[9]],
            stages: [n[12] == 1, n[13] == 1],
            measured: milliseconds * 1e-3,
        };
        let sound = |row: &Self| {
            let all = row.tile.iter().chain(&row.block).chain(&row.staging).chain(&row.width).all(|n| (1..=256).contains(n));
            // A row of lanes that stage is one of a group.
            all && row.staging.iter().all(|&lanes| lanes <= row.block[0] * row.block[1])
        };
        lines(text).into_iter().map(row).filter(sound).collect()
    }

    /// The kernel as text; `None` where work-items are numbered in more ways than a block has axes.
    pub fn text(&self) -> Option<String> {
        let Self { tile: [m, n, k], block, staging, width, stages, .. } = *self;
        // Lanes in the order of their numbers, divided wherever one of the shapes ends a row.
        let all = block[0] * block[1];
        let mut ends = vec![block[0], all];
        ends.extend(staging.iter().zip(stages).filter(|own| own.1).map(|own| *own.0));
        ends.sort_unstable();
        ends.dedup();
        let mut axes = Vec::new();
        let mut before = 1;
        for &end in &ends {
            if end > before {
                axes.push((before, end / before));
                before = end;
            }
        }
        if axes.len() > 3 {
            return None;
        }
        // The number of a work-item within rows of a length, and the number of its row.
        let form = |keep: &dyn Fn(u32) -> bool, per: u32| {
            let terms =
                axes.iter().zip(["lx", "ly", "lz"]).filter(|(axis, _)| keep(axis.0)).map(|(axis, name)| format!("{}*{name}", axis.0 / per));
            let terms: Vec<String> = terms.collect();
            if terms.is_empty() { "0".to_owned() } else { terms.join(" + ") }
        };
        let within = |length: u32| form(&|from| from < length, 1);
        let row = |length: u32| form(&|from| from >= length, length);
        let extent = [m, n];
        let own = [0, 1].map(|i| extent[i] / block[i]);
        let origin = [format!("{m}*bx"), format!("{n}*by")];
        let at = [within(block[0]), row(block[0])];
        let mut text = format!(
            "name = \"gemm\"\nblock = {:?}\ngrid = {:?}\nregisters = {}\nflops = {{ f32_fma = {} }}\n",
            axes.iter().map(|axis| axis.1).collect::<Vec<_>>(),
            [SIZE / m, SIZE / n, 1][..axes.len().max(2)].to_vec(),
            (own[0] * own[1] + own[0] + own[1] + 24).min(255),
            SIZE * own[0] * own[1]
        );
        let mut each = |name: &str, trips: u32, written: bool| {
            let order = if written { "order = \"unrolled\"\n" } else { "" };
            text += &format!("[[loop]]\nname = \"{name}\"\ntrips = {trips}\n{order}");
        };
        each("step", SIZE / k, false);
        let rows = [0, 1].map(|i| k / (all / staging[i]));
        let vectors = [0, 1].map(|i| extent[i] / staging[i] / width[i]);
        for i in (0..2).filter(|&i| stages[i]) {
            each(["sa", "sb"][i], rows[i], true);
            each(["va", "vb"][i], vectors[i], true);
        }
        each("kk", k / 2, false);
        each("u", 2, true);
        each("a", own[0] / width[0], true);
        each("b", own[1] / width[1], true);
        each("c", own[1], true);
        let name = ["A", "B"];
        for i in (0..2).filter(|&i| stages[i]) {
            let from = format!("{}*({})", vectors[i] * width[i], within(staging[i])).replace("*(0)", "*0");
            let from = format!("{} + {}*{}", spread(&from), width[i], ["va", "vb"][i]);
            let line = format!("{} + {}", spread(&format!("{}*({})", rows[i], row(staging[i]))), ["sa", "sb"][i]);
            text += &format!(
                "[[field]]\nname = \"{0}\"\nelement = \"f32\"\ndims = [{SIZE}, {SIZE}]\nload = [{{ at = [\"{1} + {from}\", \"{k}*step + {line}\"], width = {2}, in = \"step\" }}]\n\
                 [[field]]\nname = \"local{0}\"\nkind = \"local\"\nelement = \"f32\"\ndims = [{3}, {k}]\nstore = [{{ at = [\"{from}\", \"{line}\"], width = {2}, in = \"step\" }}]\n",
                name[i], origin[i], width[i], extent[i]
            );
        }
        let staged = stages[0] || stages[1];
        let barrier = if staged { "[[barrier]]\nin = \"step\"\n" } else { "" };
        text += barrier;
        for i in 0..2 {
            let own = format!("{} + {}*{}", spread(&format!("{}*({})", own[i], at[i])), width[i], ["a", "b"][i]);
            text += &match stages[i] {
                true => {
                    format!("[[field]]\nname = \"local{}\"\nload = [{{ at = [\"{own}\", \"2*kk + u\"], width = {} }}]\n", name[i], width[i])
                }
                false => format!(
                    "[[field]]\nname = \"{}\"\nelement = \"f32\"\ndims = [{SIZE}, {SIZE}]\nload = [{{ at = [\"{} + {own}\", \"{k}*step + 2*kk + u\"], width = {} }}]\n",
                    name[i], origin[i], width[i]
                ),
            };
        }
        text += barrier;
        let c = format!(
            "{{ at = [\"{} + {} + {}*a\", \"{} + {} + c\"], width = {} }}",
            origin[0],
            spread(&format!("{}*({})", own[0], at[0])),
            width[0],
            origin[1],
            spread(&format!("{}*({})", own[1], at[1])),
            width[0]
        );
        Some(text + &format!("[[field]]\nname = \"C\"\nelement = \"f32\"\ndims = [{SIZE}, {SIZE}]\nload = [{c}]\nstore = [{c}]\n"))
    }
}

/// `4*(1*lx + 8*ly)` without its parentheses.
fn spread(form: &str) -> String {
    let Some((factor, rest)) = form.split_once("*(") else { return form.to_owned() };
    let factor: u32 = factor.parse().unwrap_or(1);
    let term = |term: &str| match term.split_once('*') {
        Some((own, name)) => format!("{}*{name}", factor * own.trim().parse::<u32>().unwrap_or(1)),
        None => "0".to_owned(),
    };
    rest.trim_end_matches(')').split(" + ").map(term).collect::<Vec<_>>().join(" + ")
}
