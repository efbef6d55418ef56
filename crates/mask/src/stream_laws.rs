//! Text in pieces shows what the whole text shows, for every way to cut it.

use std::sync::LazyLock;

use proptest::prelude::*;

use crate::{Masker, Options, StreamMasker, cases};

/// Every case of the table, and what a model writes around them.
static CASES: LazyLock<Vec<(String, String)>> = LazyLock::new(|| {
    let secret = cases::cases().into_iter().map(|(_, text, secret)| (text, secret));
    secret.collect()
});

/// What stands between two cases.
const BETWEEN: &[&str] = &[
    "\n",
    "\n\n",
    " ",
    "\n---\n",
    "\n\nThe disk of the host is full.\n\n",
    "\n\n## What was found\n\n",
    "\n\n1. Look at the **log** of it:\n\n",
    "\n```\n\nThis is what it says now:\n\n```yaml\n",
    "\n  - a: b\n",
    "\nwords that say nothing, and the default login of it\n",
    "\nHello\nworld\n",
    "\n\nHello\n\nworld\n",
    "\r\n\r\nThe file has lines of Windows.\r\n",
    "\u{1b}[0m\n\n\u{1b}[1mThe next\u{1b}[0m is shown in bold.\n",
    "\n12:  a: b\n13:kind: x\n",
    "\n\u{a0}ｗｏｒｄ\u{200b} with odd letters here\n",
];

/// Something that takes text in pieces.
trait Pieces {
    fn push(&mut self, piece: &str) -> String;
    fn finish(&mut self) -> String;
}

impl Pieces for StreamMasker {
    fn push(&mut self, piece: &str) -> String {
        Self::push(self, piece)
    }
    fn finish(&mut self) -> String {
        Self::finish(self)
    }
}

fn streamed(mut stream: impl Pieces, text: &str, cuts: &[usize]) -> String {
    let mut cuts: Vec<usize> = cuts
        .iter()
        .map(|cut| text.floor_char_boundary(cut % (text.len() + 1)))
        .collect();
    cuts.sort_unstable();
    cuts.push(text.len());
    let (mut out, mut at) = (String::new(), 0);
    for cut in cuts {
        out.push_str(&stream.push(&text[at..cut]));
        at = cut;
    }
    out.push_str(&stream.finish());
    out
}

fn each_byte(text: &str) -> Vec<usize> {
    (0..text.len()).collect()
}

fn composed() -> impl Strategy<Value = String> {
    let part = (0..CASES.len(), prop::sample::select(BETWEEN));
    prop::collection::vec(part, 1..7).prop_map(|parts| {
        let mut text = String::new();
        for (case, between) in parts {
            text.push_str(&CASES[case].0);
            text.push_str(between);
        }
        text
    })
}

fn cuts() -> impl Strategy<Value = Vec<usize>> {
    prop_oneof![
        3 => prop::collection::vec(any::<usize>(), 0..24),
        1 => Just((0..8192).collect()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1200, ..ProptestConfig::default() })]

    #[test]
    fn pieces_show_what_the_whole_shows(text in composed(), cuts in cuts()) {
        let masker = Masker::built_in();
        let whole = masker.mask_text(&text);
        prop_assert_eq!(streamed(StreamMasker::new(masker.clone()), &text, &cuts), whole);
    }

    #[test]
    fn the_beginning_and_the_end_may_be_cut_off(text in composed(), from in any::<usize>(), to in any::<usize>(), cuts in cuts()) {
        let from = text.floor_char_boundary(from % (text.len() + 1));
        let to = text.floor_char_boundary(to % (text.len() + 1));
        let text = &text[from.min(to)..from.max(to)];
        let masker = Masker::built_in();
        let whole = masker.mask_text(text);
        prop_assert_eq!(streamed(StreamMasker::new(masker.clone()), text, &cuts), whole);
    }

    #[test]
    fn patterns_and_values_of_an_operator_hold_in_pieces(text in composed(), cuts in cuts(), which in 0..5_usize) {
        let pattern = ["delly|nginx", "(?s)kind.{0,40}name", r"\s+default", "^words that", "host is full"][which];
        let options: Options = serde_json::from_value(serde_json::json!({ "custom": [{ "name": "own", "pattern": pattern }] })).unwrap();
        let masker = Masker::new(&options).unwrap().with_values(["the default login of", "Hello\nworld\n"]);
        let whole = masker.mask_text(&text);
        prop_assert_eq!(streamed(StreamMasker::new(masker.clone()), &text, &cuts), whole);
    }
}

