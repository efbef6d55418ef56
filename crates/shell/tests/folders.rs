//! Which file a command opens, against which file the analysis thinks it opens.
//!
//! Scripts made of `cd`, `pushd`, subshells, loops and conditions run in bash and in a plain shell. The programs that
//! would print a file are replaced by a marker that notes the real path of what it was given. A script that reached
//! `/etc/shadow` or `/proc/keys` must have been called sensitive, or not a read at all.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot set itself up fails"
)]

mod sandbox;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use interlock_shell::{Intent, classify};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::{Config, TestRunner};

const CASES: usize = 400;

/// A job is a folder: the text, the shell, and the folder where it starts.
const WORKER: &str = r#"
timeout=$(command -v timeout) || exit 1
arena=$1
while IFS= read -r job; do
  IFS= read -r shell < "$job/shell"
  cd "$job/start" || exit 1
  PATH=$arena/bin:/usr/local/bin:/usr/bin:/bin HOME=/etc MARKED=$job/opened \
    "$timeout" -k 1 5 "$shell" "$job/text" </dev/null >/dev/null 2>&1
done
true
"#;

/// Notes what it would open.
const MARKER: &str = r#"#!/bin/sh
for name; do
  realpath -e -- "$name" >> "$MARKED" 2>/dev/null
done
true
"#;

fn folder() -> impl Strategy<Value = String> {
    let others = select(&[
        "/etc",
        "/",
        "..",
        "/etc/ssl",
        "/etc/ssl/..",
        "/nonexistent",
        "a",
        "a/b",
        ".",
        "-",
        "~",
        "$HOME",
        "$d",
        "\"$d\"",
        "/usr/../etc",
        "/etc/.",
        "//etc",
        "etc",
        "../..",
        "../../../../../../etc",
        "-- /etc",
        "-P /etc",
        "''",
    ])
    .prop_map(str::to_owned);
    prop_oneof![2 => Just("/etc".to_owned()), 1 => others]
}

fn name() -> impl Strategy<Value = String> {
    let others = select(&[
        "shadow",
        "./shadow",
        "hosts",
        "../etc/shadow",
        "etc/shadow",
        "/etc/shadow",
        "sha*",
        "*",
        "$f",
        "\"$f\"",
        "${f}",
        "../shadow",
        "s[h]adow",
        "{shadow,hosts}",
        "/etc/$f",
        "$d/shadow",
        "\"$d\"/\"$f\"",
        "sh?dow",
        "shado\\w",
        "'shadow'",
        "/etc/ssl/../shadow",
        "ssl/../shadow",
        "-- shadow",
        "a/../shadow",
    ])
    .prop_map(str::to_owned);
    prop_oneof![2 => Just("shadow".to_owned()), 1 => others]
}

/// One command.
fn simple() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => folder().prop_map(|folder| format!("cd {folder}")),
        1 => folder().prop_map(|folder| format!("pushd {folder}")),
        1 => Just("popd".to_owned()),
        1 => Just("pushd".to_owned()),
        5 => (select(&["cat", "head -n 1", "tail -n 1", "tac", "grep -h x", "timeout 5 cat", "env cat", "command cat"]), name())
            .prop_map(|(program, name)| format!("{program} {name}")),
        1 => name().prop_map(|name| format!("cat < {name}")),
        1 => Just("true".to_owned()),
        1 => Just("false".to_owned()),
        1 => name().prop_map(|name| format!("echo {name} | xargs cat")),
        1 => folder().prop_map(|folder| format!("find {folder} -maxdepth 1 -name shadow -exec cat {{}} \\;")),
        1 => Just("find /etc -maxdepth 1 -name shadow -execdir cat {} \\;".to_owned()),
        1 => Just("find /etc -maxdepth 1 -name hosts -execdir cat shadow \\;".to_owned()),
        1 => Just("f=shadow".to_owned()),
        1 => Just("d=/etc".to_owned()),
        1 => Just("f=hosts".to_owned()),
        1 => Just("echo shadow | while read -r f; do cat \"$f\"; done".to_owned()),
    ]
}

/// Commands, put together.
fn script() -> impl Strategy<Value = String> {
    simple().prop_recursive(4, 24, 4, |inner| {
        let values = select(&["shadow", "hosts", "/etc", "/etc shadow", "hosts shadow", "/etc/shadow", "\"$f\"", "*", "/etc/s*", "a"]);
        prop_oneof![
            3 => (inner.clone(), select(&["; ", " && ", " || ", "\n"]), inner.clone()).prop_map(|(a, joint, b)| format!("{a}{joint}{b}")),
            1 => inner.clone().prop_map(|body| format!("({body})")),
            1 => inner.clone().prop_map(|body| format!("{{ {body}; }}")),
            2 => (select(&["f", "d", "i"]), values, inner.clone())
                .prop_map(|(variable, values, body)| format!("for {variable} in {values}; do {body}; done")),
            1 => (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("for i in 1 2; do {a}; {b}; done")),
            1 => (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("if {a}; then {b}; fi")),
            1 => inner.clone().prop_map(|body| format!("! {body}")),
            1 => (inner.clone(), inner).prop_map(|(a, b)| format!("{a} | {b}")),
        ]
    })
}

