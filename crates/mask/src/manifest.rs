//! Kubernetes Secrets in YAML and JSON, whole, cut off, in lists, inside annotations and inside other text.
//!
//! Nothing here parses a document: what is broken must not pass unseen. YAML is read by its indentation, JSON by its
//! brackets, both from any place in the text. A manifest that was cut off before it
//! says its kind counts as a Secret.

use std::ops::Range;

use regex::Regex;

use crate::Kind;
use crate::finder::Finder;
use crate::placeholder::{is_placeholder, only_markers};
use crate::span::Spans;
use crate::yaml::{self, entry, indent_of};

pub(crate) const FINDERS: &[Finder] = &[
    Finder {
        kind: Kind::KubernetesSecret,
        trigger: r#"(?:data|stringData)["']?[ \t]*:[ \t]*(?:[&!{\r\n]|$)"#,
        pattern: r#"(?m)^[ \t>|]*(?:- +)?["']?(?:data|stringData)["']?[ \t]*:"#,
        find: yaml_manifests,
    },
    Finder {
        kind: Kind::KubernetesSecret,
        trigger: r#"(?:data|stringData)\\*"\s*:\s*\{"#,
        pattern: r#"(\\*)"(?:data|stringData|kind|apiVersion)\\*"\s*:"#,
        find: json_manifests,
    },
];

/// So many depths of JSON inside strings of JSON are looked into.
const MAX_DEPTHS: usize = 4;

fn is_data(key: &str) -> bool {
    key == "data" || key == "stringData"
}

struct Line<'t> {
    start: usize,
    text: &'t str,
}

fn yaml_manifests(regex: &Regex, text: &str, kind: Kind, spans: &mut Spans) {
    if !regex.is_match(text) || !(text.contains("Secret") || text.contains("apiVersion")) {
        return;
    }
    let mut lines = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        lines.push(Line {
            start,
            text: line.trim_end_matches(['\n', '\r']),
        });
        start += line.len();
    }
    let mut index = 0;
    // The mapping that was looked at last: several keys of one need one look.
    let mut known: Option<Mapping> = None;
    while index < lines.len() {
        let Some(data) = entry(lines[index].text).filter(|entry| is_data(entry.key)) else {
            index += 1;
            continue;
        };
        let end = children_end(&lines, index, data.column);
        let mapping = known
            .take()
            .filter(|mapping| mapping.column == data.column && mapping.lines.contains(&index))
            .unwrap_or_else(|| Mapping::around(&lines, index, end, data.column));
        if mapping.is_secret {
            let value = &lines[index].text[data.value.clone()];
            if value.starts_with('{') && value != "{}" && !only_markers(value.trim_matches(['{', '}'])) {
                let at = lines[index].start + data.value.start;
                spans.add(at..at + value.len(), kind);
            }
            mask_children(&lines[index + 1..end], kind, spans);
        }
        known = Some(mapping);
        index = end.max(index + 1);
    }
}

/// The mapping that a `data` key belongs to.
struct Mapping {
    column: usize,
    lines: Range<usize>,
    /// Whether it says `kind: Secret`, or has a version and, cut off, no kind.
    is_secret: bool,
}

/// The first line after `index` that is not below the key in `column`.
fn children_end(lines: &[Line<'_>], index: usize, column: usize) -> usize {
    let below = |line: &Line<'_>| {
        line.text.trim().is_empty() || (indent_of(line.text) > column && !is_separator(line.text))
    };
    index + 1 + lines[index + 1..].iter().take_while(|line| below(line)).count()
}

fn is_separator(line: &str) -> bool {
    line.starts_with("---") || line.trim_end() == "..."
}

impl Mapping {
    fn around(lines: &[Line<'_>], index: usize, children_end: usize, column: usize) -> Self {
        let mut versioned = false;
        let mut kind = None;
        let mut note = |line: &Line<'_>| {
            if let Some(entry) = entry(line.text)
                && entry.column == column
            {
                match entry.key {
                    "kind" => kind = Some(is_secret_word(&line.text[entry.value])),
                    "apiVersion" => versioned = true,
                    _ => {}
                }
            }
        };
        let starts_item = |line: &Line<'_>| {
            entry(line.text).is_some_and(|entry| entry.first_of_item && entry.column == column)
        };
        let outside = |line: &Line<'_>| is_outside(line.text, column) && !starts_item(line);
        note(&lines[index]);
        let mut start = index;
        while start > 0 && !starts_item(&lines[start]) && !outside(&lines[start - 1]) {
            start -= 1;
            note(&lines[start]);
        }
        let mut end = children_end;
        while end < lines.len() && !outside(&lines[end]) && !starts_item(&lines[end]) {
            note(&lines[end]);
            end += 1;
        }
        Self {
            column,
            lines: start..end,
            is_secret: kind.unwrap_or(versioned),
        }
    }
}

