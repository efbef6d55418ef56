//! Laws that hold for every command: what is never said, and what never gets milder.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot set itself up fails"
)]

mod pieces;

use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use interlock_shell::{Intent, Risk, Verdict, classify};
use proptest::prelude::*;
use proptest::sample::select;

use pieces::PIECES;

/// Every example of the table.
static EXAMPLES: LazyLock<Vec<String>> = LazyLock::new(|| {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs");
    let mut examples = Vec::new();
    for file in fs::read_dir(folder).unwrap() {
        let file = file.unwrap().path();
        if file.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        let family: toml::Table = fs::read_to_string(&file)
            .unwrap()
            .parse()
            .expect("the table is TOML");
        for program in family["program"].as_array().expect("programs") {
            for key in ["allow", "refuse", "unbounded"] {
                let listed = program.get(key).and_then(toml::Value::as_array);
                examples.extend(
                    listed
                        .into_iter()
                        .flatten()
                        .map(|text| text.as_str().expect("text").to_owned()),
                );
            }
        }
    }
    examples.sort();
    examples
});

/// Any text; text made of shell syntax; and what was seen to break parsers.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        1 => any::<String>(),
        1 => "[ -~\n\t]{0,60}",
        4 => proptest::collection::vec(select(PIECES), 0..16).prop_map(|pieces| pieces.concat()),
        2 => (command(), proptest::collection::vec((any::<proptest::sample::Index>(), select(PIECES)), 0..4))
            .prop_map(|(text, edits)| insert(&text, edits)),
    ]
}

fn insert(text: &str, edits: Vec<(proptest::sample::Index, &str)>) -> String {
    let mut characters: Vec<char> = text.chars().collect();
    for (index, piece) in edits {
        let at = index.index(characters.len() + 1);
        characters.splice(at..at, piece.chars());
    }
    characters.into_iter().collect()
}

/// A command of the table, as it stands or with an argument more, less or changed.
fn command() -> impl Strategy<Value = String> {
    let example = select(EXAMPLES.as_slice());
    let argument = select(&[
        "-f",
        "-o",
        "-n",
        "-i",
        "-e",
        "-r",
        "--output=x",
        "--follow",
        "--force",
        "-delete",
        "x",
        "/etc/shadow",
        "$x",
        "\"$x\"",
        "*",
        "-20",
        "--",
        "'a b'",
        "/dev/zero",
        "1",
        "host",
        "-it",
        "--help",
        "~",
        "2>&1",
    ]);
    prop_oneof![
        3 => example.clone(),
        1 => (example.clone(), argument.clone()).prop_map(|(command, argument)| format!("{command} {argument}")),
        1 => (example.clone(), argument, any::<proptest::sample::Index>()).prop_map(|(command, argument, index)| {
            let mut words: Vec<&str> = command.split(' ').collect();
            let at = index.index(words.len());
            if at > 0 {
                words[at] = argument;
            }
            words.join(" ")
        }),
        1 => (example, any::<proptest::sample::Index>()).prop_map(|(command, index)| {
            let mut words: Vec<&str> = command.split(' ').collect();
            if words.len() > 1 {
                words.remove(1 + index.index(words.len() - 1));
            }
            words.join(" ")
        }),
    ]
}

/// A command that a shell would take as a whole, and that does not reach for what follows it.
fn complete(command: &str) -> bool {
    let understood = !classify(command)
        .reasons
        .iter()
        .any(|reason| reason.why.contains("is not understood as a shell command"));
    understood && !command.contains("<<") && !command.contains('#') && !command.ends_with(['\\', '&', ';'])
}

/// In which way a verdict is milder than another one.
fn milder(than: &Verdict, verdict: &Verdict) -> Option<&'static str> {
    if verdict.intent < than.intent {
        Some("intent")
    } else if verdict.risk < than.risk {
        Some("risk")
    } else if than.sensitive && !verdict.sensitive {
        Some("sensitive")
    } else if than.network && !verdict.network {
        Some("network")
    } else {
        None
    }
}

fn never_milder(inner: &str, outer: &str) -> Result<(), TestCaseError> {
    let way = milder(&classify(inner), &classify(outer));
    prop_assert!(
        way.is_none(),
        "{} of {outer:?} is milder than that of {inner:?}",
        way.unwrap_or_default()
    );
    Ok(())
}

fn never_bounded_by_itself(inner: &str, outer: &str) -> Result<(), TestCaseError> {
    prop_assert!(
        classify(inner).bounded || !classify(outer).bounded,
        "{outer:?} is bounded, {inner:?} is not"
    );
    Ok(())
}

fn single_quoted(command: &str) -> String {
    format!("'{}'", command.replace('\'', r"'\''"))
}

