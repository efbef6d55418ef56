//! The table of finders, and the triggers that say which of them to ask.

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind, Input};
use regex::Regex;

use crate::span::Spans;
use crate::view::View;
use crate::work::{looked_at, within_budget};
use crate::{Kind, assignment, command, files, header, manifest, pairs, pem, program, tokens, url};

/// One way to find secrets.
pub(crate) struct Finder {
    pub(crate) kind: Kind,
    /// Words in small letters, one of which is in every match of the trigger; none where no word is. One automaton looks for
    /// the words of all finders at once. A blank at the end stands for whatever ends a word.
    pub(crate) anchors: &'static [&'static str],
    /// A cheap expression without which the finder finds nothing. Asked only where an anchor stands.
    pub(crate) trigger: &'static str,
    pub(crate) pattern: &'static str,
    /// How much of the text a match can depend on.
    pub(crate) scope: Scope,
    pub(crate) find: fn(&Regex, &str, Kind, &mut Spans),
}

/// How much of a text a finder must be given.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// The lines with its anchors: no match goes past the end of its line.
    Lines,
    /// The lines with its anchors, which stand near a match and not in it.
    Context,
    /// The lines with its anchors and what is near: no match goes further than that past the lines of its anchors.
    Near,
    /// All of it.
    Text,
    /// All of it, if an anchor stands anywhere, before a match or behind it.
    Document,
}

impl Scope {
    fn is_whole(self) -> bool {
        matches!(self, Self::Text | Self::Document)
    }

    /// Whether what says that something is a secret may come behind it.
    fn may_come_late(self) -> bool {
        matches!(self, Self::Context | Self::Document)
    }
}

/// Lines that are closer to each other than this are looked at together: to ask once costs less than to ask twice.
const NEAR: usize = 128;
/// The same where an anchor stands near a match and not in it.
const NEAR_CONTEXT: usize = 1024;
/// How far a match of [`Scope::Near`] may go on before and behind the line of its anchor.
const MARGIN: usize = 32 * 1024;

/// The finders, ready to use.
pub(crate) struct Finders {
    anchors: AhoCorasick,
    /// The finders of each anchor, as bits.
    wakes: Vec<u128>,
    table: Vec<Ready>,
}

struct Ready {
    trigger: Regex,
    regex: Regex,
    finder: &'static Finder,
    /// Whether it reads lines, so that what tools put in front of them hides secrets from it.
    by_line: bool,
}

impl Ready {
    fn find(&self, text: &str, places: &[Range<usize>], spans: &mut Spans) {
        for place in places {
            looked_at(place.len());
            if !within_budget() {
                return;
            }
            if place.len() == text.len() {
                (self.finder.find)(&self.regex, text, self.finder.kind, spans);
            } else {
                let mut found = Spans::default();
                (self.finder.find)(&self.regex, &text[place.clone()], self.finder.kind, &mut found);
                spans.extend(found, |range| {
                    Some(place.start + range.start..place.start + range.end)
                });
            }
        }
    }
}

