//! Silicon that nobody has seen: every number of one that is known changed by up to a fifth, other hashes of sets, another layout of images.

use toml::{Table, Value};
use warpsight_sim::{Silicon, SiliconError};

/// What silicon is made from.
const BASES: [(&str, &str); 3] = [
    ("adreno640", include_str!("../../devices/adreno640.toml")),
    ("adreno740", include_str!("../../devices/adreno740.toml")),
    ("mali-g76", include_str!("../../devices/mali-g76.toml")),
];

/// Numbers change by up to this part.
const PART: f64 = 0.2;

/// Numbers that say what a thing is and not how much of it there is: powers of two, warps that must divide, granules of registers.
const KEPT: [&str; 16] = [
    "core.wave",
    "core.lanes",
    "residency.warp",
    "residency.register_granule",
    "residency.warp_granule",
    "texture.wide_texel_bytes",
    "texture.cache.line",
    "texture.cache.sets",
    "l1.cache.line",
    "l1.sector",
    "l2.cache.line",
    "l2.slices",
    "l2.sector",
    "dram.interleave",
    "dram.burst",
    "dram.row",
];

/// Silicon number `at` of a seed, as text: the same for the same numbers.
///
/// # Errors
/// What is wrong with the silicon.
pub fn perturbed(seed: u64, at: u64) -> Result<String, SiliconError> {
    let (base, text) = BASES[at as usize % BASES.len()];
    let mut rng = fastrand::Rng::with_seed(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ at);
    let mut table: Table = toml::from_str(text).map_err(|error| SiliconError::Text(error.to_string()))?;
    let mut changed = vec![];
    change(&mut table, "", &mut rng, &mut changed);
    layouts(&mut table, &mut rng, &mut changed);
    hashes(&mut table, &mut rng, &mut changed);
    geometry(&mut table);
    let name = format!("{base}-perturbed-{seed}-{at}");
    table.insert("name".into(), Value::String(name));
    let description = table.get("description").and_then(Value::as_str).unwrap_or_default();
    table.insert("description".into(), Value::String(format!("{description}; perturbed, seed {seed}, number {at}")));
    table.insert("assumed".into(), Value::Array(changed.into_iter().map(Value::String).collect()));
    let text = format!(
        "# No GPU: {base} with every number changed by up to {} %, another layout of images and other hashes of sets and slices.\n\
         # Made by `cargo run --release -p warpsight-sim --example perturbed -- {seed} COUNT FOLDER`, number {at}.\n\n{table}",
        100.0 * PART
    );
    Silicon::parse(&text).map(|_| text)
}

/// Changes every number of a table, and notes their keys.
fn change(table: &mut Table, within: &str, rng: &mut fastrand::Rng, changed: &mut Vec<String>) {
    for (key, value) in table.iter_mut() {
        let key = if within.is_empty() { key.clone() } else { format!("{within}.{key}") };
        let factor = 1.0 + PART * (2.0 * rng.f64() - 1.0);
        match value {
            _ if KEPT.contains(&key.as_str()) || key.ends_with(".layout") => continue,
            Value::Table(inner) => {
                change(inner, &key, rng, changed);
                continue;
            }
            Value::Integer(n) => *n = ((*n as f64 * factor).round() as i64).max(1),
            // Six digits say all that there is to say.
            Value::Float(v) => *v = format!("{:.5e}", *v * factor).parse().unwrap_or(*v),
            _ => continue,
        }
        changed.push(key);
    }
}

/// What lies under a key of several parts.
fn at<'t>(table: &'t mut Table, key: &str) -> Option<&'t mut Value> {
    let mut parts = key.split('.');
    let first = table.get_mut(parts.next()?)?;
    parts.try_fold(first, |within, part| within.get_mut(part))
}

fn number(table: &mut Table, key: &str) -> i64 {
    at(table, key).and_then(|value| value.as_integer()).unwrap_or(1)
}

/// Images of rows and columns lie in another way than they did; those of one row are padded in another.
fn layouts(table: &mut Table, rng: &mut fastrand::Rng, changed: &mut Vec<String>) {
    let tiled = |channels: i64, bit: i64| {
        Value::Table(Table::from_iter([(
            "adreno_tiled".to_owned(),
            Value::Table(Table::from_iter([
                ("channels".to_owned(), Value::Integer(channels)),
                ("highest_bank_bit".to_owned(), Value::Integer(bit)),
            ])),
        )]))
    };
    let one = |of: &str, key: &str, value: i64| {
        Value::Table(Table::from_iter([(of.to_owned(), Value::Table(Table::from_iter([(key.to_owned(), Value::Integer(value))])))]))
    };
    let mut others = vec![Value::String("mali_interleaved".into()), tiled(8, 14), tiled(4, 14)];
    others.extend((1..=3).map(|gobs| one("nvidia_block_linear", "gobs_log2", gobs)));
    for kind in ["image1d", "image1d_buffer", "image2d", "image2d_from_buffer"] {
        let key = format!("texture.{kind}.layout");
        let Some(layout) = at(table, &key) else { continue };
        *layout = if kind == "image2d" {
            let others: Vec<&Value> = others.iter().filter(|other| *other != layout).collect();
            others[rng.usize(..others.len())].clone()
        } else {
            one("linear", "pitch_align", 64 << rng.u32(1..4))
        };
        changed.push(key);
    }
}

/// Every number of a set or slice that is a power of two is chosen by address bits that it was not chosen by.
fn hashes(table: &mut Table, rng: &mut fastrand::Rng, changed: &mut Vec<String>) {
    let sets = number(table, "texture.cache.sets");
    let slices = number(table, "l2.slices");
    let texture = number(table, "texture.cache.line");
    let line = number(table, "l2.cache.line");
    let kinds = ["image1d", "image1d_buffer", "image2d", "image2d_from_buffer"];
    let texture = kinds.map(|kind| (format!("texture.{kind}"), "set_hash", sets, texture));
    for (section, key, of, line) in texture.into_iter().chain([("l2".to_owned(), "slice_hash", slices, line)]) {
        let Some(Value::Table(section_of)) = at(table, &section) else { continue };
        let (lists, lowest) = (of.max(1).ilog2(), line.max(1).ilog2());
        // The lowest bit of each list is its own, so that every set is some line's.
        let mut list = |bit: u32| {
            let mut bits = vec![lowest + bit];
            let mut higher: Vec<u32> = (lowest + lists..lowest + lists + 8).collect();
            rng.shuffle(&mut higher);
            bits.extend(&higher[..2]);
            Value::Array(bits.into_iter().map(|bit| Value::Integer(bit.into())).collect())
        };
        let hash = Value::Array((0..lists).map(&mut list).collect());
        section_of.insert(key.into(), hash);
        changed.push(format!("{section}.{key}"));
    }
}

/// What follows from other numbers.
fn geometry(table: &mut Table) {
    for (cache, slices) in [("texture.cache", None), ("l1.cache", None), ("l2.cache", Some("l2.slices"))] {
        let slices = slices.map_or(1, |key| number(table, key));
        let bytes = ["line", "sets", "ways"].map(|key| number(table, &format!("{cache}.{key}"))).iter().product::<i64>() * slices;
        if let Some(own) = at(table, &format!("{cache}.bytes")) {
            *own = Value::Integer(bytes);
        }
    }
}
