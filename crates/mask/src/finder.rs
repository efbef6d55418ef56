//! The table of finders, and the triggers that say which of them to ask.

use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

use aho_corasick::{AhoCorasick, AhoCorasickKind, Input};
use regex::Regex;

use crate::around::{Around, Hit};
use crate::span::Spans;
use crate::view::View;
use crate::work::{looked_at, within_budget};
use crate::{Kind, assignment, command, files, header, manifest, pairs, pem, program, shape, tokens, url};

/// One way to find secrets.
pub(crate) struct Finder {
    pub(crate) kind: Kind,
    /// Words in small letters, one of which is in every match of the trigger; none where no word is. One automaton looks for
    /// the words of all finders at once. A blank at the end stands for whatever ends a word.
    pub(crate) anchors: &'static [&'static str],
    /// What must stand around an anchor. Asked at every anchor, so that most lines never reach the trigger.
    pub(crate) around: Around,
    /// A cheap expression without which the finder finds nothing. Asked only on lines with an anchor.
    pub(crate) trigger: &'static str,
    pub(crate) pattern: &'static str,
    /// How much of the text a match can depend on.
    pub(crate) scope: Scope,
    pub(crate) find: Find,
}

/// How a finder is given the text.
#[derive(Clone, Copy)]
pub(crate) enum Find {
    /// The lines that its scope names, as a text of their own.
    In(fn(&Regex, &str, Kind, &mut Spans)),
    /// All of the text, and the places in which its pattern can match. It may read on from there.
    From(fn(&Regex, &str, &[Range<usize>], Kind, &mut Spans)),
}

impl Find {
    fn run(self, regex: &Regex, text: &str, places: &[Range<usize>], kind: Kind, spans: &mut Spans) {
        match self {
            Self::In(find) => find(regex, text, kind, spans),
            Self::From(find) => find(regex, text, places, kind, spans),
        }
    }
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
    /// The lines with its anchors, in each of which a match begins and ends; what it says is read in all of the text.
    Starts,
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
    /// The finders of each anchor.
    wakes: Vec<Wakes>,
    table: Vec<Ready>,
    /// Those that read lines, as bits.
    by_line: u128,
    /// Those with a line feed as an anchor, as bits.
    line_ends: u128,
}

/// The finders of an anchor, as bits.
#[derive(Clone, Copy, Default)]
struct Wakes {
    /// The anchor is enough.
    at_once: u128,
    /// What stands around the anchor decides.
    asks: u128,
}

/// A line with anchors.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// The finders that it wakes, as bits.
    pub(crate) finders: u128,
}

/// A pattern that is compiled when it is first needed. All of them together take a tenth of a second and tens of megabytes, and
/// most texts wake few.
struct Pattern {
    text: &'static str,
    compiled: OnceLock<Option<Regex>>,
}

impl Pattern {
    const fn new(text: &'static str) -> Self {
        Self {
            text,
            compiled: OnceLock::new(),
        }
    }

    /// Nothing if it does not compile, which a test rules out. Then everything that it would look at is masked.
    fn get(&self) -> Option<&Regex> {
        let compiled = self.compiled.get_or_init(|| Regex::new(self.text).ok());
        compiled.as_ref()
    }

    fn is_match(&self, text: &str) -> bool {
        self.get().is_none_or(|regex| regex.is_match(text))
    }
}

struct Ready {
    trigger: Pattern,
    regex: Pattern,
    finder: &'static Finder,
    /// Whether it reads lines, so that what tools put in front of them hides secrets from it.
    by_line: bool,
}

