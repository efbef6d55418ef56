//! The headers that keep a browser safe, on every answer.

use http::{HeaderMap, HeaderName, HeaderValue, header};

use super::Peer;

const CROSS_ORIGIN_OPENER: HeaderName = HeaderName::from_static("cross-origin-opener-policy");
const CROSS_ORIGIN_RESOURCE: HeaderName = HeaderName::from_static("cross-origin-resource-policy");
const PERMISSIONS: HeaderName = HeaderName::from_static("permissions-policy");

/// Which style elements a page may have; sheets of ours it may always have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Styles {
    /// None.
    No,
    /// Those with this number used once.
    Nonce(String),
    /// Any: for a page that was built without a place for the number.
    Any,
}

/// Puts them on an answer. What a handler has set stays.
pub(super) fn secure(headers: &mut HeaderMap, peer: Option<&Peer>) {
    let mut set = |name: HeaderName, value: &'static str| {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    };
    set(header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    set(header::X_FRAME_OPTIONS, "DENY");
    set(header::REFERRER_POLICY, "no-referrer");
    set(CROSS_ORIGIN_OPENER, "same-origin");
    set(CROSS_ORIGIN_RESOURCE, "same-origin");
    set(
        PERMISSIONS,
        "accelerometer=(), camera=(), display-capture=(), geolocation=(), gyroscope=(), magnetometer=(), \
         microphone=(), midi=(), payment=(), usb=(), clipboard-read=(), clipboard-write=(self)",
    );
    set(header::CACHE_CONTROL, "no-store");
    if peer.is_some_and(|peer| peer.secure) {
        set(
            header::STRICT_TRANSPORT_SECURITY,
            "max-age=31536000; includeSubDomains",
        );
    }
    if !headers.contains_key(header::CONTENT_SECURITY_POLICY)
        && let Ok(policy) = HeaderValue::try_from(policy(peer, &Styles::No))
    {
        headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    }
}

/// What a page may load, and from where: from us. Style attributes are allowed because components set sizes and places
/// with them; style elements need the nonce.
pub(crate) fn policy(peer: Option<&Peer>, styles: &Styles) -> String {
    let sockets = peer
        .map(|peer| {
            let rest = peer.origin.strip_prefix("http").unwrap_or_default();
            format!(" ws{rest}")
        })
        .unwrap_or_default();
    let styles = match styles {
        Styles::No => String::new(),
        Styles::Nonce(nonce) => format!(" 'nonce-{nonce}'"),
        Styles::Any => " 'unsafe-inline'".to_owned(),
    };
    format!(
        "default-src 'self'; script-src 'self'; style-src 'self'{styles}; style-src-attr 'unsafe-inline'; \
         img-src 'self' data:; font-src 'self'; connect-src 'self'{sockets}; object-src 'none'; base-uri 'none'; \
         form-action 'self'; frame-ancestors 'none'"
    )
}
