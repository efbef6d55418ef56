//! Passwords within addresses and connection strings: only the password goes.

use regex::Regex;

use crate::Kind;
use crate::finder::Finder;
use crate::placeholder::is_placeholder;
use crate::span::Spans;

pub(crate) const FINDERS: &[Finder] = &[
    Finder {
        kind: Kind::UrlPassword,
        trigger: r"://[^\s/@]*:[^\s]*@",
        pattern: r"://[^\s:/?#@\x22'<>]*:([^\s/?#\x22'<>]+)@",
        find,
    },
    // A password with a slash, question mark or hash that nobody encoded.
    Finder {
        kind: Kind::UrlPassword,
        trigger: r"://[^\s/@]*:[^\s]*@",
        pattern: r"://[^\s:/?#@\x22'<>]*:([^\s@\x22'<>]+)@",
        find,
    },
    // Addresses that are signed: whoever has the signature has what it opens.
    Finder {
        kind: Kind::UrlPassword,
        trigger: "(?i-u)[?&](?:sig|x-(?:amz|goog)-(?:signature|security-token))",
        pattern: r"(?i-u)[?&](?:sig|signature|x-(?:amz|goog)-(?:signature|security-token))=([A-Za-z0-9%+/=_-]{16,})",
        find: crate::finder::first_group,
    },
];

fn find(regex: &Regex, text: &str, kind: Kind, spans: &mut Spans) {
    for captures in regex.captures_iter(text) {
        let Some(password) = captures.get(1) else { continue };
        let word = password.as_str();
        let port = word.bytes().take_while(u8::is_ascii_digit).count();
        // `http://host:4873/@scope/name` has a port there, and a list of hosts may follow one.
        let is_port = port > 0 && matches!(word.as_bytes().get(port), Some(b'/' | b'?' | b'#' | b','));
        if !is_port && !is_placeholder(word) {
            spans.add(password.range(), kind);
        }
    }
}
