//! Streams of events over plain HTTP, for whoever has no WebSocket.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Path, Query, State};
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use futures_util::stream::unfold;
use http::{HeaderMap, HeaderName, HeaderValue, header};
use serde::Deserialize;
use tokio::sync::watch;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};
use tokio_util::sync::CancellationToken;
use utoipa::IntoParams;

use super::entry::{Entry, Kind, Room, Stream};
use super::rights::{Standing, lost};
use super::subscriber::{Next, Refused, Subscriber};
use super::{Channel, Frame, frame};
use crate::access::Caller;
use crate::api::answers::{Anybody, Missing, Signed};
use crate::app::App;
use crate::problem::{Code, Problem};

/// How often a comment shows that the stream is there.
const PING: Duration = Duration::from_secs(15);
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
/// How long a browser waits before it comes back, in milliseconds.
const BEGIN: &str = "retry: 2000\n\n";

/// From where.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct From {
    /// The place after which to begin; left out, with what is new. The header `Last-Event-ID` goes before it.
    #[serde(default)]
    #[param(minimum = 0)]
    after: Option<u64>,
}

/// Watch all sessions.
///
/// A stream of events: what changes in the list of sessions. The `id` of each is where to go on from.
#[utoipa::path(
    get, path = "/api/v1/stream", operation_id = "streamSessions", tag = "live",
    params(From),
    responses(
        (status = 200, description = "Events, without end", body = String, content_type = "text/event-stream"),
        Anybody, Signed,
    ),
)]
pub(super) async fn sessions(
    State(app): State<App>,
    caller: Caller,
    from: Result<Query<From>, axum::extract::rejection::QueryRejection>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    stream(&app, &caller, Channel::Sessions, from, &headers).await
}

/// Watch one session.
///
/// A stream of events: everything that happens in it. The `id` of each is where to go on from; what a model writes at the
/// moment (`stream.chunk`) has none.
#[utoipa::path(
    get, path = "/api/v1/sessions/{id}/stream", operation_id = "streamSession", tag = "live",
    params(("id" = String, Path, min_length = 1, max_length = 128, description = "The session"), From),
    responses(
        (status = 200, description = "Events, without end", body = String, content_type = "text/event-stream"),
        Anybody, Signed, Missing,
    ),
)]
pub(super) async fn session(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    from: Result<Query<From>, axum::extract::rejection::QueryRejection>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let channel = format!("session:{id}")
        .parse()
        .map_err(|_| Problem::new(Code::NotFound, "there is no such session"))?;
    stream(&app, &caller, channel, from, &headers).await
}

async fn stream(
    app: &App,
    caller: &Caller,
    channel: Channel,
    from: Result<Query<From>, axum::extract::rejection::QueryRejection>,
    headers: &HeaderMap,
) -> Result<Response, Problem> {
    let Query(from) = from.map_err(|rejection| {
        Problem::new(Code::InvalidInput, rejection.body_text())
            .hint("`after` is the `id` of the last event that you have")
    })?;
    let after = last_event_id(headers)?.or(from.after);
    let Stream {
        closing,
        standing,
        mut subscriber,
        room,
    } = Entry::new(app, caller, Kind::Events)?.begin(app, caller);
    match subscriber.subscribe(&channel, after).await {
        Ok(_) => {}
        Err(Refused::Unknown) => return Err(Problem::new(Code::NotFound, "there is no such session")),
        Err(Refused::Store(error)) => return Err(error.into()),
        Err(refused @ Refused::TooMany) => {
            return Err(Problem::new(Code::RateLimited, refused.to_string()));
        }
    }
    let begin = Instant::now() + PING;
    let mut ping = interval_at(begin, PING);
    ping.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let events = Events {
        closing,
        standing,
        subscriber,
        waiting: VecDeque::new(),
        ping,
        begun: false,
        over: false,
        _room: room,
    };
    let body = Body::from_stream(unfold(events, Events::next));
    let headers = [
        (
            header::CONTENT_TYPE,
            HeaderValue::from_static("text/event-stream"),
        ),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
        // A proxy that gathers answers would keep events back.
        (
            HeaderName::from_static("x-accel-buffering"),
            HeaderValue::from_static("no"),
        ),
    ];
    Ok((headers, body).into_response())
}

/// Where a browser that comes back was. An empty one is none.
fn last_event_id(headers: &HeaderMap) -> Result<Option<u64>, Problem> {
    let Some(value) = headers.get(LAST_EVENT_ID) else {
        return Ok(None);
    };
    let text = value.to_str().map_or("?", str::trim);
    if text.is_empty() {
        return Ok(None);
    }
    // `parse` alone would take a plus sign.
    if !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(unreadable());
    }
    text.parse().map(Some).map_err(|_| unreadable())
}

fn unreadable() -> Problem {
    Problem::new(Code::InvalidInput, "the header `Last-Event-ID` is no place")
        .hint("send the `id` of the last event that you have, or leave it out")
}

struct Events {
    closing: CancellationToken,
    standing: watch::Receiver<Standing>,
    subscriber: Subscriber,
    waiting: VecDeque<Arc<Frame>>,
    ping: Interval,
    begun: bool,
    over: bool,
    _room: Room,
}

impl Events {
    /// The next piece of the body; nothing at its end.
    async fn next(mut self) -> Option<(Result<Bytes, std::convert::Infallible>, Self)> {
        if self.over || *self.standing.borrow() != Standing::Good {
            return None;
        }
        if !self.begun {
            self.begun = true;
            return Some((Ok(Bytes::from_static(BEGIN.as_bytes())), self));
        }
        loop {
            if let Some(frame) = self.waiting.pop_front() {
                // Whoever comes back is told that there is no such session, like everybody.
                if frame.is_last() {
                    return None;
                }
                self.subscriber.sent(&frame);
                return Some((Ok(frame.lines()), self));
            }
            tokio::select! {
                _ = lost(&mut self.standing) => return None,
                () = self.closing.cancelled() => return None,
                _ = self.ping.tick() => {
                    return Some((Ok(Bytes::from_static(b": ping\n\n")), self));
                }
                next = self.subscriber.next() => match next {
                    Next::Frames(frames) => self.waiting = frames.into(),
                    Next::Slow => {
                        self.over = true;
                        let text = frame::slow(self.subscriber.resume());
                        let lines = format!("event: connection.slow\ndata: {text}\n\n");
                        return Some((Ok(Bytes::from(lines)), self));
                    }
                },
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_of_a_browser_that_comes_back() {
        let cases: &[(&'static str, Result<Option<u64>, ()>)] = &[
            ("", Ok(None)),
            (" ", Ok(None)),
            ("0", Ok(Some(0))),
            (" 17 ", Ok(Some(17))),
            ("+17", Err(())),
            ("-1", Err(())),
            ("1.0", Err(())),
            ("x", Err(())),
            ("99999999999999999999", Err(())),
        ];
        assert_eq!(last_event_id(&HeaderMap::new()), Ok(None));
        for (text, expected) in cases {
            let mut headers = HeaderMap::new();
            headers.insert(LAST_EVENT_ID, HeaderValue::from_static(text));
            assert_eq!(last_event_id(&headers).map_err(|_| ()), *expected, "{text:?}");
        }
    }
}
