//! What a command line has come to, while it is walked: the folders it could be in, and what its loops set.
//!
//! Folders and variables are sets that only grow. A `cd` can fail, be skipped, run in a subshell or in a later turn of a
//! loop: the folder before it stays possible, and a command is judged in every folder that any part of the line could
//! have entered. That is why a line which enters folders is walked twice, the second time with what the first one found.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};

use crate::extent::MOST_SECONDS;
use crate::report::Report;
use crate::secret::{self, Nature};
use crate::verdict::Category;
use crate::word::{Arg, Value};

/// How many folders are followed one by one; more of them could be any folder.
const MOST_FOLDERS: usize = 24;

#[derive(Debug, Default)]
pub(crate) struct Course {
    /// How many commands were judged already.
    judged: Cell<usize>,
    /// Folders that were entered, as far as they are known. The one where the command starts is always possible too.
    folders: RefCell<Vec<String>>,
    /// It could be in any folder.
    anywhere: Cell<bool>,
    /// Loop variables with everything their loops set them to.
    loops: RefCell<Vec<Loop>>,
    /// Something other than a loop sets variables, so that none of them is known.
    assigns: Cell<bool>,
    /// How often what is judged now runs, because of the loops around it.
    turns: Cell<Turns>,
    /// How many seconds the line waits in all.
    waited: Cell<f64>,
}

#[derive(Debug, Clone, Copy)]
struct Turns(f64);

impl Default for Turns {
    fn default() -> Self {
        Self(1.0)
    }
}

#[derive(Debug)]
struct Loop {
    variable: String,
    /// The nesting of commands in which it is set: a shell inside has variables of its own.
    depth: usize,
    values: Vec<Arg<'static>>,
}

impl Course {
    /// What a second walk starts with: everywhere the first one could have been, and every variable it set. `None` if
    /// the first walk met neither.
    pub(crate) fn again(self) -> Option<Self> {
        let moved = self.anywhere.get() || !self.folders.borrow().is_empty();
        (moved || !self.loops.borrow().is_empty()).then(|| {
            self.judged.set(0);
            self.waited.set(0.0);
            self
        })
    }

    /// One more command is judged; how many there were.
    pub(super) fn count(&self) -> usize {
        self.judged.set(self.judged.get() + 1);
        self.judged.get()
    }

    /// Whether every command runs in the folder where the line starts.
    pub(super) fn stays(&self) -> bool {
        !self.anywhere.get() && self.folders.borrow().is_empty()
    }

    /// What is judged in between runs so often. Gives back what [`Course::leaves_loop`] wants.
    pub(crate) fn enters_loop(&self, turns: f64) -> f64 {
        let Turns(before) = self.turns.get();
        self.turns.set(Turns(before * turns.max(1.0)));
        before
    }

    /// Ends what [`Course::enters_loop`] began.
    pub(crate) fn leaves_loop(&self, before: f64) {
        self.turns.set(Turns(before));
    }

    /// The command waits so long, in each turn of the loops around it.
    pub(crate) fn waits(&self, seconds: f64, part: &str, report: &mut Report) {
        let Turns(turns) = self.turns.get();
        let waited = self.waited.get() + seconds * turns;
        self.waited.set(waited);
        if waited > MOST_SECONDS {
            report.endless(
                Category::UnboundedStream,
                part,
                "waits too long, with all that the line waits for",
            );
        }
    }

    /// How many seconds the line waits so far.
    pub(super) fn waited(&self) -> f64 {
        self.waited.get()
    }

    /// A time limit ends what was counted since then.
    pub(super) fn forgets_waiting(&self, waited: f64) {
        self.waited.set(waited);
    }

    /// Whether it could be in a folder that the line does not name.
    pub(super) fn could_be_anywhere(&self) -> bool {
        self.anywhere.get()
    }

    /// A loop sets this variable to these values.
    pub(crate) fn loops(&self, variable: &str, depth: usize, values: Vec<Arg<'static>>) {
        self.loops.borrow_mut().push(Loop {
            variable: variable.to_owned(),
            depth,
            values,
        });
    }

    /// Something sets variables: none of them is known.
    pub(crate) fn forget_variables(&self) {
        self.assigns.set(true);
    }

