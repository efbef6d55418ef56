//! One WebSocket: what the client asks for, what goes out to it, and how it ends.

use std::error::Error as _;
use std::num::NonZeroU32;
use std::time::Duration;

use axum::extract::State;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket, WebSocketUpgrade};
use axum::response::Response;
use futures_util::SinkExt as _;
use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};
use http::{HeaderMap, header};
use metrics::{Counter, counter};
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior, interval_at, timeout};
use tokio_tungstenite::tungstenite;
use tokio_util::sync::CancellationToken;

use super::mailbox::Mailbox;
use super::rights::{Standing, lost};
use super::subscriber::{Next, Refused, Subscriber};
use super::{Channel, Frame, Open, Request, frame};
use crate::access::{Caller, Via};
use crate::app::App;
use crate::http::Peer;
use crate::problem::{Code, Problem};
use crate::wire::ProblemForm;

/// The largest frame of a client.
const MAX_FRAME: usize = 64 * 1024;
/// The largest page of a channel's past.
const MAX_PAGE: u32 = 1000;
/// How large a page is if nothing else is said.
const PAGE: u32 = 200;
/// How many frames may be nonsense.
const MAX_NONSENSE: u32 = 20;
/// How many channels, or pages of their past, may be asked for in a second, and at once after a while of quiet: as many
/// as a page needs that comes back to all of its channels, twice.
const ASKS: NonZeroU32 = NonZeroU32::new(100).unwrap();
const ASKS_AT_ONCE: NonZeroU32 = NonZeroU32::new(512).unwrap();
/// How often somebody may ask for more than that.
const MAX_HASTE: u32 = 20;
/// How often we ask whether anybody is there.
const PING: Duration = Duration::from_secs(25);
/// How long somebody may not answer.
const SILENCE: Duration = Duration::from_mins(1);
/// How long a client may not take what is sent.
const STALLED: Duration = Duration::from_secs(30);
/// How long saying good-bye may take.
const FAREWELL: Duration = Duration::from_secs(5);
/// Buffers of an idle connection: there are many of them.
const READ_BUFFER: usize = 2 * 1024;
const WRITE_BUFFER: usize = 16 * 1024;

