//! Documented examples, run as a reader would run them.
//!
//! Every fenced block of the documentation and every example of `--help` is checked by its kind. A command line is run where it
//! ends by itself and changes nothing outside of a user's folders; else the real parser reads it. A block that is not checked here is in
//! [`ELSEWHERE`] with the reason, and a block that nothing checks fails the test.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "the functions that tests share are test code too"
)]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::Value;
use support::{Home, READS, WRITES, until};

/// Blocks that are not checked here, by page and language, and why.
const ELSEWHERE: &[(&str, &str, &str)] = &[
    (
        "docs/placement.md",
        "yaml input",
        "crates/placement/tests/documentation.rs solves it",
    ),
    (
        "docs/placement.md",
        "text answer",
        "crates/placement/tests/documentation.rs compares it",
    ),
    (
        "docs/placement.md",
        "text picture",
        "crates/placement/tests/documentation.rs compares it",
    ),
    (
        "docs/placement.md",
        "text conflict",
        "crates/placement/tests/documentation.rs compares it",
    ),
    (
        "docs/logic.md",
        "yaml facts",
        "crates/logic/tests/documentation.rs loads it",
    ),
    (
        "docs/logic.md",
        "prolog rules",
        "crates/logic/tests/documentation.rs loads it",
    ),
    (
        "docs/logic.md",
        "prolog goals",
        "crates/logic/tests/documentation.rs asks each goal",
    ),
    (
        "docs/logic.md",
        "text refused",
        "crates/logic/tests/documentation.rs asks each goal",
    ),
    (
        "docs/logic.md",
        "text explanation",
        "crates/logic/tests/documentation.rs asks each goal",
    ),
    (
        "docs/errors/",
        "json",
        "crates/protocol/tests/error_pages.rs reads each as a response",
    ),
    (
        "docs/api.md",
        "yaml",
        "a configuration of Alertmanager, whose address is compared with the description of the API below",
    ),
    ("ARCHITECTURE.md", "", "drawings"),
];

/// What each program of an example, other than ours and `make`, is there for.
const OTHER_PROGRAMS: &[(&str, &str)] = &[
    (
        "curl",
        "docs/api.md runs against a real server where this machine has `curl` and `jq`",
    ),
    ("ilk", "as `curl`"),
    ("jq", "reads our output"),
    ("export", "sets a variable"),
    ("alias", "names a command"),
    ("echo", "prints"),
    ("journalctl", "any text will do"),
    ("ssh", "prints any text"),
    ("kubectl", "prints any text"),
    ("cat", "prints any text"),
    ("printf", "prints any text"),
    ("tail", "prints any text"),
    (".", "reads the credentials of the lab"),
];

/// Commands of ours that are run here, with the exit codes that the documentation leads one to expect.
const RUN: &[(&str, &[i32])] = &[
    ("interlock run 'what fills the disk?'", &[0]),
    ("interlock run --level controlled 'restart nginx'", &[0]),
    ("interlock approvals", &[0]),
    ("interlock sessions", &[0]),
    ("interlock show ID", &[0]),
    ("interlock classify 'ls / & rm -r /srv'", &[0]),
    ("interlock classify 'cd /etc && cat shadow'", &[0]),
    ("interlock doctor", &[0, 1]),
    ("interlock work --until-idle", &[0]),
    ("interlock user add zoe --role approver", &[0]),
    ("interlock user link zoe", &[0]),
    ("interlock user role zoe operator", &[0]),
    ("interlock user disable zoe", &[0]),
    ("interlock mask --explain", &[0]),
    ("interlock lab incidents", &[0]),
];

/// Words that stand for a value of a form of its own, and one of that form.
const PLACEHOLDERS: &[(&str, &str)] = &[
    ("KEY", "ed25519:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="),
    (
        "HASH",
        "0000000000000000000000000000000000000000000000000000000000000000",
    ),
];

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The pages that people read, by their path in the repository.
fn pages() -> BTreeMap<String, String> {
    let root = repository();
    let mut pages = BTreeMap::new();
    let mut read = |path: PathBuf| {
        let name = path.strip_prefix(&root).unwrap().display().to_string();
        pages.insert(name, std::fs::read_to_string(&path).unwrap());
    };
    for name in ["README.md", "SECURITY.md", "CONTRIBUTING.md", "ARCHITECTURE.md"] {
        read(root.join(name));
    }
    for folder in ["docs", "docs/errors"] {
        for entry in std::fs::read_dir(root.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "md") {
                read(path);
            }
        }
    }
    pages
}

