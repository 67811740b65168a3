//! What a corpus of shaders is: one entry per module, with where it comes from.
//!
//! A corpus is a folder of `corpus.jsonl` (one [`Entry`] a line, sorted by id), `spv/ID.spv` and `glsl/ID.frag`. Here are the entries
//! and their lines; who reads and writes files is the caller.

use super::module::{Module, Op};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// One shader of a corpus.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// [`id`] of its words.
    pub id: String,
    /// What its source calls it.
    pub name: String,
    /// The package that it comes from.
    pub source: String,
    /// Its licence as the package states it.
    pub licence: String,
    /// Where it stands in the package.
    pub origin: String,
    /// How it was written; see [`super::wrap::Dialect`].
    pub dialect: String,
    /// The smallest id of its near-duplicates and itself; a mutant has its parent's group.
    pub group: String,
    /// Of what it is a mutant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// How it differs from its parent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<String>,
    /// Whether it loops.
    pub loops: bool,
    /// Defaults of uniforms as the source states them, by the name of the block's member.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub uniforms: BTreeMap<String, Vec<f64>>,
    /// The frame that it is drawn in, in pixels, where that is not the usual one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolution: Option<[u32; 2]>,
    /// The side of its textures, in texels, where that is not the usual one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub texture: Option<u32>,
    /// Instructions of its reachable blocks.
    pub instructions: u32,
    /// Its reachable basic blocks.
    pub blocks: u32,
}

/// A line that is no entry.
#[derive(Debug, thiserror::Error)]
#[error("line {line} is no entry of a corpus: {reason}")]
pub struct BadLine {
    /// The line, from 1.
    pub line: usize,
    /// Why not.
    pub reason: String,
}

/// What a module is called: the first 16 hexadecimal digits of the SHA-256 of its words (in little-endian order) without debug
/// information, so that names, lines, comments and spacing do not matter.
#[must_use]
pub fn id(module: &Module) -> String {
    let mut hash = Sha256::new();
    let words = module.words();
    // The header's generator word names the compiler and its version: no part of the shader either.
    for word in [words[0], words[1], 0, words[3], words[4]] {
        hash.update(word.to_le_bytes());
    }
    for inst in module.insts().iter().filter(|inst| !is_debug(inst.op)) {
        words[inst.words()].iter().for_each(|word| hash.update(word.to_le_bytes()));
    }
    hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// Whether an instruction says something about the source and nothing about what the module does.
#[must_use]
pub fn is_debug(op: Op) -> bool {
    matches!(
        op,
        Op::SourceContinued
            | Op::Source
            | Op::SourceExtension
            | Op::Name
            | Op::MemberName
            | Op::String
            | Op::Line
            | Op::NoLine
            | Op::ModuleProcessed
    )
}

/// The entries of a `corpus.jsonl`.
///
/// # Errors
/// [`BadLine`] for the first line that is no entry, or has the id of an earlier one.
pub fn read(text: &str) -> Result<Vec<Entry>, BadLine> {
    let mut seen = std::collections::HashSet::new();
    let mut entries = Vec::new();
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let bad = |reason: String| BadLine { line: index + 1, reason };
        let entry: Entry = serde_json::from_str(line).map_err(|e| bad(e.to_string()))?;
        // Ids name files.
        if entry.id.len() != 16 || !entry.id.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(bad(format!("`{}` is no id of 16 hexadecimal digits", entry.id)));
        }
        if !seen.insert(entry.id.clone()) {
            return Err(bad(format!("`{}` stands in it twice", entry.id)));
        }
        entries.push(entry);
    }
    Ok(entries)
}

/// The text of a `corpus.jsonl`: sorted by id.
///
/// # Errors
/// A number that JSON cannot hold.
pub fn write(entries: &[Entry]) -> Result<String, serde_json::Error> {
    let mut sorted: Vec<&Entry> = entries.iter().collect();
    sorted.sort_by(|a, b| a.id.cmp(&b.id));
    let mut text = String::new();
    for entry in sorted {
        text.push_str(&serde_json::to_string(entry)?);
        text.push('\n');
    }
    Ok(text)
}

/// So many entries, about as many of each source (all of a source that has fewer), in the order that they had. Equal seeds choose
/// equally, whatever else is in the corpus.
#[must_use]
pub fn sample(entries: Vec<Entry>, count: usize, seed: u64) -> Vec<Entry> {
    let lot = |entry: &Entry| -> [u8; 32] { Sha256::new().chain_update(seed.to_le_bytes()).chain_update(&entry.id).finalize().into() };
    let mut drawn: Vec<(usize, [u8; 32])> = entries.iter().map(lot).enumerate().collect();
    drawn.sort_by_key(|(_, lot)| *lot);
    let mut taken: BTreeMap<&str, usize> = BTreeMap::new();
    let mut order: Vec<(usize, usize)> = Vec::with_capacity(entries.len());
    for (at, _) in drawn {
        let rank = taken.entry(&entries[at].source).or_default();
        order.push((*rank, at));
        *rank += 1;
    }
    // Every source's first one, then every source's second one; within a rank as they were drawn.
    order.sort_by_key(|(rank, _)| *rank);
    let chosen: std::collections::HashSet<usize> = order.into_iter().take(count).map(|(_, at)| at).collect();
    entries.into_iter().enumerate().filter(|(at, _)| chosen.contains(at)).map(|(_, entry)| entry).collect()
}
