//! What a container printed: the last lines of it, each with its time and stream.

use std::collections::VecDeque;
use std::sync::Mutex;

use jiff::Timestamp;
use tokio::sync::watch;

use crate::docker::core::lock;

const MOST_LINES: usize = 20_000;
const MOST_BYTES: usize = 8 << 20;
const LONGEST_LINE: usize = 16 << 10;

/// Which stream a line came from; its number in the stream format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stream {
    Stdout = 1,
    Stderr = 2,
}

#[derive(Debug, Clone)]
pub(super) struct Line {
    pub(super) at: Timestamp,
    pub(super) stream: Stream,
    /// With its line end.
    pub(super) text: Vec<u8>,
}

#[derive(Debug, Default)]
struct Kept {
    lines: VecDeque<Line>,
    bytes: usize,
    /// The number of the first line that is kept.
    first: u64,
}

/// The lines of one container over all its runs.
#[derive(Debug)]
pub(super) struct Log {
    kept: Mutex<Kept>,
    grown: watch::Sender<u64>,
}

impl Default for Log {
    fn default() -> Self {
        Self {
            kept: Mutex::default(),
            grown: watch::Sender::new(0),
        }
    }
}

impl Log {
    /// Takes what was printed; each line of it becomes one.
    pub(super) fn push(&self, stream: Stream, printed: &[u8]) {
        let at = Timestamp::now();
        let mut kept = lock(&self.kept);
        for part in printed
            .split_inclusive(|byte| *byte == b'\n')
            .flat_map(|line| line.chunks(LONGEST_LINE))
        {
            let mut text = part.to_vec();
            if text.last() != Some(&b'\n') {
                text.push(b'\n');
            }
            kept.bytes += text.len();
            kept.lines.push_back(Line { at, stream, text });
        }
        while kept.lines.len() > MOST_LINES || kept.bytes > MOST_BYTES {
            let Some(gone) = kept.lines.pop_front() else { break };
            kept.bytes -= gone.text.len();
            kept.first += 1;
        }
        let end = kept.first + kept.lines.len() as u64;
        drop(kept);
        self.grown.send_replace(end);
    }

    /// The lines from this number on, and the number of the one after them.
    pub(super) fn since(&self, from: u64) -> (Vec<Line>, u64) {
        let kept = lock(&self.kept);
        let skip = usize::try_from(from.saturating_sub(kept.first)).unwrap_or(usize::MAX);
        let lines = kept.lines.iter().skip(skip).cloned().collect();
        (lines, kept.first + kept.lines.len() as u64)
    }

    /// Tells when there is more.
    pub(super) fn watch(&self) -> watch::Receiver<u64> {
        self.grown.subscribe()
    }
}
