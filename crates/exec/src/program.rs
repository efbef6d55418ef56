//! What to run, and how much of it.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::{Error, argv_of};

/// The shell for what needs one.
const SHELL: &str = "/bin/sh";

/// A program with its arguments. Never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    name: OsString,
    arguments: Vec<OsString>,
    cwd: Option<PathBuf>,
    env: BTreeMap<String, String>,
}

impl Program {
    /// An argument vector; its first word is the program.
    pub fn new<Word: Into<OsString>>(argv: impl IntoIterator<Item = Word>) -> Result<Self, Error> {
        let mut words = argv.into_iter().map(Into::into);
        let name = words
            .next()
            .filter(|name: &OsString| !name.is_empty())
            .ok_or(Error::Empty)?;
        Ok(Self {
            name,
            arguments: words.collect(),
            cwd: None,
            env: BTreeMap::new(),
        })
    }

    /// A command that a shell reads.
    pub fn shell(command: &str) -> Self {
        Self {
            name: SHELL.into(),
            arguments: vec!["-c".into(), command.into()],
            cwd: None,
            env: BTreeMap::new(),
        }
    }

    /// A command line: as an argument vector if it is one, else by a shell.
    pub fn command(command: &str) -> Self {
        argv_of(command)
            .and_then(|argv| Self::new(argv).ok())
            .unwrap_or_else(|| Self::shell(command))
    }

    /// The same program in this folder.
    #[must_use]
    pub fn in_folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.cwd = Some(folder.into());
        self
    }

    /// The same program with one more variable in its environment.
    #[must_use]
    pub fn with_env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.env.insert(name.into(), value.into());
        self
    }

    /// The program's name.
    pub fn name(&self) -> &OsStr {
        &self.name
    }

    /// Its arguments, without its name.
    pub fn arguments(&self) -> &[OsString] {
        &self.arguments
    }

    /// The folder it runs in; left out, the root.
    pub fn folder(&self) -> Option<&Path> {
        self.cwd.as_deref()
    }

    /// What it finds in its environment besides what every program gets.
    pub const fn env(&self) -> &BTreeMap<String, String> {
        &self.env
    }
}

/// How much a run may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How long it may take.
    pub wall: Duration,
    /// How much of each stream is kept.
    pub output_bytes: usize,
    /// How much of each stream may come at all. Who prints more is killed.
    pub drain_bytes: u64,
    /// How long a process may take to end after it was told to, before it is killed.
    pub grace: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            wall: Duration::from_mins(1),
            output_bytes: 64 * 1024,
            drain_bytes: 64 * 1024 * 1024,
            grace: Duration::from_secs(2),
        }
    }
}
