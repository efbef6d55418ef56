//! Text as people may see it before they decide: what does not print, or changes how other text prints, is written out.
//!
//! One function for every surface, so that a plan looks the same on the page, in the terminal and in the API. Nothing is
//! lost: [`unreveal`] gives back the exact text, so that what was shown can be compared with the bytes that run.
//!
//! A hidden character becomes `⟦U+202E⟧`. An opening bracket of that form is written out itself, so that no text can pose
//! as an escape.

use std::fmt::Write as _;

/// What an escape begins with.
const OPEN: char = '⟦';
/// What an escape ends with.
const CLOSE: char = '⟧';
/// How many combining marks may follow one character. More of them cover their neighbours.
const MARKS: usize = 2;

/// A text as people may see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revealed {
    /// The text, with everything that does not print written out.
    pub text: String,
    /// How many characters were written out.
    pub hidden: usize,
}

/// A text of several lines: line feeds and tabs stay, everything else that does not print is written out.
pub fn reveal(text: &str) -> Revealed {
    revealed(text, |c| matches!(c, '\n' | '\t'))
}

/// A text on one line: line feeds and tabs are written out, too.
pub fn reveal_line(text: &str) -> Revealed {
    revealed(text, |_| false)
}

fn revealed(text: &str, stays: impl Fn(char) -> bool) -> Revealed {
    let mut shown = String::with_capacity(text.len());
    let mut hidden = 0;
    // How many marks the last character that prints has; none may stand at the beginning of a line.
    let mut marks = MARKS;
    for c in text.chars() {
        let plain = if stays(c) {
            marks = MARKS;
            true
        } else if c == OPEN || is_hidden(c) {
            marks = MARKS;
            false
        } else if is_mark(c) {
            marks += 1;
            marks <= MARKS
        } else {
            marks = 0;
            prints(c)
        };
        if plain {
            shown.push(c);
        } else {
            hidden += 1;
            // Writing into a String cannot fail.
            let _ = write!(shown, "{OPEN}U+{:04X}{CLOSE}", u32::from(c));
        }
    }
    Revealed { text: shown, hidden }
}

/// The exact text that was shown. Nothing if it is not of the form that [`reveal`] makes.
pub fn unreveal(shown: &str) -> Option<String> {
    let mut text = String::with_capacity(shown.len());
    let mut rest = shown;
    while let Some((before, after)) = rest.split_once(OPEN) {
        text.push_str(before);
        let (code, behind) = after.split_once(CLOSE)?;
        let digits = code.strip_prefix("U+")?;
        text.push(char::from_u32(u32::from_str_radix(digits, 16).ok()?)?);
        rest = behind;
    }
    text.push_str(rest);
    Some(text)
}

/// Whether a character never prints by itself: format and direction controls, spaces that look like another, fillers,
/// selectors, tags.
const fn is_hidden(c: char) -> bool {
    matches!(
        c,
        '\u{0}'..='\u{1f}'
            | '\u{7f}'..='\u{a0}'
            | '\u{ad}'
            | '\u{34f}'
            | '\u{600}'..='\u{605}'
            | '\u{61c}'
            | '\u{6dd}'
            | '\u{70f}'
            | '\u{890}'..='\u{891}'
            | '\u{8e2}'
            | '\u{115f}'..='\u{1160}'
            | '\u{1680}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{2000}'..='\u{200f}'
            | '\u{2028}'..='\u{202f}'
            | '\u{205f}'..='\u{206f}'
            | '\u{2800}'
            | '\u{3000}'
            | '\u{3164}'
            | '\u{e000}'..='\u{f8ff}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}'
            | '\u{110bd}'
            | '\u{110cd}'
            | '\u{13430}'..='\u{1345f}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{10ffff}'
    )
}

/// Whether a character is drawn onto the one before it.
fn is_mark(c: char) -> bool {
    // The standard library writes out what extends the character before it; what is not hidden and is no letter of its own
    // does that here.
    matches!(
        c,
        '\u{300}'..='\u{36f}'
            | '\u{483}'..='\u{489}'
            | '\u{591}'..='\u{5c7}'
            | '\u{610}'..='\u{61a}'
            | '\u{64b}'..='\u{65f}'
            | '\u{670}'
            | '\u{6d6}'..='\u{6ed}'
            | '\u{e31}'
            | '\u{e34}'..='\u{e3a}'
            | '\u{e47}'..='\u{e4e}'
            | '\u{1ab0}'..='\u{1aff}'
            | '\u{1dc0}'..='\u{1dff}'
            | '\u{20d0}'..='\u{20ff}'
            | '\u{302a}'..='\u{302f}'
            | '\u{3099}'..='\u{309a}'
            | '\u{a66f}'..='\u{a67d}'
            | '\u{fe20}'..='\u{fe2f}'
    ) || (!c.is_ascii() && !prints(c) && c.is_alphanumeric())
}

