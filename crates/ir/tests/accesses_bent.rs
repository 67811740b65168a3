//! Quotients, remainders, minima and maxima of coordinates touch what they say, thread by thread.

use fastrand::Rng;
use std::collections::BTreeSet;
use std::fmt;
use warpsight_ir::accesses::text::{TextError, Written, parse};
use warpsight_ir::{Affine, Nest, VarKind};

/// A coordinate as a tree, to be evaluated by itself.
enum Tree {
    Name(usize),
    Number(i64),
    Add(Box<Tree>, Box<Tree>),
    Times(i64, Box<Tree>),
    Quotient(Box<Tree>, i64),
    Rest(Box<Tree>, i64),
    Min(Box<Tree>, Box<Tree>),
    Max(Box<Tree>, Box<Tree>),
}

const NAMES: [&str; 7] = ["tx", "ty", "lx", "ly", "bx", "by", "k"];

impl Tree {
    fn draw(rng: &mut Rng, depth: u32) -> Self {
        let inner = |rng: &mut Rng| Box::new(Self::draw(rng, depth - 1));
        match if depth == 0 { rng.u8(0..3) } else { rng.u8(2..10) } {
            0 | 1 => Self::Name(rng.usize(0..NAMES.len())),
            2 if depth > 0 => Self::Name(rng.usize(0..3)),
            2 => Self::Number(rng.i64(-3..40)),
            3 | 4 => Self::Add(inner(rng), inner(rng)),
            5 => Self::Times(rng.i64(1..5), inner(rng)),
            6 => Self::Quotient(inner(rng), [2, 3, 4, 8, 16, 32, 48][rng.usize(0..7)]),
            7 => Self::Rest(inner(rng), [2, 3, 4, 8, 16, 90, 96][rng.usize(0..7)]),
            8 => Self::Min(inner(rng), inner(rng)),
            _ => Self::Max(inner(rng), inner(rng)),
        }
    }

    fn eval(&self, at: &[i64; 7]) -> i64 {
        match self {
            Self::Name(i) => at[*i],
            Self::Number(n) => *n,
            Self::Add(a, b) => a.eval(at) + b.eval(at),
            Self::Times(n, a) => n * a.eval(at),
            Self::Quotient(a, by) => a.eval(at).div_euclid(*by),
            Self::Rest(a, by) => a.eval(at).rem_euclid(*by),
            Self::Min(a, b) => a.eval(at).min(b.eval(at)),
            Self::Max(a, b) => a.eval(at).max(b.eval(at)),
        }
    }
}

impl fmt::Display for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(i) => write!(f, "{}", NAMES[*i]),
            Self::Number(n) => write!(f, "({n})"),
            Self::Add(a, b) => write!(f, "({a} + {b})"),
            Self::Times(n, a) => write!(f, "{n} * ({a})"),
            Self::Quotient(a, by) => write!(f, "(({a}) / {by})"),
            Self::Rest(a, by) => write!(f, "(({a}) % {by})"),
            Self::Min(a, b) => write!(f, "min({a}, {b})"),
            Self::Max(a, b) => write!(f, "max({a}, {b})"),
        }
    }
}

struct Launch {
    block: [i64; 2],
    domain: [i64; 2],
    fold: [i64; 2],
    trips: i64,
}

impl Launch {
    fn text(&self, coordinate: &str) -> String {
        let Self { block, domain, fold, trips } = self;
        format!(
            "name = \"bent\"\nblock = {block:?}\ndomain = {domain:?}\nfold = {fold:?}\nregisters = 32\n[[loop]]\nname = \"k\"\ntrips = {trips}\n\
             order = \"sequential\"\n[[field]]\nname = \"A\"\nelement = \"f32\"\ndims = [100000]\nload = [{{ at = [\"{coordinate}\"], in = \"k\" }}]\n"
        )
    }

