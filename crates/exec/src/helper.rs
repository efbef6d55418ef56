//! Programs of our own that this room starts: a closed list. They are found beside the executable that runs, and nowhere
//! else. No text of a model's reaches their arguments.

use std::path::PathBuf;

use interlock_confine::PROGRAM;

use crate::Error;

/// A program of our own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Helper {
    /// Sets the sandbox of a command and executes it.
    Confine,
    /// The simulated cluster of the demo.
    Lab,
}

impl Helper {
    /// The name of its file.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Confine => PROGRAM,
            Self::Lab => "interlock-lab",
        }
    }

    /// Where it is: beside the executable that runs. Cargo puts tests one folder deeper.
    pub fn path(self) -> Result<PathBuf, Error> {
        let missing = |path: PathBuf| match self {
            Self::Confine => Error::NoConfine { path },
            Self::Lab => Error::NoLab { path },
        };
        let executable = std::env::current_exe().map_err(|_| missing(PathBuf::from(self.name())))?;
        let beside = executable.with_file_name(self.name());
        let of_cargo = executable
            .parent()
            .filter(|folder| folder.ends_with("deps") || folder.ends_with("examples"))
            .and_then(|folder| folder.parent())
            .map(|folder| folder.join(self.name()));
        [Some(beside.clone()), of_cargo]
            .into_iter()
            .flatten()
            .find(|path| path.is_file())
            .ok_or_else(|| missing(beside))
    }
}
