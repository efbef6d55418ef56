//! Text that arrives in pieces.

use crate::work::looked_at;
use crate::yaml::{self, entry, indent_of};
use crate::{Kind, Masker, ansi, keys, pem, view};

/// So much is held back of something that spans lines before it is decided without its end.
const MAX_HELD: usize = 4 * 1024;
/// So much of one line is held back in which a secret may still be open.
const MAX_LINE: usize = 64 * 1024;
/// How far before new words a line is looked at again.
const NEAR: usize = 96;
/// What stays behind when part of a very long line is shown.
const TAIL: usize = 1024;

/// Masks text that arrives in pieces, as the reply of a model does.
///
/// [`StreamMasker::push`] returns what is safe to show now. Words are shown at once while nothing on their line could
/// belong to a secret; else the line is held back until it is complete, and a key, a manifest or a block until its end
/// or 4 KiB. What is longer is decided as if it were cut off there, and the rest of it is masked too. For text whose
/// secrets lie within these bounds the outputs together are what [`Masker::mask_text`] makes of the whole. Custom
/// patterns see one line at a time.
#[derive(Debug)]
pub struct StreamMasker {
    masker: Masker,
    /// The current line, or all lines of the open region.
    held: String,
    /// How much of `held` was shown.
    shown: usize,
    line_start: usize,
    region: Option<Region>,
    /// How much of the line was there when it was last looked at.
    looked: usize,
    /// How much of it was looked through for the end of a word.
    walked: usize,
    /// Whether something on this line could be, or begin, a secret: then it is held back to its end.
    armed: bool,
}

/// Something that spans lines.
#[derive(Debug)]
enum Region {
    /// A private key with its beginning.
    Key,
    /// Lines that could be the rest of a private key.
    Base64,
    /// A mapping in this column that could be a Kubernetes Secret; the context that makes its rest one.
    Manifest { column: usize, context: String },
    /// The text block of a key that names a secret.
    Block { indent: usize },
    /// This many more lines belong together, at most.
    Lines(usize),
    /// The rest of something that is masked already: a key, or lines deeper than this.
    Swallow(Option<usize>),
    /// The rest of a line that is masked already.
    SwallowLine,
}

impl StreamMasker {
    /// Starts with no text.
    pub fn new(masker: Masker) -> Self {
        Self {
            masker,
            held: String::new(),
            shown: 0,
            line_start: 0,
            region: None,
            looked: 0,
            walked: 0,
            armed: false,
        }
    }

    /// Takes the next piece and returns what is safe to show now.
    pub fn push(&mut self, piece: &str) -> String {
        let mut out = String::new();
        for part in piece.split_inclusive('\n') {
            self.held.push_str(part);
            if part.ends_with('\n') {
                self.end_line(&mut out);
            } else {
                self.show_words(&mut out);
            }
        }
        out
    }

    /// Ends the text and returns what was held back, masked.
    pub fn finish(&mut self) -> String {
        let mut out = String::new();
        if !self.held.is_empty() && self.line_start < self.held.len() {
            self.end_line(&mut out);
        }
        self.flush(&mut out);
        self.region = None;
        out
    }

    fn end_line(&mut self, out: &mut String) {
        let line = self.held[self.line_start..].to_owned();
        match self.belongs(&line) {
            Belongs::Yes => self.line_start = self.held.len(),
            Belongs::Last => {
                self.flush(out);
                self.region = None;
                return;
            }
            Belongs::No => {
                if self.line_start > 0 {
                    self.held.truncate(self.line_start);
                    self.flush(out);
                    self.held = line;
                }
                self.region = opens(&self.held);
                self.line_start = self.held.len();
            }
        }
        if self.region.is_none() {
            self.flush(out);
        } else if self.held.len() > MAX_HELD {
            self.overflow(out);
        }
    }

    /// Whether a complete line continues the open region.
    fn belongs(&mut self, line: &str) -> Belongs {
        let line = &line[view::prefix(line)..];
        let blank = line.trim().is_empty();
        let indent = indent_of(line);
        match &mut self.region {
            None | Some(Region::Lines(0)) => Belongs::No,
            Some(Region::SwallowLine) => Belongs::Last,
            Some(Region::Key | Region::Base64 | Region::Swallow(None))
                if line.contains("-----END") || line.starts_with("Private-MAC:") =>
            {
                Belongs::Last
            }
            Some(Region::Key | Region::Base64 | Region::Swallow(None)) => Belongs::from(pem::is_body(line)),
            Some(Region::Manifest { column, .. }) => {
                let outside = line.starts_with("---")
                    || indent < *column
                    || (*column == 0
                        && indent == 0
                        && !line.starts_with(['#', '-'])
                        && entry(line).is_none());
                Belongs::from(blank || !outside)
            }
            Some(Region::Block { indent: above } | Region::Swallow(Some(above))) => {
                Belongs::from(blank || indent > *above)
            }
            Some(Region::Lines(left)) => {
                *left -= 1;
                let ends = line.contains("password") || line.contains("value") || line.contains("Value");
                match opens(line) {
                    None if ends => Belongs::Last,
                    None => Belongs::from(!blank),
                    Some(_) => Belongs::No,
                }
            }
        }
    }

