//! The table of finders, and the triggers that say which of them to ask.

use std::sync::LazyLock;

use regex::{Regex, RegexSet};

use crate::span::Spans;
use crate::{Kind, assignment, command, files, header, manifest, pem, prefix, url};

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
    finders: Vec<(Regex, &'static Finder)>,
}

impl Finders {
    /// The built-in finders; nothing if a pattern of this build does not compile, which a test rules out.
    pub(crate) fn built_in() -> Option<&'static Self> {
        static FINDERS: LazyLock<Option<Finders>> = LazyLock::new(|| Finders::compile().ok());
        FINDERS.as_ref()
    }

    fn compile() -> Result<Self, regex::Error> {
        let tables = [
            prefix::FINDERS,
            pem::FINDERS,
            manifest::FINDERS,
            header::FINDERS,
            url::FINDERS,
            files::FINDERS,
            command::FINDERS,
            assignment::FINDERS,
        ];
        let finders = tables
            .into_iter()
            .flatten()
            .map(|finder| Ok((Regex::new(finder.pattern)?, finder)))
            .collect::<Result<Vec<_>, regex::Error>>()?;
        let triggers = RegexSet::new(finders.iter().map(|(_, finder)| finder.trigger))?;
        Ok(Self { triggers, finders })
    }

    pub(crate) fn find(&self, text: &str, spans: &mut Spans) {
        let triggered = self.triggers.matches(text);
        if !triggered.matched_any() {
            return;
        }
        for index in &triggered {
            if let Some((regex, finder)) = self.finders.get(index) {
                (finder.find)(regex, text, finder.kind, spans);
            }
        }
    }

    /// Whether any finder would look at this text.
    pub(crate) fn triggered(&self, text: &str) -> bool {
        self.triggers.is_match(text)
    }
}

/// Everything that matches.
pub(crate) fn whole(regex: &Regex, text: &str, kind: Kind, spans: &mut Spans) {
    for found in regex.find_iter(text) {
        spans.add(found.range(), kind);
    }
}

/// What matches and has both letters and digits, as random text has and names mostly have not.
pub(crate) fn whole_if_random(regex: &Regex, text: &str, kind: Kind, spans: &mut Spans) {
    for found in regex.find_iter(text) {
        if found.as_str().bytes().any(|byte| byte.is_ascii_digit()) {
            spans.add(found.range(), kind);
        }
    }
}

/// The first group of what matches, unless it is a placeholder.
pub(crate) fn first_group(regex: &Regex, text: &str, kind: Kind, spans: &mut Spans) {
    for captures in regex.captures_iter(text) {
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
