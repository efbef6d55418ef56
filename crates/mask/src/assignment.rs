//! `key = value`, `key: value`, `"key": "value"`: what is assigned to a name that says that it is a secret.

use std::ops::Range;

use regex::Regex;

use crate::finder::Finder;
use crate::placeholder::{is_expression, is_path, is_placeholder, is_prose_word};
use crate::span::Spans;
use crate::{Kind, keys, yaml};

/// How far one value is followed. What is longer goes on being masked by the next look.
const MAX_VALUE: usize = 16 * 1024;

pub(crate) const FINDERS: &[Finder] = &[Finder {
    kind: Kind::Secret,
    trigger: r"(?i-u)(?:pass[a-z]*|pwd|secret[_a-z-]*|token|[a-z]key|[_-]key|psk|conn(?:ection)?[_-]?str(?:ing)?|key-data)[_a-z0-9-]{0,12}\\*[\x22'`]?[ \t]*[:=]",
    pattern: r"(?i-u)(?:passw(?:or)?d|passphrase|passcode|passwort|pass|pwd|secret(?:[_-]?(?:access[_-]?)?key(?:[_-]?base)?|[_-]?id)?|token|(?:api|access|priv(?:ate)?|encryption|signing|master|auth|shared|account|pre-?shared|storage|session|service|consumer|client|app)[_-]?key|psk|conn(?:ection)?[_-]?str(?:ing)?)(?:[_-]?(?:hash|b64|base64|value|plain|plaintext|text|raw|data|[0-9]{1,3}))?\\*[\x22'`]?[ \t]*(?::=|=>|==|=|:)[ \t]*",
    find,
}];

/// What is known about an assignment before its value is read.
#[expect(
    clippy::struct_excessive_bools,
    reason = "four facts about one place in a text, each read from it independently"
)]
struct Assignment<'t> {
    name: &'t str,
    kind: Kind,
    separator: &'t str,
    /// Blanks between separator and value.
    spaced: bool,
    /// The key stands in quotes, as in JSON.
    quoted: bool,
    /// Nothing but indentation, a list dash or `export` before the key on its line.
    at_line_start: bool,
    /// The key is part of a path or an image name.
    in_path: bool,
    key_start: usize,
}

fn find(regex: &Regex, text: &str, _kind: Kind, spans: &mut Spans) {
    for found in regex.find_iter(text) {
        if let Some(assignment) = Assignment::read(text, found.start(), found.as_str()) {
            assignment.mask(text, found.end(), spans);
        }
    }
}

impl<'t> Assignment<'t> {
    fn read(text: &'t str, start: usize, found: &'t str) -> Option<Self> {
        let body = found.trim_end_matches([' ', '\t']);
        let separator = [":=", "=>", "==", "=", ":"]
            .into_iter()
            .find(|separator| body.ends_with(separator))?;
        let left = body[..body.len() - separator.len()].trim_end_matches([' ', '\t']);
        let word = left.trim_end_matches(['"', '\'', '`', '\\']);
        let head = &text[..start];
        let prefix = head
            .bytes()
            .rev()
            .take(64)
            .take_while(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(byte))
            .count();
        let key_start = start - prefix;
        let name = &text[key_start..start + word.len()];
        let kind = keys::kind_of(name)?;
        let before = &text[..key_start];
        // Only so far back that a line of any length costs the same.
        let near = &before[text.ceil_char_boundary(key_start.saturating_sub(256))..];
        let lead = match near.rsplit_once('\n') {
            Some((_, line)) => line.trim_start(),
            None if near.len() == before.len() => near.trim_start(),
            None => "…",
        };
        Some(Self {
            name,
            kind,
            separator,
            spaced: body.len() < found.len(),
            quoted: word.len() < left.len(),
            at_line_start: matches!(
                lead,
                "" | "- " | "export " | "set " | "\"" | "'" | "+" | "-" | "+ " | "> "
            ),
            in_path: before.ends_with('/'),
            key_start,
        })
    }

