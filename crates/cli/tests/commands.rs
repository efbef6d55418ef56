//! The binary as a shell meets it: whole output, both streams, exit code.

#![expect(
    clippy::unwrap_used,
    reason = "the functions that tests share are test code too"
)]

use serde_json::Value;
use std::io::Write as _;
use std::process::Stdio;

struct Run {
    exit: Option<i32>,
    stdout: String,
    stderr: String,
}

impl std::fmt::Display for Run {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { exit, stdout, stderr } = self;
        write!(f, "exit: {exit:?}\n--- stdout\n{stdout}--- stderr\n{stderr}")
    }
}

#[expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a test of the binary has to start it"
)]
fn started(arguments: &[&str]) -> std::process::Child {
    std::process::Command::new(env!("CARGO_BIN_EXE_interlock"))
        .args(arguments)
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn interlock(arguments: &[&str], input: &[u8]) -> Run {
    let mut child = started(arguments);
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    // From a thread of its own, because the output of one line may fill a pipe before all lines are written.
    let writer = std::thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().unwrap();
    // A program that refuses its arguments does not read its input.
    let _ = writer.join().unwrap();
    Run {
        exit: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

#[test]
fn help_has_examples() {
    insta::assert_snapshot!("help", interlock(&["--help"], b""));
    insta::assert_snapshot!("help_classify", interlock(&["classify", "--help"], b""));
}

#[test]
fn a_text_is_masked_and_explained() {
    let token = ["ghp", "_", "Zq8Xw3Vn7Rt2Lk9Pf4Zq8Xw3Vn7Rt2Lk9Pf4"].concat();
    let text = format!("first\nDB_PASSWORD_PROD=hunter2\nuse {token} here\n");
    let run = interlock(&["mask", "--built-in", "--explain"], text.as_bytes());
    assert_eq!(
        (run.exit, run.stdout.as_str(), run.stderr.as_str()),
        (
            Some(0),
            "first\nDB_PASSWORD_PROD=[masked:password]\nuse [masked:github_token] here\n",
            "line 2, column 18: password, 7 characters\nline 3, column 5: github_token (GitHub), 40 characters\n2 masked\n",
        )
    );
    let run = interlock(&["mask", "--built-in", "--json"], text.as_bytes());
    let document: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(document["findings"][1]["line"], 3);
    assert_eq!(document["findings"][1]["origin"], "GitHub");
    let help = interlock(&["mask", "--help"], b"");
    assert!(
        help.stdout.contains("journalctl -n 500 | interlock mask"),
        "{help}"
    );
}

#[test]
fn wrong_usage_is_explained_and_ends_with_2() {
    insta::assert_snapshot!("no_command", interlock(&["classify"], b""));
    insta::assert_snapshot!("both_forms", interlock(&["classify", "--jsonl", "ls"], b""));
    insta::assert_snapshot!("unquoted_option", interlock(&["classify", "ls", "-la"], b""));
    insta::assert_snapshot!("unknown_command", interlock(&["frobnicate"], b""));
    insta::assert_snapshot!("input_not_utf8", interlock(&["classify", "-"], b"ls \xff"));
}

#[test]
fn a_verdict_for_people() {
    insta::assert_snapshot!("people_chain", interlock(&["classify", "ls / & rm -r /srv"], b""));
    insta::assert_snapshot!(
        "people_follow",
        interlock(&["classify", "--", "tail", "-f", "my log"], b"")
    );
    insta::assert_snapshot!("people_read", interlock(&["classify", "-"], b"df -h /\n"));
}

#[test]
fn a_verdict_for_programs() {
    insta::assert_snapshot!(
        "json",
        interlock(&["classify", "ls / & rm -r /srv", "--json"], b"")
    );
    let input = concat!(
        "{\"command\":\"ls / & rm -r /srv\"}\n",
        "{\"command\":\"tail -f /var/log/syslog\"}\r\n",
        "\n",
        "not json\n",
        "{\"command\":\"df -h\"}",
    );
    insta::assert_snapshot!("jsonl", interlock(&["classify", "--jsonl"], input.as_bytes()));
}

#[test]
fn check_turns_the_verdict_into_an_exit_code() {
    let cases = [
        ("ls -la /var/log", 0),
        ("tail -n 50 /var/log/syslog", 0),
        ("rm -rf /", 1),
        ("ls / & zfs destroy tank", 1),
        ("tail -f /var/log/syslog", 1),
        ("cat /etc/shadow", 1),
        ("", 1),
    ];
    for (command, expected) in cases {
        let run = interlock(&["classify", "--check", command], b"");
        assert_eq!(
            (run.exit, run.stderr.as_str()),
            (Some(expected), ""),
            "{command:?}\n{run}"
        );
        let line = serde_json::json!({ "command": command }).to_string();
        let run = interlock(&["classify", "--check", "--jsonl"], line.as_bytes());
        assert_eq!(run.exit, Some(expected), "{command:?}\n{run}");
    }
}

#[test]
fn long_commands_are_answered_and_not_milder_for_it() {
    for bytes in [100_000, 1_000_000] {
        let command = format!("ls {}; rm x", "a ".repeat(bytes / 2));
        let line = serde_json::json!({ "command": command }).to_string();
        let run = interlock(&["classify", "--jsonl"], line.as_bytes());
        assert_eq!(run.exit, Some(0), "{bytes}");
        let answer: Value = serde_json::from_str(&run.stdout).unwrap();
        assert_eq!(answer["intent"], "write_or_unknown", "{bytes}");
    }
}

#[test]
fn a_reader_that_leaves_is_no_error() {
    let mut child = started(&["classify", "--jsonl"]);
    drop(child.stdout.take());
    let mut stdin = child.stdin.take().unwrap();
    // The program may be gone before all of it is written.
    let _ = stdin.write_all("{\"command\":\"ls\"}\n".repeat(10_000).as_bytes());
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
}

#[test]
fn a_co_process_gets_each_answer_before_it_asks_again() {
    use std::io::BufRead as _;
    let mut child = started(&["classify", "--jsonl"]);
    let mut stdin = child.stdin.take().unwrap();
    let mut answers = std::io::BufReader::new(child.stdout.take().unwrap()).lines();
    for command in ["ls", "rm x", "uptime"] {
        writeln!(stdin, "{}", serde_json::json!({ "command": command })).unwrap();
        let answer: Value = serde_json::from_str(&answers.next().unwrap().unwrap()).unwrap();
        assert_eq!(answer["command"], command);
    }
    drop(stdin);
    assert!(child.wait().unwrap().success());
}

#[test]
fn proofs_explain_themselves() {
    insta::assert_snapshot!("help_prove", interlock(&["prove", "--help"], b""));
    insta::assert_snapshot!("help_prove_gate", interlock(&["prove", "gate", "--help"], b""));
    insta::assert_snapshot!(
        "help_prove_hostile",
        interlock(&["prove", "hostile", "--help"], b"")
    );
    insta::assert_snapshot!(
        "three_executions",
        interlock(&["prove", "gate", "--executions", "3"], b"")
    );
}

#[test]
fn a_proof_that_was_cut_short_is_no_proof() {
    let run = interlock(
        &[
            "prove",
            "gate",
            "--executions",
            "1",
            "--max-states",
            "20",
            "--json",
        ],
        b"",
    );
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(run.exit, Some(1), "{run}");
    assert_eq!(report["complete"], false);
    for count in ["states", "transitions", "violations", "dead_ends"] {
        assert!(report[count].is_u64(), "{count}: {run}");
    }
}

#[test]
fn a_hostile_proposer_gets_nowhere_and_the_same_way_each_time() {
    let arguments = ["prove", "hostile", "--steps", "3000", "--seed", "7", "--json"];
    let run = interlock(&arguments, b"");
    let report: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(
        (run.exit, &report["violations"], &report["steps"]),
        (Some(0), &0.into(), &3000.into()),
        "{run}"
    );
    assert!(
        report["allowed"].as_u64() > Some(0) && report["held"].as_u64() > Some(0),
        "{run}"
    );
    assert!(
        report["refused"].as_object().is_some_and(|rules| rules.len() > 5),
        "{run}"
    );
    assert_eq!(interlock(&arguments, b"").stdout, run.stdout);
}

/// The example cluster of docs/logic.md.
fn logic_files() -> [String; 4] {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../logic/tests");
    [
        "--facts".to_owned(),
        format!("{folder}/cluster.yaml"),
        "--at".to_owned(),
        "2026-03-01T03:00:40Z".to_owned(),
    ]
}

#[test]
fn questions_in_logic_are_answered_and_explained() {
    let files = logic_files();
    let rules = concat!(env!("CARGO_MANIFEST_DIR"), "/../logic/tests/rules.pl");
    let ask = |words: &[&str]| {
        let words: Vec<&str> = ["logic"]
            .iter()
            .chain(words)
            .copied()
            .chain(files.iter().map(String::as_str))
            .collect();
        interlock(&words, b"")
    };
    let mut text = String::new();
    for words in [
        &["node_health(Node, critical)"][..],
        &["known_node(pve1)"],
        &["known_node(pve9)"],
        &["between(1, 9, N)", "--answers", "2"],
        &["X is 1 / 0"],
        &["node_health(pve1, S), assertz(x)"],
        &["node_health(pve1, S"],
        &["explain", "can_reach(pve2, pve3)"],
        &["explain", "known_node(ghost)"],
    ] {
        text += &[
            "$ interlock logic ",
            &words.join(" "),
            "\n",
            &ask(words).to_string(),
            "\n",
        ]
        .concat();
    }
    insta::assert_snapshot!("logic", text);

    let run = ask(&["at_risk(Guest)", "--rules", rules, "--json"]);
    assert_eq!(run.exit, Some(0), "{run}");
    let document: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(
        document["answers"],
        serde_json::json!([{"Guest": 102}, {"Guest": 103}, {"Guest": 104}])
    );
    assert_eq!(
        (&document["age_seconds"], &document["complete"]),
        (&Value::from(40), &Value::from(true))
    );

    let run = ask(&["explain", "at_risk(104)", "--rules", rules, "--json"]);
    let document: Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(document["because"][0]["because"][1]["ground"], "absent", "{run}");

    let run = ask(&["known_node(N)", "--rules", "/nowhere/rules.pl"]);
    assert_eq!(run.exit, Some(2), "{run}");
    let run = interlock(&["logic"], b"");
    assert_eq!(
        (run.exit, run.stderr.contains("a goal is missing")),
        (Some(2), true),
        "{run}"
    );
    let run = interlock(&["logic", "--predicates", "--json"], b"");
    assert_eq!(
        (run.exit, run.stdout.contains("\"blast_radius\"")),
        (Some(0), true),
        "{run}"
    );
}

/// The feature that takes the analysis away is for one proof, and for nothing that anybody runs.
#[test]
#[cfg(not(feature = "everything-is-a-read"))]
#[expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "what cargo would build is asked from cargo"
)]
fn no_shipped_binary_is_built_without_the_analysis() {
    const FEATURE: &str = "everything-is-a-read";
    const { assert!(!interlock_shell::EVERYTHING_IS_A_READ) };
    let judged = interlock(&["classify", "--json", "rm -rf /srv"], b"");
    let judged: Value = serde_json::from_str(&judged.stdout).unwrap();
    assert_eq!(judged["intent"], "write_or_unknown", "{judged}");

    let metadata = std::process::Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let metadata: Value = serde_json::from_slice(&metadata.stdout).unwrap();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let mut packages = 0;
    for package in list(&metadata["packages"]) {
        packages += 1;
        let name = package["name"].as_str().unwrap();
        for (feature, enables) in package["features"].as_object().unwrap() {
            let enables = list(enables);
            let leads = enables
                .iter()
                .any(|enabled| enabled.as_str().is_some_and(|enabled| enabled.ends_with(FEATURE)));
            assert!(
                !leads || feature == FEATURE,
                "{name}: {feature} enables {FEATURE}"
            );
            assert!(
                feature != FEATURE || matches!(name, "interlock" | "interlock-shell"),
                "{name} has {FEATURE}"
            );
        }
        for dependency in list(&package["dependencies"]) {
            assert!(
                !list(&dependency["features"])
                    .iter()
                    .any(|feature| feature == FEATURE),
                "{name}: {dependency}"
            );
        }
    }
    assert!(packages >= 20, "{packages} packages");
    // The targets that build what is shipped do not name it.
    let makefile = concat!(env!("CARGO_MANIFEST_DIR"), "/../../Makefile");
    let makefile = std::fs::read_to_string(makefile).unwrap();
    for line in makefile.lines().filter(|line| line.contains(FEATURE)) {
        assert!(
            line.contains("--test hostile_model") && !line.contains("--release"),
            "{line}"
        );
    }
}
