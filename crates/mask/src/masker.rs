//! Puts markers in the place of secrets.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use aho_corasick::{AhoCorasick, MatchKind};
use regex::Regex;
use regex_syntax::hir::{Class, Hir, HirKind, Look};

use crate::finder::Finders;
use crate::placeholder::only_markers;
use crate::plain::Plain;
use crate::span::{Label, Span, Spans};
use crate::work::{Meter, looked_at, within_budget};
use crate::{Custom, Error, Kind, Options, Source, Withheld, opt_in};

/// A masked text can hold a new match, as a value that becomes shorter. This often it is looked at again.
const MAX_PASSES: usize = 8;
/// How far around what was masked a text is looked at again. What is masked is told by its line or by what is near.
const AGAIN: usize = 64 * 1024;
const MAX_NAME: usize = 40;
/// The longest custom pattern as it is written.
const MAX_PATTERN: usize = 4096;
/// A custom pattern larger than this when compiled is refused.
const MAX_PATTERN_BYTES: usize = 1 << 20;
/// So many custom patterns hold for one source, at most.
const MAX_CUSTOM: usize = 64;
/// Shorter values are not looked for: they would be found in ordinary words.
const MIN_VALUE: usize = 6;
/// The budget of a text: so many bytes may be read by rules for each byte of the text. Logs use 20, files full of secrets 35.
const BUDGET_PER_BYTE: u64 = 64;
/// The smallest budget of a text, so that a short text with many secrets is never withheld.
const BUDGET_AT_LEAST: u64 = 64_000_000;

/// Replaces what looks like a secret. Cheap to clone and to share.
#[derive(Clone)]
pub struct Masker {
    inner: Arc<Inner>,
}