    /// Shows the words of a line that has not ended, while nothing on it could belong to a secret.
    fn show_words(&mut self, out: &mut String) {
        if matches!(self.region, Some(Region::SwallowLine)) {
            self.held.clear();
            self.line_start = 0;
            return;
        }
        if self.region.is_some() {
            if self.held.len() > MAX_LINE {
                self.overflow(out);
            }
            return;
        }
        let limit = if self.is_armed() {
            // A long line is looked at each time it has doubled, not at every piece of it.
            if self.held.len() <= MAX_HELD || self.held.len() < self.looked * 2 {
                return;
            }
            self.looked = self.held.len();
            if self.held.len() > MAX_LINE {
                self.flush(out);
                self.region = Some(Region::SwallowLine);
                return;
            }
            match self.safe_cut() {
                Some(cut) => cut,
                None => return,
            }
        } else {
            self.looked
        };
        if limit > self.shown {
            if self.armed {
                out.push_str(&self.masker.mask_text(&self.held[self.shown..limit]));
            } else {
                out.push_str(&self.held[self.shown..limit]);
            }
            self.shown = limit;
        }
        if self.held.len() > MAX_HELD && self.shown > 0 {
            self.held.drain(..self.shown);
            self.walked = self.walked.saturating_sub(self.shown);
            self.looked = self.looked.saturating_sub(self.shown);
            self.shown = 0;
            if self.armed {
                self.looked = self.held.len().max(MAX_HELD / 2);
            }
        }
    }

    /// Whether something in the words that are complete could be, or begin, a secret. Only what came since the last look is
    /// looked at, with the words before it.
    fn is_armed(&mut self) -> bool {
        if self.armed {
            return true;
        }
        // Only what came since the last look can hold the blank that ends a word.
        let walked = std::mem::replace(&mut self.walked, self.held.len());
        looked_at(self.held.len() - walked);
        let Some(blank) = self.held[walked..].rfind([' ', '\t']) else {
            // A word of this length is none.
            self.armed = self.held.len() > self.looked + MAX_HELD;
            if self.armed {
                self.looked = MAX_HELD / 2;
            }
            return self.armed;
        };
        let limit = walked + blank + 1;
        let near = self.held.floor_char_boundary(self.looked.saturating_sub(NEAR));
        let from = self.held[..near].rfind([' ', '\t']).map_or(0, |blank| blank + 1);
        looked_at(limit - from);
        let words = &self.held[from..limit];
        // Words that are far apart are not seen together.
        self.armed = self.masker.triggered(words)
            || words.contains("                ")
            || words.contains(['\u{1b}', '\u{9b}', '\u{9d}']);
        if self.armed {
            self.looked = MAX_HELD / 2;
        } else {
            self.looked = limit;
        }
        self.armed
    }

    /// A place in a long line before which nothing can be part of a secret that goes on.
    fn safe_cut(&self) -> Option<usize> {
        // JSON that could be a manifest is masked by what stands far before it.
        if self.held.contains("data\"") && (self.held.contains("apiVersion") || self.held.contains("Secret"))
        {
            return None;
        }
        let limit = self.held.floor_char_boundary(self.held.len() - TAIL);
        let cut = self.held[..limit].rfind([' ', '\t'])? + 1;
        let spans = self.masker.find(&self.held);
        let crossing = spans
            .iter()
            .find(|span| span.start < cut + 1 && span.end + 1 > cut);
        // Before a span, its key must stay with it.
        let cut = match crossing {
            None => cut,
            Some(span) => {
                let before = self.held.floor_char_boundary(span.start.saturating_sub(256));
                self.held[..before].rfind([' ', '\t'])? + 1
            }
        };
        // A key whose value has not come yet.
        let near = self.held.floor_char_boundary(cut.saturating_sub(256));
        (cut > self.shown && !self.held[near..cut].contains([':', '='])).then_some(cut)
    }

    /// Masks what is held without its end, and remembers what its rest is.
    fn overflow(&mut self, out: &mut String) {
        let next = match &self.region {
            Some(Region::Key) => Some(Region::Swallow(None)),
            Some(Region::Block { indent }) => Some(Region::Swallow(Some(*indent))),
            Some(Region::Swallow(indent)) => Some(Region::Swallow(*indent)),
            Some(Region::SwallowLine) => Some(Region::SwallowLine),
            Some(Region::Manifest { column, context }) => self.manifest_rest(*column, context),
            Some(Region::Base64 | Region::Lines(_)) | None => None,
        };
        if let (Some(Region::Manifest { column, context }), Some(_)) = (&mut self.region, &next)
            && context.is_empty()
        {
            // What may be a Secret is judged as one: a version and no kind.
            *context = format!("{:column$}apiVersion: v1\n", "", column = *column);
        }
        self.flush(out);
        self.region = next;
    }

