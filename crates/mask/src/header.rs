//! Credentials in the headers of HTTP.

use regex::Regex;

use crate::finder::Finder;
use crate::placeholder::is_placeholder;
use crate::span::Spans;
use crate::{Kind, base64};

pub(crate) const FINDERS: &[Finder] = &[
    // Headers of services that have a name of their own for it.
    Finder {
        kind: Kind::Secret,
        trigger: "(?i-u)(?:x-[a-z-]*(?:auth|access|key|token|secret|session)|private-token|job-token|deploy-token|dd-api|api-key)",
        pattern: r"(?i-u:\b(?:x-(?:[a-z]{1,20}-){0,3}(?:auth|authorization|auth-key|access|key|token|secret|session|email-key|signature)|private-token|job-token|deploy-token|dd-application-key|dd-api-key|ocp-apim-subscription-key))\\*[\x22']?[ \t]*[:=][ \t]*\\*[\x22']?([^\s\x22'\\,;]{6,})",
        find: named,
    },
    // Curl's short form, and what a proxy or a trace writes: `authorization Bearer …`, `Authorization=[Bearer …]`.
    Finder {
        kind: Kind::Authorization,
        trigger: "(?i-u)oauth_(?:token|signature|consumer)|credential=|response=",
        pattern: r#"(?i-u:\b(?:oauth_(?:token|token_secret|signature|consumer_key)|response|cnonce|nonce))="([^"\n]{8,})""#,
        find: crate::finder::first_group,
    },
    Finder {
        kind: Kind::Authorization,
        trigger: "(?i-u)authorization",
        pattern: r"(?i-u:authorization)\\*[\x22']?\]?[ \t]*(?:=>|[:=,])[ \t]*\[?\\*[\x22']?((?i-u:bearer|basic|token|digest|negotiate|apikey|api-key|bot|key|oauth|oauth2|dpop|hawk|mac|ntlm|scram-sha-(?:1|256)|sharedkey(?:lite)?|sharedaccesssignature|geniekey|splunk|vapid|signature|hoba|mutual|privatetoken|gnap|jwt|sso-key|splunk|aws|goog4-rsa-sha256|goog1|aws4-hmac-sha256|aws4-ecdsa-p256-sha256|pveapitoken|deepl-auth-key|discogs|klaviyo-api-key|client-id|secret|service|user|glpat|private-token|x-[a-z-]{1,20}|bearer[ \t]+bearer)[ \t]+)?([^\s\x22'\\]+)",
        find: authorization,
    },
    Finder {
        kind: Kind::Authorization,
        trigger: "(?i-u)bearer[ \t]",
        pattern: r"(?i-u:\bbearer)[ \t]+([A-Za-z0-9._~+/=-]{8,})",
        find: bearer,
    },
    Finder {
        kind: Kind::Authorization,
        trigger: "(?i-u)basic[ \t]",
        pattern: r"(?i-u:\bbasic)[ \t]+([A-Za-z0-9+/_-]{6,}={0,2})",
        find: basic,
    },
    Finder {
        kind: Kind::Cookie,
        trigger: "(?i-u)set-cookie",
        pattern: r"(?i-u:set-cookie2?)\\*[\x22']?[ \t]*[:=,][ \t]*\[?\\*[\x22']?[^\s=;\x22']+=\\*[\x22']?([^;\s\x22'\\,]+)",
        find: crate::finder::first_group,
    },
    Finder {
        kind: Kind::Cookie,
        trigger: "(?i-u)cookie",
        pattern: r"(?i-u:\bcookie)\\*[\x22']?[ \t]*[:,][ \t]*\[?\\*[\x22']?([^=;\s\x22'\\]+=[^\n\x22'\\]+)",
        find: cookies,
    },
];

fn authorization(regex: &Regex, text: &str, kind: Kind, spans: &mut Spans) {
    for captures in regex.captures_iter(text) {
        let Some(value) = captures.get(2) else { continue };
        let word = value.as_str();
        let (start, end) = (value.start(), value.end());
        // Prose: `authorization: required`, `Authorization: Bearer tokens are …`. Behind a scheme, only these words are.
        let plain = word.trim_end_matches(['.', ',', ';', ':', ')']);
        let ordinary = if captures.get(1).is_some() {
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
        if is_placeholder(word) || ordinary || word.starts_with(['{', '[', '(', '<', ':']) {
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
        let word = value.as_str();
        let plain = word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
        let prose = plain && word.len() < 16;
        if is_placeholder(word) || prose || word.starts_with(['{', '<', '(', '[']) {
            continue;
        }
        spans.add(value.range(), kind);
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
