//! Text from outside, for people to read: whatever a screen acts on, hides or turns around is written out.
//!
//! One definition of "hidden" serves every room: the card of a plan, the terminal, the Markdown export, JSON. The page
//! has its own copy in TypeScript; both are tested with `crates/protocol/tests/visible.json`.

use std::borrow::Cow;
use std::fmt::Write as _;

/// How many marks may stand on one letter. More of them grow into the lines above and below.
const MOST_MARKS: usize = 3;

/// One line: names, commands, paths. Line breaks and every space but the plain one are written out too.
pub fn line(text: &str) -> String {
    shown(text, false)
}

/// A text of several lines: its line breaks, tabs and typographic spaces stay as they are.
pub fn lines(text: &str) -> String {
    shown(text, true)
}

/// How many characters [`lines`] writes out.
pub fn hidden(text: &str) -> usize {
    Reader::new(text, true).filter(|(_, hidden)| *hidden).count()
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
    let between_tokens = matches!(c, '\n' | '\r' | '\t');
    let wide_space = c > '\u{9f}' && c.is_whitespace() && !matches!(c, '\u{2028}' | '\u{2029}');
    is_ignorable(c) || !(between_tokens || wide_space || is_mark(c) || prints(c))
}

fn shown(text: &str, prose: bool) -> String {
    let mut out = String::with_capacity(text.len());
    for (c, hidden) in Reader::new(text, prose) {
        if !hidden {
            out.push(c);
        } else if matches!(c, '\n' | '\r' | '\t' | '\0') {
            out.extend(c.escape_debug());
        } else {
            out.extend(c.escape_unicode());
        }
    }
    out
}

/// Reads a text, and says of each character whether it must be written out.
struct Reader<'a> {
    rest: std::str::Chars<'a>,
    prose: bool,
    before: Option<char>,
    marks: usize,
    /// How many bytes of the rest belong to the word that is being read, and whether it mixes alphabets.
    word: usize,
    mixed: bool,
}

impl<'a> Reader<'a> {
    fn new(text: &'a str, prose: bool) -> Self {
        Self {
            rest: text.chars(),
            prose,
            before: None,
            marks: 0,
            word: 0,
            mixed: false,
        }
    }

    /// Looks through the word that begins here, once.
    fn begin_word(&mut self, from: &'a str) {
        let end = from.find(|c: char| !c.is_alphanumeric()).unwrap_or(from.len());
        let word = &from[..end];
        self.word = end;
        self.mixed = word.contains(|c: char| c.is_ascii_alphabetic()) && word.contains(looks_latin);
    }

    fn hides(&mut self, c: char) -> bool {
        if is_ignorable(c) {
            // An emoji may ask to be shown as a picture.
            let emoji = |c: char| !c.is_ascii() && !c.is_alphanumeric() && !c.is_whitespace() && prints(c);
            return !(c == '\u{fe0f}' && self.before.is_some_and(emoji));
        }
        if is_mark(c) {
            self.marks += 1;
            let carried = self.marks > 1 || self.before.is_some_and(char::is_alphanumeric);
            return !carried || self.marks > MOST_MARKS;
        }
        self.marks = 0;
        match c {
            ' ' => false,
            '\n' | '\t' | '\u{a0}' | '\u{202f}' | '\u{3000}' => !self.prose,
            c if c.is_whitespace() => true,
            c if !prints(c) => true,
            c => self.mixed && looks_latin(c),
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
            self.mixed = false;
        }
        self.before = Some(c);
        Some((c, hidden))
    }
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
            | 'ı' | 'ɑ' | 'ɡ' | 'ǀ' | 'ꞁ'
            | '\u{ff21}'..='\u{ff3a}'
            | '\u{ff41}'..='\u{ff5a}'
            | '\u{1d400}'..='\u{1d7ff}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(serde::Deserialize)]
    struct Case {
        what: String,
        text: String,
        line: String,
        lines: String,
        hidden: usize,
    }

    #[test]
    fn what_a_screen_acts_on_or_hides_is_written_out() {
        let cases: Vec<Case> = serde_json::from_str(include_str!("../tests/visible.json")).unwrap();
        assert!(cases.len() >= 30);
        for case in cases {
            assert_eq!(line(&case.text), case.line, "{}", case.what);
            assert_eq!(lines(&case.text), case.lines, "{}", case.what);
            assert_eq!(hidden(&case.text), case.hidden, "{}", case.what);
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

    proptest::proptest! {
        #[test]
        fn nothing_hidden_is_left(text in "\\PC{0,40}|.{0,40}") {
            for shown in [line(&text), lines(&text)] {
                proptest::prop_assert!(!shown.contains(|c: char| c != '\n' && c != '\t' && c.is_control()), "{shown:?}");
                proptest::prop_assert!(!shown.contains(|c: char| is_ignorable(c) && c != '\u{fe0f}'), "{shown:?}");
            }
            proptest::prop_assert!(!line(&text).contains(['\n', '\t']));
        }

        #[test]
        fn plain_text_stays_as_it_is(text in "[a-zA-Z0-9 .,:;!?'\"()/\\\\_=+-]{0,60}") {
            proptest::prop_assert_eq!(line(&text), text.clone());
            proptest::prop_assert_eq!(hidden(&text), 0);
        }

        #[test]
        fn any_json_stays_the_same_document(text in "\\PC{0,30}|.{0,30}") {
            let written = serde_json::to_string(&text).unwrap();
            let shown = json(&written);
            proptest::prop_assert_eq!(serde_json::from_str::<String>(&shown).unwrap(), text);
        }
    }
}
