//! `interlock lab`: runs `interlock-lab`, the program with the simulated cluster. Nothing of the lab is in this binary.

use std::ffi::OsString;

use clap::Args;

use crate::failure::Failure;
use crate::globals::{Globals, LogFormat};

/// Run the simulated cluster, and break and mend things in it.
#[derive(Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Arguments {
    /// What the lab is to do; `interlock lab --help` lists it
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "COMMAND")]
    words: Vec<OsString>,
}

/// Becomes the lab. Returns only if that cannot be done.
pub(crate) fn run(globals: &Globals, arguments: &Arguments) -> Failure {
    let mut words = arguments.words.clone();
    if words.is_empty() {
        words.push("--help".into());
    }
    let globally = [
        ("--json", globals.json),
        ("--no-color", globals.no_color),
        ("--log-format=json", globals.log_format == LogFormat::Json),
    ];
    words.extend(
        globally
            .iter()
            .filter(|(_, given)| *given)
            .map(|(flag, _)| (*flag).into()),
    );
    words.extend((0..globals.verbose).map(|_| "--verbose".into()));
    Failure::wrong(interlock_exec::become_lab(&words))
}
