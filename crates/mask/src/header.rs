//! Credentials in the headers of HTTP.

use std::ops::Range;

use regex::Regex;

use crate::around::Around;
use crate::finder::{Find, Finder, Scope};
use crate::placeholder::{is_expression, is_placeholder, is_strong};
use crate::span::Spans;
use crate::work::{looked_at, within_budget};
use crate::{Kind, base64};

pub(crate) const FINDERS: &[Finder] = &[
    // Headers of services that have a name of their own for it.
    Finder {
        kind: Kind::Secret,
        anchors: &[
            "x-",
            "private-token",
            "job-token",
            "deploy-token",
            "dd-ap",
            "api-key",
            "subscription-key",
        ],
        around: Around::Anything,
        trigger: "(?i-u)(?:x-[a-z-]*(?:auth|access|key|token|secret|session|signature)|private-token|job-token|deploy-token|dd-ap|subscription-key)",
        pattern: r"(?i-u:\b(?:x-(?:[a-z]{1,20}-){0,3}(?:auth|authorization|auth-key|access|key|token|secret|session|email-key|signature)|private-token|job-token|deploy-token|dd-application-key|dd-api-key|ocp-apim-subscription-key))\\*[\x22']?[ \t]*[:=][ \t]*\\*[\x22']?([^\s\x22'\\,;]{6,})",
        scope: Scope::Lines,
        find: Find::In(named),
    },
    // Curl's short form, and what a proxy or a trace writes: `authorization Bearer …`, `Authorization=[Bearer …]`.
    Finder {
        kind: Kind::Authorization,
        anchors: &["oauth_", "credential=", "response=", "nonce="],
        around: Around::Anything,
        trigger: "(?i-u)oauth_(?:token|signature|consumer)|credential=|response=|nonce=",
        pattern: r#"(?i-u:\b(?:oauth_(?:token|token_secret|signature|consumer_key)|response|cnonce|nonce))="([^"\n]{8,})""#,
        scope: Scope::Lines,
        find: Find::In(crate::finder::first_group),
    },
    Finder {
        kind: Kind::Authorization,
        anchors: &["authorization"],
        around: Around::Anything,
        trigger: "(?i-u)authorization",
        pattern: r"(?i-u:authorization)\\*[\x22']?\]?[ \t]*(?:=>|[:=,])[ \t]*\[?\\*[\x22']?",
        scope: Scope::Lines,
        find: Find::In(authorization),
    },
    Finder {
        kind: Kind::Authorization,
        anchors: &["bearer"],
        around: Around::Anything,
        trigger: "(?i-u)bearer[ \t]",
        pattern: r"(?i-u:\bbearer)[ \t]+([A-Za-z0-9._~+/=-]{8,})",
        scope: Scope::Lines,
        find: Find::In(bearer),
    },
    Finder {
        kind: Kind::Authorization,
        anchors: &["basic"],
        around: Around::Anything,
        trigger: "(?i-u)basic[ \t]",
        pattern: r"(?i-u:\bbasic)[ \t]+([A-Za-z0-9+/_-]{6,}={0,2})",
        scope: Scope::Lines,
        find: Find::In(basic),
    },
    Finder {
        kind: Kind::Cookie,
        anchors: &["set-cookie"],
        around: Around::Anything,
        trigger: "(?i-u)set-cookie",
        pattern: r"(?i-u:set-cookie2?)\\*[\x22']?[ \t]*[:=,][ \t]*\[?\\*[\x22']?[^\s=;\x22']+=\\*[\x22']?([^;\s\x22'\\,]+)",
        scope: Scope::Lines,
        find: Find::In(crate::finder::first_group),
    },
    Finder {
        kind: Kind::Cookie,
        anchors: &["cookie"],
        around: Around::Anything,
        trigger: "(?i-u)cookie",
        pattern: r"(?i-u:\bcookie)\\*[\x22']?[ \t]*[:,][ \t]*\[?\\*[\x22']?([^=;\s\x22'\\]+=[^\n\x22'\\]+)",
        scope: Scope::Lines,
        find: Find::In(cookies),
    },
];

/// The schemes of the header, in small letters.
const SCHEMES: &[&str] = &[
    "apikey",
    "api-key",
    "aws",
    "aws4-ecdsa-p256-sha256",
    "aws4-hmac-sha256",
    "basic",
    "bearer",
    "bot",
    "client-id",
    "deepl-auth-key",
    "digest",
    "discogs",
    "dpop",
    "geniekey",
    "glpat",
    "gnap",
    "goog1",
    "goog4-rsa-sha256",
    "hawk",
    "hoba",
    "jwt",
    "key",
    "klaviyo-api-key",
    "mac",
    "mutual",
    "negotiate",
    "ntlm",
    "oauth",
    "oauth2",
    "private-token",
    "privatetoken",
    "pveapitoken",
    "scram-sha-1",
    "scram-sha-256",
    "secret",
    "service",
    "sharedaccesssignature",
    "sharedkey",
    "sharedkeylite",
    "signature",
    "splunk",
    "sso-key",
    "token",
    "user",
    "vapid",
];

/// The word of a header's value at this place.
fn word_at(text: &str, at: usize) -> Range<usize> {
    let ends = |character: char| character.is_whitespace() || matches!(character, '"' | '\'' | '\\' | '`');
    let rest = &text[at..];
    let length = rest.find(ends).unwrap_or(rest.len());
    looked_at(length);
    at..at + length
}

