//! Messages between parent and child: a mark, the length, the message in postcard's format.

use crate::glslang::CompileError;
use crate::vulkan::{Draw, Drawn};
use crate::{Code, DeviceError, DeviceInfo, Ends, Init, LaunchSpec, Listing, Look, MemorySpec, Seen, Timed, TimingSpec, Whole};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::io::{self, BufRead, Read, Write};
use std::path::PathBuf;
use warpsight_ir::Feedback;

/// Begins every message. Its first byte is in no UTF-8 text and not in the rest of it, so that a reader can skip whatever a
/// library printed before.
const MARK: [u8; 8] = *b"\xf5wsjob1\n";

/// What a parent asks.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Request<'a> {
    /// The first message: what the child needs to open its device.
    Setup {
        /// Directory of compiled programs.
        cache: Option<PathBuf>,
    },
    /// Something of a session.
    Session(Ask<'a>),
    /// Draw this.
    Draw(Cow<'a, Draw>),
    /// Compile this GLSL.
    Compile(Cow<'a, str>),
}

/// What is asked of a device's session, as in [`crate::Session`]. The first is `Open`, the last `Close`.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Ask<'a> {
    Open(Cow<'a, [MemorySpec]>),
    Load(Cow<'a, [Code]>),
    Write(usize, Cow<'a, Init>),
    Launch(Cow<'a, [LaunchSpec]>),
    Time(Cow<'a, [LaunchSpec]>, TimingSpec),
    TimeWhole(Cow<'a, [LaunchSpec]>, Cow<'a, Ends>, u32),
    Look(Cow<'a, Look>),
    Close,
}

/// The answers to that.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Answer {
    /// To `Open`, `Write` and `Close`.
    Done,
    /// To `Load` and `Launch`.
    Said(Vec<Feedback>),
    /// To `Time`.
    Timed(Box<Timed>),
    /// To `TimeWhole`.
    Whole(Whole),
    /// To `Look`.
    Seen(Seen),
}

/// What a child answers: once to `Setup`, once to every other request.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Reply {
    /// To `Setup`, where devices were to be listed.
    Listing(Listing),
    /// To `Setup`, where a device was to be opened.
    Opened(Box<DeviceInfo>),
    /// To `Setup`, where nothing was to be opened.
    Ready,
    /// To `Session`.
    Session(Answer),
    /// To `Draw`.
    Drawn(Box<Drawn>),
    /// To `Compile`.
    Compiled(Result<Vec<u32>, CompileError>),
    /// To any.
    Failed(DeviceError),
}

/// Encodes a message without its frame.
pub(super) fn encode(message: &impl Serialize) -> Result<Vec<u8>, DeviceError> {
    postcard::to_stdvec(message).map_err(|error| DeviceError::Lost(format!("a message to it could not be written: {error}")))
}

/// Decodes a message.
pub(super) fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, DeviceError> {
    postcard::from_bytes(bytes).map_err(|error| DeviceError::Lost(format!("a message could not be understood: {error}")))
}

/// Writes a framed message.
pub(super) fn write(to: &mut impl Write, message: &[u8]) -> io::Result<()> {
    to.write_all(&MARK)?;
    to.write_all(&(message.len() as u64).to_le_bytes())?;
    to.write_all(message)?;
    to.flush()
}

/// Reads the next framed message, skipping what is none.
///
/// # Errors
/// `UnexpectedEof` when the other side is gone, before or within a message.
pub(super) fn read(from: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut matched = 0;
    while matched < MARK.len() {
        let mut byte = [0];
        from.read_exact(&mut byte)?;
        matched = if byte[0] == MARK[matched] { matched + 1 } else { usize::from(byte[0] == MARK[0]) };
    }
    let mut length = [0; 8];
    from.read_exact(&mut length)?;
    let length = u64::from_le_bytes(length);
    let mut message = Vec::new();
    // Grows as bytes arrive: a wrong length costs no memory.
    from.take(length).read_to_end(&mut message)?;
    if message.len() as u64 == length { Ok(message) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_found_among_noise() {
        let mut stream = Vec::new();
        stream.extend(b"running 1 test\n\xf5wsj\xf5\xf5wsjob1");
        stream.extend(b"\xff");
        write(&mut stream, b"first").unwrap();
        stream.extend(b"driver: hello\n");
        write(&mut stream, b"").unwrap();
        write(&mut stream, &[0xf5; 100]).unwrap();
        let mut reader = &stream[..];
        assert_eq!(read(&mut reader).unwrap(), b"first");
        assert_eq!(read(&mut reader).unwrap(), b"");
        assert_eq!(read(&mut reader).unwrap(), [0xf5; 100]);
        assert_eq!(read(&mut reader).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }

    #[test]
    fn a_cut_message_is_an_error() {
        let mut stream = Vec::new();
        write(&mut stream, b"message").unwrap();
        for cut in 0..stream.len() {
            assert_eq!(read(&mut &stream[..cut]).unwrap_err().kind(), io::ErrorKind::UnexpectedEof, "cut to {cut} bytes");
        }
        let mut huge = MARK.to_vec();
        huge.extend(u64::MAX.to_le_bytes());
        huge.extend(b"little");
        assert!(read(&mut &huge[..]).is_err());
    }
}