fn double_quoted(command: &str) -> String {
    let mut out = String::from("\"");
    for c in command.chars() {
        if matches!(c, '\\' | '"' | '$' | '`') {
            out.push('\\');
        }
        out.push(c);
    }
    out.push('"');
    out
}

/// Texts that run the command `@C@`, or the one that is quoted as `@Q@` or `@W@`, or a shell that runs it as `@S@`.
const AROUND: &[&str] = &[
    "(@C@\n)",
    "( (@C@\n) )",
    "{ @C@\n}",
    "! @C@",
    "time @C@",
    "if true; then @C@\nfi",
    "if @C@\nthen true; fi",
    "if false; then ls; else @C@\nfi",
    "for i in a; do @C@\ndone",
    "case a in a) @C@\nesac",
    "true && @C@",
    "ls /etc; @C@",
    "@C@\nls /etc",
    "{ @C@\n} 2>/dev/null",
    "{ @C@\n} | cat",
    "@C@ 2>/dev/null",
    "@C@ | cat",
    "sh -c @Q@",
    "sh -c @W@",
    "bash -c @Q@",
    "bash -ec @W@",
    "env sh -c @Q@",
    "nice -n 5 sh -c @Q@",
    "setsid -w sh -c @Q@",
    "stdbuf -oL bash -c @Q@",
    "nohup sh -c @Q@",
    "ssh host @Q@",
    "ssh user@host @W@",
    "docker exec x sh -c @Q@",
    "kubectl exec x -- sh -c @Q@",
    "pct exec 100 -- sh -c @Q@",
    "sh -c @S@",
];

/// Programs that run the arguments behind them.
const BEFORE: &[&str] = &[
    "env",
    "nice",
    "nice -n 5",
    "nohup",
    "setsid",
    "setsid -w",
    "stdbuf -oL",
    "command",
    "time",
    "env LANG=C",
    "nice env",
];

fn surround(around: &str, command: &str) -> String {
    let shell = format!("bash -c {}", double_quoted(command));
    around
        .replace("@Q@", &single_quoted(command))
        .replace("@W@", &double_quoted(command))
        .replace("@S@", &single_quoted(&shell))
        .replace("@C@", command)
}

/// A single program with its arguments, as far as can be told without a grammar.
fn plain(command: &str) -> bool {
    !command.contains([';', '|', '&', '(', '{', '!', '\n', '<', '>', '#', '`', '$']) && {
        let first = command.split(' ').next().unwrap_or_default();
        !first.contains('=') && !RESERVED.contains(&first) && !first.starts_with(['\'', '"'])
    }
}

