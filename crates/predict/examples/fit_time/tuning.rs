//! Exhaustive tables of auto-tuned kernels (`data/tuning`), and their rows as kernels in the text form.

use std::path::Path;
use std::process::Command;

/// Outputs of the convolution along each axis, and rows or columns of the input beyond them.
const SIZE: u32 = 4096;
const BORDER: u32 = 14;
const IMAGE: &str = include_str!("../../../../examples/accesses/conv-image-15.toml");

/// Lines of a compressed table after its head, without those that did not run: numbers, the last one milliseconds.
pub fn lines(file: &Path) -> std::io::Result<Vec<(Vec<u32>, f64)>> {
    let found = Command::new("gzip").arg("-dc").arg(file).output()?;
    let text = String::from_utf8_lossy(&found.stdout).into_owned();
    let line = |line: &str| {
        let (numbers, milliseconds) = line.rsplit_once(',')?;
        Some((numbers.split(',').map(str::parse).collect::<Result<_, _>>().ok()?, milliseconds.parse().ok()?))
    };
    Ok(text.lines().skip(1).filter_map(line).collect())
}

/// A row of the 15 × 15 convolution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Convolution {
    pub block: [u32; 2],
    pub tile: [u32; 2],
    pub read_only: bool,
    pub padded: bool,
    pub shared: bool,
    /// Seconds.
    pub measured: f64,
}

impl Convolution {
    pub fn rows(file: &Path) -> std::io::Result<Vec<Self>> {
        let row = |(n, milliseconds): (Vec<u32>, f64)| Self {
            block: [n[0], n[1]],
            tile: [n[2], n[3]],
            read_only: n[4] == 1,
            padded: n[5] == 1,
            shared: n[6] == 1,
            measured: milliseconds * 1e-3,
        };
        Ok(lines(file)?.into_iter().map(row).collect())
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
