//! How many requests of a connection are being answered, to the last byte of the answer.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use hyper::body::{Frame, SizeHint};
use tokio::sync::watch;

/// The requests of one connection.
#[derive(Debug, Clone)]
pub(super) struct Requests {
    count: Arc<watch::Sender<Count>>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Count {
    open: usize,
    ever: bool,
}

/// A request that is being answered. Counts until it is dropped.
#[derive(Debug)]
pub(super) struct Answering(Requests);

impl Requests {
    /// None yet.
    pub(super) fn new() -> Self {
        Self {
            count: Arc::new(watch::Sender::new(Count::default())),
        }
    }

    /// One more.
    pub(super) fn begin(&self) -> Answering {
        self.count.send_modify(|count| {
            count.open += 1;
            count.ever = true;
        });
        Answering(self.clone())
    }

    /// Whether there ever was one.
    pub(super) fn any(&self) -> bool {
        self.count.borrow().ever
    }

    /// Returns once there was none for so long.
    pub(super) async fn idle(&self, long: Duration) {
        let mut count = self.count.subscribe();
        loop {
            let open = count.borrow_and_update().open;
            // It cannot be closed: `self` can still send.
            if open > 0 {
                let _ = count.changed().await;
            } else if tokio::time::timeout(long, count.changed()).await.is_err() {
                return;
            }
        }
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        self.0.count.send_modify(|count| count.open -= 1);
    }
}

/// An answer that counts until all of it has left.
pub(super) struct Answer {
    body: Body,
    _answering: Answering,
}

impl Answer {
    /// This one.
    pub(super) fn new(body: Body, answering: Answering) -> Self {
        Self {
            body,
            _answering: answering,
        }
    }
}

impl hyper::body::Body for Answer {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_connection_is_idle_only_while_nothing_is_answered() {
        let long = Duration::from_secs(10);
        let requests = Requests::new();
        assert!(!requests.any());
        let answering = requests.begin();
        assert!(requests.any());
        let waited = tokio::time::timeout(long * 100, requests.idle(long)).await;
        assert!(waited.is_err(), "it is being answered");
        let answer = Answer::new(Body::from("x"), answering);
        let waited = tokio::time::timeout(long * 100, requests.idle(long)).await;
        assert!(waited.is_err(), "the answer has not left");
        drop(answer);
        let begun = tokio::time::Instant::now();
        requests.idle(long).await;
        assert_eq!(begun.elapsed(), long);
    }
}
