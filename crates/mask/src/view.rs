//! The text without what `grep -n`, `cat -n`, `diff`, syslog or a log collector put in front of its lines.
//!
//! Keys, manifests and files are read by their lines. With a number or a time in front of each line their layout is lost;
//! here it is found again, with the way back to the places in the original text.

use std::ops::Range;

use crate::finder::Line;
use crate::work::looked_at;

/// A text without the beginnings of its lines.
pub(crate) struct View {
    pub(crate) text: String,
    /// For each line: where it begins here, and where it begins in the original.
    lines: Vec<(usize, usize)>,
    /// Where lines were left out.
    gaps: Vec<usize>,
}

/// So many lines before and behind one with something in front of it are part of the view. Further away, the text itself is
/// looked at, which is enough there.
const AROUND: usize = 64;
/// Stands in the view for lines that are left out: the end of a document.
const GAP: &str = "---\n";

impl View {
    /// The text without what stands in front of its lines, or nothing if nothing does.
    pub(crate) fn of(text: &str) -> Option<Self> {
        let all: Vec<&str> = text.split_inclusive('\n').collect();
        looked_at(text.len());
        // What stands in front of each line, and how far the last and the next line with something in front of it are.
        let mut fronts = Vec::with_capacity(all.len());
        while fronts.len() < all.len() {
            let (block, diff) = diff_block(&all[fronts.len()..]);
            let block = fronts.len()..fronts.len() + block.max(1);
            fronts.extend(all[block].iter().map(|line| if diff { 1 } else { prefix(line) }));
        }
        let last = fronts.iter().rposition(|length| *length > 0)?;
        let mut near = vec![false; all.len()];
        let mut reach = 0;
        for (index, length) in fronts.iter().enumerate() {
            if *length > 0 {
                let from = index.saturating_sub(AROUND).max(reach);
                reach = (index + AROUND + 1).min(all.len());
                near[from..reach].fill(true);
            }
            if index == last {
                break;
            }
        }
        let mut view = Self {
            text: String::with_capacity(text.len()),
            lines: Vec::with_capacity(all.len()),
            gaps: Vec::new(),
        };
        let mut at = 0;
        for ((line, length), near) in all.iter().zip(fronts).zip(near) {
            if near {
                view.lines.push((view.text.len(), at + length));
                view.text.push_str(&line[length..]);
            } else if view
                .gaps
                .last()
                .is_none_or(|gap| gap + GAP.len() != view.text.len())
            {
                view.lines.push((view.text.len(), at));
                view.gaps.push(view.text.len());
                view.text.push_str(GAP);
            }
            at += line.len();
        }
        Some(view)
    }

    /// The lines of this view that are these lines of the original.
    pub(crate) fn lines_of(&self, original: &[Line]) -> Vec<Line> {
        let mut found = Vec::new();
        let mut gaps = self.gaps.iter().peekable();
        let mut lines = self.lines.iter().peekable();
        let mut original = original.iter().peekable();
        while let Some((here, there)) = lines.next() {
            let end = lines.peek().map_or(self.text.len(), |(next, _)| *next);
            if gaps.next_if(|gap| *gap == here).is_some() {
                continue;
            }
            while original.next_if(|line| line.end <= *there).is_some() {}
            if let Some(line) = original.peek()
                && line.start <= *there
            {
                found.push(Line {
                    start: *here,
                    end,
                    finders: line.finders,
                });
            }
        }
        found
    }

    /// Where a part of this text is in the original; nothing if lines were left out within it.
    pub(crate) fn original(&self, range: &Range<usize>) -> Option<Range<usize>> {
        let gap = self.gaps.partition_point(|gap| gap + GAP.len() <= range.start);
        if self.gaps.get(gap).is_some_and(|gap| *gap < range.end) {
            return None;
        }
        let place = |at: usize, ends: bool| {
            // The end of a part belongs to the line of its last character.
            let probe = if ends { at.saturating_sub(1) } else { at };
            let index = self
                .lines
                .partition_point(|(here, _)| *here <= probe)
                .saturating_sub(1);
            self.lines
                .get(index)
                .map_or(at, |(here, there)| there + (at - here))
        };
        Some(place(range.start, false)..place(range.end, true))
    }
}

