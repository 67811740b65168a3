//! What does the same costs the same, to the bit, however it is spelled: the order of independent accesses, duplicates, loops of one trip,
//! names, forms and conditions in other words.

use fastrand::Rng;
use toml::{Table, Value};
use warpsight_ir::accesses::text;
use warpsight_ir::profile::builtin;
use warpsight_predict::volumes::report::{FieldVolumes, PointVolumes, Report, Settings, Work, report};

/// One with NVIDIA's first level, one whose compiler joins neighbouring loads.
const DEVICES: [&str; 2] = ["a100-40", "mi210"];

/// A report without the numbers by which accesses go, which are places in the text.
#[derive(Debug, PartialEq)]
struct Facts(String);

fn facts(text: &str, settings: &[(&str, &str)], device: &str, names: &dyn Fn(&str) -> String) -> Facts {
    let settings: Vec<(String, String)> = settings.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let written = text::parse(text, &settings).unwrap_or_else(|error| panic!("{error:?}\n{text}"));
    let on = builtin(device).unwrap().unwrap();
    let found = match report(&Work { kernel: &written.kernel, points: written.points }, &on, &Settings::default()) {
        Ok(found) => found,
        Err(error) => return Facts(names(&error.to_string())),
    };
    let fields = found.volumes.per_field.iter().map(|field| format!("{:?}", FieldVolumes { field: names(&field.field), ..field.clone() }));
    let instructions = found.instructions.iter().map(|own| format!("{} {} {:?}", names(&own.field), own.executions, own.wavefronts));
    let mut lines: Vec<String> = fields.chain(instructions).collect();
    lines.sort();
    let volumes = PointVolumes { per_field: vec![], ..found.volumes.clone() };
    let whole = Report { volumes, instructions: vec![], provenance: vec![], ..found };
    Facts(format!("{whole:?}\n{}", lines.join("\n")))
}

fn examples() -> Vec<(String, Table)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/accesses");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let read = |file: std::path::PathBuf| {
        let table = toml::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
        (file.file_stem().unwrap().to_str().unwrap().to_owned(), table)
    };
    let found: Vec<_> = files.into_iter().map(read).collect();
    assert!(found.len() > 15);
    found
}

fn texts(table: &Table) -> String {
    toml::to_string(table).unwrap()
}

fn loops(table: &Table) -> Vec<String> {
    let all = table.get("loop").and_then(Value::as_array).cloned().unwrap_or_default();
    all.iter().map(|own| own["name"].as_str().unwrap().to_owned()).collect()
}

/// Whether a word stands in an expression.
fn mentions(text: &str, word: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|own| own == word)
}

/// With one word for another.
fn reworded(text: &str, word: &str, other: &str) -> String {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut found = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = if is_word(first) { rest.find(|c| !is_word(c)).unwrap_or(rest.len()) } else { first.len_utf8() };
        let own = &rest[..length];
        found.push_str(if own == word { other } else { own });
        rest = &rest[length..];
    }
    found
}

/// Calls for each list of accesses.
fn lists(table: &mut Table, to: impl FnMut(&mut Vec<Value>)) {
    lists_of(&["load", "store", "atomic"], table, to);
}

fn lists_of(sides: &[&str], table: &mut Table, mut to: impl FnMut(&mut Vec<Value>)) {
    for field in table.get_mut("field").and_then(Value::as_array_mut).into_iter().flatten() {
        for side in sides {
            if let Some(list) = field.get_mut(*side).and_then(Value::as_array_mut) {
                to(list);
            }
        }
    }
}

/// The loops that an access mentions.
fn within(access: &Value, loops: &[String]) -> Vec<bool> {
    let text = access.to_string();
    loops.iter().map(|own| mentions(&text, own)).collect()
}

