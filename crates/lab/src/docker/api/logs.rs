//! What a container printed, in frames as the API sends them.

use std::collections::VecDeque;
use std::sync::Arc;

use axum::body::Body;
use bytes::{BufMut as _, Bytes, BytesMut};
use futures_util::stream;
use http::StatusCode;
use jiff::Timestamp;

use super::{Answer, Fault, moment};
use crate::docker::ContainerState;
use crate::docker::container::Container;
use crate::docker::core::Core;
use crate::docker::log::{Line, Stream};
use crate::docker::wire::{self, Call};

/// Which streams are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Streams {
    Stdout,
    Stderr,
    Both,
}

/// What of a log is wanted, and how.
#[derive(Debug, Clone, Copy)]
struct Wanted {
    streams: Streams,
    since: Option<Timestamp>,
    until: Option<Timestamp>,
    times: bool,
    tty: bool,
}

impl Wanted {
    fn takes(&self, line: &Line) -> bool {
        let stream = match line.stream {
            Stream::Stdout => self.streams != Streams::Stderr,
            Stream::Stderr => self.streams != Streams::Stdout,
        };
        stream
            && self.since.is_none_or(|since| line.at >= since)
            && self.until.is_none_or(|until| line.at <= until)
    }

    fn write(&self, line: &Line, into: &mut BytesMut) {
        let time = if self.times {
            format!("{:.9} ", line.at)
        } else {
            String::new()
        };
        let mut text = time.into_bytes();
        text.extend_from_slice(&line.text);
        if self.tty {
            into.extend_from_slice(&text);
        } else {
            frame(line.stream, &text, into);
        }
    }
}

/// The stream's number, three zeros, the length, the text.
pub(super) fn frame(stream: Stream, text: &[u8], into: &mut BytesMut) {
    into.put_u8(stream as u8);
    into.put_bytes(0, 3);
    into.put_u32(u32::try_from(text.len()).unwrap_or(u32::MAX));
    into.extend_from_slice(text);
}

pub(super) const fn content_type(tty: bool) -> &'static str {
    if tty {
        "application/vnd.docker.raw-stream"
    } else {
        "application/vnd.docker.multiplexed-stream"
    }
}

pub(super) fn logs(core: &Arc<Core>, id: &str, call: &Call) -> Answer {
    let container = core.find(id)?;
    let time = |key: &str| match call.get(key).filter(|text| !text.is_empty() && *text != "0") {
        None => Ok(None),
        Some(text) => moment(text)
            .map(Some)
            .ok_or_else(|| Fault::bad(format!("invalid value for \"{key}\": {text}"))),
    };
    let streams = match (call.flag("stdout"), call.flag("stderr")) {
        (true, true) => Streams::Both,
        (true, false) => Streams::Stdout,
        (false, true) => Streams::Stderr,
        (false, false) => {
            return Err(Fault::bad("Bad parameters: you must choose at least one stream"));
        }
    };
    let wanted = Wanted {
        streams,
        since: time("since")?,
        until: time("until")?,
        times: call.flag("timestamps"),
        tty: container.settings.tty,
    };
    // What is no number means everything, as in the real one.
    let tail = call.get("tail").and_then(|text| text.parse::<usize>().ok());
    let (lines, next) = container.log.since(0);
    let mut lines: VecDeque<Line> = lines.into_iter().filter(|line| wanted.takes(line)).collect();
    if let Some(tail) = tail {
        lines.drain(..lines.len().saturating_sub(tail));
    }
    let mut first = BytesMut::new();
    for line in &lines {
        wanted.write(line, &mut first);
    }
    let body = if call.flag("follow") {
        Body::from_stream(follow(Arc::clone(core), container, wanted, first.freeze(), next))
    } else {
        Body::from(first.freeze())
    };
    Ok(wire::typed(StatusCode::OK, content_type(wanted.tty), body))
}

/// What there is first, then more as it comes, until the container ends.
fn follow(
    core: Arc<Core>,
    container: Container,
    wanted: Wanted,
    first: Bytes,
    next: u64,
) -> impl futures_util::Stream<Item = Result<Bytes, std::convert::Infallible>> {
    stream::unfold(Some((Some(first), next)), move |state| {
        let (core, container) = (Arc::clone(&core), container.clone());
        async move {
            let (first, mut next) = state?;
            if let Some(first) = first.filter(|first| !first.is_empty()) {
                return Some((Ok(first), Some((None, next))));
            }
            let mut grown = container.log.watch();
            let mut changed = container.changed.subscribe();
            loop {
                // Looked at before the lines are, so that the last ones are not missed.
                let ended = *changed.borrow_and_update() != ContainerState::Running;
                let (lines, after) = container.log.since(next);
                next = after;
                let mut more = BytesMut::new();
                lines
                    .iter()
                    .filter(|line| wanted.takes(line))
                    .for_each(|line| wanted.write(line, &mut more));
                if !more.is_empty() {
                    return Some((Ok(more.freeze()), Some((None, next))));
                }
                let late = wanted.until.is_some_and(|until| Timestamp::now() > until);
                if (ended && !restarting(&core, &container)) || late {
                    return None;
                }
                tokio::select! {
                    grown = grown.changed() => grown.ok()?,
                    changed = changed.changed() => changed.ok()?,
                    () = core.alive.cancelled() => return None,
                    () = tokio::time::sleep(std::time::Duration::from_secs(1)) => {}
                }
            }
        }
    })
}

fn restarting(core: &Core, container: &Container) -> bool {
    core.find(&container.id)
        .is_ok_and(|one| one.state == ContainerState::Restarting)
}
