//! What waits for one reader: bounded by count and by bytes, so that a slow reader costs others nothing.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::{Channel, Frame};

/// How many frames may wait.
pub(crate) const MAX_FRAMES: usize = 1024;
/// How many bytes may wait, where more than one frame does.
pub(crate) const MAX_BYTES: usize = 4 * 1024 * 1024;
/// What an empty queue may keep for the next frames.
const IDLE: usize = 16;

/// What came of putting a frame in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pushed {
    /// It waits.
    Kept,
    /// It was not kept, or frames like it were thrown out for it: that many.
    Dropped(u64),
    /// The reader is too slow: nothing more is taken.
    Slow,
}

/// What waits for one reader.
#[derive(Debug, Default)]
pub(crate) struct Mailbox {
    inner: Mutex<Inner>,
    ready: Notify,
}

#[derive(Debug, Default)]
struct Inner {
    frames: VecDeque<Arc<Frame>>,
    bytes: usize,
    slow: bool,
    /// Channels that are there no more, of which the reader is to be told.
    gone: Vec<Channel>,
}

impl Inner {
    fn fits(&self, size: usize, frames: usize, bytes: usize) -> bool {
        self.frames.is_empty() || (self.frames.len() < frames && self.bytes.saturating_add(size) <= bytes)
    }

    fn keep(&mut self, wanted: impl Fn(&Frame) -> bool) -> u64 {
        let before = self.frames.len();
        self.frames.retain(|frame| wanted(frame));
        self.bytes = self.frames.iter().map(|frame| frame.size()).sum();
        before.saturating_sub(self.frames.len()) as u64
    }
}

impl Mailbox {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a frame in. What is not kept anywhere else goes first when room is short, and takes at most half of it.
    pub(crate) fn push(&self, frame: &Arc<Frame>) -> Pushed {
        let mut inner = self.lock();
        if inner.slow {
            return Pushed::Slow;
        }
        let size = frame.size();
        let mut thrown = 0;
        if frame.position().is_none() {
            if !inner.fits(size, MAX_FRAMES / 2, MAX_BYTES / 2) {
                return Pushed::Dropped(1);
            }
        } else if !inner.fits(size, MAX_FRAMES, MAX_BYTES) {
            thrown = inner.keep(|frame| frame.position().is_some());
            if !inner.fits(size, MAX_FRAMES, MAX_BYTES) {
                inner.slow = true;
                inner.frames = VecDeque::new();
                drop(inner);
                self.ready.notify_one();
                return Pushed::Slow;
            }
        }
        inner.bytes += size;
        inner.frames.push_back(Arc::clone(frame));
        drop(inner);
        self.ready.notify_one();
        if thrown > 0 {
            Pushed::Dropped(thrown)
        } else {
            Pushed::Kept
        }
    }

    /// Takes out at most so many, in order.
    pub(crate) fn take(&self, at_most: usize) -> Vec<Arc<Frame>> {
        let mut inner = self.lock();
        let count = inner.frames.len().min(at_most);
        let taken: Vec<Arc<Frame>> = inner.frames.drain(..count).collect();
        let size: usize = taken.iter().map(|frame| frame.size()).sum();
        inner.bytes = inner.bytes.saturating_sub(size);
        if inner.frames.is_empty() && inner.frames.capacity() > IDLE {
            inner.frames = VecDeque::new();
        }
        taken
    }

    /// Throws out what waits of one channel.
    pub(crate) fn forget(&self, channel: &Channel) {
        let mut inner = self.lock();
        inner.keep(|frame| frame.channel() != channel);
        inner.gone.retain(|other| other != channel);
    }

    /// A channel is there no more: what waits of it is thrown out, and the reader is told. At most once for each channel
    /// that it watches, so it always fits.
    pub(crate) fn end(&self, channel: &Channel) {
        let mut inner = self.lock();
        inner.keep(|frame| frame.channel() != channel);
        if !inner.gone.contains(channel) {
            inner.gone.push(channel.clone());
        }
        drop(inner);
        self.ready.notify_one();
    }

    /// Takes out the channels that are there no more.
    pub(crate) fn take_gone(&self) -> Vec<Channel> {
        std::mem::take(&mut self.lock().gone)
    }

    /// Whether the reader was too slow.
    pub(crate) fn is_slow(&self) -> bool {
        self.lock().slow
    }

    /// Until there may be something. What comes between two calls is not missed. One waiter.
    pub(crate) async fn changed(&self) {
        let waits = {
            let inner = self.lock();
            inner.frames.is_empty() && inner.gone.is_empty() && !inner.slow
        };
        if waits {
            self.ready.notified().await;
        }
    }

    /// Until the reader is too slow, which may be never.
    pub(crate) async fn slow(&self) {
        while !self.is_slow() {
            self.ready.notified().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use interlock_protocol::{ExecutionId, Sequence, SessionId};
    use interlock_store::Placed;

    fn kept(position: u64, size: usize) -> Arc<Frame> {
        Arc::new(Frame::event(
            &Channel::Sessions,
            &Placed {
                position,
                session: SessionId::from_bytes([1; 16]),
                sequence: Sequence::new(1),
                kind: "session.status".to_owned(),
                json: format!("{{\"x\":\"{}\"}}", "x".repeat(size)),
            },
        ))
    }

    fn chunk() -> Arc<Frame> {
        let (session, execution) = (SessionId::from_bytes([1; 16]), ExecutionId::from_bytes([1; 16]));
        Arc::new(Frame::chunk(&session, &execution, "text", "word"))
    }

    #[test]
    fn what_is_not_kept_elsewhere_gives_way() {
        let mailbox = Mailbox::default();
        for _ in 0..MAX_FRAMES / 2 {
            assert_eq!(mailbox.push(&chunk()), Pushed::Kept);
        }
        assert_eq!(mailbox.push(&chunk()), Pushed::Dropped(1));
        for position in 1..=MAX_FRAMES as u64 / 2 {
            assert_eq!(mailbox.push(&kept(position, 1)), Pushed::Kept);
        }
        assert_eq!(
            mailbox.push(&kept(9000, 1)),
            Pushed::Dropped(MAX_FRAMES as u64 / 2)
        );
        let positions: Vec<_> = mailbox
            .take(usize::MAX)
            .iter()
            .filter_map(|f| f.position())
            .collect();
        assert_eq!(positions.len(), MAX_FRAMES / 2 + 1);
        assert_eq!(positions.last(), Some(&9000));
        assert!(!mailbox.is_slow());
    }

    #[test]
    fn too_many_and_too_much_are_slow() {
        for (size, fits) in [(1, MAX_FRAMES), (MAX_BYTES / 4, 3)] {
            let mailbox = Mailbox::default();
            for position in 1..=fits as u64 {
                assert_eq!(mailbox.push(&kept(position, size)), Pushed::Kept);
            }
            assert_eq!(mailbox.push(&kept(9000, size)), Pushed::Slow);
            assert!(mailbox.is_slow());
            assert_eq!(mailbox.push(&chunk()), Pushed::Slow);
            assert!(mailbox.take(usize::MAX).is_empty());
        }
    }

    #[test]
    fn one_frame_fits_however_large() {
        let mailbox = Mailbox::default();
        assert_eq!(mailbox.push(&kept(1, 2 * MAX_BYTES)), Pushed::Kept);
        assert_eq!(mailbox.take(5).len(), 1);
        assert_eq!(mailbox.push(&kept(2, 2 * MAX_BYTES)), Pushed::Kept);
    }
}