impl Ready {
    fn find(&self, text: &str, places: &[Range<usize>], spans: &mut Spans) {
        let kind = self.finder.kind;
        let Some(regex) = self.regex.get() else {
            for place in places {
                spans.add(place.clone(), kind);
            }
            return;
        };
        if self.finder.scope == Scope::Starts {
            looked_at(places.iter().map(Range::len).sum());
            if within_budget() {
                self.finder.find.run(regex, text, places, kind, spans);
            }
            return;
        }
        for place in places {
            looked_at(place.len());
            if !within_budget() {
                return;
            }
            let inside = &text[place.clone()];
            let whole = 0..inside.len();
            let whole = std::slice::from_ref(&whole);
            if place.len() == text.len() {
                self.finder.find.run(regex, text, whole, kind, spans);
            } else {
                let mut found = Spans::default();
                self.finder.find.run(regex, inside, whole, kind, &mut found);
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
            (pairs::ANYWHERE, false),
        ];
        let mut finders = Vec::new();
        for (table, by_line) in tables {
            for finder in table {
                finders.push(Ready {
                    trigger: Pattern::new(finder.trigger),
                    regex: Pattern::new(finder.pattern),
                    finder,
                    by_line,
                });
            }
        }
        if finders.len() > 128 {
            return Err("more finders than bits".into());
        }
        let mut words: Vec<String> = Vec::new();
        let mut wakes: Vec<Wakes> = Vec::new();
        let mut by_line = 0;
        let mut line_ends = 0;
        for (index, ready) in finders.iter().enumerate() {
            by_line |= u128::from(ready.by_line) << index;
            line_ends |= u128::from(ready.finder.anchors.contains(&"\n")) << index;
            for word in ready.finder.anchors.iter().flat_map(|word| written(word)) {
                let at = words.iter().position(|known| *known == word).unwrap_or_else(|| {
                    words.push(word);
                    wakes.push(Wakes::default());
                    words.len() - 1
                });
                match ready.finder.around {
                    Around::Anything => wakes[at].at_once |= 1 << index,
                    _ => wakes[at].asks |= 1 << index,
                }
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
            by_line,
            line_ends,
        })
    }

    /// The lines of this text that wake a finder, in order. One walk over the text finds them for all finders.
    fn awake(&self, text: &str) -> Vec<Line> {
        let bytes = text.as_bytes();
        let mut lines: Vec<Line> = Vec::new();
        let mut line = Line::default();
        let mut hit = Hit::new(bytes);
        looked_at(text.len());
        // No rule begins with the word of a marker.
        let parts = crate::part::between_markers(text);
        let input = |part: Range<usize>| Input::new(text).span(part);
        for found in parts.flat_map(|part| self.anchors.find_overlapping_iter(input(part))) {
            if found.start() >= line.end {
                if line.finders != 0 {
                    lines.push(line.clone());
                }
                let begins = bytes[line.end..found.start()]
                    .iter()
                    .rposition(|byte| *byte == b'\n');
                let ends = bytes[found.start()..].iter().position(|byte| *byte == b'\n');
                line = Line {
                    start: begins.map_or(line.end, |newline| line.end + newline + 1),
                    end: ends.map_or(bytes.len(), |newline| found.start() + newline + 1),
                    finders: 0,
                };
            }
            let wakes = &self.wakes[found.pattern().as_usize()];
            let mut new = wakes.asks & !line.finders;
            line.finders |= wakes.at_once;
            if new == 0 {
                continue;
            }
            hit.move_to(found.range());
            while new != 0 {
                let index = new.trailing_zeros();
                new &= new - 1;
                if self.table[index as usize].finder.around.fits(&mut hit) {
                    line.finders |= 1 << index;
                }
            }
        }
        // The end of the text ends a line, too.
        let last = match bytes.iter().rposition(|byte| *byte == b'\n') {
            Some(newline) => newline + 1,
            None => 0,
        };
        if last < bytes.len() {
            if line.end < bytes.len() {
                if line.finders != 0 {
                    lines.push(line);
                }
                line = Line {
                    start: last,
                    end: bytes.len(),
                    finders: 0,
                };
            }
            hit.move_to(bytes.len()..bytes.len());
            let mut ends = self.line_ends & !line.finders;
            while ends != 0 {
                let index = ends.trailing_zeros();
                ends &= ends - 1;
                if self.table[index as usize].finder.around.fits(&mut hit) {
                    line.finders |= 1 << index;
                }
            }
        }
        if line.finders != 0 {
            lines.push(line);
        }
        lines
    }

    /// For each finder, the parts of this text that it must be given.
    fn places(&self, text: &str, lines: &[Line]) -> Vec<Vec<Range<usize>>> {
        let whole = 0..text.len();
        let mut places: Vec<Vec<Range<usize>>> = vec![Vec::new(); self.table.len()];
        // The finders that look at all of it already.
        let mut done = 0_u128;
        for line in lines {
            let mut new = line.finders & !done;
            while new != 0 {
                let index = new.trailing_zeros() as usize;
                new &= new - 1;
                let scope = self.table[index].finder.scope;
                if scope.is_whole() {
                    places[index].push(whole.clone());
                    done |= 1 << index;
                    continue;
                }
                let near = match scope {
                    Scope::Context => NEAR_CONTEXT,
                    Scope::Near => 0,
                    _ => NEAR,
                };
                match places[index].last_mut() {
                    Some(last) if line.start < last.end + near => last.end = line.end,
                    _ => places[index].push(line.start..line.end),
                }
            }
        }
        for (ready, places) in self.table.iter().zip(&mut places) {
            // What is near is needed only where the trigger matches, or could with what is near.
            if ready.finder.scope == Scope::Near && !places.is_empty() {
                *places = crate::part::around(text, places, MARGIN);
            }
        }
        places
    }

    /// The finders that could find something in this text, and where.
    fn ready<'s>(
        &'s self,
        text: &'s str,
        lines: &[Line],
        wanted: u128,
    ) -> impl Iterator<Item = (&'s Ready, Vec<Range<usize>>)> {
        let places = self.places(text, lines);
        self.table
            .iter()
            .zip(places)
            .enumerate()
            .filter(move |(index, _)| wanted >> index & 1 == 1)
            .filter_map(|(_, (ready, mut places))| {
                places.retain(|place| {
                    looked_at(place.len());
                    ready.trigger.is_match(&text[place.clone()])
                });
                (!places.is_empty()).then_some((ready, places))
            })
    }

