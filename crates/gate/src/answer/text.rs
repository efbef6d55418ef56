//! Reading an answer: sentences, words, and what typography hides.

use std::ops::Range;

/// One word of a sentence: lower case, straight apostrophes, no markdown, and where it stands in the answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Word {
    pub(crate) text: String,
    pub(crate) span: Range<usize>,
    /// What parts it from the word before it.
    pub(crate) parted: Parting,
}

/// What stands between two words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Parting {
    /// Nothing that matters.
    Space,
    /// A comma.
    Comma,
    /// A colon, a dash, a bracket: what follows could stand alone.
    Strong,
}

/// One sentence, line or table row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sentence {
    pub(crate) span: Range<usize>,
    pub(crate) words: Vec<Word>,
    /// Whether it asks.
    pub(crate) asks: bool,
    /// Whether it stands in a fenced block.
    pub(crate) fenced: bool,
}

impl Sentence {
    /// Where the words of `phrase` stand one after the other.
    pub(crate) fn find(&self, phrase: &[&str]) -> Option<usize> {
        if phrase.is_empty() || phrase.len() > self.words.len() {
            return None;
        }
        (0..=self.words.len() - phrase.len()).find(|&at| {
            phrase
                .iter()
                .zip(&self.words[at..])
                .all(|(want, word)| word.text == *want)
        })
    }
}

/// Splits an answer. Linear in its length.
pub(crate) fn sentences(answer: &str) -> Vec<Sentence> {
    let mut found = Vec::new();
    let mut start = 0;
    let mut fenced = false;
    let mut line_start = true;
    let mut chars = answer.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        if line_start && !c.is_whitespace() {
            line_start = false;
            fenced ^= answer[at..].starts_with("```") || answer[at..].starts_with("~~~");
        }
        line_start |= c == '\n';
        let next = chars.peek().map(|&(_, c)| c);
        let ends = match c {
            '\n' | '\r' | '|' | '\u{2028}' | '\u{2029}' => true,
            '.' | '!' | '?' | '。' => next.is_none_or(|c| c.is_whitespace() || is_markup(c)),
            _ => false,
        };
        if ends {
            push(&mut found, answer, start..at + c.len_utf8(), fenced);
            start = at + c.len_utf8();
        }
    }
    push(&mut found, answer, start..answer.len(), fenced);
    found
}

fn push(found: &mut Vec<Sentence>, answer: &str, span: Range<usize>, fenced: bool) {
    let text = &answer[span.clone()];
    let words = words(text, span.start);
    if !words.is_empty() {
        found.push(Sentence {
            asks: text.trim_end().ends_with('?'),
            span,
            words,
            fenced,
        });
    }
}

fn words(text: &str, offset: usize) -> Vec<Word> {
    let mut found = Vec::new();
    let mut current = String::new();
    let mut parted = Parting::Space;
    let mut start = 0;
    let mut end = 0;
    for (at, c) in text.char_indices() {
        match fold(c) {
            Some(folded) if keeps(folded) => {
                if current.is_empty() {
                    start = at;
                }
                current.extend(folded.to_lowercase());
                end = at + c.len_utf8();
            }
            // Shows nothing: a word may not be cut in two by it.
            None => {}
            Some(other) => {
                finish(
                    &mut found,
                    &mut current,
                    &mut parted,
                    offset + start..offset + end,
                );
                if !other.is_whitespace() && !matches!(other, '"' | '#' | '@' | '+' | '=' | '<' | '>') {
                    parted = Parting::Strong;
                }
            }
        }
    }
    finish(
        &mut found,
        &mut current,
        &mut parted,
        offset + start..offset + end,
    );
    found
}

