//! Private keys in armour, whole or cut off at either end. Certificates and public keys stay.

use regex::Regex;

use crate::Kind;
use crate::finder::Finder;
use crate::span::Spans;

pub(crate) const FINDERS: &[Finder] = &[
    Finder {
        kind: Kind::PrivateKey,
        trigger: "-----(?:BEGIN|END)",
        pattern: r"-----(BEGIN|END) [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?(?:-----)?",
        find: armour,
    },
    Finder {
        kind: Kind::PrivateKey,
        trigger: "Private-Lines:",
        pattern: r"Private-Lines:[ \t]*[0-9]+[ \t]*\r?\n",
        find: putty,
    },
];

fn armour(regex: &Regex, text: &str, kind: Kind, spans: &mut Spans) {
    // Where a BEGIN without its END stands.
    let mut open: Option<(usize, usize)> = None;
    let mut covered = 0;
    for found in regex.find_iter(text) {
        let begins = found.as_str().starts_with("-----BEGIN");
        if begins {
            if let Some((start, body)) = open.take() {
                spans.add(start..body_end(text, body), kind);
            }
            open = Some((found.start(), found.end()));
            continue;
        }
        let start = match open.take() {
            // A quote in between is the end of the string that the key was in.
            Some((start, body)) if text[body..found.start()].contains('"') => {
                spans.add(start..body_end(text, body), kind);
                body_start(text, covered, found.start())
            }
            Some((start, _)) => start,
            None => body_start(text, covered, found.start()),
        };
        spans.add(start..found.end(), kind);
        covered = found.end();
    }
    if let Some((start, body)) = open {
        spans.add(start..body_end(text, body), kind);
    }
}

fn putty(regex: &Regex, text: &str, kind: Kind, spans: &mut Spans) {
    for found in regex.find_iter(text) {
        let end = body_end(text, found.end());
        let mac = text[end..].trim_start();
        let mac_at = text.len() - mac.len();
        let line = mac.find('\n').unwrap_or(mac.len());
        let end = if mac.starts_with("Private-MAC:") {
            mac_at + line
        } else {
            end
        };
        spans.add(found.end()..text[..end].trim_end().len().max(found.end()), kind);
    }
}

/// Where the lines of a key that was cut off end: the last character of the last line that could belong to one.
fn body_end(text: &str, body: usize) -> usize {
    let mut end = body;
    let mut at = body;
    for line in text[body..].split_inclusive('\n') {
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
        if cut.is_some() {
            break;
        }
        at += line.len();
    }
    end
}

/// Where the lines of a key whose beginning was cut off start.
fn body_start(text: &str, from: usize, end: usize) -> usize {
    let mut start = end;
    for line in text[from..end].split_inclusive('\n').rev() {
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
        .map(|part| part.trim_end_matches("\\r").trim())
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

fn is_base64_or_blank(character: char) -> bool {
    character.is_ascii_alphanumeric() || "+/= \t\\".contains(character)
}
