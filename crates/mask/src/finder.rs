//! The table of finders, and the triggers that say which of them to ask.

use std::sync::LazyLock;

use regex::{Regex, RegexSet};

use crate::span::Spans;
use crate::view::View;
use crate::work::looked_at;
use crate::{Kind, assignment, command, files, header, manifest, pem, tokens, url};

/// One way to find secrets.
pub(crate) struct Finder {
    pub(crate) kind: Kind,
    /// A cheap expression without which the finder finds nothing.
    pub(crate) trigger: &'static str,
    pub(crate) pattern: &'static str,
    pub(crate) find: fn(&Regex, &str, Kind, &mut Spans),
}

/// The finders, ready to use.
pub(crate) struct Finders {
    triggers: RegexSet,
    finders: Vec<Ready>,
}

struct Ready {
    regex: Regex,
    finder: &'static Finder,
    /// Whether it reads lines, so that what tools put in front of them hides secrets from it.
    by_line: bool,
}

impl Finders {
    /// The built-in finders; nothing if a pattern of this build does not compile, which a test rules out.
    pub(crate) fn built_in() -> Option<&'static Self> {
        static FINDERS: LazyLock<Option<Finders>> = LazyLock::new(|| Finders::compile().ok());
        FINDERS.as_ref().filter(|_| tokens::is_ready())
    }

    fn compile() -> Result<Self, regex::Error> {
        let tables = [
            (pem::FINDERS, true),
            (manifest::FINDERS, true),
            (files::FINDERS, true),
            (assignment::FINDERS, true),
            (header::FINDERS, false),
            (url::FINDERS, false),
            (command::FINDERS, false),
        ];
        let mut finders = Vec::new();
        for (table, by_line) in tables {
            for finder in table {
                let regex = Regex::new(finder.pattern)?;
                finders.push(Ready {
                    regex,
                    finder,
                    by_line,
                });
            }
        }
        let triggers = RegexSet::new(finders.iter().map(|ready| ready.finder.trigger))?;
        Ok(Self { triggers, finders })
    }

    pub(crate) fn find(&self, text: &str, spans: &mut Spans) {
        tokens::find(text, spans);
        looked_at(text.len());
        let triggered = self.triggers.matches(text);
        if !triggered.matched_any() {
            return;
        }
        let ready: Vec<&Ready> = triggered
            .iter()
            .filter_map(|index| self.finders.get(index))
            .collect();
        for ready in &ready {
            (ready.finder.find)(&ready.regex, text, ready.finder.kind, spans);
        }
        if ready.iter().any(|ready| ready.by_line)
            && let Some(view) = View::of(text)
        {
            let mut found = Spans::default();
            for ready in ready.iter().filter(|ready| ready.by_line) {
                (ready.finder.find)(&ready.regex, &view.text, ready.finder.kind, &mut found);
            }
            spans.extend(found, |range| view.original(&range));
        }
    }

    /// Whether any finder would look at this text.
    pub(crate) fn triggered(&self, text: &str) -> bool {
        self.triggers.is_match(text) || {
            let mut spans = Spans::default();
            tokens::find(text, &mut spans);
            !spans.is_empty()
        }
    }

    /// A sample of what each finder looks for, for the tests that try each of them.
    #[cfg(test)]
    pub(crate) fn patterns(&self) -> impl Iterator<Item = &'static str> {
        self.finders.iter().map(|ready| ready.finder.pattern)
    }
}

/// Everything that matches.
pub(crate) fn whole(regex: &Regex, text: &str, kind: Kind, spans: &mut Spans) {
    for found in regex.find_iter(text) {
        looked_at(found.len());
        spans.add(found.range(), kind);
    }
}

/// The first group of what matches, unless it is a placeholder.
pub(crate) fn first_group(regex: &Regex, text: &str, kind: Kind, spans: &mut Spans) {
    for captures in regex.captures_iter(text) {
        looked_at(captures.get_match().len());
        if let Some(group) = captures.iter().skip(1).flatten().next()
            && !crate::placeholder::is_placeholder(group.as_str())
        {
            spans.add(group.range(), kind);
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn built_in_patterns_compile() {
        assert!(
            super::Finders::compile().is_ok(),
            "{:?}",
            super::Finders::compile().err()
        );
    }
}
