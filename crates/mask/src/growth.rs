//! Work grows with the length of the text, whatever the text is.
//!
//! The texts come from `adversary`. What is measured is a count of bytes looked at, not a time.

use std::fmt::Write as _;

use crate::adversary::{pairs, repeated, seeds};
use crate::{Masker, StreamMasker, work};

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
        let small = repeated(seed, 3_072);
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
    for pair in pairs() {
        let small = repeated(&pair, 3_072);
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
        let small = repeated(seed, 8_192);
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
