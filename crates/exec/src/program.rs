//! What to run, and how much of it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use interlock_confine::{Stage, Stderr};
use interlock_protocol::SocketKind;

use crate::{Error, pipeline_of};

/// The shell for what needs one.
const SHELL: &str = "/bin/sh";

/// A pipeline of one or more programs with their arguments. Never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    stages: Vec<Stage>,
    cwd: Option<PathBuf>,
    env: BTreeMap<String, String>,
}

impl Program {
    /// An argument vector; its first word is the program.
    pub fn new<Word: Into<String>>(argv: impl IntoIterator<Item = Word>) -> Result<Self, Error> {
        let argv: Vec<String> = argv.into_iter().map(Into::into).collect();
        if argv.first().is_none_or(String::is_empty) {
            return Err(Error::Empty);
        }
        Ok(Self::of(vec![stage(argv, Stderr::Kept, Vec::new())]))
    }

    /// A command that a shell reads.
    pub fn shell(command: &str) -> Self {
        let argv = vec![SHELL.to_owned(), "-c".to_owned(), command.to_owned()];
        Self::of(vec![stage(argv, Stderr::Kept, Vec::new())])
    }

    /// A command line: as argument vectors, one for each program of a pipeline, if it can be read as such, else by a
    /// shell. `needs` says which kinds of sockets a part of the command needs: a program of the pipeline, or the whole
    /// where a shell reads it. Each program gets what it needs itself, and not what its neighbours need.
    pub fn command(command: &str, needs: impl Fn(&str) -> Vec<SocketKind>) -> Self {
        match pipeline_of(command) {
            Some(pipeline) => Self::of(
                pipeline
                    .into_iter()
                    .map(|simple| stage(simple.words, simple.stderr, needs(&simple.text)))
                    .collect(),
            ),
            None => Self::shell(command).with_sockets(&needs(command)),
        }
    }

    fn of(stages: Vec<Stage>) -> Self {
        Self {
            stages,
            cwd: None,
            env: BTreeMap::new(),
        }
    }

    /// The same program with these kinds of sockets for each of its stages.
    #[must_use]
    pub fn with_sockets(mut self, sockets: &[SocketKind]) -> Self {
        for stage in &mut self.stages {
            stage.sockets = sockets.to_vec();
        }
        self
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

    /// The name of its first program.
    pub fn name(&self) -> &str {
        self.stages
            .first()
            .and_then(|stage| stage.argv.first())
            .map_or("", String::as_str)
    }

    /// Its stages.
    pub fn stages(&self) -> &[Stage] {
        &self.stages
    }

    /// The kinds of sockets that one of its stages may open, each once.
    pub fn sockets(&self) -> Vec<SocketKind> {
        SocketKind::ALL
            .iter()
            .copied()
            .filter(|kind| self.stages.iter().any(|stage| stage.sockets.contains(kind)))
            .collect()
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

const fn stage(argv: Vec<String>, stderr: Stderr, sockets: Vec<SocketKind>) -> Stage {
    Stage {
        argv,
        sockets,
        stderr,
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
