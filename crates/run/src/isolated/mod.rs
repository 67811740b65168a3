//! Devices, and the compiler of GLSL, in a process of their own: what crashes or hangs takes only its child with it.
//!
//! The child is this same executable, started with [`CHILD_ARGUMENT`]. It opens its device once, answers any number of sessions over
//! its standard input and output, is killed when something takes too long, and is started anew for the next session: what it held of the
//! one before is gone. It ends as soon as its standard input closes, so that none outlives its parent.

mod child;
mod compiler;
mod frame;
mod renderer;
#[cfg(all(test, feature = "opencl", feature = "vulkan", feature = "glsl"))]
mod tests;

pub use child::serve_child;
pub use compiler::compile;
pub use renderer::IsolatedRenderer;

use crate::processor::processor_time_of;
use crate::{
    Code, Device, DeviceError, DeviceInfo, Ends, Init, Job, JobResult, LaunchSpec, Listing, Look, MemorySpec, Seen, Session, Timed,
    TimingSpec, Whole,
};
use frame::{Answer, Ask, Reply, Request};
use std::borrow::Cow;
use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, ExitCode, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use warpsight_ir::Feedback;

/// The first argument of a child; the second is the device's id. Commands keep it out of their help.
pub const CHILD_ARGUMENT: &str = "__device";

/// How many of a child's last lines on its standard error are kept for the report of its end.
const KEPT_LINES: usize = 12;

/// How often it is looked how much of the processor a child has had.
const LOOK: Duration = Duration::from_millis(100);

/// A child that is judged by its processor's time may take so many times as long by the wall.
const WALL: u32 = 10;

/// How long a dead child's pipes may take to drain.
const DRAIN: Duration = Duration::from_millis(300);

/// Whether this executable, started again, serves as a child.
static MAY_BE_CHILD: AtomicBool = AtomicBool::new(false);

/// Serves as a child when the process was started as one: the first thing in a command's `main`.
pub fn child_main() -> Option<ExitCode> {
    MAY_BE_CHILD.store(true, Ordering::Relaxed);
    let mut args = std::env::args().skip(1);
    (args.next().as_deref() == Some(CHILD_ARGUMENT)).then(|| serve_child(&args.next().unwrap_or_default()))
}

/// A device in a child process.
pub struct Isolated(Opened);

/// A session in a child.
struct IsolatedSession<'a> {
    worker: &'a mut Worker,
    /// What the child, and the session's memory with it, ended with.
    ended: Option<DeviceError>,
}

/// How long an answer may take.
#[derive(Clone, Copy, Debug)]
enum Limit {
    /// By the wall's clock.
    Wall(Duration),
    /// Of the child's processor time, where the child is the device: what else the machine does makes no hang. A child that waits for
    /// as long without any is not working; and it has [`WALL`] times as long by the wall.
    Processor(Duration),
}

/// A device opened in a child.
struct Opened {
    info: DeviceInfo,
    worker: Worker,
}

/// What is asked, and the child that answers while it lives.
struct Worker {
    start: Start,
    limit: Limit,
    /// Since when the limit counts, where that is not the moment of the question.
    since: Option<Instant>,
    child: Option<Running>,
}

/// How children are started.
#[derive(Clone)]
struct Start {
    command: Arc<dyn Fn() -> Command + Send + Sync>,
    cache: Option<PathBuf>,
}

/// A child that runs, and the threads at its pipes. Killed when dropped.
struct Running {
    child: Child,
    requests: mpsc::Sender<Vec<u8>>,
    replies: mpsc::Receiver<Vec<u8>>,
    errors: Arc<Mutex<VecDeque<String>>>,
    error_reader: JoinHandle<()>,
}

impl Isolated {
    /// Opens a device in a child of `program`, a command whose `main` begins with [`child_main`]. Each job, each request of a session and the opening
    /// may take `timeout`; compiled programs are kept in `cache`.
    ///
    /// # Errors
    /// Those of opening the device, [`DeviceError::Lost`] and [`DeviceError::Timeout`].
    pub fn spawn(id: &str, program: &Path, timeout: Duration, cache: Option<PathBuf>) -> Result<Self, DeviceError> {
        Opened::new(Start::of_program(id, program, cache), timeout).map(Self)
    }

    #[cfg(test)]
    fn from_start(start: Start, timeout: Duration) -> Result<Self, DeviceError> {
        Opened::new(start, timeout).map(Self)
    }
}

impl Opened {
    fn new(start: Start, timeout: Duration) -> Result<Self, DeviceError> {
        match Worker::new(start, Limit::Wall(timeout))? {
            (worker, Reply::Opened(info)) => Ok(Self { info: *info, worker }),
            (_, other) => Err(unexpected(&other)),
        }
    }
}

