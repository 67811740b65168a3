//! The end of a verb when the user interrupts it.

use crate::failure::{Failure, Kind};
use std::io::{IsTerminal, Write};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// When the user first asked for an end.
static ASKED: OnceLock<Instant> = OnceLock::new();
/// Whether the verb at work ends by itself when it is asked to.
static IN_ORDER: AtomicBool = AtomicBool::new(false);

/// How long a verb may go on that does not end in order: it may be about to say more than that it was interrupted.
const GRACE: Duration = Duration::from_millis(400);
/// How often it is looked whether the user asked for an end.
const LOOK: Duration = Duration::from_millis(50);
/// Stack of a verb's thread, as large as main threads usually have, and more: it is only reserved.
const STACK: usize = 64 << 20;

/// Runs a verb so that Ctrl-C is acknowledged at once and obeyed within a second, whatever the verb is busy with; a second Ctrl-C kills.
///
/// The verb has a thread of its own, which is left behind: what is stored is stored sample by sample, and children with drivers end with
/// their parent. A verb that said [`catch_interrupt`] is waited for.
pub fn obeying(verb: impl FnOnce() -> Result<(), Failure> + Send + 'static) -> Result<(), Failure> {
    // Without a handler Ctrl-C simply ends the process.
    let _ = ctrlc::set_handler(|| {
        if ASKED.set(Instant::now()).is_err() {
            warpsight_files::abandon();
            std::process::exit(130);
        }
        let how = if IN_ORDER.load(Ordering::SeqCst) { "what is begun is finished and kept" } else { "what is stored is kept" };
        let said = format!("interrupted: {how}; Ctrl-C again ends at once");
        let mut stderr = std::io::stderr();
        // A closed stderr is no reason to fail.
        let _ = match (super::JSON.load(Ordering::Relaxed), stderr.is_terminal()) {
            (true, _) => writeln!(stderr, "{}", serde_json::json!({"progress": said})),
            (false, true) => writeln!(stderr, "\n{said}"),
            (false, false) => writeln!(stderr, "{said}"),
        };
    });
    let (done, end) = channel();
    let work = move || {
        // Nobody waits any more where the user was faster.
        let _ = done.send(verb());
    };
    let thread = std::thread::Builder::new().stack_size(STACK).spawn(work);
    let thread = thread.map_err(|error| Failure::new(Kind::Io, format!("no thread could be started: {error}")))?;
    loop {
        match end.recv_timeout(LOOK) {
            Ok(done) => return done,
            Err(RecvTimeoutError::Timeout) => {
                let late = ASKED.get().is_some_and(|asked| asked.elapsed() > GRACE);
                if late && !IN_ORDER.load(Ordering::SeqCst) {
                    warpsight_files::abandon();
                    return Err(Failure::new(Kind::Interrupted, "interrupted").help("what was stored is kept"));
                }
            }
            // A panic of the verb is a defect: it goes on here.
            Err(RecvTimeoutError::Disconnected) => {
                let panic = thread.join().err().unwrap_or_else(|| Box::new("a verb ended without a word"));
                std::panic::resume_unwind(panic)
            }
        }
    }
}

/// From now on the verb looks at [`interrupted`] and ends by itself, in order: it is waited for.
pub fn catch_interrupt() {
    IN_ORDER.store(true, Ordering::SeqCst);
}

/// Whether the user asked for an end.
pub fn interrupted() -> bool {
    ASKED.get().is_some()
}