#[derive(Clone)]
struct Inner {
    /// Absent only in a build whose own patterns do not compile: then everything is masked.
    built_in: Option<&'static Finders>,
    off: Vec<Kind>,
    /// Kinds that are masked only where a group names them.
    opt_in: Vec<&'static opt_in::Finder>,
    custom: Vec<CustomFinder>,
    /// Secrets that are known by their value.
    values: Option<Arc<AhoCorasick>>,
    /// The length of the longest of them that has a blank in it.
    margin: usize,
    /// Whether a custom pattern or a value can go over several lines: then a text has no parts.
    crosses: bool,
    /// What masking one text may cost, where that does not depend on its length.
    budget: Option<u64>,
    /// What holds for alerts, if that is something else.
    alerts: Option<Masker>,
    /// What holds for tools by their name, or by the beginning of it before a `*`; the longest first.
    tools: Vec<(String, Masker)>,
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

#[derive(Clone)]
struct CustomFinder {
    name: String,
    regex: Regex,
    /// Whether a match can go over several lines, or depends on where the text begins or ends.
    crosses: bool,
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
                opt_in: Vec::new(),
                custom: Vec::new(),
                values: None,
                margin: 0,
                crosses: false,
                budget: None,
                alerts: None,
                tools: Vec::new(),
            }),
        }
    }

    /// Masks what the options say. A custom pattern that does not compile is an error, never left out.
    pub fn new(options: &Options) -> Result<Self, Error> {
        let everywhere = Self::of(options, &Source::default())?;
        let alerts = match &options.alerts {
            Some(source) => Some(Self::of(options, source)?),
            None => None,
        };
        let mut tools = Vec::new();
        for (name, source) in &options.tools {
            let stem = name.strip_suffix('*').unwrap_or(name);
            let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-/".contains(&byte);
            if name.is_empty() || !stem.bytes().all(plain) {
                return Err(Error::Tool { name: name.clone() });
            }
            tools.push((name.clone(), Self::of(options, source)?));
        }
        // A name without `*` comes before one with it, and a longer one before a shorter.
        tools.sort_by_key(|(name, _)| (name.ends_with('*'), std::cmp::Reverse(name.len())));
        Ok(everywhere.change(|inner| {
            inner.alerts = alerts;
            inner.tools = tools;
        }))
    }

    /// What holds for one source.
    fn of(options: &Options, source: &Source) -> Result<Self, Error> {
        let built_in = Finders::built_in().ok_or(Error::BuiltIn)?;
        let entries: Vec<&Custom> = options.custom.iter().chain(&source.custom).collect();
        if entries.len() > MAX_CUSTOM {
            return Err(Error::TooMany { most: MAX_CUSTOM });
        }
        let custom = entries
            .iter()
            .map(|entry| CustomFinder::new(entry))
            .collect::<Result<Vec<_>, _>>()?;
        let mut off: Vec<Kind> = options.off.iter().chain(&source.off).copied().collect();
        if off.contains(&Kind::Configured) {
            return Err(Error::NotOff);
        }
        let named = |kind: Kind| source.groups.iter().any(|group| group.has(kind));
        if !source.groups.is_empty() {
            off.extend(
                Kind::ALL
                    .iter()
                    .filter(|kind| **kind != Kind::Configured && !named(**kind)),
            );
        }
        let mut wanted = Vec::new();
        for finder in opt_in::finders().ok_or(Error::BuiltIn)? {
            if named(finder.kind) && !off.contains(&finder.kind) {
                wanted.push(finder);
            }
        }
        let masker = Self::built_in().change(|inner| {
            inner.built_in = Some(built_in);
            inner.off = off;
            inner.opt_in = wanted;
            inner.crosses = custom.iter().any(|finder| finder.crosses);
            inner.custom = custom;
        });
        for finder in &masker.inner.custom {
            if !only_markers(&finder.replacement)
                && masker.mask_text(&finder.replacement) != finder.replacement
            {
                return Err(Error::Replacement {
                    name: finder.name.clone(),
                });
            }
        }
        Ok(masker)
    }

    /// The same, and these values wherever they stand, as the keys of models. Encoded forms are values of their own.
    #[must_use]
    pub fn with_values<V: AsRef<str>>(self, values: impl IntoIterator<Item = V>) -> Self {
        let values: Vec<V> = values
            .into_iter()
            .filter(|value| value.as_ref().len() >= MIN_VALUE)
            .collect();
        if values.is_empty() {
            return self;
        }
        let margin = values
            .iter()
            .map(AsRef::as_ref)
            .filter(|value| value.contains(char::is_whitespace))
            .map(str::len)
            .max()
            .unwrap_or(0);
        let found = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .build(values.iter().map(AsRef::as_ref));
        // A value that has several parts itself would be cut with the text.
        let crosses = values
            .iter()
            .any(|value| crate::part::parts(value.as_ref()).count() > 1);
        let found = found.ok().map(Arc::new);
        self.everywhere(&|inner| {
            inner.margin = margin;
            inner.crosses |= crosses;
            match &found {
                Some(found) => inner.values = Some(Arc::clone(found)),
                // Without the values nothing may be shown.
                None => inner.built_in = None,
            }
        })
    }

    /// The same with another budget: how many bytes may be looked at for one text before it is withheld.
    #[must_use]
    pub fn with_budget(self, bytes: u64) -> Self {
        self.everywhere(&|inner| inner.budget = Some(bytes))
    }

    /// Changes what holds everywhere: for itself, for alerts and for tools.
    fn everywhere(self, change: &dyn Fn(&mut Inner)) -> Self {
        self.change(|inner| {
            change(inner);
            inner.alerts = inner.alerts.take().map(|masker| masker.everywhere(change));
            for (_, masker) in &mut inner.tools {
                *masker = masker.clone().everywhere(change);
            }
        })
    }

    fn change(self, change: impl FnOnce(&mut Inner)) -> Self {
        let mut inner = Arc::unwrap_or_clone(self.inner);
        change(&mut inner);
        Self {
            inner: Arc::new(inner),
        }
    }

    /// What holds for alerts.
    pub fn for_alerts(&self) -> &Self {
        self.inner.alerts.as_ref().unwrap_or(self)
    }

    /// What holds for the results of this tool: the entry with its name, else the one with the longest beginning of it.
    pub fn for_tool(&self, name: &str) -> &Self {
        self.inner
            .tools
            .iter()
            .find(|(known, _)| match known.strip_suffix('*') {
                Some(stem) => name.starts_with(stem),
                None => name == known,
            })
            .map_or(self, |(_, masker)| masker)
    }

    /// The text with markers in the place of secrets, or why it cannot be shown.
    pub fn try_mask_text<'t>(&self, text: &'t str) -> Result<Cow<'t, str>, Withheld> {
        self.mask_counting(text).map(|(masked, _)| masked)
    }

    /// The text with markers in the place of secrets; the text itself where there is none. A notice stands in the place of a
    /// text that is too costly to mask.
    pub fn mask_text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.try_mask_text(text)
            .unwrap_or_else(|withheld| Cow::Owned(withheld.notice()))
    }

    /// The text with markers in the place of secrets, and what was found where. What only a second look finds, because
    /// something else was masked first, is masked and not listed.
    pub fn explain(&self, text: &str) -> (String, Vec<Finding>) {
        let _meter = self.meter(|| text.len());
        let plain = crate::ansi::strip(text);
        let mut findings = Vec::new();
        // Counted from one finding to the next, so that a long line is walked once.
        let (mut line, mut column, mut counted) = (1, 1, 0);
        for span in self.find(&plain) {
            let between = &plain[counted..span.start];
            line += between.matches('\n').count();
            column = match between.rsplit_once('\n') {
                Some((_, behind)) => behind.chars().count() + 1,
                None => column + between.chars().count(),
            };
            counted = span.start;
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
                column,
                kind,
                origin: origin.map(str::to_owned),
                characters: inside.chars().count(),
            });
        }
        (self.mask_text(text).into_owned(), findings)
    }

    pub(crate) fn mask_counting<'t>(&self, text: &'t str) -> Result<(Cow<'t, str>, usize), Withheld> {
        let _meter = self.meter(|| text.len());
        let too_costly = Withheld { bytes: text.len() };
        let text = crate::ansi::strip(text);
        let mut out = String::new();
        let mut copied = 0;
        let mut count = 0;
        for part in self.parts(&text) {
            let found = self.mask_part(&text[part.clone()]);
            if !within_budget() {
                return Err(too_costly);
            }
            if let Some((masked, found)) = found {
                out.push_str(&text[copied..part.start]);
                out.push_str(&masked);
                copied = part.end;
                count += found;
            }
        }
        if count == 0 {
            return Ok((text, 0));
        }
        out.push_str(&text[copied..]);
        Ok((Cow::Owned(out), count))
    }

    /// One part with markers in the place of secrets, and how many there were; nothing where there was none.
    fn mask_part(&self, text: &str) -> Option<(String, usize)> {
        let spans = self.find_in(text);
        if spans.is_empty() || !within_budget() {
            return None;
        }
        let count = spans.len();
        let (mut masked, mut markers) = self.replace(text, &spans);
        for _ in 1..MAX_PASSES {
            let spans = self.find_again(&masked, &markers);
            if spans.is_empty() || !within_budget() {
                break;
            }
            (masked, markers) = self.replace(&masked, &spans);
        }
        Some((masked, count))
    }

    /// Where the secrets are that show only now, near the markers that were put into the text.
    fn find_again(&self, text: &str, markers: &[Range<usize>]) -> Vec<Span> {
        let regions = crate::part::around(text, markers, AGAIN);
        if self.inner.crosses || matches!(regions.as_slice(), [only] if only.len() == text.len()) {
            return self.find_in(text);
        }
        // What is found close to the edge of a region may be due to the edge.
        let close = crate::part::around(text, markers, AGAIN / 2);
        let mut all = Vec::new();
        for region in regions {
            let place = |span: Span| Span {
                start: region.start + span.start,
                end: region.start + span.end,
                ..span
            };
            let found = self.find_in(&text[region.clone()]).into_iter().map(place);
            all.extend(found.filter(|span| {
                let next = close.partition_point(|range| range.end <= span.start);
                close.get(next).is_some_and(|range| range.start <= span.start)
            }));
        }
        all
    }

    fn parts(&self, text: &str) -> impl Iterator<Item = Range<usize>> {
        let (parts, whole) = if self.has_parts() {
            (Some(crate::part::parts(text)), None)
        } else {
            (None, Some(0..text.len()))
        };
        parts.into_iter().flatten().chain(whole)
    }

    /// Whether a text is masked in parts, each alone.
    pub(crate) fn has_parts(&self) -> bool {
        !self.inner.crosses
    }

    /// Whether only complete lines can be judged.
    pub(crate) fn by_line(&self) -> bool {
        !self.inner.custom.is_empty() || !self.inner.opt_in.is_empty()
    }

    /// So much at the end of a text could be the beginning of a known value.
    pub(crate) fn margin(&self) -> usize {
        self.inner.margin
    }

    /// The budget for one or several texts with so many bytes together, which lasts as long as what is returned.
    pub(crate) fn meter(&self, bytes: impl FnOnce() -> usize) -> Meter {
        Meter::start(|| {
            let by_length = || {
                (bytes() as u64)
                    .saturating_mul(BUDGET_PER_BYTE)
                    .max(BUDGET_AT_LEAST)
            };
            self.inner.budget.unwrap_or_else(by_length)
        })
    }

    /// Where the secrets are, in order and apart from each other.
    fn find(&self, text: &str) -> Vec<Span> {
        let mut all = Vec::new();
        for part in self.parts(text) {
            let place = |span: Span| Span {
                start: part.start + span.start,
                end: part.start + span.end,
                ..span
            };
            all.extend(self.find_in(&text[part.clone()]).into_iter().map(place));
        }
        all
    }

    /// Where the secrets are in one part.
    fn find_in(&self, text: &str) -> Vec<Span> {
        let mut spans = Spans::default();
        match self.inner.built_in {
            Some(finders) => {
                let plain = Plain::of(text);
                if plain.as_ref().is_none_or(|plain| plain.erases) {
                    finders.find(text, &mut spans);
                }
                if let Some(plain) = plain {
                    let mut found = Spans::default();
                    finders.find(&plain.text, &mut found);
                    spans.extend(found, |range| Some(plain.original(&range)));
                }
            }
            None => spans.add(0..text.len(), Kind::Secret),
        }
        for finder in &self.inner.opt_in {
            looked_at(text.len());
            (finder.find)(&finder.regex, text, finder.kind, &mut spans);
        }
        if let Some(values) = &self.inner.values {
            looked_at(text.len());
            for found in values.find_iter(text) {
                spans.add(found.range(), Kind::Configured);
            }
        }
        for (index, finder) in self.inner.custom.iter().enumerate() {
            looked_at(text.len());
            finder.find(index, text, &mut spans);
        }
        let mut merged = spans.merged(&self.inner.off);
        merged.retain(|span| !only_markers(&text[span.start..span.end]));
        merged
    }

    /// Whether anything in this text could be, or begin, a secret.
    pub(crate) fn triggered(&self, text: &str) -> bool {
        self.inner.built_in.is_none_or(|finders| finders.triggered(text))
            || self.inner.custom.iter().any(|finder| finder.regex.is_match(text))
            || self.inner.opt_in.iter().any(|finder| finder.regex.is_match(text))
            || self
                .inner
                .values
                .as_ref()
                .is_some_and(|values| values.is_match(text))
    }

    pub(crate) fn is_off(&self, kind: Kind) -> bool {
        self.inner.off.contains(&kind)
    }

    /// The text with markers in the place of spans, and where the markers are.
    fn replace(&self, text: &str, spans: &[Span]) -> (String, Vec<Range<usize>>) {
        let mut masked = String::with_capacity(text.len());
        let mut markers = Vec::with_capacity(spans.len());
        let mut at = 0;
        for span in spans {
            masked.push_str(&text[at..span.start]);
            let begins = masked.len();
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
            markers.push(begins..masked.len());
        }
        masked.push_str(&text[at..]);
        (masked, markers)
    }
}

