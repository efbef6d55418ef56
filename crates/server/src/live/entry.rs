//! The way into a stream, the same for WebSocket and SSE: not while the server goes away, and not too many at once.

use interlock_protocol::ContentHash;
use metrics::counter;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::Open;
use super::rights::Standing;
use super::subscriber::Subscriber;
use crate::access::{Caller, Via};
use crate::app::App;
use crate::problem::{Code, Problem};
use crate::seats::Seat;

/// How a stream is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Over a WebSocket.
    WebSocket,
    /// As events over plain HTTP.
    Events,
}

impl Kind {
    const fn gauge(self) -> &'static str {
        match self {
            Self::WebSocket => "interlock_ws_connections",
            Self::Events => "interlock_sse_connections",
        }
    }

    const fn as_str(self) -> &'static str {
        match self {
            Self::WebSocket => "ws",
            Self::Events => "sse",
        }
    }
}

/// Somebody who may open a stream, and has the room for it.
pub(super) struct Entry {
    kind: Kind,
    seat: Seat<ContentHash>,
}

impl Entry {
    /// Lets a caller in, or says why not.
    pub(super) fn new(app: &App, caller: &Caller, kind: Kind) -> Result<Self, Problem> {
        if app.closing().is_cancelled() {
            return Err(Problem::new(Code::Unavailable, "the server is going away")
                .hint("try again in a moment")
                .retry_after(2));
        }
        let (whose, what) = match &caller.via {
            Via::Cookie { login, .. } => (*login, "login"),
            Via::Token { hash, .. } => (*hash, "token"),
        };
        let Some(seat) = app.streams().take(whose) else {
            counter!("interlock_streams_refused_total", "kind" => kind.as_str()).increment(1);
            let most = app.streams().most();
            return Err(Problem::new(
                Code::TooManyStreams,
                format!("this {what} has {most} streams open, and that is the most"),
            )
            .hint("close some; one WebSocket watches many channels. An admin sets how many with `server.limits.streams`")
            .retry_after(10));
        };
        Ok(Self { kind, seat })
    }

    /// The stream begins.
    pub(super) fn begin(self, app: &App, caller: &Caller) -> Stream {
        Stream {
            closing: app.closing().clone(),
            standing: app.hub().rights().watch(app, caller),
            subscriber: app.hub().subscriber(),
            room: Room {
                _open: Open::new(self.kind.gauge()),
                _seat: self.seat,
            },
        }
    }
}

/// Counted as long as the stream is there.
pub(super) struct Room {
    _open: Open,
    _seat: Seat<ContentHash>,
}

/// What every stream has.
pub(super) struct Stream {
    /// Cancelled when the server goes away.
    pub(super) closing: CancellationToken,
    /// Whether they may go on reading.
    pub(super) standing: watch::Receiver<Standing>,
    /// What they read.
    pub(super) subscriber: Subscriber,
    /// Kept until the end.
    pub(super) room: Room,
}
