//! One reader, over all of its channels: the past out of the store, page by page, then what happens.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use interlock_store::Placed;
use tokio::time::Instant;

use super::frame::NO_SESSION;
use super::hub::Hub;
use super::mailbox::Mailbox;
use super::{Channel, Frame};

/// How many channels one reader may watch.
pub(crate) const MAX_CHANNELS: usize = 256;
/// How many events of the past are read at once.
pub(crate) const PAGE: u32 = 100;
/// How many waiting frames are taken at once.
const BATCH: usize = 64;
/// How long to wait after the store did not answer, at first and at most.
const RETRY: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));

/// One reader. Leaves all channels when it goes.
pub(crate) struct Subscriber {
    hub: Hub,
    id: u64,
    mailbox: Arc<Mailbox>,
    channels: HashMap<Channel, Reading>,
    /// Those whose past is still read, whose turn is next in front.
    behind: VecDeque<Channel>,
    /// Whether the past is next.
    past_next: bool,
    retry: Option<(Instant, Duration)>,
}

/// How far one channel is.
#[derive(Debug, Clone, Copy)]
struct Reading {
    /// What was read of the past.
    read: u64,
    /// What went out.
    sent: u64,
}

/// Why a channel cannot be watched.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refused {
    /// There is no such session.
    #[error("{NO_SESSION}")]
    Unknown,
    /// Too many.
    #[error("one connection may watch {MAX_CHANNELS} channels; unsubscribe from one first")]
    TooMany,
    /// The store does not answer.
    #[error("the store does not work at the moment; try again")]
    Store(interlock_store::Error),
}

/// What comes next.
#[derive(Debug)]
pub(crate) enum Next {
    /// To be sent, in this order.
    Frames(Vec<Arc<Frame>>),
    /// The reader was too slow: nothing more comes.
    Slow,
}

impl Subscriber {
    pub(super) fn new(hub: Hub, id: u64) -> Self {
        Self {
            hub,
            id,
            mailbox: Arc::default(),
            channels: HashMap::new(),
            behind: VecDeque::new(),
            past_next: false,
            retry: None,
        }
    }

    /// Which one it is.
    pub(crate) const fn id(&self) -> u64 {
        self.id
    }

    /// Where its frames wait.
    pub(crate) fn mailbox(&self) -> Arc<Mailbox> {
        Arc::clone(&self.mailbox)
    }

    /// Begins to watch a channel, anew if it is watched already, and says where the channel stands. A place that lies
    /// ahead of the channel means where it stands.
    pub(crate) async fn subscribe(&mut self, channel: &Channel, after: Option<u64>) -> Result<u64, Refused> {
        self.unsubscribe(channel);
        if self.channels.len() >= MAX_CHANNELS {
            return Err(Refused::TooMany);
        }
        // Before anything is read: what is handed out from here on is noticed.
        self.hub.join(channel, self.id, &self.mailbox);
        self.channels
            .insert(channel.clone(), Reading { read: 0, sent: 0 });
        let stands = match self.hub.source().stands(channel).await {
            Ok(Some(stands)) => stands,
            Ok(None) => {
                self.unsubscribe(channel);
                return Err(Refused::Unknown);
            }
            Err(error) => {
                self.unsubscribe(channel);
                return Err(Refused::Store(error));
            }
        };
        let from = after.map_or(stands, |after| after.min(stands));
        self.channels.insert(
            channel.clone(),
            Reading {
                read: from,
                sent: from,
            },
        );
        if from < stands || !self.hub.attach(channel, self.id, from) {
            self.behind.push_back(channel.clone());
        }
        Ok(stands)
    }

    /// Watches a channel no longer. Says whether it was watched.
    pub(crate) fn unsubscribe(&mut self, channel: &Channel) -> bool {
        let watched = self.channels.remove(channel).is_some();
        if watched {
            self.hub.leave(channel, self.id);
            self.mailbox.forget(channel);
            self.behind.retain(|other| other != channel);
        }
        watched
    }

