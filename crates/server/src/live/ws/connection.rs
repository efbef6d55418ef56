//! What goes in and out on one WebSocket, and what watches over it.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::ws::{Message, WebSocket};
use futures_util::SinkExt as _;
use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};
use metrics::{Counter, counter};
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior, interval_at, timeout};
use tokio_util::sync::CancellationToken;

use super::super::entry::{Entry, Stream};
use super::super::mailbox::Mailbox;
use super::super::rights::{Standing, lost};
use super::super::subscriber::{Next, Subscriber};
use super::super::{Frame, Request, frame};
use super::answer::answer;
use super::end::{End, broken, farewell};
use crate::access::Caller;
use crate::app::App;

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

/// Until it ends.
pub(super) async fn serve(app: App, caller: Caller, entry: Entry, mut socket: WebSocket) {
    let Stream {
        closing,
        standing,
        subscriber,
        room: _room,
    } = entry.begin(&app, &caller);
    let mut connection = Connection {
        guard: Guard {
            closing,
            standing,
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
    farewell(socket, last, code, reason).await;
}

/// What can end a connection while it waits for something else.
struct Guard {
    closing: CancellationToken,
    standing: watch::Receiver<Standing>,
    mailbox: Arc<Mailbox>,
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
        let mailbox = Arc::clone(&self.mailbox);
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
            Ok(request) => answer(&mut self.subscriber, request).await,
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
