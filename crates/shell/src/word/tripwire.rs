//! A second look that does not trust the first.

use std::borrow::Cow;

/// A second opinion on the whole text, independent of the grammar: whether anything outside single quotes looks like a
/// substitution. Both must agree before a command is called a read.
pub(crate) fn hides_substitution(command: &str) -> bool {
    let command = &without_literal_heredoc(command);
    let bytes = command.as_bytes();
    let heredoc = command.contains("<<");
    let mut at = 0;
    let mut double = false;
    let mut word_start = true;
    while at < bytes.len() {
        let byte = bytes[at];
        let next = bytes.get(at + 1).copied();
        match byte {
            b'\\' => {
                at += 2;
                word_start = false;
                continue;
            }
            b'\'' if !double && !heredoc => {
                at += 1;
                while at < bytes.len() && bytes[at] != b'\'' {
                    at += 1;
                }
            }
            b'"' => double = !double,
            b'#' if word_start && !double => {
                while at < bytes.len() && bytes[at] != b'\n' {
                    at += 1;
                }
            }
            b'`' => return true,
            b'$' if !double && next == Some(b'\'') => {
                at += 2;
                while at < bytes.len() && bytes[at] != b'\'' {
                    if bytes[at] == b'\\' {
                        at += 1;
                    }
                    at += 1;
                }
            }
            b'$' => match next {
                Some(b'(') if bytes.get(at + 2) != Some(&b'(') || !calculates(&bytes[at + 3..]) => {
                    return true;
                }
                Some(b'[') => return true,
                Some(b'{') => {
                    let third = bytes.get(at + 2).copied().unwrap_or(b' ');
                    if third.is_ascii_whitespace() || matches!(third, b'|' | b'!' | b'(') {
                        return true;
                    }
                }
                _ => {}
            },
            b'<' | b'>' if !double && next == Some(b'(') => return true,
            _ => {}
        }
        word_start = matches!(
            bytes.get(at),
            Some(b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'(' | b')')
        );
        at += 1;
    }
    false
}

/// Whether what follows `$((` is arithmetic: where its parentheses do not pair up, bash runs it as a command.
fn calculates(text: &[u8]) -> bool {
    let mut depth = 0_usize;
    for (at, byte) in text.iter().enumerate() {
        match byte {
            b'(' => depth += 1,
            b')' if depth == 0 => return text.get(at + 1) == Some(&b')'),
            b')' => depth -= 1,
            b'0'..=b'9' | b' ' | b'\t' => {}
            _ if b"+-*/%<>=!&|^~?:".contains(byte) => {}
            _ => return false,
        }
    }
    false
}

/// The text without the body of its here-document, where there is just one and its tag is quoted: such a body is never
/// expanded.
fn without_literal_heredoc(command: &str) -> Cow<'_, str> {
    let whole = Cow::Borrowed(command);
    let mut parts = command.split("<<");
    let (Some(before), Some(after), None) = (parts.next(), parts.next(), parts.next()) else {
        return whole;
    };
    // Nothing before it may be able to make it something else.
    if before.contains(['\'', '"', '`', '$', '\\', '#', '(', '\n']) {
        return whole;
    }
    let Some((first, body)) = after.split_once('\n') else {
        return whole;
    };
    let (tabs, word) = first
        .strip_prefix('-')
        .map_or((false, first), |word| (true, word));
    let quoted = |mark: char| word.strip_prefix(mark).and_then(|inner| inner.strip_suffix(mark));
    let Some(tag) = quoted('\'')
        .or_else(|| quoted('"'))
        .or_else(|| word.strip_prefix('\\'))
    else {
        return whole;
    };
    if tag.is_empty() || !tag.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
        return whole;
    }
    let mut rest = Vec::new();
    let mut inside = true;
    for line in body.lines() {
        if inside {
            inside = if tabs {
                line.trim_start_matches('\t') != tag
            } else {
                line != tag
            };
        } else {
            rest.push(line);
        }
    }
    if inside {
        whole
    } else {
        Cow::Owned(format!("{before}\n{}", rest.join("\n")))
    }
}
