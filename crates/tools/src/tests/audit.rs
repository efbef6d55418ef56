//! How many reads of a corpus succeed in the sandbox. Runs only where `make audit-reads` names a corpus.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Stdio;

use serde_json::json;

use super::stage::Stage;

/// The file: one command a line, then a tab and whatever else.
const CORPUS: &str = "INTERLOCK_READS";
const BWRAP: &str = "/usr/bin/bwrap";

fn commands(path: &str) -> Vec<String> {
    fs::read_to_string(path)
        .unwrap()
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split('\t').next())
        .map(|command| {
            command
                .replace("\\n", "\n")
                .replace("\\t", "\t")
                .replace("\\\\", "\\")
        })
        .filter(|command| !command.is_empty())
        .collect()
}

/// The exit code without a sandbox, and with the disk read-only.
#[expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "what a command does without the sandbox is what it is compared with"
)]
fn without(command: &str) -> Option<i32> {
    let mut plain = std::process::Command::new(BWRAP);
    plain
        .args([
            "--ro-bind",
            "/",
            "/",
            "--dev",
            "/dev",
            "--proc",
            "/proc",
            "--tmpfs",
            "/tmp",
            "--die-with-parent",
        ])
        .args([
            "--clearenv",
            "--setenv",
            "HOME",
            "/nonexistent",
            "--setenv",
            "LANG",
            "C.UTF-8",
        ])
        .args(["--setenv", "TERM", "dumb", "--chdir", "/"])
        .args([
            "--setenv",
            "PATH",
            "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        ])
        .args(["timeout", "5", "/bin/sh", "-c", command])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    plain.status().ok()?.code()
}

#[tokio::test]
async fn reads_of_a_corpus_succeed_in_the_sandbox() {
    let Ok(corpus) = std::env::var(CORPUS) else {
        return;
    };
    if !Path::new(BWRAP).exists() {
        eprintln!("skipped: `bwrap` is not installed");
        return;
    }
    let (mut reads, mut both, mut neither) = (0, 0, 0);
    let mut broken: BTreeMap<String, String> = BTreeMap::new();
    for command in commands(&corpus) {
        if !interlock_shell::classify(&command).is_bounded_read() {
            continue;
        }
        reads += 1;
        let plain = without(&command);
        if plain != Some(0) {
            neither += 1;
            continue;
        }
        let mut stage = Stage::discovered().await;
        let arguments = stage.read("exec", json!({"command": command}));
        let done = stage.run("infra_read", arguments).await;
        if done.exit_code == Some(0) {
            both += 1;
        } else {
            let said = match done.response.outcome() {
                Ok(data) => data["stderr"].as_str().unwrap_or_default().to_owned(),
                Err(error) => error.message.clone(),
            };
            broken.insert(command, said);
        }
    }
    eprintln!("{reads} reads of the corpus; {neither} fail or are not installed here without a sandbox");
    eprintln!(
        "{} succeed without a sandbox, {both} of them also in it",
        both + broken.len()
    );
    for (command, said) in &broken {
        eprintln!("  {command}\n    {}", said.lines().next().unwrap_or_default());
    }
}
