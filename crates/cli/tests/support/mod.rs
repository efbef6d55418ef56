//! A user of their own for each test: folders, configuration, a model that plays a script.

#![allow(dead_code, reason = "each test file uses its own part")]

pub(crate) mod server;

use std::fmt;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

/// What a command came to.
pub(crate) struct Ran {
    pub(crate) exit: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    /// The one document on standard output.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}\n{self}"))
    }

    /// The documents on standard output, one on each line.
    pub(crate) fn json_lines(&self) -> Vec<Value> {
        self.stdout
            .lines()
            .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}\n{self}")))
            .collect()
    }
}

impl fmt::Display for Ran {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { exit, stdout, stderr } = self;
        write!(f, "exit: {exit:?}\n--- stdout\n{stdout}--- stderr\n{stderr}")
    }
}

/// A user with a home.
pub(crate) struct Home {
    folder: TempDir,
}

impl Home {
    /// A home whose model plays these replies.
    pub(crate) fn with_script(replies: &str) -> Self {
        let home = Self::empty();
        home.write("config/interlock/script.yaml", replies);
        home.write(
            "config/interlock/interlock.yaml",
            "models:\n  demo:\n    provider: scripted\n    script: script.yaml\n",
        );
        home
    }

    /// A home with nothing in it.
    pub(crate) fn empty() -> Self {
        let folder = tempfile::Builder::new()
            .prefix("interlock-cli-")
            .tempdir()
            .unwrap();
        for name in ["config/interlock", "data", "work"] {
            std::fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        Self { folder }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A file that commands of a model can write to.
    pub(crate) fn work(&self, name: &str) -> String {
        self.path("work").join(name).display().to_string()
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    /// Starts the binary.
    pub(crate) fn start(&self, arguments: &[&str]) -> Child {
        self.start_as(Path::new(env!("CARGO_BIN_EXE_interlock")), arguments)
    }

    /// Starts a copy of the binary.
    pub(crate) fn start_as(&self, program: &Path, arguments: &[&str]) -> Child {
        self.start_with(program, arguments, &[])
    }

    /// The same, with these variables in its environment.
    #[expect(
        clippy::disallowed_methods,
        clippy::disallowed_types,
        reason = "a test of the binary has to start it"
    )]
    pub(crate) fn start_with(&self, program: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Child {
        std::process::Command::new(program)
            .args(arguments)
            .env_clear()
            .env("HOME", self.folder.path())
            .env("XDG_CONFIG_HOME", self.path("config"))
            .env("XDG_DATA_HOME", self.path("data"))
            .env("PATH", "/usr/bin:/bin:/usr/sbin:/sbin")
            .env("TZ", "UTC")
            .envs(variables.iter().copied())
            .current_dir(self.path("work"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    /// Runs the binary to its end.
    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        self.run_with(arguments, "")
    }

    /// The same, with this on its standard input.
    pub(crate) fn run_with(&self, arguments: &[&str], input: &str) -> Ran {
        let mut child = self.start(arguments);
        let mut stdin = child.stdin.take().unwrap();
        // A program that refuses its arguments does not read its input.
        let _ = stdin.write_all(input.as_bytes());
        drop(stdin);
        ended(child)
    }

    /// The name that the system gives the user that runs the tests.
    pub(crate) fn user(&self) -> String {
        user(self.folder.path())
    }

    /// The output with what differs from run to run taken out.
    pub(crate) fn steady(&self, text: &str) -> String {
        steady(text, self.folder.path())
    }
}

/// How long another process may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// The time between two checks.
const LOOK: Duration = Duration::from_millis(100);

/// Waits until another process has done something that shows only from outside.
pub(crate) fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < end, "waited too long for {what}");
        std::thread::sleep(LOOK);
    }
}

/// Waits for the end.
pub(crate) fn ended(child: Child) -> Ran {
    let output = child.wait_with_output().unwrap();
    Ran {
        exit: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Ids, hashes, times, the names of the machine and of the user, and the folder, as words.
fn steady(text: &str, folder: &Path) -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let host = host.trim();
    let user = user(folder);
    let mut text = text.replace(&folder.display().to_string(), "[home]");
    let named = [
        (format!("host:{host}"), "host:[host]"),
        (format!("({host}"), "([host]"),
        (format!("on {host} ("), "on [host] ("),
        (format!("by local:{user}"), "by local:[user]"),
        (format!("\"local:{user}\""), "\"local:[user]\""),
    ];
    for (name, word) in named {
        text = text.replace(&name, word);
    }
    let filters = [
        (
            r"\b(ses|run|hold|prm|rcp|call|exe|evd|stg|evt|wrk)_[0-9a-f]{8,32}",
            "${1}_[id]",
        ),
        (r"\bmachine id [0-9a-f]{32}\b", "machine id [id]"),
        (r"\b[0-9a-f]{64}\b", "[hash]"),
        (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?Z?", "[time]"),
        (r"\b\d\d:\d\d:\d\d\b", "[time]"),
        (r"\b\d+\.\d s\b", "[seconds]"),
        (r"\b\d+ min \d+ s\b", "[minutes]"),
        (r#""(input|output)_tokens": \d+"#, r#""${1}_tokens": [n]"#),
        (r"\b\d+ tokens", "[n] tokens"),
        (
            r"\b\d+ bytes sent, \d+ received, \[n\] tokens in, \d+ out",
            "[n] bytes sent and so on",
        ),
        // What the kernel of this machine can enforce.
        (r"Ran read-only: [^\n]*", "Ran read-only: [sandbox]"),
        (r"No sandbox held the command: [^\n]*", "Ran read-only: [sandbox]"),
        // Columns are as wide as the longest name of this machine.
        (r"(\S)  +", "$1  "),
    ];
    for (pattern, replacement) in filters {
        let pattern = regex::Regex::new(pattern).unwrap();
        text = pattern.replace_all(&text, replacement).into_owned();
    }
    text
}

/// The name of the user that runs the tests: the one whom the folder belongs to.
fn user(folder: &Path) -> String {
    use std::os::unix::fs::MetadataExt as _;
    let uid = std::fs::metadata(folder).unwrap().uid().to_string();
    let passwd = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    passwd
        .lines()
        .map(|line| line.split(':').collect::<Vec<_>>())
        .find(|fields| fields.get(2) == Some(&uid.as_str()))
        .map_or(format!("uid-{uid}"), |fields| fields[0].to_owned())
}

/// Discovers this machine, reads its disk, answers.
pub(crate) const READS: &str = r#"
replies:
  - calls:
      - tool: infra_query
        arguments: { action: search, query: localhost }
  - text: Let me look.
    calls:
      - tool: infra_read
        arguments: { action: exec, target_host: localhost, command: "df -h /" }
  - text: The disk was looked at with df.
"#;

/// Discovers this machine, appends a line to a file, looks at it, answers. `FILE` is replaced.
pub(crate) const WRITES: &str = r#"
replies:
  - calls:
      - tool: infra_query
        arguments: { action: search, query: localhost }
  - calls:
      - tool: infra_control
        arguments: { action: command, target_host: localhost, command: "touch FILE" }
  - when: { contains: "denied" }
    text: A human said no, so nothing was changed.
  - calls:
      - tool: infra_read
        arguments: { action: exec, target_host: localhost, command: "ls -l FILE" }
  - text: The file was made.
"#;
