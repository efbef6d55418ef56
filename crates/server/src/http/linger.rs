//! Whoever is refused while they still send hears why: closing on them would lose the answer.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, BodyDataStream, HttpBody as _};
use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;
use bytes::Bytes;
use futures_util::{Stream, StreamExt as _};
use http::header;

/// How long, and how many bytes, whoever is refused may go on sending.
const LONGEST: Duration = Duration::from_secs(2);
const MOST_BYTES: usize = 24 * 1024 * 1024;

/// A body that can be taken back from whoever did not read it.
#[derive(Clone)]
struct Lent(Arc<Mutex<Option<BodyDataStream>>>);

impl Stream for Lent {
    type Item = Result<Bytes, axum::Error>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut body = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match body.as_mut() {
            Some(body) => body.poll_next_unpin(cx),
            // Not its end: whoever still reads must not take the beginning for the whole.
            None => Poll::Ready(Some(Err(axum::Error::new("the request was answered already")))),
        }
    }
}

/// Where a request is refused, takes what is still on its way, in bounds, before the answer goes out.
pub(super) async fn linger(request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    let too_much = body.size_hint().lower() > MOST_BYTES as u64;
    // Who waits for a word before they send anything has nothing on its way; what is out of bounds is not begun.
    if body.is_end_stream() || too_much || parts.headers.contains_key(header::EXPECT) {
        return next.run(Request::from_parts(parts, body)).await;
    }
    let lent = Lent(Arc::new(Mutex::new(Some(body.into_data_stream()))));
    let request = Request::from_parts(parts, Body::from_stream(lent.clone()));
    let response = next.run(request).await;
    let status = response.status();
    if status.is_client_error() || status.is_server_error() {
        let rest = lent.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(rest) = rest {
            // Out of time or out of bounds: the connection closes, as it would have.
            let _ = tokio::time::timeout(LONGEST, drain(rest)).await;
        }
    }
    response
}

async fn drain(mut body: BodyDataStream) {
    let mut taken = 0;
    while let Some(Ok(piece)) = body.next().await {
        taken += piece.len();
        if taken > MOST_BYTES {
            return;
        }
    }
}
