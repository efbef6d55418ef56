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
    if let Some(c) = command.chars().find(|c| deceives(*c)) {
        return Some(format!("contains the invisible character U+{:04X}", c as u32));
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
    if has_empty_heredoc_tag(command) {
        return Some("has a here-document without a name for its end".to_owned());
    }
    if compound_openers(command) > MAX_COMPOUNDS {
        return Some(format!("opens more than {MAX_COMPOUNDS} compound commands"));
    }
    None
}

/// Whether the tag of a here-document is nothing but quotes: the parser looks for its end for ever.
fn has_empty_heredoc_tag(command: &str) -> bool {
    command.split("<<").skip(1).any(|rest| {
        let tag = rest
            .strip_prefix('-')
            .unwrap_or(rest)
            .trim_start_matches([' ', '\t']);
        let end = tag
            .find(|c: char| c.is_ascii_whitespace() || ";&|()<>".contains(c))
            .unwrap_or(tag.len());
        let quoted = tag[..end].contains(['\'', '"', '\\', '$']);
        quoted && tag[..end].chars().all(|c| matches!(c, '\'' | '"' | '\\' | '$'))
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

/// Control characters that a terminal or a reader does not show: they split or join words unseen.
fn deceives(c: char) -> bool {
    matches!(c,
        '\0'..='\u{8}' | '\u{b}'..='\u{1f}' | '\u{7f}'..='\u{9f}'
        | '\u{ad}' | '\u{61c}' | '\u{180e}'
        | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}
