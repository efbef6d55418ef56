//! Where the lines of a conversation come from.

use std::io::{self, IsTerminal as _};
use std::path::Path;

use rustyline::Editor;
use rustyline::error::ReadlineError;
use rustyline::history::{History as _, MemHistory};

use super::history::History;
use crate::drive::Driver;
use crate::failure::Failure;
use crate::globals::Globals;

/// Where lines come from.
pub(super) enum Prompt {
    /// A person, who can edit and go back.
    Person {
        editor: Box<Editor<(), MemHistory>>,
        history: History,
    },
    /// A pipe.
    Pipe,
}

impl Prompt {
    pub(super) fn new(globals: &Globals, folder: &Path) -> Result<Self, Failure> {
        if globals.json || !io::stdin().is_terminal() || !io::stdout().is_terminal() {
            return Ok(Self::Pipe);
        }
        let broken = |error: ReadlineError| Failure::wrong(format!("the terminal cannot be used: {error}"));
        let config = rustyline::Config::default();
        let mut editor = Editor::with_history(config, MemHistory::new()).map_err(broken)?;
        let history = History::new(folder);
        for line in history.lines() {
            // A line that is refused is one that stands there twice.
            let _ = editor.history_mut().add(&line);
        }
        Ok(Self::Person {
            editor: Box::new(editor),
            history,
        })
    }

    pub(super) const fn is_for_people(&self) -> bool {
        matches!(self, Self::Person { .. })
    }

    /// The next line; nothing at the end.
    pub(super) async fn line(&mut self, driver: &mut Driver<'_>) -> Result<Option<String>, Failure> {
        match self {
            Self::Pipe => tokio::select! {
                line = driver.keyboard.line() => Ok(line),
                () = driver.interrupt.recv() => Err(Failure::Interrupted),
            },
            Self::Person { editor, history } => loop {
                match editor.readline("» ") {
                    Ok(line) => {
                        if !line.trim().is_empty() && editor.history_mut().add(&line).unwrap_or(false) {
                            history.add(&line);
                        }
                        return Ok(Some(line));
                    }
                    // Ctrl-C throws away what was typed.
                    Err(ReadlineError::Interrupted) => {}
                    Err(ReadlineError::Eof) => return Ok(None),
                    Err(ReadlineError::Io(error)) => return Err(error.into()),
                    Err(error) => return Err(Failure::unsuccessful(error)),
                }
            },
        }
    }
}
