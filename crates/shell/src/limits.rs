//! What is refused before it is parsed: too long, too deep, or written to deceive.
//!
//! The grammar's parser backtracks. These caps keep its cost linear and its stack shallow whatever the input.

/// The longest command that is analysed, in bytes.
pub const MAX_LENGTH: usize = 16 * 1024;

/// How deep parentheses, braces and brackets may nest.
pub const MAX_NESTING: usize = 12;

/// How many reserved words may open a compound command.
pub const MAX_COMPOUNDS: usize = 24;

/// How often commands may contain commands (`sh -c "ssh host 'docker exec …'"`).
pub(crate) const MAX_DEPTH: usize = 5;

/// How many simple commands one line may hold after re-parsing.
pub(crate) const MAX_COMMANDS: usize = 256;

/// Says why a command is not even parsed, if it is not.
pub(crate) fn refused_unparsed(command: &str) -> Option<String> {
    if command.len() > MAX_LENGTH {
        return Some(format!(
            "{} bytes are more than the {MAX_LENGTH} that are analysed",
            command.len()
        ));
    }
    if command.contains('\r') {
        return Some("contains a carriage return; lines end with a line feed alone".to_owned());
    }
    if let Some(c) = command.chars().find(|c| deceives(*c)) {
        return Some(format!("contains the invisible character U+{:04X}", c as u32));
    }
    if depends_on_encoding(command) {
        return Some(
            "has a special character directly behind one that is not ASCII, which some encodings join"
                .to_owned(),
        );
    }
    let mut depth = 0_usize;
    let mut deepest = 0_usize;
    for byte in command.bytes() {
        match byte {
            b'(' | b'{' | b'[' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b')' | b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    if deepest > MAX_NESTING {
        return Some(format!(
            "nests {deepest} deep; {MAX_NESTING} is the most that is analysed"
        ));
    }
    if continues_inside_a_word(command) {
        return Some("has a line continuation inside a word".to_owned());
    }
    if has_odd_heredoc(command) {
        return Some("has a here-document whose end is not plain".to_owned());
    }
    if compound_openers(command) > MAX_COMPOUNDS {
        return Some(format!("opens more than {MAX_COMPOUNDS} compound commands"));
    }
    None
}

/// Whether a special character stands behind one that is not ASCII. In the encodings of East Asia a byte of the one can
/// take in the other: a quote, a bracket or a backslash would no longer be one.
fn depends_on_encoding(command: &str) -> bool {
    command.as_bytes().windows(2).any(|pair| {
        !pair[0].is_ascii() && matches!(pair[1], b'@' | b'['..=b'`' | b'{'..=b'~') && pair[1] != b'_'
    })
}

/// Whether a backslash hides a line break anywhere but behind a space: shells drop it before they see what it splits.
fn continues_inside_a_word(command: &str) -> bool {
    command
        .match_indices("\\\n")
        .any(|(at, _)| !command[..at].ends_with([' ', '\t', '\n']))
}

/// Whether every here-document has a plain tag and an end. The parser can look for the end of others for ever.
fn has_odd_heredoc(command: &str) -> bool {
    // Where single quotes are the only quoting, what they hold is no here-document. Anywhere else the parser may see it
    // differently, so all of it counts.
    let plain_quotes = !command.contains(['"', '\\', '`', '#', '$', '\n']);
    let unquoted: String;
    let command = if plain_quotes {
        unquoted = command.split('\'').step_by(2).collect::<Vec<_>>().join(" ");
        &unquoted
    } else {
        command
    };
    let mut rest = command;
    while let Some(at) = rest.find("<<") {
        rest = &rest[at + 2..];
        if let Some(after) = rest.strip_prefix('<') {
            rest = after;
        } else if !plain_heredoc(rest) {
            return true;
        }
    }
    false
}

/// Whether what follows `<<` is a tag of letters, bare or quoted whole, and a line with that tag alone.
fn plain_heredoc(rest: &str) -> bool {
    let (rest, tabs) = rest.strip_prefix('-').map_or((rest, false), |rest| (rest, true));
    let rest = rest.trim_start_matches([' ', '\t']);
    let end = rest
        .find(|c: char| c.is_ascii_whitespace() || ";&|()<>".contains(c))
        .unwrap_or(rest.len());
    let (word, after) = rest.split_at(end);
    let quoted = |mark: char| word.strip_prefix(mark).and_then(|inner| inner.strip_suffix(mark));
    let tag = quoted('\'')
        .or_else(|| quoted('"'))
        .or_else(|| word.strip_prefix('\\'))
        .unwrap_or(word);
    let plain = !tag.is_empty() && tag.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    plain
        && after.lines().skip(1).any(|line| {
            if tabs {
                line.trim_start_matches('\t') == tag
            } else {
                line == tag
            }
        })
}

fn compound_openers(command: &str) -> usize {
    command
        .split(|c: char| c.is_ascii_whitespace() || matches!(c, ';' | '&' | '|' | '(' | ')'))
        .filter(|word| {
            matches!(
                *word,
                "if" | "elif"
                    | "while"
                    | "until"
                    | "for"
                    | "case"
                    | "select"
                    | "function"
                    | "coproc"
                    | "[["
                    | "!"
                    | "time"
            )
        })
        .count()
}

/// Control characters and blanks that a terminal or a reader does not show as what they are: they split or join words
/// unseen.
fn deceives(c: char) -> bool {
    matches!(c,
        '\0'..='\u{8}' | '\u{b}'..='\u{1f}' | '\u{7f}'..='\u{9f}'
        | '\u{a0}' | '\u{ad}' | '\u{61c}' | '\u{1680}' | '\u{180e}' | '\u{202f}' | '\u{205f}' | '\u{3000}'
        | '\u{2000}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn here_documents_need_a_plain_tag_and_an_end() {
        for fine in [
            "cat <<E\nx\nE",
            "cat <<'E' | sort\nx\nE\n",
            "cat <<-E\n\tx\n\tE",
            "cat <<A <<B\n1\nA\n2\nB",
            "cat <<<x",
            "grep '<<EOF' f",
            "cat << \"E\"\nE",
        ] {
            assert!(!has_odd_heredoc(fine), "{fine}");
        }
        for odd in [
            "cat <<'' ",
            "cat <<\"\" ",
            "cat <<-'' ",
            "cat <<",
            "cat <<E",
            "cat <<E\nx",
            "x <<-fi${\"\" -eq $((",
            "cat <<$'E'\nE",
            "cat <<E\n E",
        ] {
            assert!(has_odd_heredoc(odd), "{odd}");
        }
    }
}