#[test]
fn every_case_comes_out_the_same_byte_by_byte() {
    let masker = Masker::built_in();
    for (text, _) in CASES.iter() {
        for around in [
            text.clone(),
            format!("Look at this:\n\n{text}\n\nThat is all there is.\n"),
        ] {
            let out = streamed(StreamMasker::new(masker.clone()), &around, &each_byte(&around));
            assert_eq!(out, masker.mask_text(&around), "{around:?}");
        }
    }
}

/// What is held back too long is withheld, and never shown.
#[test]
fn a_part_beyond_the_bound_shows_less_and_never_more() {
    let masker = Masker::built_in();
    let mut withheld = 0;
    for (text, secret) in CASES.iter().step_by(7) {
        let lines = "  b: word\nc d\n".repeat(40_000 / 13);
        let long = format!("{text}{lines}{text}\n\nThe next part is shown again.\n");
        let cuts: Vec<usize> = (0..long.len()).step_by(101).collect();
        let out = streamed(StreamMasker::new(masker.clone()), &long, &cuts);
        let whole = masker.mask_text(&long);
        if out != whole {
            withheld += 1;
            assert!(out.contains("[withheld until the text is complete]"), "{text}");
            assert!(out.ends_with("The next part is shown again.\n"), "{text}");
            assert!(
                whole.contains(secret.as_str()) || !out.contains(secret.as_str()),
                "{text}"
            );
        }
    }
    assert!(withheld > 50, "{withheld}");
}

#[test]
fn words_are_shown_as_they_come() {
    let mut stream = StreamMasker::new(Masker::built_in());
    let text = "The disk of the host is full because nothing removes its old logs, and a full disk stops the database from writing.\n\nRemove the old logs first, then look at it once more";
    let mut behind = 0;
    let mut shown = 0;
    for at in 0..text.len() {
        shown += stream.push(&text[at..=at]).len();
        behind = behind.max(at + 1 - shown);
    }
    assert!(behind <= 48, "{behind}");
}

/// Masks each line alone, as the scanner did that this one replaced where it knew no region for it.
struct Lines(Masker, String);

impl Pieces for Lines {
    fn push(&mut self, piece: &str) -> String {
        self.1.push_str(piece);
        let complete = self.1.rfind('\n').map_or(0, |at| at + 1);
        let rest = self.1.split_off(complete);
        let lines = std::mem::replace(&mut self.1, rest);
        lines
            .split_inclusive('\n')
            .map(|line| self.0.mask_text(line).into_owned())
            .collect()
    }
    fn finish(&mut self) -> String {
        self.0.mask_text(&self.1).into_owned()
    }
}

/// Shows the words of a line as soon as they are complete, whatever comes behind them.
struct Words(Masker, String);

impl Pieces for Words {
    fn push(&mut self, piece: &str) -> String {
        self.1.push_str(piece);
        let complete = self.1.rfind([' ', '\n']).map_or(0, |at| at + 1);
        let rest = self.1.split_off(complete);
        let words = std::mem::replace(&mut self.1, rest);
        self.0.mask_text(&words).into_owned()
    }
    fn finish(&mut self) -> String {
        self.0.mask_text(&self.1).into_owned()
    }
}

/// The law finds what earlier ways to mask a stream leak.
#[test]
fn the_law_tells_a_leaking_stream() {
    let masker = Masker::built_in();
    let leaks = |out: &str, secret: &str, whole: &str| out.contains(secret) && !whole.contains(secret);
    let (mut lines, mut words) = (0, 0);
    for (text, secret) in CASES.iter() {
        let whole = masker.mask_text(text);
        let cuts = each_byte(text);
        let out = streamed(Lines(masker.clone(), String::new()), text, &cuts);
        lines += usize::from(leaks(&out, secret, &whole));
        let out = streamed(Words(masker.clone(), String::new()), text, &cuts);
        words += usize::from(leaks(&out, secret, &whole));
        let out = streamed(StreamMasker::new(masker.clone()), text, &cuts);
        assert!(!leaks(&out, secret, &whole), "{text}");
    }
    assert!(lines > 50 && words > 100, "{lines} {words}");
}
