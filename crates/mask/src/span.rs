//! Parts of a text that are secrets.

use std::ops::Range;

use crate::Kind;

/// A secret's place in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) label: Label,
    /// Whether the marker needs quotes to keep JSON valid, because it replaces a bare number.
    pub(crate) quote: bool,
}

/// What the marker in a span's place says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Label {
    Kind(Kind),
    /// The custom entry at this index.
    Custom(usize),
}

/// The secrets found so far.
#[derive(Default)]
pub(crate) struct Spans(Vec<Span>);

impl Spans {
    pub(crate) fn add(&mut self, range: Range<usize>, kind: Kind) {
        self.push(range, Label::Kind(kind), false);
    }

    /// Adds a range unless the one before it covers it.
    pub(crate) fn add_if_new(&mut self, range: Range<usize>, kind: Kind) {
        let covered = self.0.last().is_some_and(|last| {
            last.start <= range.start && range.end <= last.end && last.label <= Label::Kind(kind)
        });
        if !covered {
            self.add(range, kind);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes over what was found in another form or a part of the text, where it has a place in this one.
    pub(crate) fn extend(&mut self, other: Self, place: impl Fn(Range<usize>) -> Option<Range<usize>>) {
        for span in other.0 {
            if let Some(range) = place(span.start..span.end) {
                self.push(range, span.label, span.quote);
            }
        }
    }

    pub(crate) fn add_quoted(&mut self, range: Range<usize>, kind: Kind) {
        self.push(range, Label::Kind(kind), true);
    }

    pub(crate) fn push(&mut self, range: Range<usize>, label: Label, quote: bool) {
        if range.start < range.end {
            self.0.push(Span {
                start: range.start,
                end: range.end,
                label,
                quote,
            });
        }
    }

    /// In order and apart from each other: what overlaps becomes one span, named by the first of its kinds.
    /// Kinds in `off` are left out first.
    pub(crate) fn merged(mut self, off: &[Kind]) -> Vec<Span> {
        if !off.is_empty() {
            self.0
                .retain(|span| !matches!(span.label, Label::Kind(kind) if off.contains(&kind)));
        }
        self.0.sort_by_key(|span| (span.start, span.label));
        let mut merged: Vec<Span> = Vec::with_capacity(self.0.len());
        for span in self.0 {
            match merged.last_mut() {
                Some(last) if span.start < last.end => {
                    last.end = last.end.max(span.end);
                    last.label = last.label.min(span.label);
                    last.quote &= span.quote;
                }
                _ => merged.push(span),
            }
        }
        merged
    }
}