/// Calls for each run of accesses in the same loops.
fn runs(table: &mut Table, mut to: impl FnMut(Vec<Value>) -> Vec<Value>) {
    let loops = loops(table);
    // What two atomics do is twice what one does.
    lists_of(&["load", "store"], table, |list| {
        let mut found: Vec<Value> = Vec::new();
        let mut run: Vec<Value> = Vec::new();
        for access in list.drain(..) {
            if run.last().is_some_and(|before| within(before, &loops) != within(&access, &loops)) {
                found.extend(to(std::mem::take(&mut run)));
            }
            run.push(access);
        }
        found.extend(to(run));
        *list = found;
    });
}

/// Calls for each coordinate as text.
fn coordinates(table: &mut Table, mut to: impl FnMut(&str) -> String) {
    fn walk(value: &mut Value, to: &mut impl FnMut(&str) -> String) {
        match value {
            Value::Array(all) => all.iter_mut().for_each(|own| walk(own, to)),
            Value::Table(own) => {
                ["at", "index", "proxy"].iter().for_each(|key| own.get_mut(*key).into_iter().for_each(|own| walk(own, to)))
            }
            Value::String(text) => *text = to(text),
            Value::Integer(number) => *value = Value::String(to(&number.to_string())),
            _ => {}
        }
    }
    lists(table, |list| list.iter_mut().for_each(|access| walk(access, &mut to)));
}

/// Every condition list.
fn conditions(table: &mut Table, mut to: impl FnMut(&mut Vec<Value>)) {
    if let Some(own) = table.get_mut("guard").and_then(Value::as_array_mut) {
        to(own);
    }
    lists(table, |list| {
        for own in list.iter_mut().filter_map(|access| access.get_mut("guard")?.as_array_mut()) {
            to(own);
        }
    });
}

fn shuffled(table: &mut Table, rng: &mut Rng) {
    runs(table, |mut run| {
        rng.shuffle(&mut run);
        run
    });
}

fn doubled(table: &mut Table, rng: &mut Rng) {
    runs(table, |mut run| {
        if !run.is_empty() && run.iter().all(|access| !access.to_string().contains("spread")) {
            let copy = run[rng.usize(..run.len())].clone();
            run.insert(rng.usize(..=run.len()), copy);
        }
        run
    });
}

fn respelled(table: &mut Table, rng: &mut Rng) {
    coordinates(table, |text| match rng.u32(0..5) {
        0 => format!("2*({text}) - ({text})"),
        1 => format!("0 - (0 - ({text}))"),
        2 => format!("({text}) + tx - tx"),
        3 => format!("3 + ({text}) + 5*lx - 3 - (lx + 4*lx)"),
        _ => text.to_owned(),
    });
}

fn looped(table: &mut Table, rng: &mut Rng) {
    let own = toml::from_str::<Table>("name = \"once\"\ntrips = 1").unwrap();
    let mut all = table.get("loop").and_then(Value::as_array).cloned().unwrap_or_default();
    // The outermost, so that others are around what they were.
    all.insert(0, Value::Table(own));
    table.insert("loop".into(), Value::Array(all));
    coordinates(table, |text| if rng.u32(0..3) == 0 { format!("{text} + {}*once", rng.i32(0..9)) } else { text.to_owned() });
}

fn reconditioned(table: &mut Table, rng: &mut Rng) {
    conditions(table, |all| {
        // A range has two sides of another kind.
        let ranges = |own: &Value| own.as_str().unwrap().matches(['<', '>']).count() > 1;
        for own in all.iter_mut().filter(|own| !ranges(own)) {
            let text = own.as_str().unwrap().to_owned();
            let sides = ["<=", ">=", "<", ">"].iter().find_map(|sign| Some((text.split_once(sign)?, *sign))).unwrap();
            let ((left, right), sign) = sides;
            let swapped = match sign {
                "<" => ">",
                ">" => "<",
                "<=" => ">=",
                _ => "<=",
            };
            *own = Value::String(match rng.u32(0..4) {
                0 => format!("{right} {swapped} {left}"),
                1 => format!("7*({left}) {sign} 7*({right})"),
                2 => format!("({left}) - ({right}) {sign} 0"),
                _ => text,
            });
        }
        let again = all[rng.usize(..all.len())].clone();
        all.push(again);
        all.push("tx >= 0 - 1000000".into());
        rng.shuffle(all);
    });
}