/// Whether a word is a scheme, with the credentials behind it.
fn is_scheme(word: &str) -> bool {
    let own = word.len() > 2
        && word.len() <= 22
        && word.as_bytes()[..2].eq_ignore_ascii_case(b"x-")
        && word
            .bytes()
            .all(|byte| byte.is_ascii_alphabetic() || byte == b'-');
    own || SCHEMES.iter().any(|scheme| word.eq_ignore_ascii_case(scheme))
}

fn authorization(regex: &Regex, text: &str, kind: Kind, spans: &mut Spans) {
    // What was read as a value is not read again.
    let mut read = 0;
    for found in regex.find_iter(text) {
        looked_at(found.len());
        if !within_budget() {
            return;
        }
        if found.start() < read {
            continue;
        }
        let mut value = word_at(text, found.end());
        let mut schemed = false;
        // Some write `Bearer Bearer`.
        for _ in 0..2 {
            let blanks = text[value.end..].len() - text[value.end..].trim_start_matches([' ', '\t']).len();
            let next = word_at(text, value.end + blanks);
            let scheme = &text[value.clone()];
            // A scheme that is not in the list shows by the key behind it.
            let unknown = scheme.len() <= 24
                && scheme.starts_with(|first: char| first.is_ascii_alphabetic())
                && scheme
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
                && is_strong(&text[next.clone()]);
            if blanks == 0 || next.is_empty() || !(is_scheme(scheme) || unknown) {
                break;
            }
            (value, schemed) = (next, true);
        }
        read = value.end;
        if value.is_empty() {
            continue;
        }
        let (start, end) = (value.start, value.end);
        let word = &text[value];
        // Prose: `authorization: required`, `Authorization: Bearer tokens are …`. Behind a scheme, only these words are.
        let plain = word.trim_end_matches(['.', ',', ';', ':', ')']);
        let ordinary = if schemed {
            matches!(
                plain.to_ascii_lowercase().as_str(),
                "token" | "tokens" | "auth" | "authentication" | "scheme" | "is" | "and" | "or"
            )
        } else {
            word.len() < 16
                && plain
                    .bytes()
                    .all(|byte| byte.is_ascii_alphabetic() || byte == b'-')
        };
        let code = is_expression(word) || word.contains("${") || word.contains("{}");
        // `Bearer …`, `Bearer ilk_…`: an example.
        let example = word.strip_suffix('…').is_some_and(|begin| begin.len() <= 4);
        if is_placeholder(word)
            || ordinary
            || code
            || example
            || word.starts_with(['{', '[', '(', '<', ':', '&'])
        {
            continue;
        }
        // `PVEAPIToken=user@realm!id=…` keeps its user: another finder masks what is behind it.
        if word.contains("APIToken=") {
            continue;
        }
        let near = &text[end..text.floor_char_boundary(end + 2048)];
        let rest = near.split('\n').next().unwrap_or_default();
        // Digest and signed requests carry their secret in parameters behind the first word.
        let parameters = word.contains('=') && (word.ends_with(',') || rest.trim_start().starts_with(','));
        let end = if parameters {
            end + rest.find(['"', '\'']).unwrap_or(rest.len())
        } else {
            end
        };
        let trimmed = text[start..end].trim_end_matches([',', ';', ')', '}', ']']).len();
        let range = if is_placeholder(&text[start..start + trimmed]) {
            start..start
        } else {
            start..start + trimmed
        };
        spans.add(range, kind);
    }
}

/// A header with a name of its own; words of prose behind it stay.
fn named(regex: &Regex, text: &str, kind: Kind, spans: &mut Spans) {
    for captures in regex.captures_iter(text) {
        let Some(value) = captures.get(1) else { continue };
        // In an address, the next parameter ends it.
        let asked = text[..captures.get_match().start()].ends_with(['?', '&']);
        let end = value.as_str().find('&').filter(|_| asked);
        let word = &value.as_str()[..end.unwrap_or(value.len())];
        let plain = word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
        let prose = plain && word.len() < 16;
        if is_placeholder(word) || prose || word.starts_with(['{', '<', '(', '[']) {
            continue;
        }
        spans.add(value.start()..value.start() + word.len(), kind);
    }
}

fn bearer(regex: &Regex, text: &str, kind: Kind, spans: &mut Spans) {
    for captures in regex.captures_iter(text) {
        let Some(value) = captures.get(1) else { continue };
        let word = value.as_str().trim_end_matches(['.', '-']);
        let random = word.bytes().any(|byte| byte.is_ascii_digit()) || word.len() >= 24;
        if random && !is_placeholder(word) {
            spans.add(value.range(), kind);
        }
    }
}

fn basic(regex: &Regex, text: &str, kind: Kind, spans: &mut Spans) {
    for captures in regex.captures_iter(text) {
        if let Some(value) = captures.get(1)
            && base64::is_login(value.as_str())
        {
            spans.add(value.range(), kind);
        }
    }
}

/// Every value of a `Cookie:` header; the names stay.
fn cookies(regex: &Regex, text: &str, kind: Kind, spans: &mut Spans) {
    for captures in regex.captures_iter(text) {
        let Some((header, pairs)) = captures.get(0).zip(captures.get(1)) else {
            continue;
        };
        if text[..header.start()].ends_with('-') {
            continue;
        }
        let mut at = pairs.start();
        for pair in pairs.as_str().split(';') {
            if let Some(equals) = pair.find('=') {
                let value = pair[equals + 1..].trim_end();
                let start = at + equals + 1;
                if !is_placeholder(value) {
                    spans.add(start..start + value.len(), kind);
                }
            }
            at += pair.len() + 1;
        }
    }
}
