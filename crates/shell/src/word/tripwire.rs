//! A second look that does not trust the first.

/// A second opinion on the whole text, independent of the grammar: whether anything outside single quotes looks like a
/// substitution. Both must agree before a command is called a read.
pub(crate) fn hides_substitution(command: &str) -> bool {
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
                Some(b'(') if bytes.get(at + 2) != Some(&b'(') => return true,
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