/// How many lines from here begin with `+`, `-` or a blank, and whether one of them shows that they are those of a diff.
fn diff_block(lines: &[&str]) -> (usize, bool) {
    let first = lines.first().and_then(|line| line.bytes().next());
    if !matches!(first, Some(b'+' | b'-' | b' ')) {
        return (0, false);
    }
    let mut shows = false;
    let mut count = 0;
    for line in lines {
        match line.as_bytes() {
            [b'+', rest @ ..] => shows |= rest.first() != Some(&b'+'),
            // A list begins with a dash and one blank.
            [b'-', second, third, ..] => {
                shows |= second.is_ascii_alphanumeric() || (*second == b' ' && *third == b' ');
            }
            [b' ' | b'-', ..] => {}
            _ => break,
        }
        count += 1;
    }
    (count, shows)
}

/// The length of what a tool put in front of a line.
pub(crate) fn prefix(line: &str) -> usize {
    let bytes = line.as_bytes();
    let Some(first) = bytes.first() else { return 0 };
    let found = match first {
        b'0'..=b'9' => numbered(bytes).or_else(|| time(bytes).map(|at| at + syslog_rest(&bytes[at..]))),
        b' ' | b'\t' => padded_number(bytes),
        b'<' => angle(bytes),
        b'>' => Some(1 + usize::from(bytes.get(1) == Some(&b' '))),
        b'[' => bracket(bytes),
        b'A'..=b'Z' => month(bytes)
            .map(|at| at + syslog_rest(&bytes[at..]))
            .or_else(|| named(bytes)),
        b'a'..=b'z' | b'.' | b'/' | b'_' => named(bytes),
        _ => None,
    };
    found.map_or(0, |length| {
        line.floor_char_boundary(length.min(line.trim_end_matches(['\n', '\r']).len()))
    })
}

fn digits(bytes: &[u8]) -> usize {
    bytes
        .iter()
        .take(8)
        .take_while(|byte| byte.is_ascii_digit())
        .count()
}

/// `12:`, `12-` of `grep -n`.
fn numbered(bytes: &[u8]) -> Option<usize> {
    let count = digits(bytes);
    match bytes.get(count)? {
        b'\t' => Some(count + 1),
        b':' | b'-' if count < 8 => {
            // A date or a time of day is none.
            let rest = &bytes[count + 1..];
            let more = digits(rest);
            (!(more > 0 && matches!(rest.get(more), Some(b'-' | b':' | b'/')))).then_some(count + 1)
        }
        _ => None,
    }
}

/// `    12\t` of `cat -n` and `nl`, `   12  ` of `less -N`, `  12 │ ` of `bat`.
fn padded_number(bytes: &[u8]) -> Option<usize> {
    let blanks = bytes.iter().take(12).take_while(|byte| **byte == b' ').count();
    let count = digits(&bytes[blanks..]);
    if blanks == 0 || count == 0 {
        return None;
    }
    let at = blanks + count;
    let rest = &bytes[at..];
    if rest.first() == Some(&b'\t') {
        return Some(at + 1);
    }
    let gap = rest.iter().take(4).take_while(|byte| **byte == b' ').count();
    let bar = &rest[gap..];
    if bar.starts_with("│".as_bytes()) {
        let after = at + gap + "│".len();
        return Some(after + usize::from(bytes.get(after) == Some(&b' ')));
    }
    if gap > 0 && bar.first() == Some(&b'|') {
        return Some(at + gap + 1 + usize::from(bar.get(1) == Some(&b' ')));
    }
    None
}