    fn mask(&self, text: &str, at: usize, spans: &mut Spans) {
        let rest = &text[at..];
        let first = rest.bytes().next().unwrap_or(b'\n');
        match first {
            b'"' | b'\'' | b'`' => self.mask_quoted(text, quoted(text, at), spans),
            b'\\' => {
                if let Some(range) = escaped(text, at) {
                    self.mask_quoted(text, range, spans);
                } else {
                    self.mask_bare(text, at, spans);
                }
            }
            b'[' if !rest.starts_with("[masked:") => self.mask_list(text, at, spans),
            b'{' | b'(' | b'\n' | b'\r' => {}
            b'|' | b'>' if self.separator == ":" && yaml::is_block_header(rest) => {
                for range in yaml::block_lines(text, self.key_start, at) {
                    spans.add(range, self.kind);
                }
            }
            b'b' | b'u' | b'r' | b'f' if matches!(rest.as_bytes().get(1), Some(b'"' | b'\'')) => {
                self.mask_quoted(text, quoted(text, at + 1), spans);
            }
            _ => self.mask_bare(text, at, spans),
        }
    }

    fn mask_quoted(&self, text: &str, range: Range<usize>, spans: &mut Spans) {
        let value = &text[range.clone()];
        let about = is_placeholder(value) || (self.is_file_like() && is_path(value));
        let described = !self.quoted && self.separator == ":" && is_prose_word(value);
        if !about && !described {
            spans.add(range, self.kind);
        }
    }

    /// The strings of `["a", "b"]`.
    fn mask_list(&self, text: &str, at: usize, spans: &mut Spans) {
        let mut next = at + 1;
        let limit = floor(text, at + MAX_VALUE);
        while next < limit {
            match text.as_bytes()[next] {
                b'"' | b'\'' => {
                    let range = quoted(text, next);
                    next = range.end + 1;
                    self.mask_quoted(text, range, spans);
                }
                b' ' | b'\t' | b'\n' | b'\r' | b',' => next += 1,
                _ => break,
            }
        }
    }

    fn mask_bare(&self, text: &str, at: usize, spans: &mut Spans) {
        let end = bare_end(text, at);
        let word = &text[at..end];
        if word.is_empty() || is_placeholder(word) || is_expression(word) || self.is_no_secret(word) {
            return;
        }
        let near = &text[end..floor(text, end + 128)];
        let following = near.split(['\n', '\r']).next().unwrap_or_default().trim_start();
        if matches!(word, "new" | "await") && following.starts_with(char::is_alphabetic) {
            return;
        }
        if self.separator == ":" && !self.quoted && self.is_prose(word, following) {
            return;
        }
        if self.quoted && word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
            spans.add_quoted(at..end, self.kind);
            return;
        }
        // `password = several words` in a file of settings is one value to the end of the line.
        let to_line_end =
            self.at_line_start && self.spaced && !self.quoted && matches!(self.separator, "=" | ":");
        let end = if to_line_end {
            settings_end(text, end, line_end(text, end))
        } else {
            end
        };
        spans.add(at..end, self.kind);
    }

    fn is_file_like(&self) -> bool {
        !matches!(self.kind, Kind::Password | Kind::PasswordHash)
    }

    fn is_no_secret(&self, word: &str) -> bool {
        let lower = self.name.to_ascii_lowercase();
        (self.is_file_like() && is_path(word))
            || (lower.ends_with("pwd") && word.starts_with('/'))
            || (lower == "pass" && !self.quoted && (self.separator != "=" || word.bytes().all(|byte| byte.is_ascii_digit())))
            || word.starts_with(['(', '{'])
            // `Token::new` is a path of a program.
            || (self.separator == ":" && word.starts_with(':'))
            // `--password= --json` lists flags.
            || (self.name.starts_with('-') && word.starts_with("--"))
            // `PVEAPIToken=user@realm!id=…` keeps its user: a finder of its own masks what is behind it.
            || (lower.ends_with("apitoken") && word.contains('!'))
    }

    /// Whether `token: word and more` speaks about a token.
    fn is_prose(&self, word: &str, following: &str) -> bool {
        if self.in_path && !self.spaced {
            return true;
        }
        if word.bytes().all(|byte| byte.is_ascii_digit()) && following.starts_with("byte") {
            return true;
        }
        if is_prose_word(word) {
            return true;
        }
        let letters = word
            .trim_end_matches(['.', ',', ';', ':', '!', '?', ')'])
            .chars()
            .all(|character| character.is_alphabetic() || "'’-/".contains(character));
        if !letters {
            return false;
        }
        if !self.spaced && !self.at_line_start {
            return true;
        }
        let next_is_key = following
            .split_whitespace()
            .next()
            .is_some_and(|next| next.contains(['=', ':']));
        let alone = following.is_empty()
            || following.starts_with(['#', '"', '\'', ',', '}', ')', ']', ';', '|', '\\']);
        !alone && !next_is_key && !self.name.to_ascii_lowercase().ends_with("passphrase")
    }
}

