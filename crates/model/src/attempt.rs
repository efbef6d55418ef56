//! Asks a provider once.

use crate::collect::{Collected, Collector};
use crate::failure::{Fault, Kind};
use crate::http::{Endpoint, deepest};
use crate::limits::Limits;
use crate::retry;
use crate::wire::{Progress, Raw, Stream, Wire, problem};
use crate::{Sink, Timeouts};
use bytes::Bytes;
use reqwest::Response;
use std::future::Future;
use std::time::Duration;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// How long a finished reply may keep its connection before the connection is given up.
const DRAIN: Duration = Duration::from_millis(250);
/// How much a provider may send after a finished reply before the connection is given up.
const DRAIN_BYTES: usize = 64 << 10;

/// What one attempt came to.
#[derive(Debug, Default)]
pub(crate) struct Tried {
    pub(crate) status: Option<u16>,
    pub(crate) request_id: Option<String>,
    pub(crate) asked_to_wait: Option<Duration>,
    pub(crate) fault: Option<Fault>,
    pub(crate) collected: Collected,
    pub(crate) raw: Bytes,
    pub(crate) raw_total: u64,
    pub(crate) visible: bool,
    pub(crate) first_chunk: Option<Duration>,
}

impl Tried {
    pub(crate) fn failed(fault: Fault) -> Self {
        Self {
            fault: Some(fault),
            ..Self::default()
        }
    }
}

/// The clocks of one attempt.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clocks<'a> {
    pub(crate) timeouts: Timeouts,
    pub(crate) began: Instant,
    /// When the whole call is over.
    pub(crate) deadline: Instant,
    pub(crate) cancel: &'a CancellationToken,
}

/// What is being waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Awaited {
    FirstChunk,
    NextChunk,
}

impl Clocks<'_> {
    /// Waits for the future, unless it is cancelled or too late.
    pub(crate) async fn wait<T>(&self, what: Awaited, future: impl Future<Output = T>) -> Result<T, Fault> {
        let (until, kind, length) = match what {
            Awaited::FirstChunk => (
                self.began + self.timeouts.first_chunk.get(),
                Kind::TimeoutFirstChunk,
                self.timeouts.first_chunk,
            ),
            Awaited::NextChunk => (
                Instant::now() + self.timeouts.stall.get(),
                Kind::TimeoutStall,
                self.timeouts.stall,
            ),
        };
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => Err(cancelled()),
            value = future => Ok(value),
            () = tokio::time::sleep_until(until.min(self.deadline)) => Err(if self.deadline <= until {
                Fault::new(Kind::TimeoutCall, format!("the whole call took longer than {}", self.timeouts.call))
            } else if kind == Kind::TimeoutStall {
                Fault::new(kind, format!("the reply went silent for {length}"))
            } else {
                Fault::new(kind, format!("nothing of a reply came within {length}"))
            }),
        }
    }
}

pub(crate) fn cancelled() -> Fault {
    Fault::new(Kind::Cancelled, "the call was cancelled")
}

/// Asks once.
pub(crate) async fn ask(
    endpoint: &Endpoint,
    wire: Wire,
    body: Bytes,
    limits: Limits,
    clocks: Clocks<'_>,
    sink: &mut Sink<'_>,
) -> Tried {
    let sending = endpoint
        .http
        .post(endpoint.url.clone())
        .headers(endpoint.headers.clone())
        .body(body)
        .send();
    let mut response = match clocks.wait(Awaited::FirstChunk, sending).await {
        Ok(Ok(response)) => response,
        Ok(Err(error)) => return Tried::failed(unreachable(error, endpoint)),
        Err(fault) => return Tried::failed(fault),
    };
    let header = |name: &str| {
        let value = response.headers().get(name)?.to_str().ok()?;
        Some(value.to_owned()).filter(|value| value.len() <= 512)
    };
    let status = response.status();
    let mut tried = Tried {
        status: Some(status.as_u16()),
        request_id: header("x-request-id").or_else(|| header("request-id")),
        ..Tried::default()
    };
    if !status.is_success() {
        tried.asked_to_wait = retry::asked(header, jiff::Timestamp::now());
        let leads_to = header("location");
        refused(&mut tried, response, leads_to, endpoint, limits, clocks).await;
        return tried;
    }
    let mut stream = Stream::new(wire, limits, Collector::new(sink));
    tried.fault = receive(
        &mut stream,
        &mut response,
        &mut tried.first_chunk,
        endpoint,
        clocks,
    )
    .await
    .err();
    tried.visible = stream.visible();
    (tried.collected, tried.raw, tried.raw_total) = stream.finish(&endpoint.scrubber);
    tried
}