    /// What each thread touches in each trip: block, lane, trip, coordinate.
    fn truth(&self, tree: &Tree) -> BTreeSet<[i64; 4]> {
        let Self { block, domain, fold, trips } = *self;
        let grid = [0, 1].map(|i| (domain[i] - 1) / (block[i] * fold[i]) + 1);
        let mut found = BTreeSet::new();
        for n in 0..grid[0] * grid[1] * block[0] * block[1] * fold[0] * fold[1] * trips {
            let mut rest = n;
            let mut digit = |count: i64| {
                let own = rest % count;
                rest /= count;
                own
            };
            let [bx, by] = grid.map(&mut digit);
            let [lx, ly] = block.map(&mut digit);
            let [px, py] = fold.map(&mut digit);
            let k = digit(trips);
            let [tx, ty] = [(bx * block[0] + lx) * fold[0] + px, (by * block[1] + ly) * fold[1] + py];
            if tx < domain[0] && ty < domain[1] {
                found.insert([by * grid[0] + bx, ly * block[0] + lx, k, tree.eval(&[tx, ty, lx, ly, bx, by, k])]);
            }
        }
        found
    }
}

/// What the accesses say: block, lane, trip, coordinate; and the most accesses that touch one coordinate in one lane and trip.
fn touched(written: &Written) -> (BTreeSet<[i64; 4]>, usize) {
    let accesses = &written.kernel.accesses;
    let counts: Vec<i64> = accesses.vars.iter().map(|var| var.trips.unwrap().into()).collect();
    let (mut found, mut most) = (BTreeSet::new(), 0);
    for n in 0..counts.iter().product::<i64>() {
        let mut rest = n;
        let at: Vec<i64> = counts
            .iter()
            .map(|count| {
                let own = rest % count;
                rest /= count;
                own
            })
            .collect();
        // Positions among blocks, lanes and trips: digits are listed lowest first.
        let position = |kind| {
            let own = accesses.vars.iter().zip(&counts).zip(&at).filter(|((var, _), _)| var.kind == kind);
            own.fold((0, 1), |(sum, step), ((_, count), at)| (sum + step * at, step * count)).0
        };
        let value = |form: &Affine| form.eval(|var| at[usize::from(var.0)]).unwrap();
        let mut values = Vec::new();
        accesses.each(&mut |access| {
            if access.guard.iter().all(|bound| (0..bound.extent).contains(&value(&bound.value))) {
                values.push(value(&access.coords[0]));
            }
        });
        most = most.max(values.len());
        found.extend(values.iter().map(|&x| [position(VarKind::Group), position(VarKind::Lane), position(VarKind::Loop), x]));
    }
    (found, most)
}

fn read(launch: &Launch, coordinate: &str) -> Result<Written, TextError> {
    parse(&launch.text(coordinate), &[])
}

#[test]
fn random_coordinates_touch_what_they_say() {
    let mut rng = Rng::with_seed(16);
    let (mut answered, mut cut, mut pieces) = (0, 0, 0);
    for _ in 0..3000 {
        let launch = Launch {
            block: [[24, 32, 64][rng.usize(0..3)], rng.i64(1..3)],
            domain: [[90, 96, 128][rng.usize(0..3)], rng.i64(1..6)],
            fold: [rng.i64(1..3), 1],
            trips: [1, 3, 4][rng.usize(0..3)],
        };
        let tree = Tree::draw(&mut rng, 3);
        let written = match read(&launch, &tree.to_string()) {
            Ok(written) => written,
            Err(error) => {
                assert!(error.what.contains("not affine") || error.what.contains("pieces"), "{tree}: {error:?}");
                assert!(error.at.is_some(), "{tree}");
                continue;
            }
        };
        let (found, most) = touched(&written);
        assert_eq!(found, launch.truth(&tree), "{tree}");
        assert!(most as i64 <= launch.fold[0], "{tree}: pieces exclude each other");
        answered += 1;
        cut += usize::from(written.kernel.accesses.vars.len() > 5);
        pieces += usize::from(written.kernel.accesses.nest.iter().map(count).sum::<usize>() > launch.fold[0] as usize);
    }
    assert!(answered > 1500 && cut > 100 && pieces > 300, "{answered} answered, {cut} with digits, {pieces} with pieces");
}

fn count(node: &Nest) -> usize {
    match node {
        Nest::Loop { body, .. } => body.iter().map(count).sum(),
        Nest::Access(_) => 1,
        Nest::Barrier => 0,
    }
}