const RESERVED: &[&str] = &[
    "if", "then", "else", "elif", "fi", "for", "in", "do", "done", "while", "until", "case", "esac",
    "select", "function", "time", "coproc", "!", "[[", "]]", "{", "}",
];

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: ProptestConfig::default().cases * 16, max_global_rejects: 1 << 20, ..ProptestConfig::default() })]

    #[test]
    fn no_text_makes_it_panic(text in text()) {
        classify(&text);
    }

    #[test]
    fn a_write_before_anything_makes_it_a_write(text in text(), separator in select(&["\n", "; ", " && ", " | ", " || ", " & "])) {
        let verdict = classify(&format!("rm x{separator}{text}"));
        prop_assert_eq!(verdict.intent, Intent::WriteOrUnknown);
    }

    #[test]
    fn a_write_behind_anything_makes_it_a_write(
        text in text(),
        write in select(&["; rm x", " && rm x", " | rm x", "\nrm x", " & rm x", " || rm x", ";rm x", "&&rm x", "|rm x", "&rm x"]),
    ) {
        // Behind a comment, a line continuation or an open here-document nothing is a command any more.
        prop_assume!(!text.contains('#') && !text.contains("<<") && !text.ends_with('\\'));
        let verdict = classify(&format!("{text}{write}"));
        prop_assert_eq!(verdict.intent, Intent::WriteOrUnknown);
    }

    #[test]
    fn more_commands_never_make_it_milder(
        first in command(),
        second in command(),
        separator in select(&["; ", "\n", " && ", " || ", " & ", ";", "&&"]),
    ) {
        prop_assume!(complete(&first) && complete(&second));
        let both = format!("{first}{separator}{second}");
        for each in [&first, &second] {
            never_milder(each, &both)?;
            never_bounded_by_itself(each, &both)?;
        }
    }

    #[test]
    fn a_pipe_is_no_milder_than_its_stages(first in command(), second in command()) {
        prop_assume!(complete(&first) && complete(&second));
        let both = format!("{first} | {second}");
        never_milder(&first, &both)?;
        // These search their input where they are fed, and the folder where they run otherwise.
        let searches = second.split(|c: char| !c.is_alphanumeric()).any(|word| matches!(word, "rg" | "ripgrep" | "ag"));
        if !searches {
            never_milder(&second, &both)?;
        }
        // The second stage may end because the first one does.
        never_bounded_by_itself(&first, &both)?;
    }

    #[test]
    fn what_surrounds_a_command_never_makes_it_milder(command in command(), around in select(AROUND)) {
        prop_assume!(complete(&command));
        let outer = surround(around, &command);
        never_milder(&command, &outer)?;
        never_bounded_by_itself(&command, &outer)?;
    }

    #[test]
    fn a_program_that_runs_another_is_no_milder(command in command(), before in select(BEFORE)) {
        prop_assume!(complete(&command) && plain(&command));
        let outer = format!("{before} {command}");
        never_milder(&command, &outer)?;
        never_bounded_by_itself(&command, &outer)?;
    }

    #[test]
    fn a_time_limit_bounds_and_does_nothing_else(command in command(), before in select(&["timeout 5", "timeout -k 1 5s", "timeout 0"])) {
        prop_assume!(complete(&command) && plain(&command));
        let outer = format!("{before} {command}");
        never_milder(&command, &outer)?;
        if before == "timeout 0" {
            never_bounded_by_itself(&command, &outer)?;
        }
    }

    #[test]
    fn arguments_from_a_pipe_never_make_it_milder(command in command(), before in select(&["xargs", "xargs -n1", "xargs -0 -r", "xargs -I{}"])) {
        prop_assume!(complete(&command) && plain(&command));
        let outer = format!("echo x | {before} {command}");
        // Its standard input is empty there, and it has an argument more: `env x` does not print the environment.
        let more = if before.contains("-I") { "" } else { " x" };
        let inner = format!("{command}{more} </dev/null");
        never_milder(&inner, &outer)?;
        prop_assert!(classify(&inner).bounded || !classify(&outer).is_bounded_read(), "{outer:?} may run, {inner:?} never ends");
    }

    #[test]
    fn quoting_a_word_never_makes_it_milder(command in command(), index in any::<proptest::sample::Index>(), form in 0..4_u8) {
        prop_assume!(complete(&command) && !command.contains(['\'', '"', '\\', '`']));
        let mut words: Vec<String> = command.split(' ').map(str::to_owned).collect();
        let at = index.index(words.len());
        let word = words[at].clone();
        let literal = |c: char| c.is_ascii_alphanumeric() || "_./-=:@%+,".contains(c);
        prop_assume!(!word.is_empty() && word.chars().all(literal) && !RESERVED.contains(&word.as_str()));
        words[at] = match form {
            0 => format!("'{word}'"),
            1 => format!("\"{word}\""),
            2 => format!("{}\\{}", &word[..word.len() - 1], &word[word.len() - 1..]),
            _ => format!("{}''{}", &word[..1], &word[1..]),
        };
        let quoted = words.join(" ");
        never_milder(&command, &quoted)?;
        never_bounded_by_itself(&command, &quoted)?;
    }

    #[test]
    fn a_rewrite_is_itself_a_bounded_read(command in command(), around in select(AROUND)) {
        for text in [command.clone(), surround(around, &command)] {
            let verdict = classify(&text);
            if let Some(rewrite) = &verdict.rewrite {
                prop_assert!(!verdict.bounded, "{text:?} ends, and was rewritten");
                prop_assert!(classify(rewrite).is_bounded_read(), "{text:?} was rewritten as {rewrite:?}");
            }
        }
    }

    #[test]
    fn a_read_risks_nothing_and_a_write_something(text in text()) {
        let verdict = classify(&text);
        prop_assert_eq!(verdict.intent == Intent::WriteOrUnknown, verdict.risk != Risk::ReadOnly);
        prop_assert_eq!(verdict.bounded, verdict.category.is_none());
        prop_assert!(verdict.network || verdict.hosts.is_empty());
        prop_assert!(!verdict.reasons.is_empty(), "nothing is said about it");
    }
}

/// Runs with no more stack than a small thread has.
fn on_a_small_stack(texts: Vec<String>) {
    let judge = move || {
        for text in texts {
            let start: String = text.chars().take(40).collect();
            let verdict = classify(&text);
            assert_eq!(
                verdict.intent,
                Intent::WriteOrUnknown,
                "{start:?}, {} bytes long, is a read",
                text.len()
            );
        }
    };
    std::thread::Builder::new()
        .stack_size(1 << 20)
        .spawn(judge)
        .unwrap()
        .join()
        .expect("no overflow, no panic");
}

