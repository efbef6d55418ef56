//! Text from outside, for people to read: whatever a screen acts on, hides, turns around or makes look like something
//! else is written out.
//!
//! One definition serves every room and every surface: the card of a plan, the terminal, the Markdown export, JSON. The
//! page has its own copy in TypeScript; both are tested with `crates/protocol/tests/visible.json`.
//!
//! What a person decides on is ASCII: every other character of a plan is written out, with the letter itself where it can
//! be read: `⟦é U+00E9⟧`. No list of letters that look alike has to be complete for that. Elsewhere only what is hidden, or
//! poses as a Latin letter in a Latin word, is written out.
//!
//! A hidden character becomes `⟦U+202E⟧`. Brackets of that form are written out themselves, so that no text can pose as
//! an escape: two different texts never look the same, and [`unreveal`] gives back the exact text.

use std::borrow::Cow;
use std::fmt::Write as _;

/// What an escape begins with.
const OPEN: char = '⟦';
/// What an escape ends with.
const CLOSE: char = '⟧';
/// How many marks may stand on one letter. More of them grow into the lines above and below.
const MOST_MARKS: usize = 3;

/// A text as people may see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revealed {
    /// The text, with everything hidden written out.
    pub text: String,
    /// How many characters were written out.
    pub hidden: usize,
}

/// What is left as it is.
#[derive(Debug, Clone, Copy)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each says by its name what stays; they are set in the five constants below and nowhere else"
)]
struct Kept {
    /// Line feeds and tabs.
    breaks: bool,
    /// Spaces of typography.
    typography: bool,
    /// Characters other than ASCII, unless they are hidden or pose as a Latin letter.
    others: bool,
    /// The brackets of an escape: only in a text whose parts were written out before.
    brackets: bool,
}

/// What a person decides on, in several lines.
const PLAN: Kept = Kept {
    breaks: true,
    typography: false,
    others: false,
    brackets: false,
};
/// What a person decides on, in one line.
const PLAN_LINE: Kept = Kept {
    breaks: false,
    ..PLAN
};
/// A name in a sentence.
const LINE: Kept = Kept {
    others: true,
    ..PLAN_LINE
};
/// What a model wrote.
const PROSE: Kept = Kept {
    breaks: true,
    typography: true,
    ..LINE
};
/// What was put together from texts that were written out.
const COMPOSED: Kept = Kept {
    brackets: true,
    ..PROSE
};

/// Part of a plan: line feeds and tabs stay, everything else that is hidden or looks like something else is written out.
pub fn reveal(text: &str) -> Revealed {
    revealed(text, PLAN)
}

/// Part of a plan on one line: line feeds and tabs are written out, too.
pub fn reveal_line(text: &str) -> Revealed {
    revealed(text, PLAN_LINE)
}

/// One line of other text: names, paths, sentences. Line breaks and every space but the plain one are written out.
pub fn line(text: &str) -> String {
    revealed(text, LINE).text
}

/// Prose of several lines: its line breaks, tabs and typographic spaces stay as they are.
pub fn lines(text: &str) -> String {
    revealed(text, PROSE).text
}

/// A text that was put together from parts which were written out, and from our own words: for the part that was forgotten.
pub fn composed(text: &str) -> String {
    revealed(text, COMPOSED).text
}

/// How many characters [`lines`] writes out.
pub fn hidden(text: &str) -> usize {
    Reader::new(text, PROSE).filter(|(_, hidden)| *hidden).count()
}

fn revealed(text: &str, kept: Kept) -> Revealed {
    let mut shown = String::with_capacity(text.len());
    let mut count = 0;
    for (c, hidden) in Reader::new(text, kept) {
        if hidden {
            count += 1;
            // Writing into a String cannot fail.
            let _ = if !kept.others && is_readable(c) {
                write!(shown, "{OPEN}{c} U+{:04X}{CLOSE}", u32::from(c))
            } else {
                write!(shown, "{OPEN}U+{:04X}{CLOSE}", u32::from(c))
            };
        } else {
            shown.push(c);
        }
    }
    Revealed {
        text: shown,
        hidden: count,
    }
}

/// The exact text that was shown. Nothing if it is not of the form that this module makes.
pub fn unreveal(shown: &str) -> Option<String> {
    let mut text = String::with_capacity(shown.len());
    let mut rest = shown;
    while let Some((before, after)) = rest.split_once(OPEN) {
        text.push_str(before);
        let (code, behind) = after.split_once(CLOSE)?;
        let (letter, digits) = code.split_once("U+")?;
        if before.contains(CLOSE) {
            return None;
        }
        let c = char::from_u32(u32::from_str_radix(digits, 16).ok()?)?;
        if !letter.is_empty() && letter.strip_suffix(' ')?.chars().ne([c]) {
            return None;
        }
        text.push(c);
        rest = behind;
    }
    text.push_str(rest);
    (!rest.contains(CLOSE)).then_some(text)
}