    /// Everything that a word could be, where it is one loop variable and nothing more.
    fn values(&self, arg: &Arg<'_>, depth: usize) -> Option<Vec<Arg<'static>>> {
        if self.assigns.get() || arg.text().is_some() || !arg.raw.contains('$') {
            return None;
        }
        let name = arg.raw.trim_matches('"');
        let name = name.strip_prefix('$')?;
        let name = name
            .strip_prefix('{')
            .and_then(|name| name.strip_suffix('}'))
            .unwrap_or(name);
        let loops = self.loops.borrow();
        let same: Vec<&Loop> = loops.iter().filter(|known| known.variable == name).collect();
        if same.is_empty() || same.iter().any(|known| known.depth != depth) {
            return None;
        }
        let values: Vec<Arg<'static>> = same.iter().flat_map(|known| known.values.clone()).collect();
        // A value that is itself a variable says nothing.
        values
            .iter()
            .all(|value| !matches!(&value.value, Value::Unknown(unknown) if unknown.glob.is_none()))
            .then_some(values)
    }

    /// `cd` and `pushd` with these arguments.
    pub(super) fn changes_folder(&self, args: &[Arg<'_>], depth: usize) {
        let mut flags = true;
        for arg in args {
            match arg.text() {
                Some("--") if flags => flags = false,
                // The folder before, which is known only where this line entered one.
                Some("-") => {
                    if self.stays() {
                        self.anywhere.set(true);
                    }
                    return;
                }
                // `pushd +1` turns the folders that were entered around.
                Some(text) if text.len() > 1 && text.starts_with('+') => {
                    self.enters(arg, depth);
                    return;
                }
                Some(text) if flags && text.len() > 1 && text.starts_with('-') => {}
                _ => {
                    self.enters(arg, depth);
                    return;
                }
            }
        }
        self.enters(&Arg::known("~"), depth);
    }

    /// What follows could run in this folder.
    pub(super) fn enters(&self, arg: &Arg<'_>, depth: usize) {
        let Some(text) = arg.text() else {
            match self.values(arg, depth) {
                Some(values) => values.iter().for_each(|value| self.enters(value, depth)),
                None => self.anywhere.set(true),
            }
            return;
        };
        let normal = secret::normal(text);
        let text = if text.starts_with('/') && is_relative(&normal) {
            &normal
        } else {
            text
        };
        let mut folders = self.folders.borrow_mut();
        let mut found = Vec::new();
        if text.starts_with(['/', '~']) {
            found.push(text.to_owned());
        } else {
            found.push(text.to_owned());
            found.extend(folders.iter().map(|folder| format!("{folder}/{text}")));
        }
        for folder in found {
            let folder = secret::normal(&folder);
            if folder.is_empty() || folders.contains(&folder) {
                continue;
            }
            if folders.len() >= MOST_FOLDERS {
                self.anywhere.set(true);
                return;
            }
            folders.push(folder);
        }
    }

    /// It runs in a folder that is not known.
    pub(crate) fn enters_any(&self) {
        self.anywhere.set(true);
    }

    /// What opening a file of this name means, in every folder where that could happen.
    pub(super) fn nature(&self, arg: &Arg<'_>, depth: usize) -> Nature {
        let Some(values) = self.values(arg, depth) else {
            return self.nature_of(arg);
        };
        values
            .iter()
            .map(|value| self.nature_of(value))
            .fold(Nature::default(), Nature::or)
    }

    fn nature_of(&self, arg: &Arg<'_>) -> Nature {
        let mut nature = secret::nature(arg);
        let Some(name) = written(arg).and_then(relative) else {
            return nature;
        };
        let name = name.as_ref();
        nature.secret |= secret::could_be_secret_somewhere(name);
        for folder in self.folders.borrow().iter() {
            nature = nature.or(secret::nature(&below(folder, arg, name)));
        }
        if self.anywhere.get() {
            nature = nature.or(secret::nature_anywhere(name));
        }
        nature
    }

    /// Whether a word names a file that is listed as a secret, in any folder where it could be. For words that a program is not
    /// known to open: what only could be a secret does not count.
    pub(super) fn names_secret(&self, arg: &Arg<'_>, depth: usize) -> bool {
        let one = |arg: &Arg<'_>| {
            let Some(text) = written(arg) else { return false };
            secret::is_listed(arg)
                || relative(text).is_some_and(|name| {
                    self.folders
                        .borrow()
                        .iter()
                        .any(|folder| secret::is_listed(&below(folder, arg, &name)))
                })
        };
        match self.values(arg, depth) {
            Some(values) => values.iter().any(one),
            None => one(arg),
        }
    }

    /// Whether opening a file of this name does something, in every folder where that could happen.
    pub(super) fn acts(&self, arg: &Arg<'_>, depth: usize) -> bool {
        let one = |arg: &Arg<'_>| {
            let Some(name) = written(arg) else { return false };
            if self.stays() {
                return secret::acts(arg);
            }
            secret::acts(arg)
                || relative(name).is_some_and(|name| {
                    self.anywhere.get() && secret::could_act_somewhere(&name)
                        || self
                            .folders
                            .borrow()
                            .iter()
                            .any(|folder| secret::acts(&below(folder, arg, &name)))
                })
        };
        match self.values(arg, depth) {
            Some(values) => values.iter().any(one),
            None => one(arg),
        }
    }

