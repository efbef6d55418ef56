//! What needs no shell means the same without one.

use std::process::Stdio;

use interlock_confine::Stderr;
use proptest::prelude::*;

use crate::{Simple, argv_of, pipeline_of};

#[test]
fn simple_commands_are_vectors() {
    let cases: [(&str, &[&str]); 9] = [
        ("uptime", &["uptime"]),
        ("  ls\t-la  /var/log ", &["ls", "-la", "/var/log"]),
        ("grep 'a b' file", &["grep", "a b", "file"]),
        ("grep \"it's\" file", &["grep", "it's", "file"]),
        ("grep a'b'\"c\"d", &["grep", "abcd"]),
        ("grep ''", &["grep", ""]),
        (
            "grep '$HOME * ~ \\ `id` ; # !'",
            &["grep", "$HOME * ~ \\ `id` ; # !"],
        ),
        ("dd if=/dev/sda", &["dd", "if=/dev/sda"]),
        ("grep 'zwei\nZeilen' ü.txt'", &[]),
    ];
    for (command, argv) in cases {
        let expected = (!argv.is_empty()).then(|| argv.iter().map(ToString::to_string).collect::<Vec<_>>());
        assert_eq!(argv_of(command), expected, "{command}");
    }
}

/// The words of a program, where its errors go, and its text.
type Expected<'a> = (&'a [&'a str], Stderr, &'a str);

#[test]
fn pipelines_of_simple_commands_need_no_shell() {
    let cases: [(&str, &[Expected<'_>]); 6] = [
        (
            "docker ps | grep 'a|b'",
            &[
                (&["docker", "ps"], Stderr::Kept, "docker ps"),
                (&["grep", "a|b"], Stderr::Kept, "grep 'a|b'"),
            ],
        ),
        (
            "ps aux 2>/dev/null|sort|head -3 2>&1",
            &[
                (&["ps", "aux"], Stderr::Null, "ps aux 2>/dev/null"),
                (&["sort"], Stderr::Kept, "sort"),
                (&["head", "-3"], Stderr::Output, "head -3 2>&1"),
            ],
        ),
        ("ls 2> /dev/null", &[(&["ls"], Stderr::Null, "ls 2> /dev/null")]),
        ("ls x2", &[(&["ls", "x2"], Stderr::Kept, "ls x2")]),
        (
            "ls 2 | cat",
            &[
                (&["ls", "2"], Stderr::Kept, "ls 2"),
                (&["cat"], Stderr::Kept, "cat"),
            ],
        ),
        (
            "grep '2>&1' f",
            &[(&["grep", "2>&1", "f"], Stderr::Kept, "grep '2>&1' f")],
        ),
    ];
    for (command, stages) in cases {
        let expected: Vec<Simple> = stages
            .iter()
            .map(|(words, stderr, text)| Simple {
                words: words.iter().map(ToString::to_string).collect(),
                stderr: *stderr,
                text: (*text).to_owned(),
            })
            .collect();
        assert_eq!(pipeline_of(command), Some(expected), "{command}");
    }
    for command in [
        "a || b",
        "a |& b",
        "a |",
        "| a",
        "a | | b",
        "a | echo b",
        "a 2>/dev/nullx",
        "a 2>/dev/null b",
        "a 2>&1x",
        "a 2>&1 2>/dev/null",
        "a12>&1",
        "a 2>file",
        "a >/dev/null",
        "a | b; c",
        "a | b &",
        "a\n| b",
    ] {
        assert_eq!(pipeline_of(command), None, "{command:?}");
    }
}

#[test]
fn everything_else_is_for_a_shell() {
    let commands = [
        "",
        "  ",
        "''",
        "a;b",
        "a|b",
        "a&",
        "a>b",
        "a<b",
        "(a)",
        "{ a",
        "a $b",
        "a `b`",
        "a \"$b\"",
        "a \"`b`\"",
        "a \\b",
        "a \"\\b\"",
        "a *",
        "a ?",
        "a [b]",
        "a ~",
        "~/a",
        "a # b",
        "A=b c",
        "a=b",
        "! a",
        "a {b,c}",
        "a\nb",
        "a 'b",
        "a \"b",
        "a \"b!\"",
        "a\u{a0}b",
        "cd /",
        "echo a",
        ". a",
        "if a",
        "while a",
        "'if' a",
        "time a",
        "a\r",
        "a\0",
        "a '\0'",
        "exec a",
        "eval a",
        "[ a ]",
        "test a",
        "printf a",
    ];
    for command in commands {
        assert_eq!(argv_of(command), None, "{command:?}");
    }
}

#[expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "what a real shell makes of the words is what ours is compared with"
)]
fn words_by(shell: &str, text: &str) -> Vec<String> {
    let output = std::process::Command::new(shell)
        .args(["-c", &format!("printf '%s\\0' {text}")])
        .env_clear()
        .env("LANG", "C.UTF-8")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(output.status.success(), "{text:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.strip_suffix('\0')
        .unwrap()
        .split('\0')
        .map(str::to_owned)
        .collect()
}

/// Pieces of command lines: plain, quoted, and what must be left to a shell.
fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => "[a-z0-9_./:,+@%=-]{1,6}",
        4 => "'[ -&(-~\\n\u{e4}]{0,6}'",
        4 => "\"[a-z '*?~#;|&<>(){}\\[\\]]{0,6}\"",
        6 => "[ \\t]{1,2}",
        1 => "[ -~\\n]{1,2}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_vector_has_the_words_that_a_shell_reads(pieces in prop::collection::vec(piece(), 1..8)) {
        let text = pieces.concat();
        if let Some(argv) = argv_of(&text) {
            prop_assert_eq!(&words_by("/bin/sh", &text), &argv);
        }
    }
}