/// The fenced blocks of a page: the words behind the fence, and the text.
fn blocks(page: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut open: Option<(String, String)> = None;
    for line in page.lines() {
        match (&mut open, line.trim_start().strip_prefix("```")) {
            (None, Some(info)) => open = Some((info.trim().to_owned(), String::new())),
            (Some(_), Some(_)) => found.extend(open.take()),
            (Some((_, block)), None) => {
                block.push_str(line);
                block.push('\n');
            }
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "a fence is not closed");
    found
}

/// The command lines of a block: those behind a prompt where it has prompts, else all of them.
fn lines(block: &str) -> Vec<String> {
    let prompted = block.lines().any(|line| line.starts_with("$ "));
    block
        .lines()
        .filter_map(|line| {
            if prompted {
                line.strip_prefix("$ ")
            } else {
                Some(line)
            }
        })
        .map(str::to_owned)
        .filter(|line| !line.trim().is_empty())
        .collect()
}

/// The commands of a line, each as its words; those in `$(…)` too. Comments are left out.
fn commands(line: &str) -> Vec<Vec<String>> {
    let mut all = vec![Vec::new()];
    let mut word: Option<String> = None;
    let mut inner = Vec::new();
    let mut rest = line.chars().peekable();
    let mut quote: Option<char> = None;
    while let Some(c) = rest.next() {
        match (quote, c) {
            (Some(open), close) if open == close => quote = None,
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None | Some('"'), '$') if rest.peek() == Some(&'(') => {
                rest.next();
                let mut depth = 1;
                let mut text = String::new();
                for c in rest.by_ref() {
                    depth += match c {
                        '(' => 1,
                        ')' => -1,
                        _ => 0,
                    };
                    if depth == 0 {
                        break;
                    }
                    text.push(c);
                }
                inner.extend(commands(&text));
                word.get_or_insert_default().push_str("VALUE");
            }
            (None, '#') if word.is_none() => break,
            (None, '|' | ';' | '&') => {
                all.last_mut().unwrap().extend(word.take());
                all.push(Vec::new());
            }
            (None, '>' | '<') => {
                all.last_mut().unwrap().extend(word.take());
                // Where it is written to or read from.
                let _: String = rest
                    .by_ref()
                    .skip_while(|c| matches!(c, ' ' | '>'))
                    .take_while(|c| *c != ' ')
                    .collect();
            }
            (None, ' ') => all.last_mut().unwrap().extend(word.take()),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    all.last_mut().unwrap().extend(word);
    all.extend(inner);
    // `NAME=value` before a command is the environment's.
    for command in &mut all {
        while command.first().is_some_and(|word| {
            word.split_once('=').is_some_and(|(name, _)| {
                !name.is_empty() && name.chars().all(|c| c.is_ascii_uppercase() || c == '_')
            })
        }) {
            command.remove(0);
        }
    }
    all.retain(|command| !command.is_empty());
    all
}

/// Asks the real parser whether it takes these words: with `--help` behind them it reads them and runs nothing. A value that is
/// left out in the text (`…`), or an option that a sentence names without its value, is no mistake.
fn parses(home: &Home, words: &[String], line: &str) -> Option<String> {
    let stands_for = |word: &str| {
        PLACEHOLDERS
            .iter()
            .find(|(name, _)| *name == word)
            .map(|(_, value)| *value)
    };
    let mut words: Vec<&str> = words
        .iter()
        .map(|word| stands_for(word).unwrap_or(word))
        .collect();
    let shortened = words.iter().any(|word| word.contains('…'));
    words.push("--help");
    let ran = home.run(&words);
    let fine = ran.exit == Some(0)
        || shortened && ran.stderr.contains("invalid value")
        || ran.stderr.contains("a value is required for");
    (!fine).then(|| format!("`{line}` is not a command of ours: {ran}"))
}

fn targets() -> BTreeSet<String> {
    let makefile = std::fs::read_to_string(repository().join("Makefile")).unwrap();
    makefile
        .lines()
        .filter_map(|line| line.split_once(':'))
        .map(|(name, _)| name)
        .filter(|name| !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c == '-'))
        .map(str::to_owned)
        .collect()
}

/// What is wrong with a line of a shell: every command in it is ours, a target that exists, or named in [`OTHER_PROGRAMS`].
fn problems(home: &Home, targets: &BTreeSet<String>, line: &str) -> Vec<String> {
    let mut problems = Vec::new();
    for command in commands(line) {
        let (program, words) = command.split_first().unwrap();
        match program.as_str() {
            "interlock" => problems.extend(parses(home, words, line)),
            "make" => {
                let unknown = words
                    .iter()
                    .filter(|word| !word.contains('=') && !targets.contains(*word));
                problems.extend(unknown.map(|target| format!("`{line}`: there is no target {target}")));
            }
            other if OTHER_PROGRAMS.iter().any(|(name, _)| *name == other) => {}
            other => problems.push(format!("`{line}`: nothing checks `{other}`")),
        }
    }
    problems
}

#[test]
fn every_command_line_of_the_documentation_is_one_that_there_is() {
    let (home, targets) = (Home::empty(), targets());
    let (mut checked, mut wrong) = (0, Vec::new());
    for (page, text) in pages() {
        for (info, block) in blocks(&text) {
            if matches!(info.as_str(), "sh" | "console") {
                for line in lines(&block) {
                    wrong.extend(
                        problems(&home, &targets, &line)
                            .into_iter()
                            .map(|problem| format!("{page}: {problem}")),
                    );
                    checked += 1;
                }
            }
        }
        // What stands in a sentence as a command.
        for quoted in text.split('`').skip(1).step_by(2) {
            let words: Vec<&str> = quoted.split_whitespace().collect();
            if let ["make", target] = words.as_slice()
                && target.chars().all(|c| c.is_ascii_lowercase() || c == '-')
            {
                if !targets.contains(*target) {
                    wrong.push(format!("{page}: `{quoted}`: there is no such target"));
                }
                checked += 1;
            }
            if words.first() == Some(&"interlock") && !quoted.contains(['\n', '…']) {
                let line: String = quoted.replace(['[', ']'], "");
                for command in commands(&line).iter().filter(|command| command[0] == "interlock") {
                    wrong.extend(parses(&home, &command[1..], &format!("{page}: {quoted}")));
                }
                checked += 1;
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(checked > 80, "only {checked}");
    // The check can fail.
    let wrong = home.run(&["run", "--no-such-flag", "x", "--help"]);
    assert_eq!(wrong.exit, Some(2), "{wrong}");
}

/// Commands and their subcommands, as `--help` lists them.
fn helps(home: &Home, path: &[String], into: &mut Vec<(Vec<String>, String)>) {
    let mut words: Vec<&str> = path.iter().map(String::as_str).collect();
    words.push("--help");
    let help = home.run(&words).stdout;
    let mut under = false;
    for line in help.lines() {
        match line.strip_prefix("  ") {
            _ if line == "Commands:" => under = true,
            Some(entry) if under && !entry.starts_with(' ') => {
                let name = entry.split_whitespace().next().unwrap();
                if name != "help" {
                    helps(home, &[path, &[name.to_owned()]].concat(), into);
                }
            }
            _ if line.trim().is_empty() => {}
            Some(_) => {}
            None => under = false,
        }
    }
    into.push((path.to_vec(), help));
}

#[test]
fn every_example_of_the_help_is_one_that_there_is() {
    let (home, targets) = (Home::empty(), targets());
    let mut all = Vec::new();
    helps(&home, &[], &mut all);
    let (mut checked, mut wrong) = (0, Vec::new());
    for (path, help) in &all {
        let examples = help.split_once("Example").map_or("", |(_, rest)| rest);
        let lines = examples
            .lines()
            .skip(1)
            .filter_map(|line| line.strip_prefix("  "))
            .filter(|line| !line.starts_with(' ') && line.contains("interlock"));
        for line in lines {
            wrong.extend(problems(&home, &targets, line));
            checked += 1;
        }
        assert!(!path.is_empty() || checked > 0, "{help}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(
        all.len() > 40 && checked > 60,
        "{} commands, {checked} examples",
        all.len()
    );
}

#[test]
fn what_the_documentation_runs_ends_as_it_says() {
    let home = Home::with_script(READS);
    let mut left: BTreeMap<&str, &[i32]> = RUN.iter().copied().collect();
    let mut documented = BTreeSet::new();
    for text in pages().values() {
        for (info, block) in blocks(text) {
            if matches!(info.as_str(), "sh" | "console") {
                for line in lines(&block) {
                    for part in line.split(" | ").flat_map(|part| part.split("; ")) {
                        documented.insert(part.split("  #").next().unwrap().trim().to_owned());
                    }
                }
            }
        }
    }
    documented.insert("interlock lab incidents".to_owned());
    // In this order: what is shown must have been asked, and who is linked must have been added.
    for (line, exits) in RUN {
        assert!(
            documented.contains(*line),
            "`{line}` is not in the documentation any more"
        );
        let mut words = commands(line).remove(0);
        words.remove(0);
        if words.last().is_some_and(|word| word == "ID") {
            let sessions = home.run(&["sessions", "--json"]).json_lines();
            let id = sessions[0]["session_id"].as_str().unwrap().to_owned();
            *words.last_mut().unwrap() = id;
        }
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let ran = home.run_with(&words, "password: hunter2\n");
        assert!(
            ran.exit.is_some_and(|exit| exits.contains(&exit)),
            "`{line}`: {ran}"
        );
        left.remove(line);
    }
    assert!(left.is_empty());
}

/// Files that configurations of the documentation name.
const FILES: &[&str] = &[
    "cert.pem",
    "key.pem",
    "known_hosts",
    "id_ed25519",
    "k3s.yaml",
    "interlock.schema.json",
];

/// What is left out in the documentation, and a value for it.
const LEFT_OUT: &[(&str, &str)] = &[(
    "AA:BB:…",
    "AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA",
)];

#[test]
fn every_block_is_checked_by_its_kind() {
    let described: Value =
        serde_json::from_str(&std::fs::read_to_string(repository().join("web/openapi.json")).unwrap())
            .unwrap();
    let mut unchecked = Vec::new();
    for (page, text) in pages() {
        for (info, block) in blocks(&text) {
            let listed = ELSEWHERE
                .iter()
                .any(|(start, language, _)| page.starts_with(start) && *language == info);
            match info.as_str() {
                _ if listed => {
                    // An address of Interlock in the configuration of another program.
                    for url in block.lines().filter_map(|line| line.split_once("url: ")) {
                        let path = url.1.splitn(4, '/').nth(3).unwrap_or("");
                        if path.starts_with("api/v1") {
                            assert!(
                                !described["paths"][format!("/{path}")].is_null(),
                                "{page}: {path}"
                            );
                        }
                    }
                }
                // The tests above read and run them.
                "sh" | "console" => {}
                "yaml" => check_configuration(&page, &block),
                "json" => check_arguments(&page, &block),
                other => unchecked.push(format!("{page}: a block of `{other}`")),
            }
        }
    }
    assert!(unchecked.is_empty(), "nothing checks these: {unchecked:#?}");
}

/// A configuration, or a part of one.
fn check_configuration(page: &str, block: &str) {
    let home = Home::empty();
    let mut text = block.to_owned();
    for (left_out, value) in LEFT_OUT {
        text = text.replace(left_out, value);
    }
    for file in FILES {
        home.write(&format!("config/interlock/{file}"), "");
    }
    home.write("config/interlock/interlock.yaml", &text);
    let ran = home.run(&["config", "check"]);
    assert_eq!(ran.exit, Some(0), "{page}:\n{block}\n{ran}");
}

/// The arguments of a tool: there is one whose parameters they fit.
fn check_arguments(page: &str, block: &str) {
    let arguments: Value = serde_json::from_str(block).unwrap_or_else(|error| panic!("{page}: {error}"));
    let home = Home::empty();
    let tools = home.run(&["tools", "--json"]).json_lines();
    let fits = tools.iter().any(|tool| {
        let shown = home
            .run(&["tools", tool["name"].as_str().unwrap(), "--json"])
            .json();
        let parameters = &shown["parameters"];
        let required = parameters["required"].as_array().cloned().unwrap_or_default();
        let known = |name: &String| !parameters["properties"][name].is_null();
        arguments.as_object().unwrap().keys().all(known)
            && required
                .iter()
                .all(|name| !arguments[name.as_str().unwrap()].is_null())
    });
    assert!(fits, "{page}: no tool takes {arguments}");
}

/// Models for the API's page: one that reads for who asks, one that wants to write for alerts.
const API_CONFIG: &str = "\
models:
  reader: { provider: scripted, script: reader.yaml }
  writer: { provider: scripted, script: writer.yaml }
defaults: { model: reader }
control: { level: controlled }
agents:
  mender: { model: writer }
chains:
  services:
    alert_types: [service_down]
    stages: [{ name: mend, agents: [mender] }]
";

/// Waits until nothing is worked on: what the next line is about must have happened.
const SETTLE: &str = r#"settle() {
    for _ in $(seq 100); do
        [ "$(curl -sS -H "Authorization: Bearer $TOKEN" "$INTERLOCK/api/v1/sessions?status=pending,in_progress" | jq '.sessions | length')" = 0 ] && return
        sleep 0.1
    done
}
"#;

#[test]
#[expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the page is for a shell"
)]
fn the_page_of_the_api_runs_as_it_is_written() {
    use std::process::Command;
    for program in ["bash", "curl", "jq"] {
        let there = Command::new("sh")
            .args(["-c", &format!("command -v {program}")])
            .output();
        if !there.is_ok_and(|there| there.status.success()) {
            eprintln!("SKIPPED: this system has no `{program}`");
            return;
        }
    }
    let home = Home::empty();
    home.write("config/interlock/interlock.yaml", API_CONFIG);
    home.write(
        "config/interlock/reader.yaml",
        &format!("{READS}    repeat: forever\n"),
    );
    home.write(
        "config/interlock/writer.yaml",
        &WRITES.replace("FILE", &home.work("made")),
    );
    let server = support::server::Server::start(&home, &[]);
    let page = std::fs::read_to_string(repository().join("docs/api.md")).unwrap();
    let lines: Vec<String> = blocks(&page)
        .iter()
        .filter(|(info, _)| info == "sh")
        .flat_map(|(_, block)| lines(block))
        .collect();
    let mut script = format!("shopt -s expand_aliases\n{SETTLE}");
    for (number, line) in lines.iter().enumerate() {
        let line = line
            .replace("http://127.0.0.1:7878", &server.url)
            .replace("ilk_…", &server.token)
            // Nobody is there to press Ctrl-C.
            .replace("curl -N", "timeout 2 curl -sN");
        write!(script, "settle\necho; echo '@@{number}'\n{line}\n").unwrap();
    }
    let ran = Command::new("bash").args(["-c", &script]).output().unwrap();
    let (said, complained) = (
        String::from_utf8_lossy(&ran.stdout),
        String::from_utf8_lossy(&ran.stderr),
    );
    let mut answered = 0;
    for part in said.split("@@").skip(1) {
        let (number, answer) = part.split_once('\n').unwrap();
        let line = &lines[number.trim().parse::<usize>().unwrap()];
        let Ok(answer) = serde_json::from_str::<Value>(answer.trim()) else {
            continue;
        };
        answered += 1;
        let status = answer["status"].as_u64();
        let expected = line.contains("page=0").then_some(400);
        assert_eq!(status, expected, "`{line}`: {answer}\n{complained}");
    }
    assert!(answered >= 10, "{said}\n{complained}");
    assert!(said.contains("\"replayed\":true"), "{said}");
    let waited = format!("the approved plan to run: {said}\n{complained}");
    until(&waited, || {
        std::fs::exists(home.work("made")).unwrap().then_some(())
    });
}

#[test]
fn the_example_of_the_scripted_model_is_taken_by_the_product() {
    let page = include_str!("../../model/scripts/README.md");
    let blocks = blocks(page);
    let [(_, config), (_, script)] = blocks.as_slice() else {
        panic!("the page has a configuration and a script: {blocks:?}")
    };
    let home = Home::empty();
    home.write("config/interlock/interlock.yaml", config);
    home.write("config/interlock/disk-full.yaml", script);
    let checked = home.run(&["config", "check"]);
    assert_eq!(checked.exit, Some(0), "{checked}");
    let ran = home.run(&["run", "Is the disk of web-1 full?", "--json"]);
    // No such machine is connected here; what the product must not do is to refuse a call for its form.
    let text = ran.to_string();
    for code in ["INVALID_INPUT", "script_mismatch", "there is no tool"] {
        assert!(!text.contains(code), "{text}");
    }
    assert!(text.contains("infra_query"), "{text}");
}
