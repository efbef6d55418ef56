//! Tokens without a beginning of their own, known by their length, their alphabet and their parts.
//!
//! Only long runs of the letters of tokens are looked at. A run of at least so many characters is found by its last
//! character first, so that most of a text is never read.

use std::ops::Range;

use crate::Kind;
use crate::span::Spans;
use crate::work::looked_at;

/// The shortest token that is looked for.
const LEAST: usize = 52;

fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_.-".contains(&byte)
}

/// The runs of at least [`LEAST`] such characters.
fn runs(bytes: &[u8]) -> impl Iterator<Item = Range<usize>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        while let Some(window) = bytes.get(at..at + LEAST) {
            if let Some(other) = window.iter().rposition(|byte| !is_token(*byte)) {
                at += other + 1;
                continue;
            }
            let start = at;
            let rest = &bytes[start + LEAST..];
            at += LEAST + rest.iter().take_while(|byte| is_token(**byte)).count();
            return Some(start..at);
        }
        None
    })
}

/// Adds every token that shows by its shape what it is.
pub(crate) fn find(text: &str, spans: &mut Spans) {
    looked_at(text.len() / 8);
    for run in runs(text.as_bytes()) {
        looked_at(run.len());
        let word = &text[run.clone()];
        let inside = word.trim_matches(['.', '-']);
        if is_azure_devops(inside) || is_discord(inside) {
            let start = run.start + word.len() - word.trim_start_matches(['.', '-']).len();
            spans.add(start..start + inside.len(), Kind::VendorToken);
        }
    }
}

/// A personal access token of Azure DevOps: 52 characters of base32 in small letters, or 84 with a mark in them.
fn is_azure_devops(word: &str) -> bool {
    let base32 = |byte: u8| byte.is_ascii_lowercase() || (b'2'..=b'7').contains(&byte);
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    match word.len() {
        52 => digits >= 3 && word.bytes().all(base32) && turns(word) >= 6,
        84 => word.get(76..80) == Some("AZDO") && word.bytes().all(|byte| byte.is_ascii_alphanumeric()),
        _ => false,
    }
}

/// A token of a bot of Discord: its number in base64, a time, and a signature.
fn is_discord(word: &str) -> bool {
    let mut parts = word.split('.');
    let (Some(bot), Some(time), Some(signature), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return false;
    };
    bot.starts_with(['M', 'N', 'O'])
        && (23..=28).contains(&bot.len())
        && time.len() == 6
        && (27..=38).contains(&signature.len())
        && turns(bot) >= 6
        && turns(signature) >= 8
}

/// How often letters of one case, of the other and digits follow each other.
fn turns(word: &str) -> usize {
    let class = |byte: u8| {
        (
            byte.is_ascii_digit(),
            byte.is_ascii_uppercase(),
            byte.is_ascii_lowercase(),
        )
    };
    word.as_bytes()
        .windows(2)
        .filter(|pair| class(pair[0]) != class(pair[1]))
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_found_wherever_they_stand() {
        let run = "a1".repeat(30);
        for text in [
            run.clone(),
            format!(" {run}"),
            format!("{run} "),
            format!("a b {run}.c, {run}\n{run}"),
            format!("{}{run}{}", "ab ".repeat(40), " ab".repeat(40)),
        ] {
            let slow: Vec<&str> = text
                .split(|letter: char| !letter.is_ascii() || !is_token(letter as u8))
                .filter(|word| word.len() >= LEAST)
                .collect();
            let fast: Vec<&str> = runs(text.as_bytes()).map(|range| &text[range]).collect();
            assert_eq!(fast, slow, "{text}");
        }
    }
}
