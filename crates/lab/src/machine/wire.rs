//! What the lab, its keeper and its machines say to each other: frames over Unix sockets, the first of them a request.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::Ipv4Addr;
use std::path::PathBuf;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

/// The longest body of a frame.
pub(super) const MOST_BYTES: usize = 1 << 20;

/// What a frame is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A question, as JSON.
    Request,
    /// Bytes: what a program reads, the content of a file.
    Data,
    /// That was all of the bytes.
    End,
    /// What a program printed.
    Stdout,
    /// What a program complained about.
    Stderr,
    /// A program or a machine ended, with this code.
    Exit,
    /// It was done; perhaps with an answer as JSON.
    Done,
    /// It was not done, as JSON of [`Failure`].
    Failed,
}

impl Kind {
    const ALL: [(Self, u8); 8] = [
        (Self::Request, b'Q'),
        (Self::Data, b'D'),
        (Self::End, b'E'),
        (Self::Stdout, b'O'),
        (Self::Stderr, b'R'),
        (Self::Exit, b'X'),
        (Self::Done, b'Y'),
        (Self::Failed, b'F'),
    ];

    fn byte(self) -> u8 {
        Self::ALL
            .iter()
            .find(|(kind, _)| *kind == self)
            .map_or(0, |(_, byte)| *byte)
    }

    fn of(byte: u8) -> io::Result<Self> {
        Self::ALL
            .iter()
            .find(|(_, known)| *known == byte)
            .map(|(kind, _)| *kind)
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "not a frame"))
    }
}

/// A piece of a conversation.
#[derive(Debug, Clone)]
pub(super) struct Frame {
    pub(super) kind: Kind,
    pub(super) body: Vec<u8>,
}

impl Frame {
    pub(super) fn json<T: DeserializeOwned>(&self) -> io::Result<T> {
        serde_json::from_slice(&self.body).map_err(invalid)
    }

    /// The code of an [`Kind::Exit`].
    pub(super) fn code(&self) -> i32 {
        self.body.as_slice().try_into().map_or(-1, i32::from_be_bytes)
    }

    /// What a [`Kind::Failed`] says.
    pub(super) fn failure(&self) -> io::Error {
        match self.json::<Failure>() {
            Ok(failure) => failure.into(),
            Err(cause) => cause,
        }
    }
}

/// Why it was not done.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Failure {
    text: String,
    errno: Option<i32>,
    timed_out: bool,
}

impl From<io::Error> for Failure {
    fn from(cause: io::Error) -> Self {
        Self {
            text: cause.to_string(),
            errno: cause.raw_os_error(),
            timed_out: matches!(cause.kind(), io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock),
        }
    }
}

impl From<Failure> for io::Error {
    fn from(failure: Failure) -> Self {
        match failure.errno {
            _ if failure.timed_out => Self::new(io::ErrorKind::TimedOut, failure.text),
            Some(errno) => Self::from_raw_os_error(errno),
            None => Self::other(failure.text),
        }
    }
}

/// What the lab asks its keeper.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Ask {
    /// Start a machine; its files follow, each to its [`Kind::End`]. The conversation lasts as long as the machine.
    Start(Box<Config>),
    /// Throw a disk away.
    Discard { name: String },
}

/// What a machine is made of.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Config {
    pub(super) name: String,
    pub(super) address: Option<Ipv4Addr>,
    pub(super) disk_bytes: u64,
    pub(super) volumes: Vec<(PathBuf, u64)>,
    pub(super) files: Vec<FileHead>,
    /// One program, or units.
    pub(super) program: Option<Vec<String>>,
    pub(super) env: BTreeMap<String, String>,
    pub(super) sockets: Vec<(PathBuf, PathBuf)>,
    pub(super) shared: Vec<(PathBuf, PathBuf)>,
    /// Whether its disk is new.
    pub(super) fresh: bool,
    /// Where its root is: assembled but not yet entered, or a plain folder.
    pub(super) root: PathBuf,
    /// Whether the root is a plain folder.
    pub(super) folders: bool,
}

/// A file whose content follows.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct FileHead {
    pub(super) path: PathBuf,
    pub(super) mode: u32,
}

/// What the lab asks a machine.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Request {
    /// Run a program; what it reads follows.
    Exec(Box<ExecRequest>),
    /// Begin the one program, and pass on what it prints.
    Output,
    /// Connect to a port; what to send follows.
    Talk { port: u16, most: usize },
    /// The content of a file.
    Read { path: PathBuf },
    /// Write a file; its content follows.
    Write { path: PathBuf },
    /// How full the disks are.
    Usage,
    /// End, and kill what does not end within this many milliseconds.
    Stop { milliseconds: u64 },
}

