//! What the one program of a machine printed: its beginning and its end are kept, also when the machine has ended.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{mpsc, watch};

use super::Chunk;

/// How much of the beginning is kept.
const HEAD_BYTES: usize = 256 << 10;
/// How much of the end is kept.
const TAIL_BYTES: usize = 1 << 20;
/// A line that is longer is passed on in parts.
const LINE_BYTES: usize = 16 << 10;

#[derive(Debug, Default)]
struct Lines {
    head: Vec<Chunk>,
    head_bytes: usize,
    tail: VecDeque<Chunk>,
    tail_bytes: usize,
    /// How many are no more between the beginning and the end.
    lost: usize,
    ended: bool,
}

impl Lines {
    fn push(&mut self, chunk: Chunk) {
        let bytes = size(&chunk);
        if self.tail.is_empty() && self.head_bytes + bytes <= HEAD_BYTES {
            self.head_bytes += bytes;
            self.head.push(chunk);
            return;
        }
        self.tail_bytes += bytes;
        self.tail.push_back(chunk);
        while self.tail_bytes > TAIL_BYTES
            && let Some(old) = self.tail.pop_front()
        {
            self.tail_bytes -= size(&old);
            self.lost += 1;
        }
    }

    /// The line with this number, or the next that is kept, and the number after it.
    fn get(&self, number: usize) -> Option<(Chunk, usize)> {
        if let Some(chunk) = self.head.get(number) {
            return Some((chunk.clone(), number + 1));
        }
        let first = self.head.len() + self.lost;
        let number = number.max(first);
        self.tail
            .get(number - first)
            .map(|chunk| (chunk.clone(), number + 1))
    }
}

fn size(chunk: &Chunk) -> usize {
    match chunk {
        Chunk::Stdout(bytes) | Chunk::Stderr(bytes) => bytes.len() + 32,
        Chunk::Exit(_) => 32,
    }
}

/// The output of a program, line by line.
#[derive(Debug)]
pub(super) struct Kept {
    lines: Mutex<Lines>,
    changed: watch::Sender<u64>,
}

impl Kept {
    pub(super) fn new() -> Self {
        Self {
            lines: Mutex::default(),
            changed: watch::Sender::new(0),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Lines> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn push(&self, chunk: Chunk) {
        self.lock().push(chunk);
        self.changed.send_modify(|count| *count += 1);
    }

    /// Nothing more will come.
    pub(super) fn end(&self) {
        self.lock().ended = true;
        self.changed.send_modify(|count| *count += 1);
    }

    /// Waits until nothing more will come.
    pub(super) async fn ended(&self) {
        let mut changed = self.changed.subscribe();
        while !self.lock().ended {
            if changed.changed().await.is_err() {
                return;
            }
        }
    }

    /// All of it from the beginning, and what comes, to the end.
    pub(super) fn follow(self: Arc<Self>) -> mpsc::Receiver<Chunk> {
        let (send, receive) = mpsc::channel(64);
        tokio::spawn(async move {
            let mut changed = self.changed.subscribe();
            let mut number = 0;
            loop {
                changed.borrow_and_update();
                let (next, ended) = {
                    let lines = self.lock();
                    (lines.get(number), lines.ended)
                };
                match next {
                    Some((chunk, after)) => {
                        number = after;
                        if send.send(chunk).await.is_err() {
                            return;
                        }
                    }
                    None if ended => return,
                    None => tokio::select! {
                        _ = changed.changed() => {}
                        () = send.closed() => return,
                    },
                }
            }
        });
        receive
    }
}

/// Takes what is printed apart into lines.
#[derive(Debug, Default)]
pub(super) struct Splitter(Vec<u8>);

impl Splitter {
    /// Adds what was printed, and gives the lines that are complete.
    pub(super) fn add(&mut self, bytes: &[u8]) -> Vec<Vec<u8>> {
        let mut lines = Vec::new();
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.0.extend_from_slice(part);
            if part.ends_with(b"\n") || self.0.len() > LINE_BYTES {
                lines.push(std::mem::take(&mut self.0));
            }
        }
        lines
    }

    /// What has no end of a line.
    pub(super) fn rest(self) -> Option<Vec<u8>> {
        Some(self.0).filter(|rest| !rest.is_empty())
    }
}