/// The inside of the quotes that open at `at`, to the closing one or the end of the line.
fn quoted(text: &str, at: usize) -> Range<usize> {
    let bytes = text.as_bytes();
    let quote = bytes[at];
    let mut next = at + 1;
    while next < bytes.len() {
        match bytes[next] {
            b'\\' if quote == b'"' && next + 1 < bytes.len() && bytes[next + 1] != b'\n' => next += 2,
            b'\n' => break,
            byte if byte == quote => break,
            _ => next += 1,
        }
    }
    at + 1..floor(text, next)
}

/// The inside of quotes that are themselves escaped, as in JSON inside a string of JSON.
fn escaped(text: &str, at: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let depth = bytes[at..].iter().take_while(|byte| **byte == b'\\').count();
    let quote = *bytes.get(at + depth)?;
    if quote != b'"' && quote != b'\'' {
        return None;
    }
    let start = at + depth + 1;
    let mut next = start;
    while next < bytes.len() {
        match bytes[next] {
            b'\n' => return Some(start..next),
            b'\\' => {
                let run = bytes[next..].iter().take_while(|byte| **byte == b'\\').count();
                if run <= depth && bytes.get(next + run) == Some(&quote) {
                    return Some(start..next);
                }
                next += run;
                // The character that is escaped belongs to the value.
                if bytes.get(next) == Some(&quote) {
                    next += 1;
                }
            }
            byte if byte == quote => return Some(start..next),
            _ => next += 1,
        }
    }
    Some(start..bytes.len())
}

/// Where a value without quotes ends: at a blank, or where another part of the text plainly begins.
pub(crate) fn bare_end(text: &str, at: usize) -> usize {
    let bytes = text.as_bytes();
    let limit = floor(text, at + MAX_VALUE);
    let ends = |index: usize| index >= bytes.len() || bytes[index].is_ascii_whitespace();
    let mut opened = 0_usize;
    let mut next = at;
    if text[at..].starts_with("[masked:") {
        next += text[at..].find(']').map_or(0, |end| end + 1);
    }
    while next < limit {
        let after = next + 1;
        match bytes[next] {
            byte if byte.is_ascii_whitespace() => break,
            b'"' | b'`' => break,
            b'\'' if ends(after) || !bytes[after].is_ascii_alphanumeric() => break,
            b'\\' => match bytes.get(after) {
                Some(b'"' | b'\'') => break,
                Some(b'n' | b'r' | b't')
                    if ends(after + 1) || assigns(bytes, after + 1) || bytes[after + 1] == b'\\' =>
                {
                    break;
                }
                _ => {}
            },
            b'&' if assigns(bytes, after) => break,
            b';' if ends(after) || assigns(bytes, after) => break,
            b',' if ends(after)
                || assigns(bytes, after)
                || matches!(bytes[after], b'"' | b'\'' | b'}' | b']') =>
            {
                break;
            }
            b'(' | b'[' | b'{' => opened += 1,
            b')' | b']' | b'}' if opened > 0 => opened -= 1,
            b')' | b']' | b'}' if ends(after) || b",;:.)]}\"'\\".contains(&bytes[after]) => break,
            _ => {}
        }
        next = after;
    }
    floor(text, next)
}

/// Whether a name and `=` or `:` stand here.
fn assigns(bytes: &[u8], at: usize) -> bool {
    let rest = bytes.get(at..).unwrap_or_default();
    let name = rest
        .iter()
        .take(48)
        .take_while(|byte| byte.is_ascii_alphanumeric() || b"_.- ".contains(byte))
        .count();
    name > 0 && matches!(rest.get(name), Some(b'=' | b':'))
}

fn line_end(text: &str, at: usize) -> usize {
    let limit = floor(text, at + MAX_VALUE);
    text[at..limit].find(['\n', '\r']).map_or(limit, |end| at + end)
}

/// The end of a setting's value on its line, without a comment; never past a quote.
fn settings_end(text: &str, at: usize, line_end: usize) -> usize {
    let rest = &text[at..line_end];
    let cut = [" #", " ;", "\"", "'", "`", "\\\"", "\\n"]
        .iter()
        .filter_map(|stop| rest.find(stop))
        .min();
    let rest = &rest[..cut.unwrap_or(rest.len())];
    at + rest.trim_end().len()
}

/// The last boundary of a character at or before `at`.
fn floor(text: &str, at: usize) -> usize {
    text.floor_char_boundary(at)
}