/// Whether a line cannot belong to a mapping in this column: less deep, a new document, or text around the manifest.
fn is_outside(line: &str, column: usize) -> bool {
    if line.trim().is_empty() {
        return false;
    }
    let indent = indent_of(line);
    is_separator(line)
        || indent < column
        || (column == 0 && indent == 0 && !line.starts_with(['#', '-']) && entry(line).is_none())
}

fn is_secret_word(value: &str) -> bool {
    let value = value
        .split(" #")
        .next()
        .unwrap_or_default()
        .trim()
        .trim_matches(['"', '\'', ',']);
    value == "Secret"
}

fn mask_children(lines: &[Line<'_>], kind: Kind, spans: &mut Spans) {
    let Some(column) = lines
        .iter()
        .find(|line| !line.text.trim().is_empty())
        .map(|line| indent_of(line.text))
    else {
        return;
    };
    let mut add = |line: &Line<'_>, range: Range<usize>| {
        let value = &line.text[range.clone()];
        if !is_placeholder(value.trim_matches(['"', '\''])) {
            spans.add(line.start + range.start..line.start + range.end, kind);
        }
    };
    for line in lines {
        let content = line.text.trim();
        if content.is_empty() || content.starts_with('#') {
            continue;
        }
        match entry(line.text) {
            Some(entry) if entry.column == column => {
                let value = &line.text[entry.value.clone()];
                if !value.is_empty() && !yaml::is_block_header(value) && value != "\"\"" && value != "''" {
                    let quotes = usize::from(
                        value.len() > 1 && value.starts_with(['"', '\'']) && value.ends_with(['"', '\'']),
                    );
                    add(line, entry.value.start + quotes..entry.value.end - quotes);
                }
            }
            _ => {
                let start = indent_of(line.text);
                add(line, start..start + content.len());
            }
        }
    }
}

/// An object or list that is open.
#[derive(Default)]
struct Frame {
    is_object: bool,
    /// Whether this is, or is inside, `data` or `stringData`.
    in_data: bool,
    key: Option<Range<usize>>,
    kind: Option<bool>,
    versioned: bool,
    values: Vec<(Range<usize>, bool)>,
}

fn json_manifests(regex: &Regex, text: &str, kind: Kind, spans: &mut Spans) {
    if !(text.contains("Secret") || text.contains("apiVersion")) {
        return;
    }
    let keys: Vec<(usize, usize)> = regex
        .captures_iter(text)
        .filter_map(|captures| Some((captures.get(1)?.len(), captures.get(0)?.start())))
        .collect();
    let mut depths: Vec<usize> = keys.iter().map(|(depth, _)| *depth).collect();
    depths.sort_unstable();
    depths.dedup();
    for depth in depths.into_iter().take(MAX_DEPTHS) {
        let known = keys
            .iter()
            .filter(|(found, _)| *found == depth)
            .map(|(_, at)| *at)
            .collect();
        Scanner::new(text, depth, known).run(kind, spans);
    }
}

/// Reads JSON whose quotes carry `depth` backslashes, wherever it stands in the text.
struct Scanner<'t> {
    text: &'t str,
    depth: usize,
    /// Where keys certainly begin. A string that runs into one was none: a stray quote opened it.
    keys: Vec<usize>,
    next_key: usize,
    stack: Vec<Frame>,
    expects_value: bool,
}

impl<'t> Scanner<'t> {
    fn new(text: &'t str, depth: usize, keys: Vec<usize>) -> Self {
        let root = Frame {
            is_object: true,
            ..Frame::default()
        };
        Self {
            text,
            depth,
            keys,
            next_key: 0,
            stack: vec![root],
            expects_value: false,
        }
    }

