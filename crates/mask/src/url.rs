//! Passwords within addresses and connection strings: only the password goes.

use regex::Regex;

use crate::Kind;
use crate::around::Around;
use crate::finder::{Find, Finder, Scope};
use crate::placeholder::is_placeholder;
use crate::span::Spans;
use crate::work::{looked_at, within_budget};

pub(crate) const FINDERS: &[Finder] = &[
    Finder {
        kind: Kind::UrlPassword,
        anchors: &["://"],
        around: Around::Anything,
        trigger: r"://[^\s/@]*:[^\s]*@",
        pattern: r"://[^\s:/?#@\x22'<>]*:[^\s/?#\x22'<>]+@",
        scope: Scope::Lines,
        find: Find::In(find),
    },
    // A password with a slash, question mark or hash that nobody encoded.
    Finder {
        kind: Kind::UrlPassword,
        anchors: &["://"],
        around: Around::Anything,
        trigger: r"://[^\s/@]*:[^\s]*@",
        pattern: r"://[^\s:/?#@\x22'<>]*:[^\s@\x22'<>]+@",
        scope: Scope::Lines,
        find: Find::In(find),
    },
    // Addresses that are signed: whoever has the signature has what it opens.
    Finder {
        kind: Kind::UrlPassword,
        anchors: &["sig=", "signature=", "security-token="],
        around: Around::Anything,
        trigger: "(?i-u)[?&](?:sig|x-(?:amz|goog)-(?:signature|security-token))",
        pattern: r"(?i-u)[?&](?:sig|signature|x-(?:amz|goog)-(?:signature|security-token))=([A-Za-z0-9%+/=_-]{16,})",
        scope: Scope::Lines,
        find: Find::In(crate::finder::first_group),
    },
];

fn find(regex: &Regex, text: &str, kind: Kind, spans: &mut Spans) {
    for found in regex.find_iter(text) {
        looked_at(found.len());
        if !within_budget() {
            return;
        }
        // Behind the user's name, which has no colon, to the sign before the host.
        let Some(colon) = found.as_str()["://".len()..].find(':') else {
            continue;
        };
        let range = found.start() + "://".len() + colon + 1..found.end() - 1;
        let word = &text[range.clone()];
        let port = word.bytes().take_while(u8::is_ascii_digit).count();
        // `http://host:4873/@scope/name` has a port there, and a list of hosts may follow one.
        let is_port = port > 0 && matches!(word.as_bytes().get(port), Some(b'/' | b'?' | b'#' | b','));
        if !is_port && !is_placeholder(word) {
            spans.add(range, kind);
        }
    }
}
