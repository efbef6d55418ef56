//! Just enough of YAML's layout to know which lines belong to a key.

use std::ops::Range;

/// Whether `|`, `>-`, `|2` and the like end this line.
pub(crate) fn is_block_header(rest: &str) -> bool {
    let bytes = rest.as_bytes();
    if !matches!(bytes.first(), Some(b'|' | b'>')) {
        return false;
    }
    let marks = bytes[1..]
        .iter()
        .take(4)
        .take_while(|byte| b"+-123456789".contains(byte))
        .count();
    matches!(bytes.get(1 + marks), None | Some(b' ' | b'\t' | b'\n' | b'\r'))
}

/// The lines of the block that begins on the line of `at`, for the key at `key_start`: deeper than the key.
pub(crate) fn block_lines(text: &str, key_start: usize, at: usize) -> Vec<Range<usize>> {
    // A key that stands further in its line than this is no key of YAML.
    let near = text.ceil_char_boundary(key_start.saturating_sub(512));
    let line_start = text[near..key_start]
        .rfind('\n')
        .map_or(near, |newline| near + newline + 1);
    let indent = text[line_start..key_start]
        .chars()
        .take_while(|character| *character == ' ' || *character == '-')
        .count();
    let Some(newline) = text[at..text.floor_char_boundary(at + 256)].find('\n') else {
        return Vec::new();
    };
    let mut next = at + newline + 1;
    let mut range: Option<Range<usize>> = None;
    for line in text[next..].split_inclusive('\n') {
        let content = line.trim();
        if !content.is_empty() {
            let lead = indent_of(line);
            if lead <= indent {
                break;
            }
            let start = next + lead;
            let end = start + content.len();
            range = Some(range.map_or(start, |range| range.start)..end);
        }
        next += line.len();
    }
    range.into_iter().collect()
}

/// How many blanks a line begins with.
pub(crate) fn indent_of(line: &str) -> usize {
    line.len() - line.trim_start_matches([' ', '\t']).len()
}

/// A line of a mapping: where its key stands, the key, where its value stands.
pub(crate) struct Entry<'t> {
    pub(crate) column: usize,
    /// Whether the key is the first of an item of a list.
    pub(crate) first_of_item: bool,
    pub(crate) key: &'t str,
    /// The value's place in the line, without blanks around it.
    pub(crate) value: Range<usize>,
}

/// Reads `key: value`, `- key: value`, `"key": value`.
pub(crate) fn entry(line: &str) -> Option<Entry<'_>> {
    let mut column = indent_of(line);
    let mut first_of_item = false;
    while line[column..].starts_with("- ") {
        first_of_item = true;
        column += 2;
        column += indent_of(&line[column..]);
    }
    let rest = &line[column..];
    let (key, after) = if let quote @ ('"' | '\'') = rest.chars().next()? {
        let end = rest[1..].find(quote)? + 1;
        (&rest[1..end], end + 1)
    } else {
        let end = rest.find(':')?;
        (&rest[..end], end)
    };
    let tail = rest[after..].trim_start_matches([' ', '\t']).strip_prefix(':')?;
    if !(tail.is_empty() || tail.starts_with([' ', '\t', '\n', '\r']))
        || key.is_empty()
        || key.contains(['{', '[', '"'])
    {
        return None;
    }
    let value_start = line.len() - tail.trim_start().len();
    let value_end = value_start + tail.trim().len();
    Some(Entry {
        column,
        first_of_item,
        key: key.trim_end(),
        value: value_start..value_end,
    })
}
