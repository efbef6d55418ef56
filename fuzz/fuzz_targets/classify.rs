//! The shell analysis, whatever it is given: it answers, it answers the same again, and a write put behind or around a
//! command is never lost.

#![no_main]

use interlock_shell::{Intent, classify};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|command: &str| {
    let verdict = classify(command);
    assert_eq!(verdict, classify(command), "the same command, another verdict: {command:?}");

    // An escape at the end would take the separator into a word: `ls \; rm x` lists a file that is called `;`.
    if command.bytes().rev().take_while(|&byte| byte == b'\\').count() % 2 == 1 {
        return;
    }
    // However else the text ends, the added part is either a write of its own or inside something unfinished, which is not
    // understood; both are writes, and what is not understood has the highest risk.
    for tail in ["; rm x", " && rm x", " || rm x", " | rm x", " & rm x", "\nrm x"] {
        let longer = format!("{command}{tail}");
        let after = classify(&longer);
        assert!(
            after.intent >= verdict.intent && after.risk >= verdict.risk,
            "milder with {tail:?}: {command:?} was {verdict:?}, is {after:?}"
        );
    }
    // On a line of its own a write counts, unless the text before it swallows the line (a quote, a here-document or an
    // escaped line break), and then it must not have been understood as a finished command either.
    if verdict.intent != Intent::WriteOrUnknown {
        let after = classify(&format!("{command}\nrm x"));
        assert_eq!(after.intent, Intent::WriteOrUnknown, "a write was lost behind {command:?}");
    }
});
