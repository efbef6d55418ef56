//! Kubernetes Secrets in YAML and JSON, whole, cut off at either end, in lists, inside annotations and inside other text.
//!
//! Nothing here parses a document: what is broken must not pass unseen. YAML is read by its indentation, JSON by its
//! brackets, both once and from any place in the text. A manifest that was cut off before it says its kind counts as a
//! Secret.

use std::ops::Range;

use regex::Regex;

use crate::Kind;
use crate::around::Around;
use crate::finder::{Find, Finder, Scope};
use crate::placeholder::{is_placeholder, only_markers};
use crate::span::Spans;
use crate::work::looked_at;
use crate::yaml::{self, Entry, entry, indent_of};

pub(crate) const FINDERS: &[Finder] = &[
    Finder {
        kind: Kind::KubernetesSecret,
        anchors: &["data", "secret"],
        around: Around::Manifest,
        trigger: r#"(?:data|stringData)["']?[ \t]*:[ \t]*(?:[&!{\r\n]|$)|kind["']?[ \t]*:[ \t]*["']?Secret"#,
        pattern: r#"(?:data|stringData|kind)["']?[ \t]*:"#,
        scope: Scope::Text,
        find: Find::In(yaml_manifests),
    },
    Finder {
        kind: Kind::KubernetesSecret,
        anchors: &["data", "secret"],
        around: Around::Manifest,
        trigger: r#"(?:data|stringData)\\*"\s*:\s*\{|kind\\*"\s*:\s*\\*"Secret"#,
        pattern: r#"(\\*)"(?:data|stringData|kind|apiVersion)\\*"\s*:"#,
        scope: Scope::Text,
        find: Find::In(json_manifests),
    },
];

/// So many depths of JSON inside strings of JSON are looked into.
const MAX_DEPTHS: usize = 4;

/// What a mapping says that it is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Says {
    Secret,
    /// A list whose items are Secrets and do not say so.
    SecretList,
    Other,
}

impl Says {
    fn read(word: &str) -> Self {
        match word {
            "Secret" => Self::Secret,
            "SecretList" => Self::SecretList,
            _ => Self::Other,
        }
    }
}

fn is_data(key: &str) -> bool {
    key == "data" || key == "stringData"
}

/// A value that is a secret if the mapping it belongs to is a Secret.
struct Value {
    range: Range<usize>,
    /// A bare number of JSON.
    bare: bool,
    /// How many mappings are around the one it belongs to.
    depth: usize,
}

/// A mapping that is open.
struct Mapping {
    column: usize,
    says: Option<Says>,
    versioned: bool,
    /// Its values, and those of mappings below it that do not say what they are, are from here on.
    values: usize,
}

/// Walks over the lines of a text once.
struct Lines<'t> {
    text: &'t str,
    kind: Kind,
    stack: Vec<Mapping>,
    values: Vec<Value>,
    /// The column of the `data` key whose values come now, and that of the first of them.
    data: Option<(usize, Option<usize>)>,
    /// Values at the beginning of the text, deeper than what follows: the key above them was cut off.
    orphans: Vec<Range<usize>>,
    start: Start,
}

/// What is known about the beginning of a text.
#[derive(PartialEq, Eq)]
enum Start {
    /// Every line so far was at least this deep.
    Deep(usize),
    /// The lines before were deeper: they stand below a key that was cut off.
    CutOff,
    Whole,
}

fn yaml_manifests(_regex: &Regex, text: &str, kind: Kind, spans: &mut Spans) {
    if !(text.contains("Secret") || text.contains("apiVersion")) {
        return;
    }
    let mut lines = Lines {
        text,
        kind,
        stack: Vec::new(),
        values: Vec::new(),
        data: None,
        orphans: Vec::new(),
        start: Start::Deep(usize::MAX),
    };
    let mut start = 0;
    looked_at(text.len());
    for line in text.split_inclusive('\n') {
        lines.line(start, line.trim_end_matches(['\n', '\r']), spans);
        start += line.len();
    }
    lines.close_from(0, spans);
}

