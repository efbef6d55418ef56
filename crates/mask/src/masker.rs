//! Puts markers in the place of secrets.

use std::borrow::Cow;
use std::sync::Arc;

use regex::{Regex, RegexSet};

use crate::finder::Finders;
use crate::placeholder::only_markers;
use crate::span::{Label, Span, Spans};
use crate::{Custom, Error, Kind, Options};

/// A masked text can hold a new match, as a value that becomes shorter. This often it is looked at again.
const MAX_PASSES: usize = 8;
const MAX_NAME: usize = 40;
/// A custom pattern larger than this when compiled is refused.
const MAX_PATTERN_BYTES: usize = 1 << 20;

/// Replaces what looks like a secret. Cheap to clone and to share.
#[derive(Clone)]
pub struct Masker {
    inner: Arc<Inner>,
}

struct Inner {
    /// Absent only in a build whose own patterns do not compile: then everything is masked.
    built_in: Option<&'static Finders>,
    off: Vec<Kind>,
    triggers: RegexSet,
    custom: Vec<CustomFinder>,
}

/// What was masked, and where.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Finding {
    /// The line, from 1.
    pub line: usize,
    /// The character in its line, from 1.
    pub column: usize,
    /// The kind of secret, or the name of a custom pattern.
    pub kind: String,
    /// Whose token it is, where its beginning tells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// How many characters were masked.
    pub characters: usize,
}

struct CustomFinder {
    name: String,
    regex: Regex,
    replacement: String,
}

impl std::fmt::Debug for Masker {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Masker")
            .field("off", &self.inner.off)
            .field("custom", &self.inner.custom.len())
            .finish_non_exhaustive()
    }
}

impl Default for Masker {
    fn default() -> Self {
        Self::built_in()
    }
}

impl Masker {
    /// Masks every built-in kind.
    pub fn built_in() -> Self {
        Self {
            inner: Arc::new(Inner {
                built_in: Finders::built_in(),
                off: Vec::new(),
                triggers: RegexSet::empty(),
                custom: Vec::new(),
            }),
        }
    }

    /// Masks what the options say. A custom pattern that does not compile is an error, never left out.
    pub fn new(options: &Options) -> Result<Self, Error> {
        let built_in = Finders::built_in().ok_or(Error::BuiltIn)?;
        let custom = options
            .custom
            .iter()
            .map(CustomFinder::new)
            .collect::<Result<Vec<_>, _>>()?;
        let triggers =
            RegexSet::new(options.custom.iter().map(|entry| entry.pattern.as_str())).map_err(|error| {
                Error::Pattern {
                    name: "all".to_owned(),
                    reason: error.to_string(),
                }
            })?;
        let masker = Self {
            inner: Arc::new(Inner {
                built_in: Some(built_in),
                off: options.off.iter().copied().collect(),
                triggers,
                custom,
            }),
        };
        for (entry, finder) in options.custom.iter().zip(&masker.inner.custom) {
            if !only_markers(&finder.replacement)
                && masker.mask_text(&finder.replacement) != finder.replacement
            {
                return Err(Error::Replacement {
                    name: entry.name.clone(),
                });
            }
        }
        Ok(masker)
    }