impl Finders {
    /// The built-in finders; nothing if a pattern of this build does not compile, which a test rules out.
    pub(crate) fn built_in() -> Option<&'static Self> {
        static FINDERS: LazyLock<Option<Finders>> = LazyLock::new(|| Finders::compile().ok());
        FINDERS.as_ref().filter(|_| tokens::is_ready())
    }

    fn compile() -> Result<Self, Box<dyn std::error::Error + Send + Sync>> {
        let tables = [
            (pem::FINDERS, true),
            (manifest::FINDERS, true),
            (files::FINDERS, true),
            (assignment::FINDERS, true),
            (header::FINDERS, false),
            (url::FINDERS, false),
            (command::FINDERS, false),
            (program::FINDERS, true),
            (pairs::FINDERS, true),
        ];
        let mut finders = Vec::new();
        for (table, by_line) in tables {
            for finder in table {
                finders.push(Ready {
                    trigger: Regex::new(finder.trigger)?,
                    regex: Regex::new(finder.pattern)?,
                    finder,
                    by_line,
                });
            }
        }
        if finders.len() > 128 {
            return Err("more finders than bits".into());
        }
        let mut words: Vec<String> = Vec::new();
        let mut wakes: Vec<u128> = Vec::new();
        for (index, ready) in finders.iter().enumerate() {
            for word in ready.finder.anchors.iter().flat_map(|word| written(word)) {
                let at = words.iter().position(|known| *known == word).unwrap_or_else(|| {
                    words.push(word);
                    wakes.push(0);
                    words.len() - 1
                });
                wakes[at] |= 1 << index;
            }
        }
        let anchors = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .kind(Some(AhoCorasickKind::DFA))
            .build(words)?;
        Ok(Self {
            anchors,
            wakes,
            table: finders,
        })
    }

    /// For each finder, the parts of this text in which its anchors stand.
    fn places(&self, text: &str) -> Vec<Vec<Range<usize>>> {
        let whole = 0..text.len();
        let mut places: Vec<Vec<Range<usize>>> = vec![Vec::new(); self.table.len()];
        // The lines with anchors of finders that look at what is near, too.
        let mut near: Vec<Vec<Range<usize>>> = vec![Vec::new(); self.table.len()];
        // The finders that look at all of it already.
        let mut done = 0_u128;
        for (index, ready) in self.table.iter().enumerate() {
            if ready.finder.anchors.is_empty() {
                places[index].push(whole.clone());
                done |= 1 << index;
            }
        }
        let all = self.wakes.iter().fold(done, |all, bits| all | bits);
        let bytes = text.as_bytes();
        let mut line = 0..0;
        // The finders for which this line is noted.
        let mut noted = 0_u128;
        looked_at(text.len());
        // No rule begins with the word of a marker.
        let parts = crate::part::between_markers(text);
        let input = |part: Range<usize>| Input::new(text).span(part);
        for found in parts.flat_map(|part| self.anchors.find_overlapping_iter(input(part))) {
            let wakes = self.wakes[found.pattern().as_usize()];
            if found.start() >= line.end {
                noted = 0;
            }
            let mut new = wakes & !done & !noted;
            if new == 0 {
                continue;
            }
            if found.start() >= line.end {
                let begins = bytes[line.end..found.start()]
                    .iter()
                    .rposition(|byte| *byte == b'\n');
                let ends = bytes[found.start()..].iter().position(|byte| *byte == b'\n');
                line = begins.map_or(line.end, |newline| line.end + newline + 1)
                    ..ends.map_or(bytes.len(), |newline| found.start() + newline + 1);
            }
            noted |= new;
            while new != 0 {
                let index = new.trailing_zeros() as usize;
                new &= new - 1;
                if self.table[index].finder.scope.is_whole() {
                    places[index].push(whole.clone());
                    done |= 1 << index;
                    continue;
                }
                if self.table[index].finder.scope == Scope::Near {
                    near[index].push(line.clone());
                    continue;
                }
                let near = match self.table[index].finder.scope {
                    Scope::Context => NEAR_CONTEXT,
                    _ => NEAR,
                };
                match places[index].last_mut() {
                    Some(last) if line.start < last.end + near => last.end = line.end,
                    _ => places[index].push(line.clone()),
                }
            }
            if done == all {
                break;
            }
        }
        for (places, near) in places.iter_mut().zip(near).filter(|(_, near)| !near.is_empty()) {
            *places = crate::part::around(text, &near, MARGIN);
        }
        places
    }

    /// The finders that could find something in this text, and where.
    fn ready<'s>(&'s self, text: &'s str) -> impl Iterator<Item = (&'s Ready, Vec<Range<usize>>)> {
        let places = self.places(text);
        self.table.iter().zip(places).filter(|(ready, places)| {
            places.iter().any(|place| {
                looked_at(place.len());
                ready.trigger.is_match(&text[place.clone()])
            })
        })
    }

    pub(crate) fn find(&self, text: &str, spans: &mut Spans) {
        tokens::find(text, spans);
        let mut by_line = false;
        for (ready, places) in self.ready(text) {
            by_line |= ready.by_line;
            ready.find(text, &places, spans);
        }
        if by_line && let Some(view) = View::of(text) {
            let mut found = Spans::default();
            for (ready, places) in self.ready(&view.text).filter(|(ready, _)| ready.by_line) {
                ready.find(&view.text, &places, &mut found);
            }
            spans.extend(found, |range| view.original(&range));
        }
    }

    /// Whether any finder would look at this text, or at one that begins with it.
    pub(crate) fn triggered(&self, text: &str) -> bool {
        self.ready(text).next().is_some() || self.late(text).next().is_some() || {
            let mut spans = Spans::default();
            tokens::find(text, &mut spans);
            !spans.is_empty()
        }
    }

    /// The finders that would find something here if their anchors came behind it.
    fn late<'s>(&'s self, text: &'s str) -> impl Iterator<Item = &'s Ready> {
        let late = |ready: &&Ready| ready.finder.scope.may_come_late();
        self.table.iter().filter(late).filter(|ready| {
            looked_at(text.len());
            ready.regex.is_match(text)
        })
    }

    /// A sample of what each finder looks for, for the tests that try each of them.
    #[cfg(any(test, feature = "adversary"))]
    pub(crate) fn patterns(&self) -> impl Iterator<Item = &'static str> {
        self.table.iter().map(|ready| ready.finder.pattern)
    }

    /// Whether this finder sleeps over something that it finds in this text; nothing if it finds nothing.
    #[cfg(test)]
    pub(crate) fn asleep(&self, index: usize, text: &str) -> Option<bool> {
        let ready = &self.table[index];
        let mut found = Spans::default();
        (ready.finder.find)(&ready.regex, text, ready.finder.kind, &mut found);
        let found = found.merged(&[]);
        (!found.is_empty()).then(|| !self.wakes(text, ready.finder.pattern))
    }

    /// Whether the finder with this pattern would look at this text.
    #[cfg(test)]
    pub(crate) fn wakes(&self, text: &str, pattern: &str) -> bool {
        let mut awake = self.ready(text).map(|(ready, _)| ready).chain(self.late(text));
        awake.any(|ready| ready.finder.pattern == pattern)
    }
}

