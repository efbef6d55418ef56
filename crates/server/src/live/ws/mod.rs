//! One WebSocket: how it is opened (here), what the client asks for and what goes out to it (`connection`, `answer`),
//! and how it ends (`end`).

mod answer;
mod connection;
mod end;

use axum::extract::State;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::response::Response;
use http::{HeaderMap, header};

use super::entry::{Entry, Kind};
use crate::access::{Caller, Via};
use crate::api::answers::{Anybody, Signed};
use crate::app::App;
use crate::http::Peer;
use crate::problem::{Code, Problem};

/// The largest frame of a client.
const MAX_FRAME: usize = 64 * 1024;
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
        Anybody, Signed,
    ),
)]
pub(in crate::live) async fn open(
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
    let entry = Entry::new(&app, &caller, Kind::WebSocket)?;
    let upgrade = upgrade
        .read_buffer_size(READ_BUFFER)
        .write_buffer_size(WRITE_BUFFER)
        .max_frame_size(MAX_FRAME)
        .max_message_size(MAX_FRAME)
        .on_failed_upgrade(|error| tracing::debug!(%error, "a connection did not become a WebSocket"));
    Ok(upgrade.on_upgrade(move |socket| connection::serve(app, caller, entry, socket)))
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