/// Writes accesses otherwise.
type Change = fn(&mut Table, &mut Rng);

const CHANGES: [(&str, Change); 5] =
    [("shuffled", shuffled), ("doubled", doubled), ("respelled", respelled), ("a loop of one trip", looped), ("conditions", reconditioned)];

/// Fields in another order, where nothing divides them.
fn fields_moved(table: &mut Table, rng: &mut Rng) -> bool {
    let divided = table.contains_key("barrier") || !loops(table).is_empty();
    let fields = table.get_mut("field").and_then(Value::as_array_mut);
    match fields {
        Some(fields) if !divided => {
            rng.shuffle(fields);
            true
        }
        _ => false,
    }
}

fn check(name: &str, table: &Table, settings: &[(&str, &str)], rng: &mut Rng) {
    let plain = texts(table);
    for device in DEVICES {
        let same = |name: &str| name.to_owned();
        let expected = facts(&plain, settings, device, &same);
        // One by one on one of the devices, whose turn it is.
        let turn = if rng.bool() { &CHANGES[..] } else { &[] };
        for (what, change) in turn {
            let mut other = table.clone();
            change(&mut other, rng);
            assert_eq!(facts(&texts(&other), settings, device, &same), expected, "{name} on {device}: {what}\n{}", texts(&other));
        }
        let mut all = table.clone();
        CHANGES.iter().for_each(|(_, change)| change(&mut all, rng));
        assert_eq!(facts(&texts(&all), settings, device, &same), expected, "{name} on {device}: all at once\n{}", texts(&all));
        let mut moved = table.clone();
        if fields_moved(&mut moved, rng) {
            assert_eq!(facts(&texts(&moved), settings, device, &same), expected, "{name} on {device}: fields in another order");
        }
    }
}

#[test]
fn examples_cost_the_same_in_other_words() {
    let mut rng = Rng::with_seed(14);
    for (name, table) in examples() {
        check(&name, &table, &[], &mut rng);
    }
}

/// Where results have conditions, and points keep words until they are stored.
#[test]
fn kept_words_cost_the_same_in_other_words() {
    let mut rng = Rng::with_seed(21);
    let (name, table) = examples().into_iter().find(|own| own.0 == "conv-shared").unwrap();
    for tile in ["2", "3"] {
        let settings = [("block_size_x", "48"), ("tile_size_x", tile), ("tile_size_y", "2")];
        let given: Vec<(String, String)> = settings.iter().map(|own| (own.0.to_owned(), own.1.to_owned())).collect();
        assert!(text::parse(&texts(&table), &given).unwrap().kernel.reused.words > 500, "tile {tile}");
        let expected = facts(&texts(&table), &settings, "mi210", &|name| name.to_owned());
        // With a condition on its coordinate, each point loads a block's input in a branch of its own.
        for (what, change) in CHANGES.into_iter().filter(|own| own.0 != "conditions") {
            let mut other = table.clone();
            change(&mut other, &mut rng);
            assert_eq!(facts(&texts(&other), &settings, "mi210", &|name| name.to_owned()), expected, "{name}: {what}\n{}", texts(&other));
        }
    }
}

