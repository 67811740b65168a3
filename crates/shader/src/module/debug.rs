//! Where instructions come from, as `OpLine` and `NonSemantic.Shader.DebugInfo.100` tell.
//!
//! Instructions of sets whose names begin with `NonSemantic.` mean nothing (`SPV_KHR_non_semantic_info`).

use super::Id;
use std::collections::{HashMap, HashSet};

/// Instructions of `NonSemantic.Shader.DebugInfo.100`.
const SOURCE: u32 = 35;
const SOURCE_CONTINUED: u32 = 102;
const LINE: u32 = 103;
const NO_LINE: u32 = 104;

/// What a module says of its source.
#[derive(Clone, Debug, Default)]
pub(super) struct Debug {
    /// Imported sets that mean nothing, and those of them that are about the source.
    nothing: HashSet<Id>,
    source: HashSet<Id>,
    /// The name of the file of each `DebugSource`.
    files: HashMap<Id, Id>,
    /// Names of files, each with its text in pieces.
    pub(super) sources: Vec<(Id, Vec<Id>)>,
    /// From which instruction on lines are in which file.
    since: Vec<(usize, Id)>,
}

impl Debug {
    /// Takes note of an imported set.
    pub(super) fn import(&mut self, id: Id, name: &str) {
        if name.starts_with("NonSemantic.") {
            self.nothing.insert(id);
        }
        if name == "NonSemantic.Shader.DebugInfo.100" {
            self.source.insert(id);
        }
    }

    /// Whether instructions of this set mean nothing.
    pub(super) fn means_nothing(&self, set: Id) -> bool {
        self.nothing.contains(&set)
    }

    /// Lines are in this file from this instruction on.
    pub(super) fn enter(&mut self, inst: usize, file: Id) {
        if self.since.last().is_none_or(|(_, last)| *last != file) {
            self.since.push((inst, file));
        }
    }

    /// Reads an instruction of these operands that stands before `inst`: the line from there on, if it is about that.
    pub(super) fn read(&mut self, id: Id, args: &[u32], inst: usize, constant: impl Fn(Id) -> Option<u32>) -> Option<u32> {
        let [set, which, rest @ ..] = args else { return None };
        if !self.source.contains(set) {
            return None;
        }
        match (*which, rest) {
            (SOURCE, [file, text @ ..]) => {
                self.files.insert(id, *file);
                self.sources.push((*file, text.iter().take(1).copied().collect()));
                None
            }
            (SOURCE_CONTINUED, [text, ..]) => {
                self.sources.iter_mut().last().into_iter().for_each(|(_, pieces)| pieces.push(*text));
                None
            }
            (LINE, [source, line, ..]) => {
                let file = self.files.get(source).copied().unwrap_or(0);
                self.enter(inst, file);
                constant(*line)
            }
            (NO_LINE, _) => Some(0),
            _ => None,
        }
    }

    /// The file of an instruction.
    pub(super) fn file(&self, inst: usize) -> Option<Id> {
        let before = self.since.partition_point(|(from, _)| *from <= inst);
        Some(self.since.get(before.checked_sub(1)?)?.1)
    }
}