/// Open a WebSocket.
///
/// Text frames of JSON: `subscribe`, `unsubscribe`, `catchup` and `ping` on the channels `sessions` and `session:{id}`.
#[utoipa::path(
    get, path = "/api/v1/ws", operation_id = "openWebSocket", tag = "live",
    responses(
        (status = 101, description = "The connection is a WebSocket from here on"),
        (status = 400, description = "It is no request for a WebSocket", body = ProblemForm, content_type = "application/problem+json"),
        (status = 401, description = "Nobody is signed in", body = ProblemForm, content_type = "application/problem+json"),
        (status = 403, description = "They may not", body = ProblemForm, content_type = "application/problem+json"),
        (status = 421, description = "It comes from another site", body = ProblemForm, content_type = "application/problem+json"),
        (status = 429, description = "Too much at once", body = ProblemForm, content_type = "application/problem+json"),
        (status = 503, description = "The server is going away", body = ProblemForm, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn open(
    State(app): State<App>,
    caller: Caller,
    peer: Option<axum::Extension<Peer>>,
    headers: HeaderMap,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, Problem> {
    from_our_page(&caller, peer.as_deref(), &headers)?;
    let upgrade = upgrade.map_err(|rejection| {
        Problem::new(Code::InvalidInput, rejection.body_text())
            .hint("open it as a WebSocket; without one, `/api/v1/stream` tells the same")
    })?;
    if app.closing().is_cancelled() {
        return Err(Problem::new(Code::Unavailable, "the server is going away")
            .hint("try again in a moment")
            .retry_after(2));
    }
    let upgrade = upgrade
        .read_buffer_size(READ_BUFFER)
        .write_buffer_size(WRITE_BUFFER)
        .max_frame_size(MAX_FRAME)
        .max_message_size(MAX_FRAME)
        .on_failed_upgrade(|error| tracing::debug!(%error, "a connection did not become a WebSocket"));
    Ok(upgrade.on_upgrade(move |socket| serve(app, caller, socket)))
}

/// A browser sends the cookie along whoever's page asks for the connection, and tells whose page it is.
fn from_our_page(caller: &Caller, peer: Option<&Peer>, headers: &HeaderMap) -> Result<(), Problem> {
    let Via::Cookie { .. } = caller.via else {
        return Ok(());
    };
    let mut origins = headers.get_all(header::ORIGIN).iter();
    let (origin, other) = (origins.next(), origins.next());
    match (origin, other, peer) {
        (Some(origin), None, Some(peer)) if origin.as_bytes() == peer.origin.as_bytes() => Ok(()),
        _ => Err(Problem::new(
            Code::WrongOrigin,
            "this connection was not asked for by our own page",
        )
        .hint("programs send an API token and no cookie")),
    }
}

/// How a connection ends.
enum End {
    /// The other side is gone.
    Gone,
    /// We end it.
    Close { code: u16, reason: &'static str },
    /// The reader is too slow.
    Slow,
}

impl From<Standing> for End {
    fn from(standing: Standing) -> Self {
        let (code, reason) = match standing {
            Standing::Gone => (4401, "signed out"),
            Standing::Forbidden => (4403, "not allowed any more"),
            Standing::Good | Standing::Unsure => (1013, "your rights cannot be looked up; try again"),
        };
        Self::Close { code, reason }
    }
}

async fn serve(app: App, caller: Caller, mut socket: WebSocket) {
    let _open = Open::new("interlock_ws_connections");
    let subscriber = app.hub().subscriber();
    let mut connection = Connection {
        guard: Guard {
            closing: app.closing().clone(),
            standing: app.hub().rights().watch(&app, &caller),
            mailbox: subscriber.mailbox(),
        },
        subscriber,
        nonsense: 0,
        haste: 0,
        asks: RateLimiter::direct(Quota::per_second(ASKS).allow_burst(ASKS_AT_ONCE)),
        received: counter!("interlock_ws_frames_total", "direction" => "in"),
        sent: counter!("interlock_ws_frames_total", "direction" => "out"),
    };
    let Err(end) = connection.run(&mut socket, &caller).await else {
        return;
    };
    let (last, code, reason) = match end {
        End::Gone => return,
        End::Close { code, reason } => (None, code, reason),
        End::Slow => (
            Some(frame::slow(connection.subscriber.resume())),
            1013,
            "too slow; go on from where you were",
        ),
    };
    drop(connection);
    let farewell = async {
        if let Some(last) = last {
            socket.send(Message::Text(last.into())).await?;
        }
        let reason = Utf8Bytes::from_static(reason);
        socket
            .send(Message::Close(Some(CloseFrame { code, reason })))
            .await?;
        // The other side answers a close with its own; until then it may still read.
        while let Some(Ok(_)) = socket.recv().await {}
        Ok::<_, axum::Error>(())
    };
    // Whoever does not take it in time is cut off.
    let _ = timeout(FAREWELL, farewell).await;
}

/// What can end a connection while it waits for something else.
struct Guard {
    closing: CancellationToken,
    standing: watch::Receiver<Standing>,
    mailbox: std::sync::Arc<Mailbox>,
}

impl Guard {
    async fn ended(&mut self) -> End {
        tokio::select! {
            biased;
            standing = lost(&mut self.standing) => standing.into(),
            () = self.closing.cancelled() => End::Close { code: 1001, reason: "the server is going away" },
        }
    }

    async fn ended_or_slow(&mut self) -> End {
        let mailbox = std::sync::Arc::clone(&self.mailbox);
        tokio::select! {
            biased;
            end = self.ended() => end,
            () = mailbox.slow() => End::Slow,
        }
    }
}

struct Connection {
    guard: Guard,
    subscriber: Subscriber,
    nonsense: u32,
    haste: u32,
    asks: DefaultDirectRateLimiter,
    received: Counter,
    sent: Counter,
}

impl Connection {
    /// Until it ends, always with the reason.
    async fn run(&mut self, socket: &mut WebSocket, caller: &Caller) -> Result<(), End> {
        let id = format!("c{}", self.subscriber.id());
        self.say(socket, frame::established(&id, caller.user.as_str()))
            .await?;
        let mut heard = Instant::now();
        let mut ping = interval_at(heard + PING, PING);
        ping.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                end = self.guard.ended() => return Err(end),
                received = socket.recv() => {
                    heard = Instant::now();
                    match received {
                        None => return Err(End::Gone),
                        Some(Err(error)) => return Err(broken(&error)),
                        Some(Ok(message)) => self.take(socket, message).await?,
                    }
                }
                next = self.subscriber.next() => match next {
                    Next::Slow => return Err(End::Slow),
                    Next::Frames(frames) => {
                        for frame in &frames {
                            self.feed(socket, frame).await?;
                        }
                        self.flush(socket).await?;
                    }
                },
                _ = ping.tick() => {
                    if heard.elapsed() >= SILENCE {
                        return Err(End::Close { code: 1001, reason: "no answer for a minute" });
                    }
                    self.write(socket.send(Message::Ping(bytes::Bytes::new()))).await?;
                }
            }
        }
    }

    /// What a client says.
    async fn take(&mut self, socket: &mut WebSocket, message: Message) -> Result<(), End> {
        let request = match message {
            Message::Text(text) => Request::parse(text.as_str()),
            Message::Binary(_) => Err("frames are text; this one is binary".to_owned()),
            // Answered by the library. After a close the next look says that it is over.
            Message::Ping(_) | Message::Pong(_) | Message::Close(_) => return Ok(()),
        };
        self.received.increment(1);
        let answer = match request {
            Ok(Request::Subscribe { .. } | Request::Catchup { .. }) if self.asks.check().is_err() => {
                self.haste += 1;
                frame::too_fast()
            }
            Ok(request) => self.answer(request).await,
            Err(message) => {
                self.nonsense += 1;
                frame::not_understood(&message)
            }
        };
        self.say(socket, answer).await?;
        if self.nonsense >= MAX_NONSENSE {
            return Err(End::Close {
                code: 1008,
                reason: "too many frames that are not understood",
            });
        }
        if self.haste >= MAX_HASTE {
            return Err(End::Close {
                code: 1008,
                reason: "too much at once",
            });
        }
        Ok(())
    }

    async fn answer(&mut self, request: Request) -> String {
        match request {
            Request::Ping {} => frame::pong(),
            Request::Subscribe { channel, after } => match channel.parse::<Channel>() {
                Ok(channel) => match self.subscriber.subscribe(&channel, after).await {
                    Ok(position) => frame::confirmed(&channel, position),
                    Err(refused) => refusal(&channel.to_string(), &refused),
                },
                Err(error) => no_channel(&channel, &error.to_string()),
            },
            Request::Unsubscribe { channel } => match channel.parse::<Channel>() {
                Ok(channel) => {
                    self.subscriber.unsubscribe(&channel);
                    frame::ended(&channel)
                }
                Err(error) => no_channel(&channel, &error.to_string()),
            },
            Request::Catchup {
                channel,
                after,
                limit,
            } => match channel.parse::<Channel>() {
                Ok(parsed) => {
                    let limit = limit.unwrap_or(PAGE);
                    if !(1..=MAX_PAGE).contains(&limit) {
                        let message = format!("`limit` is between 1 and {MAX_PAGE}");
                        return frame::refused(&channel, Code::InvalidInput, &message);
                    }
                    match self.subscriber.past(&parsed, after, limit).await {
                        Ok((events, more)) => frame::page(&parsed, &events, more),
                        Err(refused) => refusal(&channel, &refused),
                    }
                }
                Err(error) => no_channel(&channel, &error.to_string()),
            },
        }
    }

    async fn say(&mut self, socket: &mut WebSocket, text: String) -> Result<(), End> {
        self.write(socket.send(Message::Text(text.into()))).await?;
        self.sent.increment(1);
        Ok(())
    }

    async fn feed(&mut self, socket: &mut WebSocket, frame: &Frame) -> Result<(), End> {
        self.write(socket.feed(Message::Text(frame.text().clone())))
            .await?;
        self.subscriber.sent(frame);
        self.sent.increment(1);
        Ok(())
    }

    async fn flush(&mut self, socket: &mut WebSocket) -> Result<(), End> {
        self.write(socket.flush()).await
    }

    /// Nobody waits for a reader for ever, and what ends the connection ends it even while it does not read.
    async fn write(&mut self, writing: impl Future<Output = Result<(), axum::Error>>) -> Result<(), End> {
        tokio::select! {
            biased;
            written = timeout(STALLED, writing) => match written {
                Ok(Ok(())) => Ok(()),
                Ok(Err(_)) => Err(End::Gone),
                Err(_) => Err(End::Slow),
            },
            end = self.guard.ended_or_slow() => Err(end),
        }
    }
}

/// A channel's name comes back as it was sent, but not without end.
fn no_channel(named: &str, message: &str) -> String {
    let shown: String = named.chars().take(100).collect();
    frame::refused(&shown, Code::InvalidInput, message)
}

fn refusal(channel: &str, refused: &Refused) -> String {
    let code = match refused {
        Refused::Unknown => Code::NotFound,
        Refused::TooMany => Code::RateLimited,
        Refused::Store(error) => {
            tracing::warn!(%error, channel, "a channel cannot be read");
            Code::Unavailable
        }
    };
    frame::refused(channel, code, &refused.to_string())
}

/// What a frame did that is none.
fn broken(error: &axum::Error) -> End {
    use tungstenite::Error;
    let (code, reason) = match error.source().and_then(|source| source.downcast_ref::<Error>()) {
        Some(Error::Capacity(_)) => (1009, "a frame may have 64 KiB"),
        Some(Error::Utf8(_)) => (1007, "text is UTF-8"),
        Some(Error::Protocol(_)) => (1002, "that is not how WebSocket works"),
        _ => return End::Gone,
    };
    End::Close { code, reason }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;
    use interlock_protocol::{ContentHash, Role};

    #[test]
    fn a_cookie_counts_only_on_our_own_page() {
        let peer = Peer {
            address: std::net::IpAddr::from([127, 0, 0, 1]),
            origin: "https://interlock.example".to_owned(),
            secure: true,
        };
        let cookie = Via::Cookie {
            login: ContentHash::of("x"),
            csrf: String::new(),
        };
        let cases: &[(&[&'static str], bool)] = &[
            (&["https://interlock.example"], true),
            (&[], false),
            (&["null"], false),
            (&["https://evil.example"], false),
            (&["http://interlock.example"], false),
            (&["https://interlock.example.evil.example"], false),
            (&["https://interlock.example", "https://evil.example"], false),
        ];
        for (origins, expected) in cases {
            let mut headers = HeaderMap::new();
            for origin in *origins {
                headers.append(header::ORIGIN, HeaderValue::from_static(origin));
            }
            let caller = Caller {
                user: "ada".parse().unwrap(),
                role: Role::Viewer,
                revision: 1,
                via: cookie.clone(),
            };
            assert_eq!(
                from_our_page(&caller, Some(&peer), &headers).is_ok(),
                *expected,
                "{origins:?}"
            );
            assert!(from_our_page(&caller, None, &headers).is_err());
        }
    }
}