/// JSON that is already written, with the characters escaped that JSON itself leaves as they are: C1 controls,
/// directions, invisible ones. Outside of its strings JSON is ASCII, so the document stays the same.
pub fn json(document: &str) -> Cow<'_, str> {
    if !document.chars().any(is_hidden_in_json) {
        return Cow::Borrowed(document);
    }
    let mut out = String::with_capacity(document.len() + 64);
    for c in document.chars() {
        if is_hidden_in_json(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // Writing into a String cannot fail.
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// What a JSON document may hold between its tokens, marks on letters and wide spaces stay; the rest must print.
fn is_hidden_in_json(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_control() && !matches!(c, '\n' | '\r' | '\t');
    }
    let wide_space = c > '\u{9f}' && c.is_whitespace() && !matches!(c, '\u{2028}' | '\u{2029}');
    is_ignorable(c) || !(wide_space || is_mark(c) || prints(c))
}

/// Reads a text, and says of each character whether it must be written out.
struct Reader<'a> {
    rest: std::str::Chars<'a>,
    kept: Kept,
    before: Option<char>,
    marks: usize,
    /// How many bytes of the rest belong to the word that is being read, and whether it pretends to be another one.
    word: usize,
    pretends: bool,
}

impl<'a> Reader<'a> {
    fn new(text: &'a str, kept: Kept) -> Self {
        Self {
            rest: text.chars(),
            kept,
            before: None,
            marks: 0,
            word: 0,
            pretends: false,
        }
    }

    /// Looks through the word that begins here, once.
    fn begin_word(&mut self, from: &'a str) {
        let end = from.find(|c: char| !c.is_alphanumeric()).unwrap_or(from.len());
        let word = &from[..end];
        self.word = end;
        self.pretends = word.contains(|c: char| c.is_ascii_alphabetic()) && word.contains(looks_latin);
    }

    fn hides(&mut self, c: char) -> bool {
        if !self.kept.others && !c.is_ascii() {
            return true;
        }
        if is_ignorable(c) {
            // An emoji may ask to be shown as a picture.
            let emoji = |c: char| !c.is_ascii() && !c.is_alphanumeric() && !c.is_whitespace() && prints(c);
            let picture = c == '\u{fe0f}' && self.before.is_some_and(emoji);
            return !picture;
        }
        if is_mark(c) {
            self.marks += 1;
            let carried = self.marks > 1 || self.before.is_some_and(char::is_alphanumeric);
            return !carried || self.marks > MOST_MARKS;
        }
        self.marks = 0;
        match c {
            ' ' => false,
            OPEN | CLOSE => !self.kept.brackets,
            '\n' | '\t' => !self.kept.breaks,
            '\u{a0}' | '\u{202f}' | '\u{3000}' => !self.kept.typography,
            c if c.is_whitespace() => true,
            c if !prints(c) => true,
            c if self.pretends && looks_latin(c) => true,
            _ => false,
        }
    }
}

impl Iterator for Reader<'_> {
    type Item = (char, bool);

    fn next(&mut self) -> Option<(char, bool)> {
        let from = self.rest.as_str();
        let c = self.rest.next()?;
        if self.word == 0 && c.is_alphanumeric() {
            self.begin_word(from);
        }
        let hidden = self.hides(c);
        self.word = self.word.saturating_sub(c.len_utf8());
        if self.word == 0 {
            self.pretends = false;
        }
        self.before = Some(c);
        Some((c, hidden))
    }
}

/// Whether a character can be shown beside its code point: it is visible, and does not reorder its neighbours.
fn is_readable(c: char) -> bool {
    prints(c) && !c.is_whitespace() && !is_ignorable(c) && !is_right_to_left(c) && !matches!(c, OPEN | CLOSE)
}

/// Letters of scripts that are written from right to left. A terminal or browser reorders the characters beside them.
const fn is_right_to_left(c: char) -> bool {
    matches!(
        c,
        '\u{590}'..='\u{8ff}'
            | '\u{fb1d}'..='\u{fdff}'
            | '\u{fe70}'..='\u{fefe}'
            | '\u{10800}'..='\u{10fff}'
            | '\u{1e800}'..='\u{1efff}'
    )
}

/// Whether a character has a shape of its own: no control, no format character, not unassigned, not for private use.
fn prints(c: char) -> bool {
    let mut escaped = c.escape_debug();
    matches!(c, '\'' | '"' | '\\') || (escaped.next() == Some(c) && escaped.next().is_none())
}

