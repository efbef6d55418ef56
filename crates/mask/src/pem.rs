//! Private keys in armour, whole or cut off at either end. Certificates and public keys stay.

use std::ops::Range;

use regex::Regex;

use crate::Kind;
use crate::around::Around;
use crate::finder::{Find, Finder, Scope, matches};
use crate::span::Spans;
use crate::work::looked_at;

pub(crate) const FINDERS: &[Finder] = &[
    Finder {
        kind: Kind::PrivateKey,
        anchors: &["----"],
        around: Around::Next(b"- "),
        trigger: "----[- ](?:BEGIN|END)",
        pattern: r"(?:-----|---- )(BEGIN|END) (?:[A-Z0-9]{1,24} ){0,4}?(?:PRIVATE KEY(?: BLOCK)?|OpenVPN Static key V1|OpenVPN tls-crypt-v2 (?:client|server) key)(?:-----| ----)?",
        scope: Scope::Starts,
        find: Find::From(armour),
    },
    Finder {
        kind: Kind::PrivateKey,
        anchors: &["private-lines:"],
        around: Around::Anything,
        trigger: "Private-Lines:",
        pattern: r"Private-Lines:[ \t]*[0-9]+[ \t]*\r?\n",
        scope: Scope::Starts,
        find: Find::From(putty),
    },
];

fn armour(regex: &Regex, text: &str, places: &[Range<usize>], kind: Kind, spans: &mut Spans) {
    // Where a BEGIN without its END stands. Nothing is read past the next mark, so that no part is read twice.
    let mut open: Option<(usize, usize)> = None;
    let mut covered = 0;
    for found in matches(regex, text, places) {
        looked_at(found.len());
        let begins = found.as_str().contains("BEGIN");
        if begins {
            if let Some((start, body)) = open.take() {
                spans.add(start..body_end(text, body, found.start()), kind);
            }
            open = Some((found.start(), found.end()));
            continue;
        }
        let start = match open.take() {
            // A quote in between is the end of the string that the key was in.
            Some((start, body)) if ends_string(&text[body..found.start()]) => {
                let end = body_end(text, body, found.start());
                spans.add(start..end, kind);
                body_start(text, end.max(covered), found.start())
            }
            Some((start, _)) => start,
            None => body_start(text, covered, found.start()),
        };
        spans.add(start..found.end(), kind);
        covered = found.end();
    }
    if let Some((start, body)) = open {
        spans.add(start..body_end(text, body, text.len()), kind);
    }
}

/// Whether a quote in a key ends the string that the key is in. Quotes around each of its lines do not.
fn ends_string(body: &str) -> bool {
    looked_at(body.len());
    body.contains('"')
        && !body
            .split('\n')
            .skip(1)
            .all(|line| line.trim().is_empty() || is_quoted_body(line))
}

fn putty(regex: &Regex, text: &str, places: &[Range<usize>], kind: Kind, spans: &mut Spans) {
    let mut found_in = matches(regex, text, places).peekable();
    while let Some(found) = found_in.next() {
        let limit = found_in.peek().map_or(text.len(), regex::Match::start);
        let end = body_end(text, found.end(), limit);
        let mac = text[end..limit].trim_start();
        let mac_at = limit - mac.len();
        let end = if mac.starts_with("Private-MAC:") {
            mac_at + mac.find('\n').unwrap_or(mac.len())
        } else {
            end
        };
        spans.add(found.end()..text[..end].trim_end().len().max(found.end()), kind);
    }
}

/// Where the lines of a key that was cut off end: the last character of the last line that could belong to one.
fn body_end(text: &str, body: usize, limit: usize) -> usize {
    let mut end = body;
    let mut at = body;
    for (count, line) in text[body..limit].split_inclusive('\n').enumerate() {
        looked_at(line.len());
        if count > 0 && is_quoted_body(line) {
            end = at + line.trim_end().len();
            at += line.len();
            continue;
        }
        let cut = line.find(['"', '\'']);
        let content = &line[..cut.unwrap_or(line.len())];
        if !is_body(content) {
            // What follows BEGIN on its own line, after blanks, may be the key on one line.
            let run = content.len() - content.trim_start_matches(is_base64_or_blank).len();
            if content.get(..run).is_some_and(|run| run.trim().len() >= 16) {
                end = at + content[..run].trim_end().len();
            }
            break;
        }
        if !content.trim().is_empty() {
            end = at + content.trim_end().len();
        }
        if cut.is_some() && count > 0 {
            break;
        }
        if cut.is_some() {
            // `"-----BEGIN …\n" +`: the lines of the key stand in strings of their own.
            let rest = line[content.len()..].trim();
            if rest.len() > 4 {
                break;
            }
        }
        at += line.len();
    }
    end
}

/// Where the lines of a key whose beginning was cut off start.
fn body_start(text: &str, from: usize, end: usize) -> usize {
    let mut start = end;
    for line in text[from.min(end)..end].split_inclusive('\n').rev() {
        looked_at(line.len());
        let content = line.rfind(['"', '\'']).map_or(line, |quote| &line[quote + 1..]);
        if !is_body(content) {
            break;
        }
        start -= content.len();
        if content.len() < line.len() {
            break;
        }
    }
    start + (text[start..end].len() - text[start..end].trim_start().len())
}

/// A line of base64, of a PEM header, or nothing; `\n` may be written out.
pub(crate) fn is_body(line: &str) -> bool {
    let line = line.trim();
    line.split("\\n")
        .map(|part| part.trim_end_matches("\\r").trim_end_matches('\\').trim())
        .all(|part| {
            part.bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte))
                || [
                    "Proc-Type:",
                    "DEK-Info:",
                    "Version:",
                    "Comment:",
                    "Hash:",
                    "[masked:",
                ]
                .iter()
                .any(|header| part.starts_with(header))
        })
}

/// A line of base64 in quotes, as in the source of a program or a list.
fn is_quoted_body(line: &str) -> bool {
    let inside = line.trim().trim_end_matches([',', '+', '\\', ';', ')', ' ', '.']);
    let Some(inside) = ['"', '\'', '`']
        .iter()
        .find_map(|quote| inside.strip_prefix(*quote)?.strip_suffix(*quote))
    else {
        return false;
    };
    let inside = inside.trim_end_matches("\\n").trim_end_matches("\\r");
    inside.len() >= 4
        && inside
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"+/=-: ".contains(&byte))
}

fn is_base64_or_blank(character: char) -> bool {
    character.is_ascii_alphanumeric() || "+/= \t\\".contains(character)
}