/// `2026-11-15T05:28:26.123Z `, `2026-11-15 05:28:26 `, `05:28:26 `.
fn time(bytes: &[u8]) -> Option<usize> {
    let near = &bytes[..bytes.len().min(48)];
    let date = near.len() > 10
        && near[4] == b'-'
        && near[7] == b'-'
        && near[..4].iter().all(u8::is_ascii_digit)
        && near[8].is_ascii_digit();
    let from = if date { 11 } else { 0 };
    let clock = near.get(from..from + 8)?;
    if !(clock[2] == b':' && clock[5] == b':' && clock[0].is_ascii_digit() && clock[7].is_ascii_digit()) {
        return None;
    }
    let blank = near[from..].iter().position(|byte| *byte == b' ')?;
    Some(from + blank + 1)
}

/// `Nov 15 05:28:26 `
fn month(bytes: &[u8]) -> Option<usize> {
    let clock = bytes.get(7..16)?;
    (bytes[3] == b' '
        && clock[2] == b':'
        && clock[5] == b':'
        && clock[8] == b' '
        && bytes[5].is_ascii_digit())
    .then_some(16)
}

/// Host and program behind a time: `delly app[12]: `, `app: `, `stdout F `, `INFO `.
fn syslog_rest(bytes: &[u8]) -> usize {
    let near = &bytes[..bytes.len().min(160)];
    if near.starts_with(b"stdout ") || near.starts_with(b"stderr ") {
        return if near.len() > 9 && near[8] == b' ' { 9 } else { 7 };
    }
    // `host program[pid]: ` or `program[pid]: `; a key of YAML has no host or number before its colon.
    let mut at = 0;
    for words in 0..3 {
        let Some(length) = near[at..].iter().position(|byte| *byte == b' ' || *byte == b'\n') else {
            return 0;
        };
        let word = &near[at..at + length];
        if word.ends_with(b":") && (words > 0 || word.ends_with(b"]:")) {
            return at + length + 1;
        }
        let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"_.-/()[]".contains(byte);
        if word.is_empty() || word == b"-" || !word.iter().all(plain) {
            return 0;
        }
        at += length + 1;
    }
    0
}

/// `<13>Nov 15 …`
fn angle(bytes: &[u8]) -> Option<usize> {
    let count = digits(&bytes[1..]);
    if count == 0 || bytes.get(count + 1) != Some(&b'>') {
        return None;
    }
    let at = count + 2;
    let rest = &bytes[at..];
    let more = month(rest).or_else(|| time(rest))?;
    Some(at + more + syslog_rest(&rest[more..]))
}

/// `[pod/web/app] ` of `kubectl logs --prefix`, `[  12.345] ` of the kernel.
fn bracket(bytes: &[u8]) -> Option<usize> {
    let near = &bytes[..bytes.len().min(128)];
    let end = near.iter().position(|byte| *byte == b']')?;
    let inside = &near[1..end];
    let named = inside.starts_with(b"pod/")
        || inside
            .iter()
            .all(|byte| byte.is_ascii_digit() || b" .:-TZ+".contains(byte));
    (named && near.get(end + 1) == Some(&b' ')).then_some(end + 2)
}

/// `secret.yaml:12:`, `dir/secret.yaml-12-`, `secret.yaml:` of `grep -r`, `web-1  | ` of Docker Compose.
fn named(bytes: &[u8]) -> Option<usize> {
    let plain = |byte: &&u8| byte.is_ascii_alphanumeric() || b"_./~@".contains(byte);
    let near = &bytes[..bytes.len().min(256)];
    let mut end = near.iter().take_while(plain).count();
    loop {
        match near.get(end)? {
            b':' | b'-' => {
                let mark = near[end];
                let count = digits(&near[end + 1..]);
                if count > 0 && near.get(end + 1 + count) == Some(&mark) {
                    return Some(end + count + 2);
                }
                // `grep -r` puts `:` behind the name of a file, and `-` before a line around a match.
                if is_file(&near[..end]) {
                    return Some(end + 1);
                }
                if mark == b':' {
                    return None;
                }
                end += 1;
                end += near[end..].iter().take_while(plain).count();
            }
            b' ' => {
                let gap = near[end..].iter().take_while(|byte| **byte == b' ').count();
                let bar = end + gap;
                return (near.get(bar) == Some(&b'|'))
                    .then(|| bar + 1 + usize::from(near.get(bar + 1) == Some(&b' ')));
            }
            _ => return None,
        }
    }
}