fn finish(found: &mut Vec<Word>, current: &mut String, parted: &mut Parting, span: Range<usize>) {
    const EDGE: [char; 7] = ['.', '\'', ':', '-', '/', ',', '_'];
    let text = std::mem::take(current);
    if text.is_empty() {
        return;
    }
    let body = text.trim_start_matches(EDGE);
    let trimmed = body.trim_end_matches(EDGE);
    let lead = text.len() - body.len();
    let tail = body.len() - trimmed.len();
    *parted = (*parted).max(parting(&text[..lead]));
    if trimmed.is_empty() {
        return;
    }
    // Where all is ASCII and as long as it was written, each byte stands for itself in the answer.
    let span = if text.is_ascii() && span.end - span.start == text.len() {
        span.start + lead..span.end - tail
    } else {
        span
    };
    let behind = parting(&body[trimmed.len()..]);
    found.push(Word {
        text: trimmed.to_owned(),
        span,
        parted: std::mem::replace(parted, behind),
    });
}

fn parting(edge: &str) -> Parting {
    if edge.contains([':', '-', '.', '/']) {
        Parting::Strong
    } else if edge.contains(',') {
        Parting::Comma
    } else {
        Parting::Space
    }
}

/// Straightens typography. `None` for characters that show nothing.
fn fold(c: char) -> Option<char> {
    match c {
        '\u{2018}' | '\u{2019}' | '\u{201b}' | '\u{2bc}' | '\u{ff07}' | '\u{b4}' => Some('\''),
        '\u{2010}'..='\u{2013}' | '\u{2212}' => Some('-'),
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(c) - 0xfee0),
        // Shows nothing, or is emphasis around or inside a word.
        '\u{ad}'
        | '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{2064}'
        | '\u{feff}'
        | '*'
        | '`'
        | '~' => None,
        other => Some(other),
    }
}

fn is_markup(c: char) -> bool {
    matches!(
        c,
        '*' | '_' | '`' | '"' | '\'' | ')' | ']' | '~' | '\u{201d}' | '\u{2019}'
    )
}

fn keeps(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '\'' | '.' | ':' | '-' | '/' | '%' | '_' | ',')
}

/// Lower case, white space as single spaces, invisible characters gone: for looking at formatting itself.
pub(crate) fn flattened(answer: &str) -> String {
    let mut flat = String::with_capacity(answer.len());
    for c in answer.chars() {
        if c.is_whitespace() {
            if !flat.ends_with(' ') {
                flat.push(' ');
            }
            continue;
        }
        let straight = match c {
            '*' | '`' | '~' => Some(c),
            other => fold(other),
        };
        if let Some(c) = straight {
            flat.extend(c.to_lowercase());
        }
    }
    flat
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(answer: &str) -> Vec<Vec<String>> {
        sentences(answer)
            .into_iter()
            .map(|s| s.words.into_iter().map(|w| w.text).collect())
            .collect()
    }

    #[test]
    fn typography_markdown_and_invisible_characters_do_not_hide_words() {
        for answer in [
            "I've restarted it",
            "I\u{2019}ve **restarted** it",
            "I've re\u{200b}started\u{a0}it",
            "I've  `restarted` it",
        ] {
            assert_eq!(texts(answer), vec![vec!["i've", "restarted", "it"]], "{answer:?}");
        }
    }

    #[test]
    fn decimals_and_ids_stay_whole() {
        assert_eq!(
            texts("CPU is 45.2%. lxc:delly:141 is up!"),
            vec![vec!["cpu", "is", "45.2%"], vec!["lxc:delly:141", "is", "up"]]
        );
    }

    #[test]
    fn spans_point_into_the_answer() {
        for answer in ["Ok \u{2014} “Jellyfin” is at 45%.", "\u{b4}\u{23a}"] {
            for sentence in sentences(answer) {
                for word in sentence.words {
                    assert!(answer.get(word.span.clone()).is_some(), "{word:?}");
                }
            }
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_splits_into_words_that_lie_in_it(answer in ".{0,200}") {
            for sentence in sentences(&answer) {
                for word in sentence.words {
                    proptest::prop_assert!(answer.get(word.span).is_some());
                }
            }
        }
    }
}