impl CustomFinder {
    fn find(&self, index: usize, text: &str, spans: &mut Spans) {
        for captures in self.regex.captures_iter(text) {
            looked_at(captures.get_match().len());
            if !within_budget() {
                return;
            }
            if let Some(found) = captures.get(1).or_else(|| captures.get(0))
                && found.as_str() != self.replacement
            {
                spans.push(found.range(), Label::Custom(index), false);
            }
        }
    }

    fn new(entry: &Custom) -> Result<Self, Error> {
        let name = entry.name.clone();
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
        if name.is_empty() || name.len() > MAX_NAME || !name.bytes().all(plain) {
            return Err(Error::Name { name });
        }
        if entry.pattern.len() > MAX_PATTERN {
            return Err(Error::Pattern {
                name,
                reason: format!("it has more than {MAX_PATTERN} characters"),
            });
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
            crosses: crosses_lines(&entry.pattern),
            regex,
            replacement,
        })
    }
}

/// Whether a match of this pattern can hold a line feed, or depends on the beginning or end of the text.
fn crosses_lines(pattern: &str) -> bool {
    fn holds(part: &Hir) -> bool {
        match part.kind() {
            HirKind::Empty => false,
            HirKind::Literal(literal) => literal.0.contains(&b'\n'),
            HirKind::Class(Class::Unicode(class)) => class
                .iter()
                .any(|range| range.start() <= '\n' && '\n' <= range.end()),
            HirKind::Class(Class::Bytes(class)) => class
                .iter()
                .any(|range| range.start() <= b'\n' && b'\n' <= range.end()),
            HirKind::Look(look) => matches!(look, Look::Start | Look::End),
            HirKind::Repetition(repetition) => holds(&repetition.sub),
            HirKind::Capture(capture) => holds(&capture.sub),
            HirKind::Concat(parts) | HirKind::Alternation(parts) => parts.iter().any(holds),
        }
    }
    regex_syntax::parse(pattern).is_ok_and(|parsed| holds(&parsed))
}
