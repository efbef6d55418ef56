//! How a connection ends, and how that is told.

use std::error::Error as _;
use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket};
use tokio::time::timeout;
use tokio_tungstenite::tungstenite;

use super::super::rights::Standing;

/// How long saying good-bye may take.
const FAREWELL: Duration = Duration::from_secs(5);

/// How a connection ends.
pub(super) enum End {
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

/// Says the last words and closes. Whoever does not take them in time is cut off.
pub(super) async fn farewell(mut socket: WebSocket, last: Option<String>, code: u16, reason: &'static str) {
    let words = async {
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
    let _ = timeout(FAREWELL, words).await;
}

/// What a frame did that is none.
pub(super) fn broken(error: &axum::Error) -> End {
    use tungstenite::Error;
    let (code, reason) = match error.source().and_then(|source| source.downcast_ref::<Error>()) {
        Some(Error::Capacity(_)) => (1009, "a frame may have 64 KiB"),
        Some(Error::Utf8(_)) => (1007, "text is UTF-8"),
        Some(Error::Protocol(_)) => (1002, "that is not how WebSocket works"),
        _ => return End::Gone,
    };
    End::Close { code, reason }
}
