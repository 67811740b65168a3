//! Progress as lines, where nobody could see a bar move.

use indicatif::TermLike;
use std::fmt::Debug;
use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The first line, and the longest time between two.
const FIRST: Duration = Duration::from_secs(2);
const LONGEST: Duration = Duration::from_secs(30);

/// A terminal for a bar that lets few of its drawings through: after 2, 4, 8 seconds and so on.
#[derive(Debug)]
pub struct Lines(Mutex<State>);

#[derive(Debug)]
struct State {
    begin: Instant,
    next: Duration,
    drawn: String,
}

impl Lines {
    pub fn new() -> Self {
        Self(Mutex::new(State { begin: Instant::now(), next: FIRST, drawn: String::new() }))
    }
    fn with(&self, then: impl FnOnce(&mut State)) -> io::Result<()> {
        then(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
        Ok(())
    }
}

impl State {
    /// The line, where one is due.
    fn due(&mut self, elapsed: Duration) -> Option<String> {
        let drawn = std::mem::take(&mut self.drawn);
        if elapsed < self.next || drawn.trim().is_empty() {
            return None;
        }
        self.next = elapsed + self.next.min(LONGEST);
        Some(drawn.split_whitespace().collect::<Vec<_>>().join(" "))
    }
}

impl TermLike for Lines {
    fn width(&self) -> u16 {
        1000
    }
    fn move_cursor_up(&self, _: usize) -> io::Result<()> {
        Ok(())
    }
    fn move_cursor_down(&self, _: usize) -> io::Result<()> {
        Ok(())
    }
    fn move_cursor_right(&self, _: usize) -> io::Result<()> {
        Ok(())
    }
    fn move_cursor_left(&self, _: usize) -> io::Result<()> {
        Ok(())
    }
    fn write_line(&self, text: &str) -> io::Result<()> {
        self.write_str(text)
    }
    fn write_str(&self, text: &str) -> io::Result<()> {
        self.with(|state| state.drawn.push_str(text))
    }
    fn clear_line(&self) -> io::Result<()> {
        self.with(|state| state.drawn.clear())
    }
    fn flush(&self) -> io::Result<()> {
        self.with(|state| {
            if let Some(line) = state.due(state.begin.elapsed()) {
                let _ = writeln!(io::stderr(), "{line}");
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_late_and_ever_more_rarely() {
        let mut state = State { begin: Instant::now(), next: FIRST, drawn: String::new() };
        let shown = (0..200).filter(|&second| {
            state.drawn = format!("{second}  ");
            state.due(Duration::from_secs(second)).is_some_and(|line| line == second.to_string())
        });
        assert_eq!(shown.collect::<Vec<_>>(), [2, 4, 8, 16, 32, 62, 92, 122, 152, 182]);
        assert_eq!(state.due(Duration::from_secs(2000)), None, "nothing is drawn");
    }
}