/// A mark that is put on the letter before it. `str::escape_debug` leaves those alone behind another character;
/// `char::escape_debug` does not.
fn is_mark(c: char) -> bool {
    if prints(c) || c.is_ascii() {
        return false;
    }
    let mut carried = [0; 5];
    carried[0] = b'a';
    let end = 1 + c.encode_utf8(&mut carried[1..]).len();
    std::str::from_utf8(&carried[..end]).is_ok_and(|text| text.escape_debug().nth(1) == Some(c))
}

/// Characters that show nothing although they count as letters, marks or symbols (Unicode: default ignorable).
const fn is_ignorable(c: char) -> bool {
    matches!(
        c,
        '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{115f}'
            | '\u{1160}'
            | '\u{17b4}'
            | '\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{2800}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d159}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

/// Letters of other alphabets that look like a Latin one. In a word with Latin letters they pretend to be another name.
const fn looks_latin(c: char) -> bool {
    matches!(
        c,
        // Greek.
        'Α' | 'Β' | 'Ε' | 'Ζ' | 'Η' | 'Ι' | 'Κ' | 'Μ' | 'Ν' | 'Ο' | 'Ρ' | 'Τ' | 'Υ' | 'Χ' | 'ο' | 'ν' | 'α' | 'ι'
            | 'κ' | 'ρ' | 'υ' | 'χ' | 'ϲ' | 'ϳ'
            // Cyrillic.
            | 'А' | 'В' | 'Е' | 'К' | 'М' | 'Н' | 'О' | 'Р' | 'С' | 'Т' | 'У' | 'Х' | 'Ѕ' | 'І' | 'Ј' | 'Ү' | 'Ԁ' | 'Ԛ'
            | 'Ԝ' | 'а' | 'в' | 'е' | 'к' | 'м' | 'н' | 'о' | 'р' | 'с' | 'т' | 'у' | 'х' | 'ѕ' | 'і' | 'ј' | 'ԁ' | 'ԛ'
            | 'ԝ' | 'һ' | 'ӏ' | 'Ӏ' | 'ү' | 'ѵ' | 'г' | 'п' | 'ь' | 'Ь'
            // Armenian, Cherokee, and letters of the Latin alphabet in other clothes.
            | 'օ' | 'ո' | 'ս' | 'հ' | 'ց' | 'զ' | 'Ս' | 'Օ'
            | '\u{13a0}'..='\u{13f5}'
            | 'ı' | 'ǀ' | 'ǁ' | 'ǃ'
            // Letters of phonetics, small capitals, superscripts.
            | '\u{250}'..='\u{2af}'
            | '\u{2b0}'..='\u{2b8}'
            | '\u{1d00}'..='\u{1dbf}'
            | '\u{2071}' | '\u{207f}' | '\u{2090}'..='\u{209c}'
            // Letter-like signs, Roman numerals, circled letters, ligatures.
            | '\u{210a}'..='\u{2115}' | '\u{2118}'..='\u{211d}' | '\u{2124}' | '\u{2128}'..='\u{2149}'
            | '\u{2160}'..='\u{2188}'
            | '\u{24b6}'..='\u{24e9}'
            | '\u{fb00}'..='\u{fb06}'
            // Coptic, Lisu, Canadian syllabics, Deseret, Old Italic, and the rarer Latin and Cherokee letters.
            | '\u{2c60}'..='\u{2c7f}'
            | '\u{2c80}'..='\u{2cff}'
            | '\u{a4d0}'..='\u{a4ff}'
            | '\u{a720}'..='\u{a7ff}'
            | '\u{ab30}'..='\u{abbf}'
            | '\u{1400}'..='\u{167f}'
            | '\u{10300}'..='\u{1032f}'
            | '\u{10400}'..='\u{1044f}'
            | '\u{ff21}'..='\u{ff3a}'
            | '\u{ff41}'..='\u{ff5a}'
            | '\u{1d400}'..='\u{1d7ff}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde::{Deserialize, Serialize};

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Case {
        what: String,
        text: String,
        line: String,
        lines: String,
        plan: String,
        plan_line: String,
        hidden: usize,
    }

    const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/visible.json");

    #[test]
    fn what_a_screen_acts_on_or_hides_is_written_out() {
        let cases: Vec<Case> = serde_json::from_str(&std::fs::read_to_string(FILE).unwrap()).unwrap();
        assert!(cases.len() >= 45);
        let found: Vec<Case> = cases
            .iter()
            .map(|case| Case {
                what: case.what.clone(),
                text: case.text.clone(),
                line: line(&case.text),
                lines: lines(&case.text),
                plan: reveal(&case.text).text,
                plan_line: reveal_line(&case.text).text,
                hidden: hidden(&case.text),
            })
            .collect();
        if std::env::var_os("INSTA_UPDATE").is_some_and(|how| how == "always") {
            let written = serde_json::to_string_pretty(&found).unwrap() + "\n";
            std::fs::write(FILE, json(&written).as_bytes()).unwrap();
        }
        assert_eq!(
            found, cases,
            "look at the change, then run with INSTA_UPDATE=always"
        );
    }

    #[test]
    fn a_look_alike_letter_and_its_written_escape_differ() {
        // A Cyrillic letter, the escape of Rust, the escape of JSON, and our own escape as a text.
        let texts = ["p\u{430}th", "p\\u{430}th", "p\\u0430th", "p⟦U+0430⟧th", "path"];
        for show in [
            line,
            lines,
            |text: &str| reveal(text).text,
            |text: &str| reveal_line(text).text,
        ] {
            let shown: std::collections::BTreeSet<String> = texts.iter().map(|text| show(text)).collect();
            assert_eq!(shown.len(), texts.len(), "{shown:?}");
        }
        assert_eq!(line("p\u{430}th"), "p⟦U+0430⟧th");
        assert_eq!(line("p⟦U+0430⟧th"), "p⟦U+27E6⟧U+0430⟦U+27E7⟧th");
    }

    /// Everything that the Unicode consortium knows to look like something else.
    #[test]
    fn nothing_in_a_plan_has_the_skeleton_of_another_text() {
        let skeleton =
            |text: &str| unicode_security::confusable_detection::skeleton(text).collect::<String>();
        let mut letters = 0;
        for c in (0x80..=0x0010_ffff).filter_map(char::from_u32) {
            let alone = c.to_string();
            let looks_like = skeleton(&alone);
            if looks_like == alone {
                continue;
            }
            letters += 1;
            for show in [
                |text: &str| reveal(text).text,
                |text: &str| reveal_line(text).text,
            ] {
                let shown = show(&format!("rm {c}x"));
                assert_ne!(
                    skeleton(&shown),
                    skeleton(&show(&format!("rm {looks_like}x"))),
                    "{shown}"
                );
                assert!(shown.contains(&format!("U+{:04X}⟧", u32::from(c))), "{shown}");
            }
        }
        assert!(letters > 5_000, "{letters}");
    }

    #[test]
    fn letters_of_other_alphabets_in_a_latin_word_are_written_out_everywhere() {
        for (word, code) in [
            ("ꜱudo", "A731"),
            ("ʀm", "0280"),
            ("rᴍ", "1D0D"),
            ("ꓣm", "A4E3"),
            ("ⲟpen", "2C9F"),
            ("ⅿount", "217F"),
            ("Ⅽat", "216D"),
            ("ﬁnd", "FB01"),
            ("𝐫m", "1D42B"),
            ("ｒm", "FF52"),
            ("ℯcho", "212F"),
            ("ⓡm", "24E1"),
            ("аpt", "0430"),
        ] {
            for shown in [line(word), lines(word), reveal(word).text, reveal_line(word).text] {
                assert!(shown.contains(&format!("U+{code}⟧")), "{word}: {shown}");
            }
        }
        // A right-to-left letter is shown by its code point alone: it would reorder the characters beside it.
        for word in ["rm א5", "rm ا5", "rm 𐤀5", "rm 𞤀5"] {
            assert!(!reveal(word).text.contains(is_right_to_left), "{word}");
        }
        assert_eq!(reveal("für").text, "f⟦ü U+00FC⟧r");
        assert_eq!(unreveal("f⟦ü U+00FC⟧r").as_deref(), Some("für"));
        assert_eq!(unreveal("f⟦u U+00FC⟧r"), None);
    }

    #[test]
    fn what_is_no_revealed_text_gives_nothing_back() {
        for shown in ["⟦", "⟦U+⟧", "⟦U+D800⟧", "⟦x⟧", "⟦U+110000⟧", "⟧", "⟦U+0041⟧⟧"]
        {
            assert_eq!(unreveal(shown), None, "{shown}");
        }
    }

    #[test]
    fn json_says_the_same_with_nothing_hidden_in_it() {
        let value = serde_json::json!({ "a\u{9b}": "x\u{202e}\u{7f}\u{e0041}é\u{200b}日 \u{1b}[2J\u{2028}" });
        let written = serde_json::to_string(&value).unwrap();
        let shown = json(&written);
        assert!(!shown.chars().any(is_hidden_in_json), "{shown}");
        assert!(
            !shown.contains(['\u{9b}', '\u{202e}', '\u{7f}', '\u{2028}']),
            "{shown}"
        );
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
        assert!(matches!(json(r#"{"a":"é 日"}"#), Cow::Borrowed(_)));
    }

    /// Texts of the characters that matter here, close together.
    fn hostile() -> impl Strategy<Value = String> {
        let pieces = prop::sample::select(vec![
            "a",
            "p",
            "5",
            " ",
            "\n",
            "\t",
            "\r",
            "\0",
            "\\",
            "\\n",
            "\\u{430}",
            "⟦",
            "⟧",
            "U+0430",
            "⟦U+0430⟧",
            "\u{430}",
            "\u{3bf}",
            "ж",
            "\u{202e}",
            "\u{2066}",
            "\u{200b}",
            "\u{a0}",
            "\u{9b}",
            "\u{301}",
            "\u{fe0f}",
            "⚠",
            "\u{2212}",
            "\u{ff0f}",
            "日",
            "א",
            "ا",
            "é",
            "ⅿ",
            "ﬁ",
            "𝐫",
        ]);
        prop_oneof![
            any::<String>(),
            prop::collection::vec(pieces, 0..12).prop_map(|pieces| pieces.concat()),
        ]
    }

    proptest! {
        /// What gives back the exact text shows two texts never the same.
        #[test]
        fn what_is_shown_gives_back_the_exact_text(text in hostile()) {
            for kept in [PLAN, PLAN_LINE, LINE, PROSE] {
                let shown = revealed(&text, kept);
                prop_assert_eq!(unreveal(&shown.text), Some(text.clone()));
                prop_assert_eq!(shown.hidden == 0, shown.text == text);
            }
        }

        #[test]
        fn two_texts_never_look_the_same(one in hostile(), other in hostile()) {
            for kept in [PLAN, PLAN_LINE, LINE, PROSE] {
                prop_assert_eq!(revealed(&one, kept).text == revealed(&other, kept).text, one == other);
            }
        }

        #[test]
        fn every_hidden_character_is_counted(text in hostile()) {
            for kept in [PLAN, PLAN_LINE, LINE, PROSE] {
                let shown = revealed(&text, kept);
                prop_assert_eq!(shown.text.matches(OPEN).count(), shown.hidden);
            }
        }

        #[test]
        fn nothing_hidden_is_left(text in hostile()) {
            for kept in [PLAN, PLAN_LINE, LINE, PROSE, COMPOSED] {
                let shown = revealed(&text, kept).text;
                let left = |c: char| !matches!(c, '\n' | '\t') && c.is_control() || is_ignorable(c) && c != '\u{fe0f}';
                prop_assert!(!shown.contains(left), "{:?}", shown);
            }
            let strict = reveal_line(&text).text;
            prop_assert!(!strict.contains(|c: char| c == '\u{fe0f}' || c != ' ' && c.is_whitespace()), "{:?}", strict);
        }

        /// What a person decides on is ASCII outside of the brackets, so that no two plans can look the same.
        #[test]
        fn a_plan_is_ascii_and_its_brackets_say_what_they_hold(text in hostile()) {
            for kept in [PLAN, PLAN_LINE] {
                let shown = revealed(&text, kept).text;
                let mut skeleton = String::new();
                let mut rest = shown.as_str();
                while let Some((before, after)) = rest.split_once(OPEN) {
                    let (held, behind) = after.split_once(CLOSE).unwrap();
                    prop_assert!(before.is_ascii(), "{:?}", shown);
                    skeleton.push_str(before);
                    // The letter does not count: what is left tells texts apart without it.
                    skeleton.push_str(held.split_once("U+").unwrap().1);
                    skeleton.push('\0');
                    prop_assert!(!held.contains(is_right_to_left), "{:?}", shown);
                    rest = behind;
                }
                prop_assert!(rest.is_ascii(), "{:?}", shown);
            }
        }

        #[test]
        fn plain_text_stays_as_it_is(text in "[a-zA-Z0-9 .,:;!?'\"()/\\\\_=+-]{0,60}") {
            prop_assert_eq!(line(&text), text.clone());
            prop_assert_eq!(reveal_line(&text), Revealed { text: text.clone(), hidden: 0 });
            prop_assert_eq!(hidden(&text), 0);
        }

        #[test]
        fn any_json_stays_the_same_document(text in hostile()) {
            let written = serde_json::to_string(&text).unwrap();
            let shown = json(&written);
            prop_assert_eq!(serde_json::from_str::<String>(&shown).unwrap(), text);
        }
    }
}
