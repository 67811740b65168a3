//! The child's side: opens one device and runs the jobs that come in on the standard input.

use super::compiler;
use super::frame::{self, Answer, Ask, Reply, Request};
use crate::vulkan::Renderer;
use crate::{Device, DeviceError, DeviceInfo, MemorySpec, glslang, here};
use std::fs::File;
use std::io::{self, BufReader, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::mpsc;

/// Serves as the child for a device until the standard input ends; what a command does when its first argument is
/// [`super::CHILD_ARGUMENT`] and its second the id, or a back end's name alone, whose devices are then listed.
///
/// The process belongs to this from here on: standard output is redirected, and the process is killed when its parent goes.
pub fn serve_child(id: &str) -> ExitCode {
    if id == compiler::ID {
        return compiler::with_limits(|| serve(|_| Ok(Served::Compiler)));
    }
    serve(|cache| match here::list(id) {
        Some(listing) => Ok(Served::Listing(listing)),
        None if id.starts_with("vulkan:") => here::renderer(id).map(Served::Renderer),
        None => here::open(id, cache).map(Served::Device),
    })
}

/// What a child was started for.
pub(super) enum Served {
    /// To list devices.
    Listing(crate::Listing),
    /// To run jobs.
    Device(Box<dyn Device>),
    /// To draw.
    Renderer(Box<dyn Renderer>),
    /// To compile GLSL.
    Compiler,
}

impl Served {
    /// The answer to the setup, and what answers further requests.
    fn opened(self) -> (Reply, Option<Self>) {
        let described = |info: &DeviceInfo| Reply::Opened(Box::new(info.clone()));
        match self {
            Self::Listing(listing) => (Reply::Listing(listing), None),
            Self::Device(device) => (described(device.info()), Some(Self::Device(device))),
            Self::Renderer(renderer) => (described(renderer.info()), Some(Self::Renderer(renderer))),
            Self::Compiler => (Reply::Ready, Some(Self::Compiler)),
        }
    }

    /// The answer to a request after the setup.
    fn answer(&mut self, request: Request<'_>) -> Result<Reply, DeviceError> {
        let done = match (self, request) {
            (Self::Renderer(renderer), Request::Draw(draw)) => renderer.draw(&draw).map(|drawn| Reply::Drawn(Box::new(drawn))),
            (Self::Compiler, Request::Compile(glsl)) => Ok(Reply::Compiled(glslang::fragment(&glsl))),
            _ => return Err(DeviceError::Lost("a message out of turn".into())),
        };
        Ok(done.unwrap_or_else(Reply::Failed))
    }
}

/// [`serve_child`] with the way to open given.
pub(super) fn serve(open: impl FnOnce(Option<PathBuf>) -> Result<Served, DeviceError>) -> ExitCode {
    let Ok(mut output) = private_output() else { return ExitCode::from(5) };
    match answer_all(open, &mut output) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(3)
        }
    }
}

fn answer_all(open: impl FnOnce(Option<PathBuf>) -> Result<Served, DeviceError>, output: &mut impl Write) -> Result<(), DeviceError> {
    let requests = watch_input();
    let mut reply = |reply: Reply| frame::write(output, &frame::encode(&reply)?).map_err(|error| DeviceError::Lost(error.to_string()));
    let Ok(first) = requests.recv() else { return Ok(()) };
    let Request::Setup { cache } = frame::decode(&first)? else {
        return Err(DeviceError::Lost("the first message is not a setup".into()));
    };
    let (answer, served) = match open(cache) {
        Ok(served) => served.opened(),
        Err(error) => (Reply::Failed(error), None),
    };
    reply(answer)?;
    let Some(mut served) = served else { return Ok(()) };
    while let Ok(message) = requests.recv() {
        match (&mut served, frame::decode(&message)?) {
            (Served::Device(device), Request::Session(Ask::Open(memory))) => {
                serve_session(&mut **device, memory.into_owned(), &requests, &mut reply)?;
            }
            (served, request) => reply(served.answer(request)?)?,
        }
    }
    Ok(())
}

/// Answers what is asked of one session, until it is closed.
fn serve_session(
    device: &mut dyn Device,
    memory: Vec<MemorySpec>,
    requests: &mpsc::Receiver<Vec<u8>>,
    reply: &mut impl FnMut(Reply) -> Result<(), DeviceError>,
) -> Result<(), DeviceError> {
    let mut session = match device.open(&memory) {
        Ok(session) => session,
        Err(error) => return reply(Reply::Failed(error)),
    };
    // The device has it now.
    drop(memory);
    reply(Reply::Session(Answer::Done))?;
    while let Ok(message) = requests.recv() {
        let Request::Session(ask) = frame::decode(&message)? else { break };
        let answer = match ask {
            Ask::Open(_) => break,
            Ask::Load(programs) => session.load(&programs).map(Answer::Said),
            Ask::Write(memory, contents) => session.write(memory, &contents).map(|()| Answer::Done),
            Ask::Launch(launches) => session.launch(&launches).map(Answer::Said),
            Ask::Time(launches, timing) => session.time(&launches, timing).map(|timed| Answer::Timed(Box::new(timed))),
            Ask::TimeWhole(launches, ends, runs) => session.time_whole(&launches, &ends, runs).map(Answer::Whole),
            Ask::Look(look) => session.look(&look).map(Answer::Seen),
            Ask::Close => {
                drop(session);
                return reply(Reply::Session(Answer::Done));
            }
        };
        reply(answer.map_or_else(Reply::Failed, Reply::Session))?;
    }
    Err(DeviceError::Lost("a message out of turn".into()))
}

/// Reads the standard input on a thread of its own, so that its end is noticed while a driver is busy, or hangs: the parent is
/// gone then, however it ended, and so is the reason for this process.
fn watch_input() -> mpsc::Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut input = BufReader::new(io::stdin());
        while let Ok(message) = frame::read(&mut input) {
            if sender.send(message).is_err() {
                break;
            }
        }
        end_now();
    });
    receiver
}

/// Ends the process without running the exit handlers of drivers, which may hang too.
#[cfg(unix)]
fn end_now() {
    let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
}

#[cfg(not(unix))]
fn end_now() {
    std::process::exit(0)
}

/// The standard output for messages alone; what drivers print there goes to the standard error from now on.
#[cfg(unix)]
fn private_output() -> io::Result<File> {
    let output = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdout(), 3)?;
    rustix::stdio::dup2_stdout(rustix::stdio::stderr())?;
    Ok(File::from(output))
}

/// The standard output. A driver that prints there between messages is harmless (readers skip it); one that prints within a
/// message from another thread is seen as lost.
#[cfg(not(unix))]
fn private_output() -> io::Result<io::Stdout> {
    Ok(io::stdout())
}