impl Worker {
    /// Starts a child; its answer to the setup.
    fn new(start: Start, limit: Limit) -> Result<(Self, Reply), DeviceError> {
        let (child, reply) = Running::start(&start, limit)?;
        Ok((Self { start, limit, since: None, child: Some(child) }, reply))
    }

    /// Asks the child, a new one where the last one ended or was ended.
    fn ask(&mut self, request: &Request) -> Result<Reply, DeviceError> {
        if self.child.is_none() {
            self.child = Some(Running::start(&self.start, self.limit)?.0);
        }
        self.ask_again(request)
    }

    /// Asks the child that was asked before.
    fn ask_again(&mut self, request: &Request) -> Result<Reply, DeviceError> {
        let Some(mut child) = self.child.take() else { return Err(DeviceError::Lost("its process has ended".into())) };
        // A child that failed is dropped here, and with that killed; so is one whose driver works no more after a fault.
        let reply = child.exchange(request, self.limit, self.since.unwrap_or_else(Instant::now))?;
        if !matches!(reply, Reply::Failed(DeviceError::Lost(_) | DeviceError::Fault { .. })) {
            self.child = Some(child);
        }
        Ok(reply)
    }
}

/// Lists a back end's devices in a child: a broken driver may crash when it is merely asked.
pub(crate) fn list(backend: &str, program: &Path, timeout: Duration) -> Result<Listing, DeviceError> {
    match Running::start(&Start::of_program(backend, program, None), Limit::Wall(timeout))?.1 {
        Reply::Listing(listing) => Ok(listing),
        other => Err(unexpected(&other)),
    }
}

fn unexpected(reply: &Reply) -> DeviceError {
    let what = match reply {
        Reply::Listing(_) => "a listing",
        Reply::Opened(_) => "a device's description",
        Reply::Session(_) => "a session's result",
        Reply::Drawn(_) => "a drawing",
        Reply::Ready | Reply::Compiled(_) => "a module",
        Reply::Failed(error) => return error.clone(),
    };
    DeviceError::Lost(format!("its process answered with {what} out of turn"))
}

impl Device for Isolated {
    fn info(&self) -> &DeviceInfo {
        &self.0.info
    }

    fn open<'a>(&'a mut self, memory: &[MemorySpec]) -> Result<Box<dyn Session + 'a>, DeviceError> {
        match self.0.worker.ask(&Request::Session(Ask::Open(Cow::Borrowed(memory))))? {
            Reply::Session(Answer::Done) => Ok(Box::new(IsolatedSession { worker: &mut self.0.worker, ended: None })),
            other => Err(unexpected(&other)),
        }
    }

    fn run(&mut self, job: &Job) -> Result<JobResult, DeviceError> {
        // The limit is one of the whole job.
        self.0.worker.since = Some(Instant::now());
        let result = crate::session::run(self, job);
        self.0.worker.since = None;
        result
    }

    fn prepare(&self, jobs: &[Job]) {
        let (start, limit) = (&self.0.worker.start, self.0.worker.limit);
        let next = AtomicUsize::new(0);
        let work = || {
            let Ok((worker, Reply::Opened(info))) = Worker::new(start.clone(), limit) else { return };
            let mut own = Self(Opened { info: *info, worker });
            while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                let _ = own.run(job);
            }
        };
        let threads = std::thread::available_parallelism().map_or(1, usize::from).min(jobs.len());
        // One alone does nothing that is not done afterwards.
        if threads > 1 {
            std::thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
        }
    }

    fn limit(&mut self, timeout: Duration) {
        self.0.worker.limit = Limit::Wall(timeout);
    }
}

impl IsolatedSession<'_> {
    fn ask(&mut self, ask: Ask) -> Result<Answer, DeviceError> {
        if let Some(error) = &self.ended {
            return Err(DeviceError::Lost(format!("the session ended: {error}")));
        }
        let reply = self.worker.ask_again(&Request::Session(ask));
        let answer = reply.and_then(|reply| match reply {
            Reply::Session(answer) => Ok(answer),
            other => Err(unexpected(&other)),
        });
        if let Err(error) = &answer
            && self.worker.child.is_none()
        {
            self.ended = Some(error.clone());
        }
        answer
    }
}

fn out_of_turn(answer: Answer) -> DeviceError {
    unexpected(&Reply::Session(answer))
}

