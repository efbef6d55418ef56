//! Passwords within addresses and connection strings: only the password goes.

use std::ops::Range;

use regex::Regex;

use crate::Kind;
use crate::around::Around;
use crate::finder::{Find, Finder, Scope};
use crate::placeholder::{is_placeholder, is_strong};
use crate::span::Spans;
use crate::work::{looked_at, within_budget};

pub(crate) const FINDERS: &[Finder] = &[
    Finder {
        kind: Kind::UrlPassword,
        anchors: &["://"],
        around: Around::Anything,
        trigger: "://",
        pattern: r"://[^\s:/?#@\x22'<>]*(?::[^\s@\x22'<>]+)?@",
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

/// What parts an address from the text around it.
fn is_outside(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte == 0x0b || b"\"'<>".contains(&byte)
}

/// A part of the text without a byte that would end a password, and the last `@` in it.
#[derive(Default)]
struct Run {
    range: Range<usize>,
    last: Option<usize>,
}

impl Run {
    /// The run that this place stands in. Places come in order, so that no run is walked twice.
    fn of(&mut self, bytes: &[u8], at: usize, ends: impl Fn(u8) -> bool) {
        if self.range.contains(&at) {
            return;
        }
        let length = bytes[at..].iter().take_while(|byte| !ends(**byte)).count();
        looked_at(length);
        self.range = at..at + length;
        let inside = &bytes[self.range.clone()];
        self.last = inside
            .iter()
            .rposition(|byte| *byte == b'@')
            .map(|last| at + last);
    }
}

/// The password of `scheme://user:password@host`, or a token that stands there instead of a user.
fn find(_regex: &Regex, text: &str, kind: Kind, spans: &mut Spans) {
    let bytes = text.as_bytes();
    let (mut encoded, mut raw) = (Run::default(), Run::default());
    for (scheme, _) in text.match_indices("://") {
        if !within_budget() {
            return;
        }
        let user = scheme + "://".len();
        let length = bytes[user..]
            .iter()
            .take_while(|byte| !is_outside(**byte) && !b":/?#@".contains(byte))
            .count();
        looked_at(length);
        let colon = user + length;
        match bytes.get(colon) {
            Some(b'@') if is_token(&text[user..colon]) => spans.add(user..colon, kind),
            Some(b':') => {
                let start = colon + 1;
                // To the last `@` before a sign that only parts of an address behind the host have.
                encoded.of(bytes, start, |byte| is_outside(byte) || b"/?#".contains(&byte));
                if let Some(end) = encoded.last.filter(|end| *end > start) {
                    password(text, start..end, kind, spans);
                }
                // To the first `@`: a password may have such a sign that is not encoded.
                raw.of(bytes, start, |byte| is_outside(byte) || byte == b'@');
                if raw.range.end > start && bytes.get(raw.range.end) == Some(&b'@') {
                    password(text, start..raw.range.end, kind, spans);
                }
            }
            _ => {}
        }
    }
}

fn password(text: &str, range: Range<usize>, kind: Kind, spans: &mut Spans) {
    let word = &text[range.clone()];
    let port = word.bytes().take_while(u8::is_ascii_digit).count();
    // `http://host:4873/@scope/name` has a port there, and a list of hosts may follow one.
    let is_port = port > 0 && matches!(word.as_bytes().get(port), Some(b'/' | b'?' | b'#' | b','));
    if !is_port && !is_placeholder(word) {
        spans.add(range, kind);
    }
}

/// Whether what stands where a user would is a token: longer than a name, and random.
fn is_token(user: &str) -> bool {
    user.len() >= 20 && is_strong(user)
}