/// Whether a character has a shape of its own.
fn prints(c: char) -> bool {
    // Debug writes out exactly what does not print, and also quotes and backslashes, which do.
    matches!(c, '\'' | '"' | '\\') || c.escape_debug().len() == 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The cases that the page's own function is tested with, too.
    const CASES: &[(&str, &str)] = &[
        ("ls 'a' \"b\" \\c", "ls 'a' \"b\" \\c"),
        ("a\nb\tc", "a\nb\tc"),
        ("a\r\n", "a⟦U+000D⟧\n"),
        ("\u{1b}[2Jgone", "⟦U+001B⟧[2Jgone"),
        ("a\0b\u{7}\u{7f}\u{9b}", "a⟦U+0000⟧b⟦U+0007⟧⟦U+007F⟧⟦U+009B⟧"),
        ("left\u{202e}thgir", "left⟦U+202E⟧thgir"),
        (
            "\u{2066}x\u{2069}\u{200f}\u{61c}",
            "⟦U+2066⟧x⟦U+2069⟧⟦U+200F⟧⟦U+061C⟧",
        ),
        (
            "zero\u{200b}\u{200d}\u{feff}width",
            "zero⟦U+200B⟧⟦U+200D⟧⟦U+FEFF⟧width",
        ),
        ("soft\u{ad}hyphen", "soft⟦U+00AD⟧hyphen"),
        (
            "no\u{a0}break\u{2003}\u{3000}\u{2028}",
            "no⟦U+00A0⟧break⟦U+2003⟧⟦U+3000⟧⟦U+2028⟧",
        ),
        ("fill\u{3164}\u{115f}\u{2800}", "fill⟦U+3164⟧⟦U+115F⟧⟦U+2800⟧"),
        ("tag\u{e0041}\u{e0100}", "tag⟦U+E0041⟧⟦U+E0100⟧"),
        ("\u{2764}\u{fe0f}", "\u{2764}⟦U+FE0F⟧"),
        ("e\u{301}", "e\u{301}"),
        ("e\u{301}\u{302}\u{303}\u{304}", "e\u{301}\u{302}⟦U+0303⟧⟦U+0304⟧"),
        ("\u{301}x", "⟦U+0301⟧x"),
        ("\u{e000}", "⟦U+E000⟧"),
        ("⟦U+202E⟧", "⟦U+27E6⟧U+202E⟧"),
        ("Zoë 日本 Привет", "Zoë 日本 Привет"),
    ];

    #[test]
    fn what_does_not_print_is_written_out() {
        for (text, shown) in CASES {
            let revealed = reveal(text);
            assert_eq!(revealed.text, *shown, "{text:?}");
            assert_eq!(revealed.hidden > 0, text != shown, "{text:?}");
        }
        assert_eq!(reveal_line("a\nb\tc").text, "a⟦U+000A⟧b⟦U+0009⟧c");
    }

    #[test]
    fn the_page_is_tested_with_the_same_cases() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../web/src/lib/reveal.cases.json");
        let cases: Vec<[&str; 2]> = CASES.iter().map(|(text, shown)| [*text, *shown]).collect();
        let wanted = serde_json::to_string_pretty(&cases).unwrap() + "\n";
        if std::env::var_os("INSTA_UPDATE").is_some_and(|how| how == "always") {
            std::fs::write(file, &wanted).unwrap();
        }
        assert_eq!(
            std::fs::read_to_string(file).unwrap(),
            wanted,
            "run with INSTA_UPDATE=always"
        );
    }

    #[test]
    fn what_is_no_revealed_text_gives_nothing_back() {
        for shown in ["⟦", "⟦U+⟧", "⟦U+D800⟧", "⟦x⟧", "⟦U+110000⟧"] {
            assert_eq!(unreveal(shown), None, "{shown}");
        }
    }

    proptest! {
        #[test]
        fn what_is_shown_gives_back_the_exact_text(text in any::<String>()) {
            prop_assert_eq!(unreveal(&reveal(&text).text), Some(text.clone()));
            prop_assert_eq!(unreveal(&reveal_line(&text).text), Some(text));
        }

        #[test]
        fn nothing_hidden_is_left(text in any::<String>()) {
            let shown = reveal_line(&text).text;
            prop_assert!(!shown.chars().any(is_hidden), "{shown:?}");
            prop_assert_eq!(reveal_line(&text).hidden == 0, shown == text);
        }
    }
}