impl Session for IsolatedSession<'_> {
    fn load(&mut self, programs: &[Code]) -> Result<Vec<Feedback>, DeviceError> {
        match self.ask(Ask::Load(Cow::Borrowed(programs)))? {
            Answer::Said(feedback) => Ok(feedback),
            other => Err(out_of_turn(other)),
        }
    }

    fn write(&mut self, memory: usize, contents: &Init) -> Result<(), DeviceError> {
        match self.ask(Ask::Write(memory, Cow::Borrowed(contents)))? {
            Answer::Done => Ok(()),
            other => Err(out_of_turn(other)),
        }
    }

    fn launch(&mut self, launches: &[LaunchSpec]) -> Result<Vec<Feedback>, DeviceError> {
        match self.ask(Ask::Launch(Cow::Borrowed(launches)))? {
            Answer::Said(feedback) => Ok(feedback),
            other => Err(out_of_turn(other)),
        }
    }

    fn time(&mut self, launches: &[LaunchSpec], timing: TimingSpec) -> Result<Timed, DeviceError> {
        match self.ask(Ask::Time(Cow::Borrowed(launches), timing))? {
            Answer::Timed(timed) => Ok(*timed),
            other => Err(out_of_turn(other)),
        }
    }

    fn time_whole(&mut self, launches: &[LaunchSpec], ends: &Ends, runs: u32) -> Result<Whole, DeviceError> {
        match self.ask(Ask::TimeWhole(Cow::Borrowed(launches), Cow::Borrowed(ends), runs))? {
            Answer::Whole(whole) => Ok(whole),
            other => Err(out_of_turn(other)),
        }
    }

    fn look(&mut self, look: &Look) -> Result<Seen, DeviceError> {
        match self.ask(Ask::Look(Cow::Borrowed(look)))? {
            Answer::Seen(seen) => Ok(seen),
            other => Err(out_of_turn(other)),
        }
    }
}

impl Drop for IsolatedSession<'_> {
    fn drop(&mut self) {
        if self.worker.child.is_some() {
            // A driver that fails to free memory is ended with its child; what it answered before stands.
            let _ = self.worker.ask_again(&Request::Session(Ask::Close));
        }
    }
}

impl Start {
    fn of_program(id: &str, program: &Path, cache: Option<PathBuf>) -> Self {
        let (id, program) = (id.to_owned(), program.to_owned());
        let command = move || {
            let mut command = Command::new(&program);
            command.arg(CHILD_ARGUMENT).arg(&id);
            if keeps_threads(first_processors_are_ours(), &|name| std::env::var_os(name).is_some()) {
                command.env(AFFINITY, "1");
            }
            command
        };
        Self { command: Arc::new(command), cache }
    }
}

/// Has PoCL keep its n-th thread on the n-th processor. Left to the scheduler, both threads of two processors sometimes run on one through kernels of
/// 100 µs: MobileNetV2 took 10.5 ms instead of 7.9 (measured, 2026-11-27, three runs each).
const AFFINITY: &str = "POCL_AFFINITY";
/// By which users say how many threads PoCL has.
const THREADS: [&str; 2] = ["POCL_MAX_PTHREAD_COUNT", "POCL_CPU_MAX_CU_COUNT"];

/// Whether PoCL is told to keep its threads where they are: one for each processor there is, and nobody has said otherwise.
fn keeps_threads(first_processors: bool, set: &dyn Fn(&str) -> bool) -> bool {
    first_processors && !set(AFFINITY) && !THREADS.iter().any(|name| set(name))
}

/// Whether this process may use the first n processors and no others.
#[cfg(target_os = "linux")]
fn first_processors_are_ours() -> bool {
    rustix::thread::sched_getaffinity(None).is_ok_and(|ours| (0..ours.count() as usize).all(|n| ours.is_set(n)))
}

#[cfg(not(target_os = "linux"))]
fn first_processors_are_ours() -> bool {
    false
}

/// Looks after a child that was asked something.
struct Watch {
    limit: Limit,
    process: u32,
    begin: Instant,
    /// The child's processor time when it was asked, where that is known.
    before: Option<f64>,
    /// Its processor time when it was last seen to work, and when that was.
    worked: (Option<f64>, Instant),
}

impl Watch {
    fn new(limit: Limit, process: u32, begin: Instant) -> Self {
        let before = processor_time_of(process);
        Self { limit, process, begin, before, worked: (before, Instant::now()) }
    }

    /// How long to wait until the next look.
    fn patience(&self) -> Duration {
        match self.limit {
            Limit::Wall(timeout) => timeout.saturating_sub(self.begin.elapsed()),
            Limit::Processor(timeout) => LOOK.min(timeout),
        }
    }

