//! Chrome trace JSON, which Perfetto opens: rows that have names, spans on them, and counters.

use serde_json::{Value, json};
use warpsight_ir::Seconds;

/// What happened, in time since the beginning.
#[derive(Default)]
pub struct Timeline {
    events: Vec<Value>,
}

/// A row: a thread of a process, in the words of the format.
#[derive(Clone, Copy)]
pub struct Row(pub usize, pub usize);

impl Timeline {
    /// Names a process.
    pub fn process(&mut self, process: usize, name: &str) {
        self.named("process_name", Row(process, 0), name);
    }

    /// Names a row.
    pub fn row(&mut self, row: Row, name: &str) {
        self.named("thread_name", row, name);
    }

    fn named(&mut self, what: &str, Row(process, thread): Row, name: &str) {
        self.events.push(json!({"name": what, "ph": "M", "pid": process, "tid": thread, "args": {"name": name}}));
    }

    /// Something that took a while. What lies within another on the same row is shown below it and has to come later.
    pub fn span(&mut self, Row(process, thread): Row, category: &str, name: &str, begin: Seconds, length: Seconds, args: Value) {
        self.events.push(json!({
            "name": name, "cat": category, "ph": "X", "ts": micros(begin), "dur": micros(length), "pid": process, "tid": thread, "args": args,
        }));
    }

    /// Numbers of a process that hold from then on.
    pub fn counter(&mut self, process: usize, name: &str, at: Seconds, numbers: Value) {
        self.events.push(json!({"name": name, "ph": "C", "ts": micros(at), "pid": process, "args": numbers}));
    }

    /// The file, and what it says of itself.
    pub fn finish(self, about: Value) -> Value {
        json!({"displayTimeUnit": "ns", "otherData": about, "traceEvents": self.events})
    }
}

/// The format is in microseconds.
fn micros(seconds: Seconds) -> f64 {
    seconds.0 * 1e6
}
