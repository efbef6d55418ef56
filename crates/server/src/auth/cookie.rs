//! The cookie of a signed-in browser.

use http::{HeaderMap, HeaderValue, header};
use interlock_protocol::ContentHash;

use super::secret;
use crate::http::Peer;

/// The name of the cookie.
pub(super) const SESSION: &str = "interlock_session";

/// The values of every cookie of that name; a browser may send several.
pub(super) fn values<'h>(headers: &'h HeaderMap, name: &'h str) -> impl Iterator<Item = &'h str> {
    headers
        .get_all(header::COOKIE)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(';'))
        .filter_map(move |pair| {
            let (key, value) = pair.trim().split_once('=')?;
            (key == name).then_some(value)
        })
}

/// The login that a request's cookie stands for. Two different ones are none: nobody can say which is meant.
pub(super) fn login(headers: &HeaderMap) -> Option<ContentHash> {
    let mut found = values(headers, SESSION).filter_map(|value| secret::hash_of("", value));
    let first = found.next()?;
    found.all(|other| other == first).then_some(first)
}

/// Sets the cookie.
pub(super) fn set(secret: &str, seconds: u64, peer: &Peer) -> Option<HeaderValue> {
    make(SESSION, secret, "/", seconds, peer)
}

/// Takes the cookie away.
pub(super) fn clear(peer: &Peer) -> Option<HeaderValue> {
    make(SESSION, "", "/", 0, peer)
}

/// A cookie that no script can read and that other sites cannot send with changes.
pub(super) fn make(name: &str, value: &str, path: &str, seconds: u64, peer: &Peer) -> Option<HeaderValue> {
    let secure = if peer.secure { "; Secure" } else { "" };
    HeaderValue::try_from(format!(
        "{name}={value}; Path={path}; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}"
    ))
    .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_is_found_among_others() {
        let one = "a".repeat(64);
        let two = "b".repeat(64);
        let cases = [
            (format!("interlock_session={one}"), Some(&one)),
            (format!("x=1; interlock_session={one}; y=2"), Some(&one)),
            (
                format!("interlock_session={one}; interlock_session={one}"),
                Some(&one),
            ),
            (format!("interlock_session={one}; interlock_session={two}"), None),
            (format!("interlock_session2={one}"), None),
            ("interlock_session=short".to_owned(), None),
            (String::new(), None),
        ];
        for (sent, found) in cases {
            let mut headers = HeaderMap::new();
            headers.insert(header::COOKIE, HeaderValue::try_from(&sent).unwrap());
            assert_eq!(login(&headers), found.map(ContentHash::of), "{sent}");
        }
    }

    #[test]
    fn it_is_only_for_us_and_only_sent_safely() {
        let peer = |secure| Peer {
            address: "127.0.0.1".parse().unwrap(),
            origin: String::new(),
            secure,
        };
        assert_eq!(
            set("abc", 60, &peer(true)).unwrap(),
            "interlock_session=abc; Path=/; Max-Age=60; HttpOnly; SameSite=Lax; Secure"
        );
        assert_eq!(
            clear(&peer(false)).unwrap(),
            "interlock_session=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax"
        );
    }
}