#[test]
fn names_cost_nothing() {
    for (name, table) in examples() {
        let mut other = table.clone();
        let fields: Vec<String> =
            table["field"].as_array().unwrap().iter().map(|field| field["name"].as_str().unwrap().to_owned()).collect();
        let new = |name: &str| format!("q{}", name.chars().rev().collect::<String>());
        for field in other["field"].as_array_mut().unwrap() {
            let renamed = new(field["name"].as_str().unwrap());
            field.as_table_mut().unwrap().insert("name".into(), renamed.into());
        }
        for own in loops(&table) {
            let text = |text: &str| reworded(text, &own, &new(&own));
            for list in other.get_mut("loop").and_then(Value::as_array_mut).into_iter().flatten() {
                for key in ["name", "beside", "trips"] {
                    if let Some(word) = list.get(key).and_then(Value::as_str) {
                        let word = text(word);
                        list.as_table_mut().unwrap().insert(key.into(), word.into());
                    }
                }
            }
            coordinates(&mut other, text);
            conditions(&mut other, |all| all.iter_mut().for_each(|own| *own = text(own.as_str().unwrap()).into()));
            let within = |value: &mut Value| {
                if let Some(own) = value.get_mut("in") {
                    *own = text(own.as_str().unwrap()).into();
                }
            };
            lists(&mut other, |list| list.iter_mut().for_each(within));
            other.get_mut("barrier").and_then(Value::as_array_mut).into_iter().flatten().for_each(within);
        }
        let back = |text: &str| fields.iter().fold(text.to_owned(), |text, field| reworded(&text, &new(field), field));
        for device in DEVICES {
            let expected = facts(&texts(&table), &[], device, &|name| name.to_owned());
            assert_eq!(facts(&texts(&other), &[], device, &back), expected, "{name} on {device}\n{}", texts(&other));
        }
    }
}

/// A kernel of a few fields, each with loads that move alike or not.
fn random(rng: &mut Rng) -> Table {
    let rank = rng.usize(1..4);
    let names = &["tx", "ty", "tz"][..rank];
    let block = ["[64]", "[32, 4]", "[16, 4, 2]"][rank - 1];
    let domain = ["[100000]", "[700, 300]", "[130, 70, 50]"][rank - 1];
    let mut text = format!("name = \"random\"\nblock = {block}\ndomain = {domain}\nregisters = {}\nflops = 8\n", rng.u32(16..64));
    if rng.bool() {
        text += "guard = [\"tx >= 2\", \"tx < 90\"]\n";
    }
    let looped = rng.u32(0..3) == 0;
    if looped {
        text += &format!("[[loop]]\nname = \"i\"\ntrips = {}\n", rng.u32(2..6));
    }
    for field in 0..rng.usize(1..5) {
        let extents = ["[400000]", "[2048, 900]", "[400, 160, 120]"][rank - 1];
        let element = ["f32", "f64"][rng.usize(..2)];
        text += &format!("[[field]]\nname = \"f{field}\"\nelement = \"{element}\"\ndims = {extents}\n");
        let accesses: Vec<String> = (0..rng.usize(1..9))
            .map(|_| {
                let at: Vec<String> = names
                    .iter()
                    .map(|name| match rng.u32(0..8) {
                        0 => format!("\"2*{name} + {}\"", rng.i32(0..4)),
                        1 if looped => format!("\"{name} + 4*i\""),
                        _ => format!("\"{name} + {}\"", rng.i32(0..6)),
                    })
                    .collect();
                let guard = if rng.u32(0..4) == 0 { ", guard = [\"tx < 80\", \"tx + 3 > 7\"]" } else { "" };
                format!("{{ at = [{}]{guard} }}", at.join(", "))
            })
            .collect();
        let side = if field == 0 || rng.bool() { "load" } else { "store" };
        text += &format!("{side} = [{}]\n", accesses.join(", "));
    }
    toml::from_str(&text).unwrap()
}

#[test]
fn random_kernels_cost_the_same_in_other_words() {
    let mut rng = Rng::with_seed(4);
    for i in 0..24 {
        let table = random(&mut rng);
        check(&format!("random {i}"), &table, &[], &mut rng);
    }
}

const GUARDED: &str = "name = \"g\"\nblock = [64]\ndomain = [4096]\nregisters = 16\nflops = 4\nguard = [GUARD]\n\
    [[field]]\nname = \"A\"\nelement = \"f32\"\ndims = [4100]\nload = [[\"tx\"], [\"tx+1\"]]\n\
    [[field]]\nname = \"B\"\nelement = \"f32\"\ndims = [4100]\nstore = [[\"tx\"]]\n";