fn scripts() -> Vec<String> {
    let mut runner = TestRunner::new(Config::default());
    let mut scripts = fixed();
    scripts.extend(fixed().iter().map(|text| about_keys(text)));
    let script = script();
    while scripts.len() < CASES {
        let text = script.new_tree(&mut runner).expect("a script").current();
        if text.len() < 400 {
            scripts.push(about_keys(&text));
            scripts.push(text);
        }
    }
    scripts
}

/// The same script about `/proc/keys`, whose bare name says nothing: only the folder gives it away.
fn about_keys(text: &str) -> String {
    [
        ("/etc", "/proc"),
        ("/ssl", "/sys"),
        ("ssl/", "sys/"),
        ("etc/", "proc/"),
        ("cd etc", "cd proc"),
        ("sha*", "key*"),
        ("/s*", "/k*"),
        ("s[h]adow", "k[e]ys"),
        ("sh?dow", "k?ys"),
        ("shado\\w", "key\\s"),
        ("shadow", "keys"),
    ]
    .iter()
    .fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
}

/// Scripts that once passed.
fn fixed() -> Vec<String> {
    [
        "cd /etc && cat shadow",
        "cd /nonexistent; cd /etc; cat shadow",
        "cd /etc; cd /nonexistent; cat shadow",
        "cd /etc || cd /usr; cat shadow",
        "cd /; cd etc; cat shadow",
        "cd /etc; cd /usr; cd -; cat shadow",
        "pushd /etc; pushd /usr; popd; cat shadow",
        "for f in shadow; do cd /etc; cat $f; done",
        "for f in shadow; do cat /etc/$f; done",
        "for d in /etc; do cd $d; cat shadow; done",
        "for i in 1 2; do cat shadow; cd /etc; done",
        "for f in hosts; do for i in 1 2; do cat \"$f\"; f=/etc/shadow; done; done",
        "for f in hosts; do for f in /etc/shadow; do cat \"$f\"; done; done",
        "f=/etc/shadow; for f in hosts \"$f\"; do cat \"$f\"; done",
        "cd /etc; cat s*",
        "cd /etc; cat {shadow,hosts}",
        "cd; cat shadow",
        "cd ~; cat shadow",
        "cd /etc/ssl; cat ../shadow",
        "cd /usr; cat < ../etc/shadow",
        "(cd /etc; cat shadow)",
        "echo shadow | (cd /etc; xargs cat)",
        "sh -c 'cd /etc; cat shadow'",
        "cd /etc; sh -c 'cat shadow'",
        "cd /etc; timeout 5 cat shadow",
    ]
    .map(str::to_owned)
    .to_vec()
}

fn set_up(arena: &Path) {
    let bin = arena.join("bin");
    fs::create_dir(&bin).unwrap();
    for program in ["cat", "head", "tail", "tac", "grep"] {
        let path = bin.join(program);
        fs::write(&path, MARKER).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
}

#[test]
fn what_opens_a_secret_is_sensitive_wherever_it_runs() {
    let shells: Vec<&str> = ["bash", "dash"]
        .into_iter()
        .filter(|shell| sandbox::has(shell))
        .collect();
    if !sandbox::has("realpath") || !sandbox::has("timeout") || !Path::new("/etc/shadow").exists() {
        eprintln!("skipped: realpath, timeout and /etc/shadow are needed");
        return;
    }
    for shell in ["bash", "dash"] {
        if !shells.contains(&shell) {
            eprintln!("skipped: {shell} is not installed");
        }
    }
    let arena = tempfile::tempdir().unwrap();
    set_up(arena.path());
    let mut jobs: Vec<(PathBuf, String)> = Vec::new();
    // What is not a read is never run.
    let reads = scripts()
        .into_iter()
        .filter(|text| classify(text).intent != Intent::WriteOrUnknown);
    for (index, text) in reads.enumerate() {
        for shell in &shells {
            let job = arena.path().join(format!("{index}-{shell}"));
            fs::create_dir_all(job.join("start/a/b")).unwrap();
            for file in ["start/hosts", "start/a/hosts"] {
                fs::write(job.join(file), "x\n").unwrap();
            }
            fs::write(job.join("text"), &text).unwrap();
            fs::write(job.join("shell"), format!("{shell}\n")).unwrap();
            jobs.push((job, text.clone()));
        }
    }
    let confined = sandbox::confines(arena.path()).unwrap();
    let folders: Vec<PathBuf> = jobs.iter().map(|(job, _)| job.clone()).collect();
    sandbox::each(arena.path(), confined, WORKER, &folders).unwrap();
    let mut reached = 0;
    let mut missed = Vec::new();
    for (job, text) in &jobs {
        let opened = fs::read_to_string(job.join("opened")).unwrap_or_default();
        if opened
            .lines()
            .any(|path| path == "/etc/shadow" || path == "/proc/keys")
        {
            reached += 1;
            if !classify(text).sensitive {
                missed.push(text.clone());
            }
        }
    }
    missed.sort();
    missed.dedup();
    assert!(
        missed.is_empty(),
        "{} scripts opened a secret and were not called sensitive:\n{}",
        missed.len(),
        missed.join("\n---\n")
    );
    assert!(
        shells.is_empty() || reached > 20,
        "only {reached} of {} scripts reached the file: the generator finds nothing",
        jobs.len()
    );
}