impl Lines<'_> {
    fn line(&mut self, start: usize, line: &str, spans: &mut Spans) {
        if line.trim().is_empty() || line.starts_with("@@") {
            return;
        }
        let indent = indent_of(line);
        let separator = line.starts_with("---") || line.trim_end() == "...";
        if let Some((column, first)) = &mut self.data {
            if indent > *column && !separator {
                let first = *first.get_or_insert(indent);
                self.value_line(start, line, first);
                return;
            }
            self.data = None;
        }
        if separator {
            self.close_from(0, spans);
            self.orphans.clear();
            self.start = Start::Whole;
            return;
        }
        let found = entry(line);
        self.close_outside(line, indent, found.as_ref(), spans);
        if let Start::Deep(least) = self.start {
            self.start = match &found {
                _ if indent >= least || (least == usize::MAX && indent > 0) => {
                    self.orphan(start, line, found.as_ref());
                    Start::Deep(least.min(indent))
                }
                Some(_) if !self.orphans.is_empty() => Start::CutOff,
                _ => Start::Whole,
            };
            if self.start == Start::Whole {
                self.orphans.clear();
            }
        }
        let Some(entry) = found else { return };
        if self
            .stack
            .last()
            .is_none_or(|mapping| mapping.column < entry.column)
        {
            self.stack.push(Mapping {
                column: entry.column,
                says: None,
                versioned: false,
                values: self.values.len(),
            });
        }
        self.note(start, line, &entry);
    }

    fn note(&mut self, start: usize, line: &str, entry: &Entry<'_>) {
        let depth = self.stack.len();
        let Some(mapping) = self.stack.last_mut() else {
            return;
        };
        let value = &line[entry.value.clone()];
        match entry.key {
            "kind" => {
                let word = value.split(" #").next().unwrap_or_default().trim();
                mapping.says = Some(Says::read(word.trim_matches(['"', '\'', ','])));
            }
            "apiVersion" => mapping.versioned = true,
            key if is_data(key) => {
                let flow = value.starts_with('{') && value != "{}" && value.len() > 1;
                if flow && !only_markers(value.trim_matches(['{', '}'])) {
                    let at = start + entry.value.start;
                    self.values.push(Value {
                        range: at..at + value.len(),
                        bare: false,
                        depth,
                    });
                } else if !flow {
                    self.data = Some((entry.column, None));
                }
            }
            _ => {}
        }
    }

    /// A line below `data`, whose keys are in the column of the first.
    fn value_line(&mut self, start: usize, line: &str, first: usize) {
        let content = line.trim();
        if content.starts_with('#') {
            return;
        }
        let range = match entry(line) {
            Some(entry) if entry.column == first => {
                let value = &line[entry.value.clone()];
                let value = value.strip_suffix(',').unwrap_or(value);
                if value.is_empty() || yaml::is_block_header(value) || matches!(value, "\"\"" | "''") {
                    return;
                }
                let wrapped =
                    value.len() > 1 && value.starts_with(['"', '\'']) && value.ends_with(['"', '\'']);
                let quotes = usize::from(wrapped);
                entry.value.start + quotes..entry.value.start + value.len() - quotes
            }
            _ => {
                let indent = indent_of(line);
                indent..indent + content.len()
            }
        };
        if !is_placeholder(line[range.clone()].trim_matches(['"', '\''])) {
            self.values.push(Value {
                range: start + range.start..start + range.end,
                bare: false,
                depth: self.stack.len(),
            });
        }
    }

    /// Remembers a line that may stand below a `data` key which was cut off.
    fn orphan(&mut self, start: usize, line: &str, entry: Option<&Entry<'_>>) {
        let range = if let Some(entry) = entry {
            let value = line[entry.value.clone()]
                .trim_end_matches(',')
                .trim_matches(['"', '\'']);
            let from = line[entry.value.clone()].find(value).unwrap_or(0);
            entry.value.start + from..entry.value.start + from + value.len()
        } else {
            let content = line.trim().trim_end_matches(',').trim_matches('"');
            let from = line.find(content).unwrap_or(0);
            from..from + content.len()
        };
        if range.len() >= 4
            && !is_placeholder(&line[range.clone()])
            && !line[range.clone()].ends_with(['{', '[', '}', ']'])
        {
            self.orphans.push(start + range.start..start + range.end);
        }
    }

    /// Closes the mappings that this line does not belong to.
    fn close_outside(&mut self, line: &str, indent: usize, found: Option<&Entry<'_>>, spans: &mut Spans) {
        let from = match found {
            Some(entry) if entry.first_of_item => {
                self.stack.partition_point(|mapping| mapping.column <= indent)
            }
            Some(entry) => self
                .stack
                .partition_point(|mapping| mapping.column <= entry.column),
            // Text around a manifest ends it; so does what is less deep.
            None if indent == 0 && !line.starts_with(['#', '-', '}', ']', '{', '[']) => 0,
            None => self.stack.partition_point(|mapping| mapping.column <= indent),
        };
        self.close_from(from, spans);
    }

    fn close_from(&mut self, from: usize, spans: &mut Spans) {
        while self.stack.len() > from {
            let depth = self.stack.len();
            let Some(mapping) = self.stack.pop() else { return };
            let secret = match mapping.says {
                Some(Says::Secret) => {
                    if depth == 1 && self.start == Start::CutOff {
                        for range in self.orphans.drain(..) {
                            spans.add(range, self.kind);
                        }
                    }
                    true
                }
                Some(Says::SecretList | Says::Other) => false,
                None => mapping.versioned,
            };
            let list = mapping.says == Some(Says::SecretList);
            if secret || list {
                for value in self.values.drain(mapping.values..) {
                    if (list || value.depth == depth) && !only_markers(&self.text[value.range.clone()]) {
                        spans.add(value.range, self.kind);
                    }
                }
            } else if mapping.says.is_some() || depth == 1 {
                self.values.truncate(mapping.values);
            }
            if depth == 1 && self.start == Start::CutOff && mapping.says.is_some() {
                self.orphans.clear();
            }
        }
    }
}

