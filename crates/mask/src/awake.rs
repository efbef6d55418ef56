//! A rule is awake wherever it could find something: texts are made from the pattern of each rule, and its own anchors and
//! trigger must wake it for every one in which it finds a secret. A rule that sleeps shows in pieces what it masks in the
//! whole.

use std::fmt::Write as _;

use regex_syntax::hir::{Class, Hir, HirKind};

use crate::finder::Finders;
use crate::program;

/// So many texts are made from each pattern.
const TEXTS: usize = 1500;

/// A row of numbers that is the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % end.max(1)
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }

    /// Now and then a name or a value that means something, where a class allows its characters.
    fn word(&mut self, class: &Class, least: u32, most: Option<u32>) -> Option<&'static str> {
        let words = ["password", "DB_PASSWORD", "api_key", "Token", "Qz7Wk2Xv9Rm4Tb6"];
        let word = self.pick(&words);
        let length = u32::try_from(word.len()).ok()?;
        let has = |byte: u8| match class {
            Class::Unicode(class) => class
                .iter()
                .any(|range| (range.start()..=range.end()).contains(&char::from(byte))),
            Class::Bytes(class) => class
                .iter()
                .any(|range| (range.start()..=range.end()).contains(&byte)),
        };
        let fits = least <= length && most.is_none_or(|most| length <= most) && word.bytes().all(has);
        (fits && self.below(3) == 0).then_some(word)
    }

    /// One character of a class: most often a printable one of ASCII.
    fn character(&mut self, class: &Class) -> char {
        let ranges: Vec<(u32, u32)> = match class {
            Class::Unicode(class) => class
                .iter()
                .map(|range| (range.start().into(), range.end().into()))
                .collect(),
            Class::Bytes(class) => class
                .iter()
                .map(|range| (range.start().into(), range.end().into()))
                .collect(),
        };
        let clipped = |low: u32, high: u32| -> Vec<(u32, u32)> {
            ranges
                .iter()
                .map(|(start, end)| ((*start).max(low), (*end).min(high)))
                .filter(|(start, end)| start <= end)
                .collect()
        };
        let letters = [(48, 57), (65, 90), (97, 122)].into_iter();
        let letters: Vec<(u32, u32)> = letters.flat_map(|(low, high)| clipped(low, high)).collect();
        let printable = clipped(33, 126);
        let from = match self.below(8) {
            0..=5 if !letters.is_empty() => letters,
            6 if !printable.is_empty() => printable,
            _ => clipped(0, 0x7f),
        };
        let from = if from.is_empty() { ranges } else { from };
        let (start, end) = from[self.below(from.len())];
        let span = usize::try_from(end - start).unwrap() + 1;
        let code = start + u32::try_from(self.below(span)).unwrap();
        char::from_u32(code).unwrap_or('x')
    }
}

/// Writes a text that this part of a pattern matches, as far as it depends on the text alone.
fn write(part: &Hir, numbers: &mut Numbers, out: &mut String) {
    match part.kind() {
        HirKind::Empty | HirKind::Look(_) => {}
        HirKind::Literal(literal) => out.push_str(std::str::from_utf8(&literal.0).unwrap()),
        HirKind::Class(class) => out.push(numbers.character(class)),
        HirKind::Repetition(repetition) => {
            if let HirKind::Class(class) = repetition.sub.kind()
                && let Some(word) = numbers.word(class, repetition.min, repetition.max)
            {
                out.push_str(word);
                return;
            }
            let most = repetition.max.unwrap_or(u32::MAX);
            let more = u32::try_from(numbers.below(4)).unwrap() * 5 / 3;
            for _ in 0..repetition.min.saturating_add(more).min(most) {
                write(&repetition.sub, numbers, out);
            }
        }
        HirKind::Capture(capture) => write(&capture.sub, numbers, out),
        HirKind::Concat(parts) => parts.iter().for_each(|part| write(part, numbers, out)),
        HirKind::Alternation(parts) => write(&parts[numbers.below(parts.len())], numbers, out),
    }
}

#[test]
fn a_rule_is_awake_wherever_it_finds_something() {
    let finders = Finders::built_in().unwrap();
    let mut wrong = String::new();
    let mut without = Vec::new();
    for (index, pattern) in finders.patterns().enumerate() {
        let parsed = regex_syntax::parse(pattern).unwrap();
        let mut numbers = Numbers(index as u64 + 1);
        let (mut found, mut reported) = (0, 0);
        for _ in 0..TEXTS {
            let mut text = numbers
                .pick(&["", "", "", "", " ", "\n", "a ", "x: ", "\"", "db_", "--"])
                .to_owned();
            write(&parsed, &mut numbers, &mut text);
            text.push_str(numbers.pick(&[
                "",
                "",
                "",
                " ",
                "\n",
                "Qz7Wk2Xv9Rm4Tb6",
                "Qz7Wk2Xv9Rm4Tb6\n",
                "\"Qz7Wk2Xv9Rm4Tb6\"",
                "\n  a: Qz7Wk2Xv9Rm4Tb6\n",
                " Qz7Wk2Xv9Rm4Tb6",
            ]));
            let Some(asleep) = finders.asleep(index, &text) else {
                continue;
            };
            found += 1;
            if asleep && reported < 5 {
                reported += 1;
                let _ = writeln!(wrong, "{text:?}\n   {}", pattern.get(..100).unwrap_or(pattern));
            }
        }
        if found == 0 {
            without.push(pattern);
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    println!(
        "{} patterns without a text of their own: {without:#?}",
        without.len()
    );
}

#[test]
fn the_rule_of_command_lines_is_awake_for_every_program() {
    let finders = Finders::built_in().unwrap();
    let mut wrong = String::new();
    for name in program::names() {
        for text in [
            format!("{name} -p Qz7Wk2Xv9Rm4Tb6"),
            format!("{name}\t-p Qz7Wk2Xv9Rm4Tb6"),
            format!("[\"{name}\", \"-p\", \"Qz7Wk2Xv9Rm4Tb6\"]"),
            format!("'/usr/bin/{name}' -p Qz7Wk2Xv9Rm4Tb6"),
            format!("$({name} -p Qz7Wk2Xv9Rm4Tb6)"),
        ] {
            if !finders.wakes(&text, program::FINDERS[0].pattern) {
                let _ = writeln!(wrong, "{text}");
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
