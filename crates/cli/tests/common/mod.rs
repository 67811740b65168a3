//! A folder for a test of the battery, and what it says.
#![allow(dead_code)]

pub mod page;

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

pub const WARPSIGHT: &str = env!("CARGO_BIN_EXE_warpsight");
pub const SIM: [&str; 6] = ["battery", "--device", "sim:adreno640", "--scale", "tiny", "--out"];

pub struct Sandbox(tempfile::TempDir);

impl Sandbox {
    pub fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary folder"))
    }
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
    pub fn text(&self, name: &str) -> String {
        self.path(name).to_str().expect("a plain path").to_owned()
    }
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(WARPSIGHT);
        command.args(args).env("XDG_DATA_HOME", self.path("data")).env("XDG_CACHE_HOME", self.path("cache"));
        // Locks of devices lie there: another test's stand-in is another device.
        command.env("TMPDIR", self.0.path());
        command
    }
    /// Runs to its end with this exit code.
    pub fn run(&self, args: &[&str], code: i32) -> Output {
        let output = self.command(args).output().expect("starts");
        assert_eq!(output.status.code(), Some(code), "{args:?}: {}", said(&output));
        output
    }
    /// An array as NumPy writes it.
    pub fn npy(&self, name: &str, shape: &str, values: &[f32]) -> String {
        let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}\n");
        let data: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        let bytes = [b"\x93NUMPY\x01\x00".as_slice(), &(header.len() as u16).to_le_bytes(), header.as_bytes(), &data].concat();
        std::fs::write(self.path(name), bytes).expect("writes");
        self.text(name)
    }
    /// The last so many elements of an array of `f32`.
    pub fn elements(&self, name: &str, count: usize) -> Vec<f32> {
        let bytes = std::fs::read(self.path(name)).expect("an output");
        bytes[bytes.len() - 4 * count..].as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect()
    }
    /// A battery of these phases on the simulator.
    pub fn battery(&self, dir: &str, more: &[&str], code: i32) -> Output {
        self.run(&[&SIM[..], &[&self.text(dir)], more].concat(), code)
    }
    pub fn json(&self, name: &str) -> Value {
        json(&self.path(name))
    }
    /// An executable script.
    pub fn script(&self, name: &str, text: &str) -> String {
        use std::os::unix::fs::PermissionsExt;
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(&path, text).expect("writes");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("permissions");
        self.text(name)
    }
}

pub fn json(path: &Path) -> Value {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// What a command printed, without the line breaks and bars of reports.
pub fn said(output: &Output) -> String {
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    // Without the borders of what is wrapped.
    text.replace('│', " ").split_whitespace().filter(|word| *word != "|").collect::<Vec<_>>().join(" ")
}

pub fn outcomes<'a>(file: &'a Value, status: &str) -> Vec<&'a Value> {
    let records = file["records"].as_array().expect("records");
    records.iter().filter(|record| record["outcome"]["status"] == status).collect()
}
