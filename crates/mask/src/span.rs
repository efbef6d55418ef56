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
