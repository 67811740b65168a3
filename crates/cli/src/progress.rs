//! Progress on stderr, and a clean end when the user interrupts.

mod interrupt;
mod late;
mod left;
mod lines;

pub use interrupt::{catch_interrupt, interrupted, obeying};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use late::Late;
use left::Left;
use lines::Lines;
use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

static JSON: AtomicBool = AtomicBool::new(false);

/// Says for the whole command that programs read it: stderr then has errors as JSON and no lines of progress.
pub fn set_json(json: bool) {
    JSON.store(json, Ordering::Relaxed);
}

/// Steps done of so many: a bar that people see after a second, or plain lines at growing intervals where stderr is no terminal.
pub fn bar(steps: usize, what: &str) -> ProgressBar {
    of(steps as u64, what, "{pos}/{len}")
}

/// What [`parts`] counts in.
const WHOLE: u64 = 1000;

/// As [`bar`], for steps that are not alike: [`part_done`] says how much of the work is done.
pub fn parts(what: &str) -> ProgressBar {
    of(WHOLE, what, "{percent} %")
}

/// So much of the work of [`parts`] is done.
pub fn part_done(bar: &ProgressBar, share: f64) {
    bar.set_position((share.clamp(0.0, 1.0) * WHOLE as f64) as u64);
}

fn of(len: u64, what: &str, count: &str) -> ProgressBar {
    let (target, template) = match std::io::stderr().is_terminal() {
        true => {
            (ProgressDrawTarget::term_like_with_hz(Box::new(Late::new()), 4), format!("{{prefix}} [{{bar:30}}] {count} {{msg}}{{left}}"))
        }
        false if JSON.load(Ordering::Relaxed) => (ProgressDrawTarget::hidden(), String::new()),
        false => (ProgressDrawTarget::term_like_with_hz(Box::new(Lines::new()), 4), format!("{{prefix}}: {count} {{msg}}{{left}}")),
    };
    let bar = ProgressBar::with_draw_target(Some(len), target);
    if let Ok(style) = ProgressStyle::with_template(&template) {
        bar.set_style(style.with_key("left", Left::default()).progress_chars("=> "));
    }
    bar.set_prefix(what.to_owned());
    bar.enable_steady_tick(Duration::from_millis(1000));
    bar
}