/// The variables, and the accesses as (coordinate, conditions).
fn shown(launch: &Launch, coordinate: &str) -> (String, Vec<(String, Vec<String>)>) {
    let written = read(launch, coordinate).unwrap_or_else(|error| panic!("{coordinate}: {error:?}"));
    let accesses = &written.kernel.accesses;
    let name = |form: &Affine| form.show(|var| accesses.vars[usize::from(var.0)].name.clone()).to_string();
    let mut found = Vec::new();
    accesses.each(&mut |access| found.push((name(&access.coords[0]), access.guard.iter().map(|bound| name(&bound.value)).collect())));
    (accesses.vars.iter().map(|var| format!("{}:{}", var.name, var.trips.unwrap())).collect::<Vec<_>>().join(" "), found)
}

#[test]
fn lanes_and_loops_are_cut_where_quotients_ask() {
    let launch = Launch { block: [256, 1], domain: [1024, 1], fold: [1, 1], trips: 12 };
    let one = |form: &str| vec![(form.to_owned(), vec![])];
    // A warp's row and a lane's column.
    assert_eq!(shown(&launch, "lx % 32 + 100 * (lx / 32)"), ("bx:4 by:1 lx%32:32 lx/32:8 ly:1 k:12".into(), one("lx%32 + 100*lx/32")));
    // Blocks count on: a point's number in a row of 512.
    assert_eq!(shown(&launch, "tx / 512").0, "bx%2:2 bx/2:2 by:1 lx:256 ly:1 k:12");
    // Two quotients of one coordinate make three digits; a buffer of two stages is read by the parity of the trip.
    assert_eq!(shown(&launch, "lx / 8 % 4").0, "bx:4 by:1 lx%8:8 lx/8%4:4 lx/32:8 ly:1 k:12");
    assert_eq!(shown(&launch, "lx + 256 * (k % 2)"), ("bx:4 by:1 lx:256 ly:1 k%2:2 k/2:6".into(), one("lx + 256*k%2")));
    // Where the fold divides, nothing is cut.
    let folded = Launch { fold: [4, 1], ..launch };
    assert_eq!(shown(&folded, "tx / 4"), ("bx:1 by:1 lx:256 ly:1 k:12".into(), one("256*bx + lx")));
}

#[test]
fn what_bends_is_taken_in_pieces() {
    let launch = Launch { block: [32, 1], domain: [128, 1], fold: [1, 1], trips: 1 };
    // A periodic neighbour, and one that stays inside.
    let wrapped = shown(&launch, "(tx + 1) % 128").1;
    assert_eq!(
        wrapped,
        [("32*bx + lx + 1".to_owned(), vec!["32*bx + lx + 1".to_owned()]), ("32*bx + lx - 127".into(), vec!["32*bx + lx - 127".into()])]
    );
    let clamped = shown(&launch, "max(tx - 1, 0)").1;
    assert_eq!(
        clamped,
        [("0".to_owned(), vec!["-32*bx - lx + 1".to_owned()]), ("32*bx + lx - 1".into(), vec!["32*bx + lx - 2".into()])],
        "both are 0 at tx = 1"
    );
    // A block that no row of 48 divides: rows begin within blocks.
    assert_eq!(shown(&launch, "lx + 32 * (tx / 48)").1.len(), 3);
}

#[test]
fn what_is_not_counted_is_refused_with_the_reason() {
    let launch = Launch { block: [24, 2], domain: [90, 4], fold: [1, 1], trips: 7 };
    for (coordinate, why) in [
        ("min(k, 3)", "what bends along a loop"),
        ("min(lx + ly, 5)", "what bends along several lanes"),
        ("tx % 3 + k % 2", "what bends along a loop"),
        ("(7 * tx) % 3", "a quotient or remainder of a coordinate, neither of which divides the other"),
    ] {
        let error = read(&launch, coordinate).expect_err(coordinate);
        assert_eq!(
            (error.what.as_str(), error.label.as_deref()),
            ("address is not affine in the thread coordinates", Some(why)),
            "{coordinate}"
        );
        assert!(error.help.is_some_and(|help| help.contains("proxy")));
    }
    let many = "tx % 11 + (tx + 1) % 13 + (tx + 2) % 17";
    assert_eq!(read(&launch, many).unwrap_err().what, "this access has more than 64 pieces in which it is affine");
}