fn reported(text: &str, device: &str) -> Report {
    let written = text::parse(text, &[]).unwrap_or_else(|error| panic!("{error:?}\n{text}"));
    let on = builtin(device).unwrap().unwrap();
    report(&Work { kernel: &written.kernel, points: written.points }, &on, &Settings::default()).unwrap()
}

#[test]
fn a_condition_that_never_holds_takes_no_time() {
    for guard in
        ["\"tx < 0\"", "\"tx >= 4096\"", "\"tx < 5\", \"tx > 9\"", "\"2*tx < 10\", \"3*tx > 27\"", "\"1 < 0\"", "\"lx + tx > 4159\""]
    {
        for device in ["a100-40", "mi210", "adreno640"] {
            let found = reported(&GUARDED.replace("GUARD", guard), device);
            assert_eq!((found.seconds.0, found.interval.lo.0, found.interval.hi.0, found.limiter), (0.0, 0.0, 0.0, None), "{guard}");
            assert!(found.provenance.iter().any(|note| note.contains("never holds")), "{:?}", found.provenance);
            assert!(found.points_per_second == 0.0 && found.tail_efficiency.is_finite() && found.waves.is_finite());
        }
    }
    // One access alone: as if it were not there, and said.
    let own = GUARDED.replace("guard = [GUARD]\n", "").replace("[\"tx+1\"]", "{ at = [\"tx+1\"], guard = [\"tx < 0\"] }");
    let without = GUARDED.replace("guard = [GUARD]\n", "").replace(", [\"tx+1\"]", "");
    let (found, other) = (reported(&own, "a100-40"), reported(&without, "a100-40"));
    assert_eq!((found.seconds, &found.volumes), (other.seconds, &other.volumes));
    assert!(found.provenance.iter().any(|note| note == "`A`, access 1: the condition never holds"), "{:?}", found.provenance);
    // What always holds is no condition.
    let always = reported(&GUARDED.replace("GUARD", "\"tx >= 0\", \"tx < 4096\""), "a100-40");
    assert_eq!(always.seconds, reported(&GUARDED.replace("guard = [GUARD]\n", ""), "a100-40").seconds);
}

#[test]
fn accesses_beside_their_field_are_named() {
    let notes = |text: &str| -> Vec<String> {
        let found = reported(text, "a100-40").provenance;
        found.into_iter().filter(|note| note.contains("leaves the field")).collect()
    };
    let star = include_str!("../../../examples/accesses/star3d-r4-f64.toml");
    let expected = ["x", "y", "z"].map(|axis| format!(" of A leaves the field by 4 elements along {axis}, and 7 others no farther"));
    let found = notes(star);
    assert_eq!(found.len(), 3, "{found:?}");
    assert!(found.iter().zip(&expected).all(|(note, end)| note.starts_with("access ") && note.ends_with(end.as_str())), "{found:?}");
    let plain = GUARDED.replace("guard = [GUARD]\n", "");
    assert_eq!(notes(&plain), [""; 0]);
    let short = plain.replace("\"A\"\nelement = \"f32\"\ndims = [4100]", "\"A\"\nelement = \"f32\"\ndims = [4000]");
    assert_eq!(notes(&short), ["access 1 of A leaves the field by 97 elements along x, and 1 other no farther"]);
    // A condition keeps it inside.
    assert_eq!(notes(&GUARDED.replace("GUARD", "\"tx < 3999\"").replace("dims = [4100]\nload", "dims = [4000]\nload")), [""; 0]);
    assert_eq!(notes(&plain.replace("[\"tx+1\"]", "[\"tx-7\"]")), ["access 1 of A leaves the field by 7 elements along x"]);
    assert_eq!(
        notes(&plain.replace("[\"tx+1\"]", "{ at = [\"tx+3\"], width = 4 }")),
        ["access 1 of A leaves the field by 2 elements along x"]
    );
}