    pub(crate) fn find(&self, text: &str, spans: &mut Spans) {
        tokens::find(text, spans);
        shape::find(text, spans);
        let lines = self.awake(text);
        let mut by_line = false;
        for (ready, places) in self.ready(text, &lines, u128::MAX) {
            by_line |= ready.by_line;
            ready.find(text, &places, spans);
        }
        if by_line && let Some(view) = View::of(text) {
            let mut found = Spans::default();
            // The anchors of the view are those of the text.
            let lines = view.lines_of(&lines);
            for (ready, places) in self.ready(&view.text, &lines, self.by_line) {
                ready.find(&view.text, &places, &mut found);
            }
            spans.extend(found, |range| view.original(&range));
        }
    }

    /// Whether any finder would look at this text, or at one that begins with it.
    pub(crate) fn triggered(&self, text: &str) -> bool {
        self.ready(text, &self.awake(text), u128::MAX).next().is_some()
            || self.late(text).next().is_some()
            || {
                let mut spans = Spans::default();
                tokens::find(text, &mut spans);
                shape::find(text, &mut spans);
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
        let whole = 0..text.len();
        let whole = std::slice::from_ref(&whole);
        let find = ready.finder.find;
        let regex = ready.regex.get().unwrap();
        find.run(regex, text, whole, ready.finder.kind, &mut found);
        let found = found.merged(&[]);
        (!found.is_empty()).then(|| !self.wakes(text, ready.finder.pattern))
    }

    /// Whether the finder with this pattern would look at this text.
    #[cfg(test)]
    pub(crate) fn wakes(&self, text: &str, pattern: &str) -> bool {
        let lines = self.awake(text);
        let ready = self.ready(text, &lines, u128::MAX).map(|(ready, _)| ready);
        let mut awake = ready.chain(self.late(text));
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

/// The matches of a pattern in these places of a text.
pub(crate) fn matches<'t>(
    regex: &Regex,
    text: &'t str,
    places: &[Range<usize>],
) -> impl Iterator<Item = regex::Match<'t>> {
    places.iter().flat_map(move |place| {
        let text = &text[..place.end];
        let mut at = place.start;
        std::iter::from_fn(move || {
            let found = regex.find_at(text, at)?;
            at = found.end();
            Some(found)
        })
    })
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
    use regex_syntax::hir::{Hir, HirKind, Look};

    use super::{Finders, Spans};

    /// An anchor that a match does without would lose secrets.
    #[test]
    fn a_trigger_matches_only_where_an_anchor_stands() {
        let finders = Finders::built_in().unwrap();
        let texts = crate::cases::texts().chain(crate::adversary::seeds());
        for text in texts {
            let places = finders.places(&text, &finders.awake(&text));
            for (ready, places) in finders.table.iter().zip(places) {
                let mut whole = Spans::default();
                let all = 0..text.len();
                let find = ready.finder.find;
                let all = std::slice::from_ref(&all);
                find.run(
                    ready.regex.get().unwrap(),
                    &text,
                    all,
                    ready.finder.kind,
                    &mut whole,
                );
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

    /// What tools put in front of lines hides their beginning: such a trigger would sleep behind `grep -n` until another rule
    /// wakes, and a stream shows its lines before that.
    #[test]
    fn no_trigger_of_a_rule_by_lines_needs_the_beginning_of_a_line() {
        fn looks(part: &Hir) -> bool {
            match part.kind() {
                HirKind::Look(look) => matches!(look, Look::Start | Look::StartLF | Look::StartCRLF),
                HirKind::Repetition(repetition) => looks(&repetition.sub),
                HirKind::Capture(capture) => looks(&capture.sub),
                HirKind::Concat(parts) | HirKind::Alternation(parts) => parts.iter().any(looks),
                HirKind::Empty | HirKind::Literal(_) | HirKind::Class(_) => false,
            }
        }
        for ready in &Finders::built_in().unwrap().table {
            let parsed = regex_syntax::parse(ready.trigger.text).unwrap();
            assert!(!ready.by_line || !looks(&parsed), "{}", ready.trigger.text);
        }
    }

    /// A counted repetition is as many states as it counts. With thousands of them a search for groups copies all of them at
    /// every character.
    #[test]
    fn no_pattern_counts_far() {
        fn states(part: &Hir) -> u32 {
            match part.kind() {
                HirKind::Repetition(repetition) => {
                    let times = repetition.max.unwrap_or(repetition.min).max(1);
                    times.saturating_mul(states(&repetition.sub))
                }
                HirKind::Capture(capture) => states(&capture.sub),
                HirKind::Concat(parts) | HirKind::Alternation(parts) => parts.iter().map(states).sum(),
                HirKind::Literal(literal) => u32::try_from(literal.0.len()).unwrap(),
                HirKind::Empty | HirKind::Look(_) | HirKind::Class(_) => 1,
            }
        }
        for pattern in Finders::built_in().unwrap().patterns() {
            let parsed = regex_syntax::parse(pattern).unwrap();
            assert!(states(&parsed) <= 2000, "{}: {pattern}", states(&parsed));
        }
    }

    #[test]
    fn built_in_patterns_compile() {
        let finders = Finders::compile().unwrap();
        for ready in &finders.table {
            for pattern in [&ready.trigger, &ready.regex] {
                assert!(pattern.get().is_some(), "{}", pattern.text);
            }
        }
    }

    #[test]
    fn a_pattern_that_does_not_compile_masks_everything_that_it_would_look_at() {
        let finders = Finders::compile().unwrap();
        let broken = super::Ready {
            trigger: super::Pattern::new("("),
            regex: super::Pattern::new("("),
            finder: finders.table[0].finder,
            by_line: true,
        };
        assert!(broken.trigger.is_match("anything"));
        let mut spans = Spans::default();
        let place = 2..6;
        broken.find("a secret", std::slice::from_ref(&place), &mut spans);
        let whole: Vec<_> = spans.merged(&[]);
        assert!(!whole.is_empty());
    }
}
