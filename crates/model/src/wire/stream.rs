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
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<Progress, Fault> {
        self.raw.push(bytes, self.limits.raw_bytes);
        if self.raw.total > self.limits.reply_bytes as u64 {
            let what = format!("the reply is larger than {} bytes", self.limits.reply_bytes);
            return Err(Fault::new(Kind::TooLarge, what));
        }
        if self.is_done() {
            return Ok(Progress::Done);
        }
        let mut bytes = bytes;
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
            Err(malformed("it has no event", &self.raw.kept))
        }
    }

    /// What it came to.
    pub(crate) fn finish(self, scrubber: &Scrubber) -> (Collected, Bytes, u64) {
        let total = self.raw.total;
        let raw = self.raw.into_bytes();
        let raw = scrubber.bytes(&raw).map_or(raw, Bytes::from);
        (self.out.into_collected(), raw, total)
    }
}

/// Whether this is JSON that goes on.
fn is_cut(json: &[u8]) -> bool {
    serde_json::from_slice::<serde::de::IgnoredAny>(json).is_err_and(|error| error.is_eof())
}

/// What was received, as it was, up to a limit.
///
/// It is copied: a piece of a few bytes would keep the whole buffer alive that it was read into.
#[derive(Debug, Default)]
pub(crate) struct Raw {
    kept: BytesMut,
    pub(crate) total: u64,
}

impl Raw {
    pub(crate) fn push(&mut self, bytes: &[u8], limit: usize) {
        self.total = self.total.saturating_add(bytes.len() as u64);
        let room = limit.saturating_sub(self.kept.len());
        self.kept.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    /// What was kept. Where it was cut, it ends before the word in which the cut falls: half a secret is none that a masker
    /// finds.
    pub(crate) fn into_bytes(mut self) -> Bytes {
        if self.total > self.kept.len() as u64 {
            let is_end = |byte: &u8| byte.is_ascii_whitespace() || b"\"',;{}[]()<>\\".contains(byte);
            let end = self.kept.iter().rposition(is_end).map_or(0, |at| at + 1);
            self.kept.truncate(end);
        }
        self.kept.freeze()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Flow;

    fn said(text: &str) -> String {
        format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n")
    }

    /// How many bytes are looked at for a reply in pieces of this size, beside its own.
    fn looked_at(reply: &str, size: usize) -> usize {
        let mut sink = |_: crate::Chunk<'_>| Flow::Continue;
        let mut stream = Stream::new(Wire::Openai, Limits::DEFAULT, Collector::new(&mut sink));
        for piece in reply.as_bytes().chunks(size) {
            stream.push(piece).expect("a reply");
        }
        stream.lines.looked_at
    }

    #[test]
    fn work_grows_with_the_reply_and_not_with_its_pieces() {
        let short: String = (0..2000).map(|at| said(&format!("word{at} "))).collect();
        let words: Vec<String> = (0..9000).map(|at| (at * 7919 % 10_007).to_string()).collect();
        let long = said(&words.join(" "));
        for reply in [short, long] {
            for size in [1, 2, 3, 7, 64, 4096, reply.len()] {
                let once = looked_at(&reply, size);
                let twice = looked_at(&reply.repeat(2), size);
                assert!(once <= 2 * reply.len() + 64, "{size}: {once} of {}", reply.len());
                assert!(twice <= 2 * once + 64, "{size}: {once}, then {twice}");
            }
        }
    }

    #[test]
    fn a_small_piece_does_not_keep_the_buffer_that_it_came_in() {
        let mut sink = |_: crate::Chunk<'_>| Flow::Continue;
        let mut stream = Stream::new(Wire::Openai, Limits::DEFAULT, Collector::new(&mut sink));
        let mut ping = b": ping\n\n".to_vec();
        ping.resize(64 << 10, b' ');
        for _ in 0..100 {
            let buffer = Bytes::from(ping.clone());
            stream.push(&buffer.slice(..8)).expect("more");
            assert!(buffer.is_unique());
        }
        assert!(
            stream.raw.kept.capacity() <= 4096,
            "{}",
            stream.raw.kept.capacity()
        );
    }

    #[test]
    fn what_is_kept_is_not_cut_in_the_middle_of_a_word() {
        let cases: &[(&[u8], usize, &[u8])] = &[
            (b"one two", 7, b"one two"),
            (b"one two", 6, b"one "),
            (b"{\"k\":\"sk-abcdef\"}", 12, b"{\"k\":\""),
            (b"sk-abcdef", 5, b""),
            (b"", 5, b""),
        ];
        for (bytes, limit, expected) in cases {
            let mut raw = Raw::default();
            bytes.iter().for_each(|byte| raw.push(&[*byte], *limit));
            assert_eq!(
                (raw.total, &raw.into_bytes()[..]),
                (bytes.len() as u64, *expected)
            );
        }
    }
}
