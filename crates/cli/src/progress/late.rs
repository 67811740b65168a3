//! A terminal that shows a bar only where the work takes long enough to be looked at.

use console::Term;
use indicatif::TermLike;
use std::io;
use std::time::{Duration, Instant};

/// Nothing is drawn before.
const FIRST: Duration = Duration::from_secs(1);

/// Standard error, from [`FIRST`] on.
#[derive(Debug)]
pub struct Late {
    term: Term,
    begin: Instant,
}

impl Late {
    pub fn new() -> Self {
        Self { term: Term::buffered_stderr(), begin: Instant::now() }
    }

    fn then(&self, draw: impl FnOnce(&Term) -> io::Result<()>) -> io::Result<()> {
        if self.begin.elapsed() < FIRST { Ok(()) } else { draw(&self.term) }
    }
}

impl TermLike for Late {
    fn width(&self) -> u16 {
        self.term.size().1
    }
    fn height(&self) -> u16 {
        self.term.size().0
    }
    fn move_cursor_up(&self, lines: usize) -> io::Result<()> {
        self.then(|term| term.move_cursor_up(lines))
    }
    fn move_cursor_down(&self, lines: usize) -> io::Result<()> {
        self.then(|term| term.move_cursor_down(lines))
    }
    fn move_cursor_right(&self, columns: usize) -> io::Result<()> {
        self.then(|term| term.move_cursor_right(columns))
    }
    fn move_cursor_left(&self, columns: usize) -> io::Result<()> {
        self.then(|term| term.move_cursor_left(columns))
    }
    fn write_line(&self, text: &str) -> io::Result<()> {
        self.then(|term| term.write_line(text))
    }
    fn write_str(&self, text: &str) -> io::Result<()> {
        self.then(|term| term.write_str(text))
    }
    fn clear_line(&self) -> io::Result<()> {
        self.then(Term::clear_line)
    }
    fn flush(&self) -> io::Result<()> {
        self.then(Term::flush)
    }
}