    /// The text with markers in the place of secrets; the text itself where there is none.
    pub fn mask_text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.mask_counting(text).0
    }

    /// The text with markers in the place of secrets, and what was found where. What only a second look finds, because
    /// something else was masked first, is masked and not listed.
    pub fn explain(&self, text: &str) -> (String, Vec<Finding>) {
        let plain = crate::ansi::strip(text);
        let mut findings = Vec::new();
        let (mut line, mut counted) = (1, 0);
        for span in self.find(&plain) {
            line += plain[counted..span.start].matches('\n').count();
            counted = span.start;
            let line_start = plain[..span.start].rfind('\n').map_or(0, |newline| newline + 1);
            let inside = &plain[span.start..span.end];
            let (kind, origin) = match span.label {
                Label::Kind(kind) => (kind.as_str().to_owned(), crate::tokens::origin(inside)),
                Label::Custom(index) => (
                    self.inner
                        .custom
                        .get(index)
                        .map_or("custom", |finder| &finder.name)
                        .to_owned(),
                    None,
                ),
            };
            findings.push(Finding {
                line,
                column: plain[line_start..span.start].chars().count() + 1,
                kind,
                origin: origin.map(str::to_owned),
                characters: inside.chars().count(),
            });
        }
        (self.mask_text(text).into_owned(), findings)
    }

    pub(crate) fn mask_counting<'t>(&self, text: &'t str) -> (Cow<'t, str>, usize) {
        let text = crate::ansi::strip(text);
        let spans = self.find(&text);
        if spans.is_empty() {
            return (text, 0);
        }
        let count = spans.len();
        let mut masked = self.replace(&text, &spans);
        for _ in 1..MAX_PASSES {
            let spans = self.find(&masked);
            if spans.is_empty() {
                break;
            }
            masked = self.replace(&masked, &spans);
        }
        (Cow::Owned(masked), count)
    }

    /// Where the secrets are, in order and apart from each other.
    pub(crate) fn find(&self, text: &str) -> Vec<Span> {
        let mut spans = Spans::default();
        match self.inner.built_in {
            Some(finders) => finders.find(text, &mut spans),
            None => spans.add(0..text.len(), Kind::Secret),
        }
        if !self.inner.custom.is_empty() {
            for index in &self.inner.triggers.matches(text) {
                self.find_custom(index, text, &mut spans);
            }
        }
        let mut merged = spans.merged(&self.inner.off);
        merged.retain(|span| !only_markers(&text[span.start..span.end]));
        merged
    }

    /// Whether anything in this text could be, or begin, a secret.
    pub(crate) fn triggered(&self, text: &str) -> bool {
        self.inner.built_in.is_none_or(|finders| finders.triggered(text)) || !self.inner.custom.is_empty()
    }

    pub(crate) fn is_off(&self, kind: Kind) -> bool {
        self.inner.off.contains(&kind)
    }

    fn find_custom(&self, index: usize, text: &str, spans: &mut Spans) {
        let Some(finder) = self.inner.custom.get(index) else {
            return;
        };
        for captures in finder.regex.captures_iter(text) {
            if let Some(found) = captures.get(1).or_else(|| captures.get(0))
                && found.as_str() != finder.replacement
            {
                spans.push(found.range(), Label::Custom(index), false);
            }
        }
    }

    pub(crate) fn replace(&self, text: &str, spans: &[Span]) -> String {
        let mut masked = String::with_capacity(text.len());
        let mut at = 0;
        for span in spans {
            masked.push_str(&text[at..span.start]);
            let marker = match span.label {
                Label::Kind(kind) => kind.marker(),
                Label::Custom(index) => self
                    .inner
                    .custom
                    .get(index)
                    .map_or(Kind::Custom.marker(), |finder| &finder.replacement),
            };
            if span.quote {
                masked.push('"');
                masked.push_str(marker);
                masked.push('"');
            } else {
                masked.push_str(marker);
            }
            at = span.end;
        }
        masked.push_str(&text[at..]);
        masked
    }
}

impl CustomFinder {
    fn new(entry: &Custom) -> Result<Self, Error> {
        let name = entry.name.clone();
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
        if name.is_empty() || name.len() > MAX_NAME || !name.bytes().all(plain) {
            return Err(Error::Name { name });
        }
        let regex = regex::RegexBuilder::new(&entry.pattern)
            .size_limit(MAX_PATTERN_BYTES)
            .build();
        let regex = regex.map_err(|error| Error::Pattern {
            name: name.clone(),
            reason: error.to_string(),
        })?;
        if regex.is_match("") {
            return Err(Error::MatchesNothing { name });
        }
        let replacement = entry
            .replacement
            .clone()
            .unwrap_or_else(|| format!("[masked:{name}]"));
        Ok(Self {
            name,
            regex,
            replacement,
        })
    }
}
