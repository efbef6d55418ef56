//! Where the program is that sets the sandbox.

use std::path::PathBuf;

use interlock_confine::PROGRAM;

use crate::Error;

/// The program that sets the sandbox: beside the executable that runs. Cargo puts tests one folder deeper.
pub fn confine_program() -> Result<PathBuf, Error> {
    let missing = |path: PathBuf| Error::NoConfine { path };
    let executable = std::env::current_exe().map_err(|_| missing(PathBuf::from(PROGRAM)))?;
    let beside = executable.with_file_name(PROGRAM);
    let of_cargo = executable
        .parent()
        .filter(|folder| folder.ends_with("deps") || folder.ends_with("examples"))
        .and_then(|folder| folder.parent())
        .map(|folder| folder.join(PROGRAM));
    [Some(beside.clone()), of_cargo]
        .into_iter()
        .flatten()
        .find(|path| path.is_file())
        .ok_or_else(|| missing(beside))
}