/// A program to run.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ExecRequest {
    pub(super) argv: Vec<String>,
    pub(super) env: BTreeMap<String, String>,
    pub(super) folder: Option<PathBuf>,
    pub(super) timeout_milliseconds: Option<u64>,
    /// Whether it reads anything.
    pub(super) reads: bool,
}

/// How full a disk is.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Fill {
    pub(super) path: PathBuf,
    pub(super) total: u64,
    pub(super) used: u64,
}

fn invalid(cause: serde_json::Error) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, cause)
}

fn head(kind: Kind, body: &[u8]) -> io::Result<[u8; 5]> {
    let length = u32::try_from(body.len()).map_err(io::Error::other)?;
    let [a, b, c, d] = length.to_be_bytes();
    Ok([kind.byte(), a, b, c, d])
}

fn unhead(head: [u8; 5]) -> io::Result<(Kind, usize)> {
    let [kind, a, b, c, d] = head;
    let length = usize::try_from(u32::from_be_bytes([a, b, c, d])).map_err(io::Error::other)?;
    if length > MOST_BYTES {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "a frame too long"));
    }
    Ok((Kind::of(kind)?, length))
}

/// Sends a frame.
pub(super) fn send(to: &mut impl Write, kind: Kind, body: &[u8]) -> io::Result<()> {
    let mut bytes = head(kind, body)?.to_vec();
    bytes.extend_from_slice(body);
    to.write_all(&bytes)?;
    to.flush()
}

/// Sends a value as JSON.
pub(super) fn send_json(to: &mut impl Write, kind: Kind, value: &impl Serialize) -> io::Result<()> {
    send(to, kind, &serde_json::to_vec(value).map_err(invalid)?)
}

/// Sends bytes of any length, and that they are all.
pub(super) fn send_bytes(to: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    for part in bytes.chunks(MOST_BYTES) {
        send(to, Kind::Data, part)?;
    }
    send(to, Kind::End, &[])
}

/// The next frame; none where the other side left.
pub(super) fn receive(from: &mut impl Read) -> io::Result<Option<Frame>> {
    let mut head = [0; 5];
    match from.read_exact(&mut head) {
        Ok(()) => {}
        Err(cause) if cause.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(cause) => return Err(cause),
    }
    let (kind, length) = unhead(head)?;
    let mut body = vec![0; length];
    from.read_exact(&mut body)?;
    Ok(Some(Frame { kind, body }))
}

/// Receives bytes to their end.
pub(super) fn receive_bytes(from: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    loop {
        let frame = receive(from)?.ok_or(io::ErrorKind::UnexpectedEof)?;
        match frame.kind {
            Kind::Data => bytes.extend_from_slice(&frame.body),
            Kind::End => return Ok(bytes),
            _ => return Err(io::Error::new(io::ErrorKind::InvalidData, "not bytes")),
        }
    }
}

/// [`send`], for the lab's own side.
pub(super) async fn send_async(
    to: &mut (impl AsyncWrite + Unpin),
    kind: Kind,
    body: &[u8],
) -> io::Result<()> {
    to.write_all(&head(kind, body)?).await?;
    to.write_all(body).await
}

/// [`send_json`], for the lab's own side.
pub(super) async fn send_json_async(
    to: &mut (impl AsyncWrite + Unpin),
    kind: Kind,
    value: &impl Serialize,
) -> io::Result<()> {
    let body = serde_json::to_vec(value).map_err(invalid)?;
    if body.len() > MOST_BYTES {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "a request too long"));
    }
    send_async(to, kind, &body).await
}

/// [`send_bytes`], for the lab's own side.
pub(super) async fn send_bytes_async(to: &mut (impl AsyncWrite + Unpin), bytes: &[u8]) -> io::Result<()> {
    for part in bytes.chunks(MOST_BYTES) {
        send_async(to, Kind::Data, part).await?;
    }
    send_async(to, Kind::End, &[]).await
}

/// [`receive`], for the lab's own side.
pub(super) async fn receive_async(from: &mut (impl AsyncRead + Unpin)) -> io::Result<Option<Frame>> {
    let mut head = [0; 5];
    match from.read_exact(&mut head).await {
        Ok(_) => {}
        Err(cause) if cause.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(cause) => return Err(cause),
    }
    let (kind, length) = unhead(head)?;
    let mut body = vec![0; length];
    from.read_exact(&mut body).await?;
    Ok(Some(Frame { kind, body }))
}
