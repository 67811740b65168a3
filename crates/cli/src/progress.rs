//! Progress on stderr, for people only, and a clean end when the user interrupts.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

static STOP: AtomicBool = AtomicBool::new(false);
static HANDLER: OnceLock<()> = OnceLock::new();

/// From now on Ctrl-C asks for a clean end instead of killing the process; a second one kills it.
pub fn catch_interrupt() {
    HANDLER.get_or_init(|| {
        // Without a handler Ctrl-C simply ends the process: nothing is lost, the store holds whole samples only.
        let _ = ctrlc::set_handler(|| {
            if STOP.swap(true, Ordering::SeqCst) {
                std::process::exit(130);
            }
        });
    });
}

/// Whether the user asked for an end.
pub fn interrupted() -> bool {
    STOP.load(Ordering::SeqCst)
}

/// A bar that shows itself when the work takes over a second and a person is looking.
pub fn bar(steps: usize, what: &str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(steps as u64), ProgressDrawTarget::stderr_with_hz(4));
    if let Ok(style) = ProgressStyle::with_template("{prefix} [{bar:30}] {pos}/{len} {msg} ({eta} left)") {
        bar.set_style(style.progress_chars("=> "));
    }
    bar.set_prefix(what.to_owned());
    bar.enable_steady_tick(Duration::from_millis(1000));
    bar
}