fn is_file(name: &[u8]) -> bool {
    let Some(dot) = name.iter().rposition(|byte| *byte == b'.') else {
        return false;
    };
    let extension = &name[dot + 1..];
    matches!(
        extension,
        b"yaml"
            | b"yml"
            | b"json"
            | b"conf"
            | b"cfg"
            | b"ini"
            | b"env"
            | b"toml"
            | b"txt"
            | b"pem"
            | b"key"
            | b"tf"
            | b"tfstate"
            | b"properties"
            | b"sh"
            | b"log"
            | b"bak"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_tools_put_in_front_of_lines_is_found() {
        for (line, expected) in [
            ("12:data:", "data:"),
            ("12-  a: b", "  a: b"),
            ("     3\t  a: b", "  a: b"),
            ("  12 │ a: b", "a: b"),
            ("k8s/secret.yaml:12:  a: b", "  a: b"),
            ("secret.yaml-12-  a: b", "  a: b"),
            ("secret.yaml:  a: b", "  a: b"),
            ("secret.yaml-  a: b", "  a: b"),
            ("k8s/my-app.yaml-a: b", "a: b"),
            ("my-app-1: b", "my-app-1: b"),
            ("Nov 15 05:28:26 delly app[12]:   a: b", "  a: b"),
            ("2026-11-15T05:28:26.1Z delly app[12]: a: b", "a: b"),
            ("2026-11-15T05:28:26.1Z stdout F   a: b", "  a: b"),
            ("2026-11-15T05:28:26.1Z - name: b", "- name: b"),
            ("<13>Nov 15 05:28:26 delly app: a: b", "a: b"),
            ("web-1  | a: b", "a: b"),
            ("[pod/web/app] a: b", "a: b"),
            ("> a: b", "a: b"),
            ("apiVersion: v1", "apiVersion: v1"),
            ("  a: b", "  a: b"),
            ("- a: b", "- a: b"),
            ("password: 12", "password: 12"),
            ("05:28:26 up 3 days", "up 3 days"),
            ("", ""),
            ("12:", ""),
        ] {
            assert_eq!(&line[prefix(line)..], expected, "{line}");
        }
    }

    #[test]
    fn places_are_found_again() {
        let text = "@@ -1,3 +1,3 @@\n kind: Secret\n-data:\n+data:\n+  a: b\nend\n";
        let view = View::of(text).unwrap();
        assert_eq!(
            view.text,
            "@@ -1,3 +1,3 @@\nkind: Secret\ndata:\ndata:\n  a: b\nend\n"
        );
        for word in ["kind", "a: b", "end"] {
            let here = view.text.find(word).unwrap();
            let there = view.original(&(here..here + word.len())).unwrap();
            assert_eq!(&text[there], word);
        }
        assert!(View::of("kind: Secret\ndata:\n  a: b\n- c\n").is_none());
    }

    #[test]
    fn lines_far_from_any_prefix_are_left_out() {
        let plain = "word\n".repeat(200);
        let text = format!("{plain}12:a: b\n{plain}13:c: d\n");
        let view = View::of(&text).unwrap();
        assert!(view.text.len() < text.len() && view.text.contains("\n---\n"));
        let from = view.text.find("a: b").unwrap();
        let to = view.text.find("c: d").unwrap();
        assert_eq!(&text[view.original(&(from..from + 4)).unwrap()], "a: b");
        assert_eq!(&text[view.original(&(to..to + 4)).unwrap()], "c: d");
        assert_eq!(view.original(&(from..to)), None);
    }
}
