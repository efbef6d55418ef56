//! Work grows with the length of the text, whatever the text is.
//!
//! Every rule gives its own worst cases: its literal words repeated, opened and never closed, nested and in turn with those
//! of the other rules. What is measured is a count of bytes looked at, not a time.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::finder::Finders;
use crate::{Masker, StreamMasker, tokens, work};

/// Signs that open, close or part something.
const SIGNS: &[&str] = &[
    ":", "=", ": ", " ", "\n", "\"", "'", "\\\"", "{", "[", "(", "|\n  ", "@", ",", ";", "&", "%22", "<",
    ">", "- ", "\t", "\\", "${", "$",
];

/// The literal words of a pattern: runs of letters, digits and the signs that mean only themselves.
fn words(pattern: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut word = String::new();
    let mut characters = pattern.chars().peekable();
    while let Some(character) = characters.next() {
        if character.is_ascii_alphanumeric() || "_-:/ <=".contains(character) {
            word.push(character);
            continue;
        }
        if character == '\\' {
            characters.next();
        }
        if word.trim().len() >= 3 {
            found.insert(std::mem::take(&mut word));
        }
        word.clear();
    }
    if word.trim().len() >= 3 {
        found.insert(word);
    }
    found
}

/// Parts of texts that each rule reads far into, in the order in which they are tried.
fn seeds() -> Vec<String> {
    let mut seeds: BTreeSet<String> = BTreeSet::new();
    let literal: BTreeSet<String> = Finders::built_in()
        .into_iter()
        .flat_map(Finders::patterns)
        .flat_map(words)
        .collect();
    for word in &literal {
        for sign in SIGNS {
            seeds.insert(format!("{word}{sign}"));
        }
    }
    for (_, beginning) in tokens::beginnings() {
        seeds.insert(beginning.to_owned());
        seeds.insert(format!("{beginning}a"));
        seeds.insert(format!("{beginning}a1 "));
    }
    for shape in [
        "-----BEGIN PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\n",
        "-----END PRIVATE KEY-----\n",
        "-----BEGIN PRIVATE KEY-----\nMIIE\n",
        "-----BEGIN PRIVATE KEY-----\"",
        "Private-Lines: 1\nAAAA\n",
        "token:",
        "password=",
        "token=${",
        "token='${",
        "token=[\"${",
        "password=[\"password=[\",",
        "token: |\n token: |\n",
        "  data:\n  x:\n    data:\n    y:\n",
        "{\"data\":{",
        "{\"a\":{\"data\":{\"b\":\"c\"",
        "\"kind\":\"Secret\",",
        "apiVersion: v1\ndata:\n",
        "- data:\n  kind: Secret\n",
        "    a: b\nkind: Secret\n",
        "curl sshpass -p x ",
        "curl -u a ",
        "plink sshpass -p x ",
        "mysql redis-cli -a ",
        "docker sqlcmd -P x ",
        "echo a:password 'x' ",
        "://a:b",
        "://a:b@",
        "machine h login x ",
        "<password>",
        "secrets: {",
        "secrets:\n  a: b\n",
        "tokens: { tokens: { \"a\": \"b\",",
        "\u{1b}[1m",
        "\u{1b}]",
        "+a: b\n a: b\n",
        " a\n",
        "12:token:",
        "Authorization: x=1, ",
        "Cookie: a=",
        "$6$",
        "eyJhbGci.",
        "\\\\\\\\",
        "[masked:",
        "[masked:jwt]",
    ] {
        seeds.insert(shape.to_owned());
    }
    seeds.into_iter().collect()
}

fn cost(masker: &Masker, text: &str) -> u64 {
    work::take();
    std::hint::black_box(masker.mask_text(text));
    work::take()
}

fn streamed(masker: &Masker, text: &str) -> u64 {
    work::take();
    let mut stream = StreamMasker::new(masker.clone());
    for index in 0..text.len() {
        if let Some(piece) = text.get(index..=index) {
            std::hint::black_box(stream.push(piece));
        }
    }
    std::hint::black_box(stream.finish());
    work::take()
}

/// What doubling the text may multiply the work by: twice, and a little for what begins and ends once.
fn grows(small: u64, large: u64, length: usize) -> bool {
    large > small * 5 / 2 + 16 * length as u64
}

#[test]
fn doubling_a_text_doubles_the_work() {
    let masker = Masker::built_in();
    let mut wrong = String::new();
    let all = seeds();
    assert!(all.len() > 1000, "{}", all.len());
    for seed in &all {
        let small = seed.repeat((3_072 / seed.len()).max(1));
        let large = small.repeat(2);
        let (once, twice) = (cost(&masker, &small), cost(&masker, &large));
        if grows(once, twice, large.len()) || twice > 400 * large.len() as u64 {
            let _ = writeln!(wrong, "{seed:?}: {once} then {twice} for {} bytes", large.len());
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn two_rules_in_turn_cost_no_more() {
    let masker = Masker::built_in();
    let mut wrong = String::new();
    let all = seeds();
    // Every seed with one far from it in the order, which is another for each.
    for (index, first) in all.iter().enumerate().step_by(3) {
        let second = &all[(index * 31 + 17) % all.len()];
        let pair = format!("{first}{second}");
        let small = pair.repeat((3_072 / pair.len()).max(1));
        let large = small.repeat(2);
        let (once, twice) = (cost(&masker, &small), cost(&masker, &large));
        if grows(once, twice, large.len()) || twice > 400 * large.len() as u64 {
            let _ = writeln!(wrong, "{pair:?}: {once} then {twice} for {} bytes", large.len());
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn one_byte_at_a_time_costs_no_more() {
    let masker = Masker::built_in();
    let mut wrong = String::new();
    let all = seeds();
    let some = all.iter().step_by(60).map(String::as_str);
    for seed in some.chain([
        "a ",
        "a",
        "password ",
        "the token is gone. ",
        "token:",
        "-----BEGIN PRIVATE KEY-----\n",
    ]) {
        let small = seed.repeat((8_192 / seed.len()).max(1));
        let large = small.repeat(2);
        let (once, twice) = (streamed(&masker, &small), streamed(&masker, &large));
        if grows(once, twice, large.len()) || twice > 800 * large.len() as u64 {
            let _ = writeln!(wrong, "{seed:?}: {once} then {twice} for {} bytes", large.len());
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn a_document_of_any_depth_costs_no_more() {
    let masker = Masker::built_in();
    for (open, close) in [
        ("{\"data\":", "}"),
        ("{\"a\":{\"data\":{\"b\":\"c\",\"d\":", "}}}"),
        ("[", "]"),
        ("{\"secrets\":{\"a\":", "}}"),
    ] {
        let text = |depth: usize| format!("{}\"apiVersion\"{}", open.repeat(depth), close.repeat(depth));
        let (small, large) = (text(1000), text(2000));
        let (once, twice) = (cost(&masker, &small), cost(&masker, &large));
        assert!(!grows(once, twice, large.len()), "{open}: {once} then {twice}");
    }
}