    /// Whether it may go on.
    fn look(&mut self) -> Result<(), DeviceError> {
        let (timeout, over) = match self.limit {
            Limit::Wall(timeout) => (timeout, self.begin.elapsed() >= timeout),
            Limit::Processor(timeout) => {
                let now = processor_time_of(self.process);
                if now != self.worked.0 {
                    self.worked = (now, Instant::now());
                }
                let spent = now.zip(self.before).map(|(now, before)| now - before);
                let much = spent.is_some_and(|spent| spent >= timeout.as_secs_f64());
                (timeout, much || self.worked.1.elapsed() >= timeout || self.begin.elapsed() >= timeout.saturating_mul(WALL))
            }
        };
        if over { Err(DeviceError::Timeout(timeout.as_secs_f64().ceil() as u64)) } else { Ok(()) }
    }
}

impl Running {
    /// Starts a child and sets it up; its answer to that.
    fn start(start: &Start, limit: Limit) -> Result<(Self, Reply), DeviceError> {
        let mut command = (start.command)();
        // A group of its own: Ctrl-C is for the command, which ends the child in order. A child whose parent dies sees its input end.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let failed = |error: std::io::Error| DeviceError::Lost(format!("its process could not be started: {error}"));
        let mut child = command.spawn().map_err(failed)?;
        let (Some(mut input), Some(output), Some(error)) = (child.stdin.take(), child.stdout.take(), child.stderr.take()) else {
            return Err(failed(std::io::ErrorKind::BrokenPipe.into()));
        };
        // Writing has a thread of its own because a child that hangs does not read.
        let (requests, outgoing) = mpsc::channel::<Vec<u8>>();
        std::thread::spawn(move || while outgoing.recv().is_ok_and(|message| frame::write(&mut input, &message).is_ok()) {});
        let (incoming, replies) = mpsc::channel();
        std::thread::spawn(move || {
            let mut output = BufReader::new(output);
            while frame::read(&mut output).is_ok_and(|message| incoming.send(message).is_ok()) {}
        });
        let errors = Arc::<Mutex<VecDeque<String>>>::default();
        let kept = errors.clone();
        let error_reader = std::thread::spawn(move || keep_last_lines(error, &kept));
        let mut running = Self { child, requests, replies, errors, error_reader };
        let reply = running.exchange(&Request::Setup { cache: start.cache.clone() }, limit, Instant::now())?;
        Ok((running, reply))
    }

    /// One question, one answer; the limit counts from `begin` on.
    fn exchange(&mut self, request: &Request, limit: Limit, begin: Instant) -> Result<Reply, DeviceError> {
        let mut watch = Watch::new(limit, self.child.id(), begin);
        // A writer that is gone met a broken pipe; the reader will tell.
        let _ = self.requests.send(frame::encode(request)?);
        loop {
            match self.replies.recv_timeout(watch.patience()) {
                Ok(message) => return frame::decode(&message),
                Err(mpsc::RecvTimeoutError::Timeout) => watch.look()?,
                Err(mpsc::RecvTimeoutError::Disconnected) => return Err(self.obituary()),
            }
        }
    }

    /// How a child ended that closed its output.
    fn obituary(&mut self) -> DeviceError {
        let deadline = Instant::now() + DRAIN;
        let mut status = self.child.try_wait();
        while matches!(status, Ok(None)) && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(2));
            status = self.child.try_wait();
        }
        let end = match status {
            Ok(Some(status)) => describe(status),
            _ => "closed its output".into(),
        };
        while !self.error_reader.is_finished() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(2));
        }
        let lines = self.errors.lock().unwrap_or_else(PoisonError::into_inner);
        let said = lines.iter().map(String::as_str).collect::<Vec<_>>().join("\n");
        DeviceError::Lost(if said.is_empty() { format!("its process {end}") } else { format!("its process {end}; it last said:\n{said}") })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads a child's standard error to its end.
fn keep_last_lines(error: ChildStderr, kept: &Mutex<VecDeque<String>>) {
    let mut error = BufReader::new(error);
    loop {
        let mut line = Vec::new();
        // A line without end must not fill the memory.
        match (&mut error).take(2000).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() == KEPT_LINES {
            kept.pop_front();
        }
        kept.push_back(String::from_utf8_lossy(&line).trim_end().to_owned());
    }
}

/// How a process ended, in words.
fn describe(status: ExitStatus) -> String {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        let name = match signal {
            4 => " (illegal instruction)",
            6 => " (abort)",
            8 => " (arithmetic error)",
            9 => " (killed)",
            11 => " (segmentation fault)",
            _ => "",
        };
        return format!("was ended by signal {signal}{name}");
    }
    match status.code() {
        Some(code) => format!("exited with code {code}"),
        None => "ended".into(),
    }
}