    /// A page of a channel's past, and whether there is more.
    pub(crate) async fn past(
        &self,
        channel: &Channel,
        after: u64,
        limit: u32,
    ) -> Result<(Vec<Placed>, bool), Refused> {
        let source = self.hub.source();
        match source.stands(channel).await {
            Ok(Some(_)) => {}
            Ok(None) => return Err(Refused::Unknown),
            Err(error) => return Err(Refused::Store(error)),
        }
        let mut page = source
            .page(channel, after, limit.saturating_add(1))
            .await
            .map_err(Refused::Store)?;
        let more = page.len() > limit as usize;
        page.truncate(limit as usize);
        Ok((page, more))
    }

    /// What comes next. May be dropped at any time and asked again: nothing is lost.
    pub(crate) async fn next(&mut self) -> Next {
        loop {
            if self.mailbox.is_slow() {
                self.hub.inner.note_slow();
                return Next::Slow;
            }
            let ended = self.end_gone();
            if !ended.is_empty() {
                return Next::Frames(ended);
            }
            let past = self.past_is_due();
            if !(past && self.past_next) {
                let frames = self.mailbox.take(BATCH);
                if !frames.is_empty() {
                    self.past_next = true;
                    return Next::Frames(frames);
                }
            }
            if past {
                let frames = self.read_past().await;
                self.past_next = false;
                if !frames.is_empty() {
                    return Next::Frames(frames);
                }
                continue;
            }
            match self.retry {
                Some((at, _)) if !self.behind.is_empty() => tokio::select! {
                    () = self.mailbox.changed() => {}
                    () = tokio::time::sleep_until(at) => {}
                },
                _ => self.mailbox.changed().await,
            }
        }
    }

    /// Leaves the channels that are there no more; the last frame of each.
    fn end_gone(&mut self) -> Vec<Arc<Frame>> {
        let gone = self.mailbox.take_gone();
        gone.into_iter()
            .filter(|channel| self.unsubscribe(channel))
            .map(|channel| Arc::new(Frame::gone(&channel)))
            .collect()
    }

    fn past_is_due(&self) -> bool {
        !self.behind.is_empty() && self.retry.is_none_or(|(at, _)| Instant::now() >= at)
    }

    /// One page of the channel whose turn it is; goes over to what happens when nothing is left.
    async fn read_past(&mut self) -> Vec<Arc<Frame>> {
        let Some(channel) = self.behind.front().cloned() else {
            return Vec::new();
        };
        let Some(reading) = self.channels.get(&channel).copied() else {
            self.behind.pop_front();
            return Vec::new();
        };
        // What was handed out by now is in the store by now: whatever the page lacks of it was deleted.
        let handed_out = self.hub.handed_out(&channel).unwrap_or(0);
        let page = match self.hub.source().page(&channel, reading.read, PAGE).await {
            Ok(page) => page,
            Err(error) => {
                let wait = self.retry.map_or(RETRY.0, |(_, wait)| (wait * 2).min(RETRY.1));
                tracing::warn!(%error, %channel, "the past of a channel cannot be read; trying again");
                self.retry = Some((Instant::now() + wait, wait));
                return Vec::new();
            }
        };
        self.retry = None;
        let all = page.len() < PAGE as usize;
        let mut read = page.last().map_or(reading.read, |event| channel.position(event));
        if all {
            read = read.max(handed_out);
        }
        if let Some(reading) = self.channels.get_mut(&channel) {
            reading.read = read;
        }
        self.behind.pop_front();
        if !(all && self.hub.attach(&channel, self.id, read)) {
            self.behind.push_back(channel.clone());
        }
        page.iter()
            .map(|event| Arc::new(Frame::event(&channel, event)))
            .collect()
    }

    /// A frame went out.
    pub(crate) fn sent(&mut self, frame: &Frame) {
        if let (Some(reading), Some(position)) = (self.channels.get_mut(frame.channel()), frame.position()) {
            reading.sent = position;
        }
    }

    /// From where each channel goes on.
    pub(crate) fn resume(&self) -> impl Iterator<Item = (&Channel, u64)> {
        self.channels
            .iter()
            .map(|(channel, reading)| (channel, reading.sent))
    }
}

impl Drop for Subscriber {
    fn drop(&mut self) {
        for channel in self.channels.keys() {
            self.hub.leave(channel, self.id);
        }
    }
}
