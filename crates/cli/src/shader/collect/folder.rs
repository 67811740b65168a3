//! A corpus as a folder: `corpus.jsonl`, `spv/ID.spv`, `glsl/ID.frag`, and what is known of inputs, so that none is compiled twice.

use crate::failure::Failure;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use warpsight_shader::corpus::{self, Entry};

/// The folder of a corpus.
pub struct Folder {
    path: PathBuf,
}

/// How far a shader came, or at which step it was left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Its text is known.
    Text,
    /// It was wrapped.
    Wrapped,
    /// It compiles.
    Compiled,
    /// This project reads it.
    Read,
    /// spirv-val accepts it, where that is installed.
    Valid,
    /// It can be interpreted.
    Traced,
}

/// Why a shader was left.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Left {
    /// The step that it did not make.
    pub step: Step,
    /// The line of the user's file, where it is known.
    pub line: Option<u32>,
    /// What was wrong.
    pub message: String,
}

/// What became of an input.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Known {
    /// This module.
    Module(String),
    /// It was left.
    Left(Left),
}

/// What was found of a module.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Checks {
    /// Whether spirv-val accepts it; nothing where that is not installed.
    pub valid: Option<Result<(), String>>,
    /// Why it cannot be interpreted.
    pub untraced: Option<String>,
    /// Whether it loops, its instructions and its reachable blocks.
    pub shape: (bool, u32, u32),
}

/// What is known of inputs and modules: `known.json`.
#[derive(Default, Serialize, Deserialize)]
pub struct Memory {
    /// The compiler that it is of; another one starts anew.
    pub compiler: String,
    /// What became of inputs, by the hash of what was compiled.
    pub inputs: BTreeMap<String, Known>,
    /// What was found of modules, by id.
    pub modules: BTreeMap<String, Checks>,
}

impl Folder {
    /// Opens a folder, made where it is not.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        for folder in ["spv", "glsl"] {
            warpsight_files::make_folder(&path.join(folder))?;
        }
        Ok(Self { path: path.to_path_buf() })
    }

    /// The entries, none where the corpus is new.
    pub fn entries(&self) -> Result<Vec<Entry>, Failure> {
        let file = self.path.join("corpus.jsonl");
        match warpsight_files::read_text(&file, warpsight_files::RECORDS) {
            Ok(text) => corpus::read(&text).map_err(|e| Failure::input(e.to_string()).at(file.display().to_string())),
            Err(error) if error.is_absence() => Ok(Vec::new()),
            Err(error) => Err(error.into()),
        }
    }

    /// What is known from before; nothing where that cannot be read or is of another compiler: it is found again.
    pub fn memory(&self, compiler: &str) -> Memory {
        let text = warpsight_files::read(&self.path.join("known.json"), warpsight_files::RECORDS).unwrap_or_default();
        let memory: Option<Memory> = serde_json::from_slice(&text).ok();
        memory.filter(|m| m.compiler == compiler).unwrap_or_else(|| Memory { compiler: compiler.to_owned(), ..Memory::default() })
    }

    /// Where a module lies.
    pub fn spv(&self, id: &str) -> PathBuf {
        self.path.join(format!("spv/{id}.spv"))
    }

    /// Where the text lies that it was compiled of.
    pub fn glsl(&self, id: &str) -> PathBuf {
        self.path.join(format!("glsl/{id}.frag"))
    }

    /// Keeps a module and its text.
    pub fn keep(&self, id: &str, glsl: &str, words: &[u32]) -> Result<(), Failure> {
        let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
        self.write(&self.spv(id), &bytes)?;
        self.write(&self.glsl(id), glsl.as_bytes())
    }

    /// Keeps the entries, and what is known.
    pub fn finish(&self, entries: &[Entry], memory: &Memory) -> Result<(), Failure> {
        let fault = |e: serde_json::Error| Failure::input(e.to_string());
        self.write(&self.path.join("corpus.jsonl"), corpus::write(entries).map_err(fault)?.as_bytes())?;
        self.write(&self.path.join("known.json"), &serde_json::to_vec(memory).map_err(fault)?)
    }

    fn write(&self, file: &Path, bytes: &[u8]) -> Result<(), Failure> {
        Ok(warpsight_files::write(file, bytes)?)
    }
}
