//! Reads the bytes of a reply, however they arrive.

use super::{Decoder, Wire, malformed};
use crate::collect::{Collected, Collector};
use crate::failure::{Fault, Kind};
use crate::limits::Limits;
use crate::lines::{Events, Lines};
use crate::secrets::Scrubber;
use bytes::{Bytes, BytesMut};
use std::ops::ControlFlow;

/// What the bytes are. It shows in the first one that is no white space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Framing {
    Unknown,
    Events,
    Lines,
    Whole,
}

/// Whether more is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    More,
    /// The wire said that it is done, or the receiver wants no more.
    Done,
}

/// One reply while it is read.
pub(crate) struct Stream<'s> {
    wire: Wire,
    limits: Limits,
    framing: Framing,
    lines: Lines,
    events: Events,
    whole: Vec<u8>,
    any_event: bool,
    decoder: Decoder,
    out: Collector<'s>,
    raw: Raw,
}

impl<'s> Stream<'s> {
    pub(crate) fn new(wire: Wire, limits: Limits, out: Collector<'s>) -> Self {
        Self {
            wire,
            limits,
            framing: Framing::Unknown,
            lines: Lines::default(),
            events: Events::default(),
            whole: Vec::new(),
            any_event: false,
            decoder: wire.decoder(),
            out,
            raw: Raw::default(),
        }
    }

    pub(crate) const fn visible(&self) -> bool {
        self.out.visible()
    }

    pub(crate) const fn stopped(&self) -> bool {
        self.out.stopped()
    }

    /// Takes more bytes.
    pub(crate) fn push(&mut self, bytes: &Bytes) -> Result<Progress, Fault> {
        self.raw.push(bytes, self.limits.raw_bytes);
        if self.raw.total > self.limits.reply_bytes as u64 {
            let what = format!("the reply is larger than {} bytes", self.limits.reply_bytes);
            return Err(Fault::new(Kind::TooLarge, what));
        }
        if self.is_done() {
            return Ok(Progress::Done);
        }
        let mut bytes: &[u8] = bytes;
        if self.framing == Framing::Unknown {
            let Some(at) = bytes
                .iter()
                .position(|byte| !byte.is_ascii_whitespace() && !b"\xef\xbb\xbf".contains(byte))
            else {
                return Ok(Progress::More);
            };
            bytes = &bytes[at..];
            self.framing = match bytes[0] {
                b'{' if self.wire.is_lines() => Framing::Lines,
                b'{' | b'[' => Framing::Whole,
                b'<' => return Err(malformed("it is a web page", bytes)),
                _ => Framing::Events,
            };
        }
        self.take(bytes)?;
        Ok(if self.is_done() {
            Progress::Done
        } else {
            Progress::More
        })
    }

    fn take(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        let Self {
            framing,
            lines,
            events,
            whole,
            any_event,
            decoder,
            out,
            ..
        } = self;
        let mut read = |data: &[u8]| {
            *any_event = true;
            match decoder.event(data, out) {
                Err(fault) => Err(ControlFlow::Break(Some(fault))),
                Ok(()) if decoder.is_done() || out.stopped() => Err(ControlFlow::Break(None)),
                Ok(()) => Ok(()),
            }
        };
        let result = match framing {
            Framing::Events => lines.push(bytes, |line| match events.line(line) {
                Some(data) => read(data),
                None => Ok(()),
            }),
            Framing::Lines => lines.push(bytes, |line| match line.trim_ascii() {
                [] => Ok(()),
                line => read(line),
            }),
            Framing::Whole | Framing::Unknown => {
                whole.extend_from_slice(bytes);
                Ok(())
            }
        };
        match result {
            Err(ControlFlow::Break(Some(fault))) => Err(fault),
            Ok(()) | Err(ControlFlow::Break(None) | ControlFlow::Continue(())) => Ok(()),
        }
    }

    fn is_done(&self) -> bool {
        self.decoder.is_done() || self.out.stopped()
    }

    /// The bytes have ended. Whether what came is a whole reply.
    pub(crate) fn end(&mut self) -> Result<(), Fault> {
        if self.is_done() {
            return Ok(());
        }
        let broken_off = || Fault::new(Kind::Transport, "the connection ended in the middle of the reply");
        match self.framing {
            Framing::Unknown => {
                return Err(Fault::new(
                    Kind::Transport,
                    "the connection ended before anything came",
                ));
            }
            Framing::Whole => {
                let body = std::mem::take(&mut self.whole);
                if is_cut(&body) {
                    return Err(broken_off());
                }
                self.decoder.whole(&body, &mut self.out)?;
            }
            Framing::Events | Framing::Lines => {
                let rest = self.lines.rest().to_vec();
                // Some servers leave out the last line's end.
                let last = if self.framing == Framing::Lines {
                    Some(rest.trim_ascii().to_vec()).filter(|line| !line.is_empty())
                } else {
                    let before = self.events.line(&rest).map(<[u8]>::to_vec);
                    before.or_else(|| self.events.line(b"").map(<[u8]>::to_vec))
                };
                if let Some(data) = last {
                    let finished = self.out.has_finish();
                    if is_cut(&data) && !finished {
                        return Err(broken_off());
                    }
                    match self.decoder.event(&data, &mut self.out) {
                        // The model was done: half of what ends the stream is enough.
                        Err(fault) if finished && fault.kind == Kind::Malformed => {}
                        other => other?,
                    }
                    self.any_event = true;
                }
            }
        }
        if self.is_done() || self.out.has_finish() {
            Ok(())
        } else if self.any_event {
            Err(broken_off())
        } else {
            Err(malformed("it has no event", &self.raw.kept_bytes()))
        }
    }

    /// What it came to.
    pub(crate) fn finish(self, scrubber: &Scrubber) -> (Collected, Bytes, u64) {
        let total = self.raw.total;
        let raw = self.raw.kept_bytes();
        let raw = scrubber.bytes(&raw).map_or(raw, Bytes::from);
        (self.out.into_collected(), raw, total)
    }
}

/// Whether this is JSON that goes on.
fn is_cut(json: &[u8]) -> bool {
    serde_json::from_slice::<serde::de::IgnoredAny>(json).is_err_and(|error| error.is_eof())
}

/// What was received, as it was, up to a limit.
#[derive(Debug, Default)]
pub(crate) struct Raw {
    pieces: Vec<Bytes>,
    kept: usize,
    pub(crate) total: u64,
}

impl Raw {
    pub(crate) fn push(&mut self, bytes: &Bytes, limit: usize) {
        self.total += bytes.len() as u64;
        let room = limit - self.kept;
        if room > 0 && !bytes.is_empty() {
            let piece = bytes.slice(..bytes.len().min(room));
            self.kept += piece.len();
            self.pieces.push(piece);
        }
    }

    pub(crate) fn kept_bytes(&self) -> Bytes {
        match self.pieces.as_slice() {
            [] => Bytes::new(),
            [one] => one.clone(),
            pieces => {
                let mut joined = BytesMut::with_capacity(self.kept);
                for piece in pieces {
                    joined.extend_from_slice(piece);
                }
                joined.freeze()
            }
        }
    }
}