    /// Whether a file operand, should it be a folder, holds secrets, wherever it could be.
    pub(super) fn folder_holds_secrets(&self, arg: &Arg<'_>, depth: usize) -> bool {
        let one = |arg: &Arg<'_>| {
            let relative = written(arg).and_then(relative);
            // In a folder that is not known every name is taken for a secret anyway.
            secret::folder_holds_secrets(arg)
                || relative.is_some_and(|name| {
                    self.folders
                        .borrow()
                        .iter()
                        .any(|folder| secret::folder_holds_secrets(&below(folder, arg, &name)))
                })
        };
        match self.values(arg, depth) {
            Some(values) => values.iter().any(one),
            None => one(arg),
        }
    }

    /// Whether reading everything below a folder opens what acts on being opened or read.
    pub(super) fn tree_acts(&self, arg: &Arg<'_>, depth: usize) -> bool {
        let one = |arg: &Arg<'_>| {
            secret::tree_acts(arg)
                || arg.text().and_then(relative).is_some_and(|name| {
                    self.folders
                        .borrow()
                        .iter()
                        .any(|folder| secret::tree_acts(&below(folder, arg, &name)))
                })
        };
        match self.values(arg, depth) {
            Some(values) => values.iter().any(one),
            None => one(arg),
        }
    }

    /// Whether a folder that is read whole holds secrets, wherever it could be.
    pub(super) fn tree_holds_secrets(&self, arg: &Arg<'_>, depth: usize) -> bool {
        if let Some(values) = self.values(arg, depth) {
            return values.iter().any(|value| self.tree(value));
        }
        self.tree(arg)
    }

    fn tree(&self, arg: &Arg<'_>) -> bool {
        secret::tree_holds_secrets(arg)
            || arg.text().and_then(relative).is_some_and(|text| {
                self.anywhere.get()
                    || self
                        .folders
                        .borrow()
                        .iter()
                        .any(|folder| secret::tree_holds_secrets(&below(folder, arg, &text)))
            })
    }
}

/// The text or the pattern of a word.
fn written<'a>(arg: &'a Arg<'_>) -> Option<&'a str> {
    match &arg.value {
        Value::Known(text) => Some(text),
        Value::Unknown(unknown) => unknown.glob.as_deref(),
    }
}

/// The name as seen from the folder where the command runs, if that folder matters: `/proc/self/cwd/x` is `x`.
fn relative(name: &str) -> Option<Cow<'_, str>> {
    if is_relative(name) {
        return Some(name.into());
    }
    let normal = secret::normal(name);
    is_relative(&normal).then(|| normal.into())
}

fn is_relative(name: &str) -> bool {
    !name.starts_with(['/', '~']) && !name.contains("://")
}

/// The same word, below a folder.
fn below(folder: &str, arg: &Arg<'_>, name: &str) -> Arg<'static> {
    let path = format!("{folder}/{name}");
    let value = match &arg.value {
        Value::Known(_) => Value::Known(path.clone().into()),
        Value::Unknown(unknown) => Value::Unknown(crate::word::Unknown {
            prefix: format!("{folder}/{}", unknown.prefix),
            glob: Some(path.clone()),
            ..unknown.clone()
        }),
    };
    Arg {
        raw: path.into(),
        value,
    }
}