/// What opens something that can hold itself, and what closes it.
const NESTS: &[(&str, &str)] = &[
    ("(", ")"),
    ("{ ", "; }"),
    ("{", "}"),
    ("[", "]"),
    ("[[ ( ", " ) ]]"),
    ("[[ ! ", " ]]"),
    ("[[ ", " ]]"),
    ("$(", ")"),
    ("\"$(", ")\""),
    ("`", "`"),
    ("\\`", "\\`"),
    ("$((", "))"),
    ("((", "))"),
    ("$[", "]"),
    ("${x:-", "}"),
    ("\"${x:-", "}\""),
    ("${", "}"),
    ("<(", ")"),
    ("'", "'"),
    ("\"", "\""),
    ("\\\"", "\\\""),
    ("\\", ""),
    ("if ", "; then x; fi"),
    ("if x; then ", "; fi"),
    ("while ", "; do x; done"),
    ("until ", "; do x; done"),
    ("for i in a; do ", "; done"),
    ("case x in x) ", ";; esac"),
    ("select i in a; do ", "; done"),
    ("f() { ", "; }"),
    ("f() ", ""),
    ("function f ", ""),
    ("coproc ", ""),
    ("time ", ""),
    ("! ", ""),
    ("x=", ""),
    ("a[", "]"),
    ("a=(", ")"),
    ("<<E ", "\nE\n"),
    ("cat <<E\n", "\nE\n"),
    ("$(cat <<E\n", "\nE\n)"),
    ("> ", ""),
    ("2>&1 ", ""),
    ("x | ", ""),
    ("x && ", ""),
    ("x; ", ""),
    ("x & ", ""),
    ("x\n", ""),
    ("{a,", "}"),
    ("{1..9}", ""),
    ("@(", ")"),
    ("env ", ""),
    ("nice ", ""),
    ("timeout 5 ", ""),
    ("sudo ", ""),
    ("xargs ", ""),
    ("find . -exec ", " \\;"),
    ("sh -c ", ""),
    ("ssh host ", ""),
    ("busybox ", ""),
];

#[test]
fn deep_nesting_is_refused_without_overflowing_the_stack() {
    let mut texts = Vec::new();
    for (open, close) in NESTS {
        for depth in [13, 25, 100, 1_000, 10_000] {
            let nested = format!("{}rm x{}", open.repeat(depth), close.repeat(depth));
            texts.push(format!("{}rm x", open.repeat(depth)));
            texts.push(format!("rm x; sh -c {}", single_quoted(&nested)));
            texts.push(format!("rm x; {nested}"));
            texts.push(nested);
        }
    }
    on_a_small_stack(texts);
}

#[test]
fn deep_nesting_in_the_languages_of_arguments_does_not_overflow_the_stack() {
    let mut texts = Vec::new();
    let deep = |open: &str, middle: &str, close: &str, depth: usize| {
        format!("{}{middle}{}", open.repeat(depth), close.repeat(depth))
    };
    for depth in [100, 1_000, 5_000] {
        for program in [
            "psql -c",
            "mysql -e",
            "sqlite3 x",
            "awk",
            "sed",
            "jq",
            "find .",
            "redis-cli",
            "expr",
            "test",
            "yq",
        ] {
            for (open, middle, close) in [
                ("(", "1", ")"),
                ("{", "1", "}"),
                ("[", "1", "]"),
                ("select (", "1", ")"),
                ("select * from (", "select 1", ") x"),
                ("not ", "true", ""),
                ("- ", "1", ""),
                ("! ", "1", ""),
                ("case when ", "1", " then 1 end"),
                ("with x as (", "select 1", ") select 1"),
                ("explain ", "select 1", ""),
                ("1 + ", "1", ""),
                ("a.", "a", ""),
                ("/", "a", "/"),
                ("if (1) ", "x", ""),
                ("a[", "1", "]"),
                ("\"", "x", "\""),
                ("/* ", "x", " */"),
                ("$", "1", ""),
                ("; ", "", ""),
            ] {
                let text = deep(open, middle, close, depth);
                texts.push(format!("{program} {}; rm x", single_quoted(&text)));
                texts.push(format!("{program} {text}; rm x"));
                texts.push(format!(
                    "{program} {}; rm x",
                    single_quoted(&format!("select {text}"))
                ));
            }
        }
    }
    on_a_small_stack(texts);
}

#[test]
fn long_commands_are_refused() {
    let mut texts = Vec::new();
    for length in [100 << 10, 10 << 20] {
        for piece in [
            "ls; ", "a", "(", "'", "\"", "$(", "`", "\\", " ", "\n", "ls | ", "é", "{a,b}", "<<E\n", "#",
            "if ", "*", "$x ",
        ] {
            texts.push(piece.repeat(length / piece.len()));
            texts.push(format!("ls {}", piece.repeat(length / piece.len())));
        }
    }
    on_a_small_stack(texts);
}
