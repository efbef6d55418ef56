//! Brace expansion, which happens before anything else in a word.

use super::Refused;

const MOST_EXPANSIONS: usize = 64;
const MOST_GROUPS: usize = 6;

/// Expands `{a,b}` and `{1..5}`; `None` where there is nothing to expand.
pub(super) fn braces(raw: &str) -> Result<Option<Vec<String>>, Refused> {
    const INVOLVED: Refused = Refused::Construct("a brace expansion that is too involved to follow");
    let bytes = raw.as_bytes();
    let mut at = 0;
    let mut open = None;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 1,
            b'\'' => {
                at += 1;
                while at < bytes.len() && bytes[at] != b'\'' {
                    at += 1;
                }
            }
            b'"' => {
                at += 1;
                while at < bytes.len() && bytes[at] != b'"' {
                    if bytes[at] == b'\\' {
                        at += 1;
                    }
                    at += 1;
                }
            }
            b'$' if bytes.get(at + 1) == Some(&b'{') => {
                at = closing_brace(bytes, at + 2).ok_or(INVOLVED)?;
            }
            b'{' => {
                open = Some(at);
                break;
            }
            _ => {}
        }
        at += 1;
    }
    let Some(open) = open else { return Ok(None) };
    let Some(last) = raw.rfind('}').filter(|last| *last > open) else {
        return Ok(None);
    };
    // From the first brace to the last: where nothing separates members, nothing expands.
    let whole = &raw[open + 1..last];
    if !(whole.contains(',') || whole.contains("..")) {
        return Ok(None);
    }
    // Each group multiplies, and is a step deeper.
    if whole.matches('{').count() > MOST_GROUPS {
        return Err(INVOLVED);
    }
    if whole.contains(['\'', '"', '\\', '$', '`', '(', '<', '>']) {
        return Err(INVOLVED);
    }
    let close = raw[open..].find('}').map_or(last, |offset| open + offset);
    let inner = &raw[open + 1..close];
    let tail = &raw[close + 1..];
    if inner.contains('{') || !(inner.contains(',') || inner.contains("..")) {
        return Err(INVOLVED);
    }
    let members = if inner.contains(',') {
        inner.split(',').map(str::to_owned).collect()
    } else {
        sequence(inner).ok_or(INVOLVED)?
    };
    let tails = match braces(tail)? {
        None => vec![tail.to_owned()],
        Some(tails) => tails,
    };
    if members.len() * tails.len() > MOST_EXPANSIONS {
        return Err(INVOLVED);
    }
    let head = &raw[..open];
    let mut words = Vec::with_capacity(members.len() * tails.len());
    for member in &members {
        for tail in &tails {
            words.push(format!("{head}{member}{tail}"));
        }
    }
    Ok(Some(words))
}

fn sequence(inner: &str) -> Option<Vec<String>> {
    let (start, end) = inner.split_once("..")?;
    if let (Ok(start), Ok(end)) = (start.parse::<i64>(), end.parse::<i64>()) {
        if start.abs() > 100_000 || end.abs() > 100_000 || inner.starts_with('0') {
            return None;
        }
        let (low, high) = (start.min(end), start.max(end));
        return (high - low < 64).then(|| (low..=high).map(|n| n.to_string()).collect());
    }
    let mut starts = start.chars();
    let mut ends = end.chars();
    match (starts.next(), starts.next(), ends.next(), ends.next()) {
        (Some(a), None, Some(b), None) if a.is_ascii_lowercase() && b.is_ascii_lowercase() => {
            let (low, high) = (a.min(b), a.max(b));
            Some((low..=high).map(|c| c.to_string()).collect())
        }
        _ => None,
    }
}

/// The brace that closes a `${`, minding quotes and nested braces.
pub(super) fn closing_brace(bytes: &[u8], mut at: usize) -> Option<usize> {
    let mut depth = 0_usize;
    let mut single = false;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\'' => single = !single,
            _ if single => {}
            b'\\' => at += 1,
            b'{' => depth += 1,
            b'}' if depth == 0 => return Some(at),
            b'}' => depth -= 1,
            _ => {}
        }
        at += 1;
    }
    None
}