    fn run(mut self, kind: Kind, spans: &mut Spans) {
        let bytes = self.text.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            match bytes[at] {
                b'"' | b'\\' => {
                    let slashes = bytes[at..].iter().take_while(|byte| **byte == b'\\').count();
                    if bytes.get(at + slashes) == Some(&b'"') && slashes == self.depth {
                        let start = at + slashes + 1;
                        let (end, after) = self.string_end(start);
                        self.string(start..end);
                        at = after;
                        continue;
                    }
                    at += slashes.max(1);
                    continue;
                }
                b'{' | b'[' => self.open(bytes[at] == b'{'),
                b'}' | b']' => self.close(false, kind, spans),
                b':' => self.expects_value = true,
                b',' => self.separate(),
                byte if self.expects_value && !byte.is_ascii_whitespace() => {
                    let length = bytes[at..]
                        .iter()
                        .take_while(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(byte))
                        .count()
                        .max(1);
                    if byte.is_ascii_digit() || byte == b'-' {
                        self.value(at..at + length, true);
                    }
                    at += length;
                    continue;
                }
                _ => {}
            }
            at += 1;
        }
        while !self.stack.is_empty() {
            self.close(true, kind, spans);
        }
    }

    /// The end of a string's inside, and where to go on. A string does not pass the end of its line.
    fn string_end(&mut self, start: usize) -> (usize, usize) {
        let bytes = self.text.as_bytes();
        let mut at = start;
        while self.keys.get(self.next_key).is_some_and(|key| *key < start) {
            self.next_key += 1;
        }
        let limit = self.keys.get(self.next_key).copied().unwrap_or(bytes.len());
        while at < limit {
            match bytes[at] {
                b'\n' => return (at, at),
                b'"' => return (at, at + usize::from(self.depth == 0)),
                b'\\' => {
                    let run = bytes[at..].iter().take_while(|byte| **byte == b'\\').count();
                    let quote = bytes.get(at + run) == Some(&b'"');
                    if quote && self.depth > 0 && run <= self.depth {
                        return (at, at + run + 1);
                    }
                    // An even run at depth nought is backslashes alone, and the quote ends the string.
                    if quote && self.depth == 0 && run % 2 == 0 {
                        return (at + run, at + run + 1);
                    }
                    at += run + usize::from(quote);
                }
                _ => at += 1,
            }
        }
        (limit, limit)
    }

    fn string(&mut self, range: Range<usize>) {
        let Some(frame) = self.stack.last_mut() else {
            return;
        };
        if frame.is_object && !self.expects_value {
            frame.key = Some(range);
            return;
        }
        self.value(range, false);
    }

    fn value(&mut self, range: Range<usize>, bare: bool) {
        self.expects_value = false;
        let Some(frame) = self.stack.last_mut() else {
            return;
        };
        let key = frame.key.clone().map(|key| &self.text[key]);
        match key {
            Some("kind") => {
                frame.kind = Some(frame.kind == Some(true) || &self.text[range.clone()] == "Secret");
            }
            Some("apiVersion") => frame.versioned = true,
            _ => {}
        }
        if frame.in_data {
            frame.values.push((range, bare));
        }
    }

    fn separate(&mut self) {
        self.expects_value = false;
        if let Some(frame) = self.stack.last_mut() {
            frame.key = None;
        }
    }

    fn open(&mut self, is_object: bool) {
        let parent = self.stack.last();
        let named = parent
            .and_then(|frame| frame.key.clone())
            .is_some_and(|key| is_data(&self.text[key]));
        let in_data = parent.is_some_and(|frame| frame.in_data) || (named && self.expects_value);
        self.expects_value = false;
        self.stack.push(Frame {
            is_object,
            in_data,
            ..Frame::default()
        });
    }

    fn close(&mut self, cut_off: bool, kind: Kind, spans: &mut Spans) {
        self.expects_value = false;
        // The outermost frame stays until the end: text may close what it never opened.
        if self.stack.len() == 1 && !cut_off {
            return;
        }
        let Some(frame) = self.stack.pop() else { return };
        let secret = frame.kind.unwrap_or(frame.versioned);
        if frame.in_data {
            if let Some(parent) = self.stack.last_mut() {
                parent.values.extend(frame.values);
            }
            return;
        }
        if secret {
            for (range, bare) in frame.values {
                if is_placeholder(&self.text[range.clone()]) {
                    continue;
                }
                if bare && self.depth == 0 {
                    spans.add_quoted(range, kind);
                } else {
                    spans.add(range, kind);
                }
            }
        }
    }
}
