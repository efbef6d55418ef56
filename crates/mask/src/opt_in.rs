//! What is no secret and may be masked all the same: only where a group of a source names it.

use std::sync::LazyLock;

use regex::Regex;

use crate::Kind;
use crate::finder::whole;
use crate::span::Spans;
use crate::work::{looked_at, within_budget};

/// One way to find them.
pub(crate) struct Finder {
    pub(crate) kind: Kind,
    pub(crate) regex: Regex,
    pub(crate) find: fn(&Regex, &str, Kind, &mut Spans),
}

/// The finders; nothing if a pattern of this build does not compile, which a test rules out.
pub(crate) fn finders() -> Option<&'static [Finder]> {
    static FINDERS: LazyLock<Option<Vec<Finder>>> = LazyLock::new(|| {
        Some(vec![
            Finder {
                kind: Kind::Email,
                regex: Regex::new(r"[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+\.[A-Za-z]{2,}").ok()?,
                find: whole,
            },
            Finder {
                kind: Kind::Certificate,
                regex: Regex::new(r"-----(?:BEGIN|END) (?:[A-Z0-9]{1,24} ){0,2}CERTIFICATE-----").ok()?,
                find: certificates,
            },
        ])
    });
    FINDERS.as_deref()
}

/// From each beginning to its end, or to the next beginning.
fn certificates(regex: &Regex, text: &str, kind: Kind, spans: &mut Spans) {
    let mut open: Option<usize> = None;
    for found in regex.find_iter(text) {
        looked_at(found.len());
        if !within_budget() {
            return;
        }
        if found.as_str().contains("BEGIN") {
            if let Some(start) = open.replace(found.start()) {
                spans.add(start..found.start(), kind);
            }
        } else if let Some(start) = open.take() {
            spans.add(start..found.end(), kind);
        }
    }
    if let Some(start) = open {
        spans.add(start..text.len(), kind);
    }
}