/// How an anchor is written: a blank at its end stands for whatever ends a word of a command line.
fn written(word: &str) -> Vec<String> {
    match word.strip_suffix(' ') {
        Some(stem) => [' ', '\t', '"', '\'', '`', ',', ';', ')']
            .iter()
            .map(|end| format!("{stem}{end}"))
            .collect(),
        None => vec![word.to_owned()],
    }
}

/// Everything that matches.
pub(crate) fn whole(regex: &Regex, text: &str, kind: Kind, spans: &mut Spans) {
    for found in regex.find_iter(text) {
        looked_at(found.len());
        if !within_budget() {
            return;
        }
        spans.add(found.range(), kind);
    }
}

/// The first group of what matches, unless it is a placeholder.
pub(crate) fn first_group(regex: &Regex, text: &str, kind: Kind, spans: &mut Spans) {
    for captures in regex.captures_iter(text) {
        looked_at(captures.get_match().len());
        if !within_budget() {
            return;
        }
        if let Some(group) = captures.iter().skip(1).flatten().next()
            && !crate::placeholder::is_placeholder(group.as_str())
        {
            spans.add(group.range(), kind);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Finders, Spans};

    /// An anchor that a match does without would lose secrets.
    #[test]
    fn a_trigger_matches_only_where_an_anchor_stands() {
        let finders = Finders::built_in().unwrap();
        let texts = crate::cases::texts().chain(crate::adversary::seeds());
        for text in texts {
            let places = finders.places(&text);
            for (ready, places) in finders.table.iter().zip(places) {
                let mut whole = Spans::default();
                (ready.finder.find)(&ready.regex, &text, ready.finder.kind, &mut whole);
                let mut parts = Spans::default();
                ready.find(&text, &places, &mut parts);
                assert_eq!(
                    whole.merged(&[]),
                    parts.merged(&[]),
                    "{}: {text:?}",
                    ready.finder.pattern
                );
            }
        }
    }

    #[test]
    fn built_in_patterns_compile() {
        assert!(
            super::Finders::compile().is_ok(),
            "{:?}",
            super::Finders::compile().err()
        );
    }
}