/// An object or list of JSON that is open.
#[derive(Default)]
struct Frame {
    is_object: bool,
    /// Whether this is, or is inside, `data` or `stringData`.
    in_data: bool,
    /// How many frames are open where the object is that its values belong to.
    owner: usize,
    key: Option<Range<usize>>,
    says: Option<Says>,
    versioned: bool,
    values: usize,
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
        Scanner::new(text, depth, known, kind).run(spans);
    }
}

/// Reads JSON whose quotes carry `depth` backslashes, wherever it stands in the text.
struct Scanner<'t> {
    text: &'t str,
    depth: usize,
    kind: Kind,
    /// Where keys certainly begin. A string that runs into one was none: a stray quote opened it.
    keys: Vec<usize>,
    next_key: usize,
    stack: Vec<Frame>,
    values: Vec<Value>,
    /// Pairs outside of every bracket, and how many of them were before a bracket that closes what was never opened: those
    /// stand in an object whose beginning was cut off.
    orphans: Vec<Range<usize>>,
    cut_off: usize,
    expects_value: bool,
}

impl<'t> Scanner<'t> {
    fn new(text: &'t str, depth: usize, keys: Vec<usize>, kind: Kind) -> Self {
        let root = Frame {
            is_object: true,
            ..Frame::default()
        };
        Self {
            text,
            depth,
            kind,
            keys,
            next_key: 0,
            stack: vec![root],
            values: Vec::new(),
            orphans: Vec::new(),
            cut_off: 0,
            expects_value: false,
        }
    }

    fn run(mut self, spans: &mut Spans) {
        let bytes = self.text.as_bytes();
        looked_at(bytes.len());
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
                b'}' | b']' => self.close(false, spans),
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
            self.close(true, spans);
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
        let depth = self.stack.len();
        let Some(frame) = self.stack.last_mut() else {
            return;
        };
        let key = frame.key.clone().map(|key| &self.text[key]);
        match key {
            Some("kind") if frame.says != Some(Says::Secret) => {
                frame.says = Some(Says::read(&self.text[range.clone()]));
            }
            Some("kind") => {}
            Some("apiVersion") => frame.versioned = true,
            Some(_) if depth == 1 && !bare => self.orphans.push(range.clone()),
            _ => {}
        }
        if frame.in_data {
            let depth = frame.owner;
            self.values.push(Value { range, bare, depth });
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
        let owner = match parent {
            Some(frame) if frame.in_data => frame.owner,
            _ => self.stack.len(),
        };
        self.stack.push(Frame {
            is_object,
            in_data,
            owner,
            values: self.values.len(),
            ..Frame::default()
        });
    }

    fn close(&mut self, cut_off: bool, spans: &mut Spans) {
        self.expects_value = false;
        // The outermost frame stays until the end: text may close what it never opened.
        if self.stack.len() == 1 && !cut_off {
            if let Some(root) = self.stack.last_mut() {
                root.key = None;
            }
            self.cut_off = self.orphans.len();
            return;
        }
        let depth = self.stack.len();
        let Some(frame) = self.stack.pop() else { return };
        // Values inside `data` belong to the object around it.
        if frame.in_data && !self.stack.is_empty() {
            return;
        }
        let list = frame.says == Some(Says::SecretList);
        let secret = frame.says.map_or(frame.versioned, |says| says == Says::Secret);
        if depth == 1 && frame.says == Some(Says::Secret) {
            for range in self.orphans.drain(..self.cut_off) {
                if range.len() >= 4 && !is_placeholder(&self.text[range.clone()]) {
                    spans.add(range, self.kind);
                }
            }
        }
        if secret || list {
            for value in self.values.drain(frame.values..) {
                // Those of an object inside that says nothing about itself are not its own.
                if !list && value.depth != depth {
                    continue;
                }
                if is_placeholder(&self.text[value.range.clone()]) {
                    continue;
                }
                if value.bare && self.depth == 0 {
                    spans.add_quoted(value.range, self.kind);
                } else {
                    spans.add(value.range, self.kind);
                }
            }
        } else if frame.says.is_some() || depth == 1 {
            self.values.truncate(frame.values);
        }
    }
}