/// Reads a reply to its end.
async fn receive(
    stream: &mut Stream<'_>,
    response: &mut Response,
    first_chunk: &mut Option<Duration>,
    endpoint: &Endpoint,
    clocks: Clocks<'_>,
) -> Result<(), Fault> {
    let note_first = |stream: &Stream<'_>, first_chunk: &mut Option<Duration>| {
        if first_chunk.is_none() && stream.visible() {
            *first_chunk = Some(clocks.began.elapsed());
        }
    };
    loop {
        let what = if stream.visible() {
            Awaited::NextChunk
        } else {
            Awaited::FirstChunk
        };
        match clocks.wait(what, response.chunk()).await? {
            Ok(Some(bytes)) => {
                let progress = stream.push(&bytes);
                note_first(stream, first_chunk);
                if progress? == Progress::Done {
                    if !stream.stopped() {
                        drain(response).await;
                    }
                    return Ok(());
                }
            }
            Ok(None) => {
                let ended = stream.end();
                note_first(stream, first_chunk);
                return ended;
            }
            // A connection that breaks after the last word of a reply has broken nothing.
            Err(_) if stream.end().is_ok() => return Ok(()),
            Err(error) => return Err(unreachable(error, endpoint)),
        }
    }
}

/// Reads what little is left after a reply, so that its connection can be used again.
async fn drain(response: &mut Response) {
    let rest = async {
        let mut read = 0;
        while let Ok(Some(bytes)) = response.chunk().await {
            read += bytes.len();
            if read > DRAIN_BYTES {
                break;
            }
        }
    };
    let _ = tokio::time::timeout(DRAIN, rest).await;
}

/// Reads what a provider says about its refusal.
async fn refused(
    tried: &mut Tried,
    mut response: Response,
    leads_to: Option<String>,
    endpoint: &Endpoint,
    limits: Limits,
    clocks: Clocks<'_>,
) {
    let status = response.status();
    let mut raw = Raw::default();
    loop {
        match clocks.wait(Awaited::FirstChunk, response.chunk()).await {
            Ok(Ok(Some(bytes))) => {
                raw.push(&bytes, limits.error_bytes);
                if raw.total > limits.error_bytes as u64 {
                    break;
                }
            }
            Err(fault) if fault.kind == Kind::Cancelled => {
                tried.fault = Some(fault);
                return;
            }
            // What a refusal says is worth less than the refusal.
            Ok(Ok(None) | Err(_)) | Err(_) => break,
        }
    }
    tried.raw_total = raw.total;
    let kept = raw.into_bytes();
    tried.raw = endpoint.scrubber.bytes(&kept).map_or(kept, Bytes::from);
    tried.fault = Some(if status.is_redirection() {
        let to = leads_to.map_or_else(|| "elsewhere".to_owned(), |to| crate::http::shown(&to));
        let what = format!("it answered {status} and leads to {to}, which is not followed");
        Fault::new(Kind::InvalidRequest, what)
    } else {
        problem::answered(status.as_u16(), &tried.raw)
    });
}

fn unreachable(error: reqwest::Error, endpoint: &Endpoint) -> Fault {
    let what = if error.is_connect() {
        "no connection"
    } else {
        "the connection broke"
    };
    let reason = endpoint.scrubber.text(&deepest(&error.without_url()));
    Fault::new(Kind::Transport, format!("{what}: {reason}"))
}