    /// The region for the rest of a manifest that is, or may be, a Secret.
    fn manifest_rest(&self, column: usize, context: &str) -> Option<Region> {
        let mut kind = context.contains("Secret").then_some(true);
        let mut section = context.contains("data").then_some("data");
        let json = self.held.trim_start().starts_with(['"', '{']);
        for line in self.held.lines() {
            if let Some(entry) = entry(line).filter(|entry| entry.column == column) {
                if entry.key == "kind" && kind.is_none() {
                    kind = Some(line[entry.value.clone()].trim_matches(['"', '\'', ',']) == "Secret");
                }
                section = Some(entry.key);
            }
        }
        if kind == Some(false) {
            return None;
        }
        let in_data = matches!(section, Some("data" | "stringData"));
        let context = match (json, in_data) {
            (true, true) => format!(
                "{:column$}\"kind\": \"Secret\",\n{:column$}\"data\": {{\n",
                "", ""
            ),
            (true, false) => format!("{:column$}\"kind\": \"Secret\",\n", ""),
            (false, true) => format!("{:column$}kind: Secret\n{:column$}data:\n", "", ""),
            (false, false) => format!("{:column$}kind: Secret\n", ""),
        };
        Some(Region::Manifest { column, context })
    }

    /// Shows all that is held, masked.
    fn flush(&mut self, out: &mut String) {
        let held = std::mem::take(&mut self.held);
        let shown = std::mem::take(&mut self.shown);
        self.line_start = 0;
        self.looked = 0;
        self.walked = 0;
        self.armed = false;
        match &self.region {
            Some(Region::Swallow(_)) => {}
            Some(Region::SwallowLine) => {
                if held.ends_with('\n') {
                    out.push('\n');
                }
            }
            Some(Region::Manifest { context, .. }) if !context.is_empty() => {
                let whole = format!("{context}{held}");
                match self.masker.mask_text(&whole).strip_prefix(context.as_str()) {
                    Some(masked) => out.push_str(masked.get(shown..).unwrap_or_default()),
                    None => out.push_str(Kind::KubernetesSecret.marker()),
                }
            }
            _ => {
                let masked = self.masker.mask_text(&held);
                match masked.strip_prefix(&held[..shown]) {
                    Some(rest) => out.push_str(rest),
                    None => out.push_str(&self.masker.mask_text(&held[shown..])),
                }
            }
        }
    }
}

enum Belongs {
    Yes,
    /// The line ends the region and is part of it.
    Last,
    No,
}

impl From<bool> for Belongs {
    fn from(belongs: bool) -> Self {
        if belongs { Self::Yes } else { Self::No }
    }
}

/// What a complete line begins that goes on in the next.
fn opens(line: &str) -> Option<Region> {
    let line = ansi::strip(line);
    let line = &line[view::prefix(&line)..];
    if let Some(begin) = line.rfind("-----BEGIN")
        && line[begin..].contains("PRIVATE KEY")
        && !line[begin..].contains("-----END")
    {
        return Some(Region::Key);
    }
    if line.starts_with("Private-Lines:") {
        return Some(Region::Key);
    }
    if line.trim().len() >= 16 && pem::is_body(line) {
        return Some(Region::Base64);
    }
    let words: Vec<&str> = line.split_whitespace().take(8).collect();
    if matches!(words.first(), Some(&("machine" | "default"))) && !words.contains(&"password") {
        return Some(Region::Lines(4));
    }
    if let Some(entry) = entry(line) {
        let value = line[entry.value.clone()].trim_matches(['"', '\'', ',']);
        match entry.key {
            "apiVersion" | "data" | "stringData" => {
                return Some(Region::Manifest {
                    column: entry.column,
                    context: String::new(),
                });
            }
            "kind" if value == "Secret" => {
                return Some(Region::Manifest {
                    column: entry.column,
                    context: String::new(),
                });
            }
            "name" | "key" | "Name" | "Key" if keys::kind_of(value).is_some() => {
                return Some(Region::Lines(1));
            }
            key if keys::kind_of(key).is_some() && yaml::is_block_header(&line[entry.value.clone()]) => {
                let indent = line
                    .chars()
                    .take_while(|character| *character == ' ' || *character == '-')
                    .count();
                return Some(Region::Block { indent });
            }
            _ => {}
        }
    }
    None
}
