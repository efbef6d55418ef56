//! The `interlock-lab` program: runs the simulated cluster, and breaks and mends things in it. `interlock demo` and
//! `interlock lab` run it.
//!
//! Inside the lab's machines the same program is their init, and every program that the lab itself puts there.
//!
//! Exit codes: 0 done, 1 the thing asked for did not succeed, 2 wrong usage or input.

mod command;

use std::process::ExitCode;

fn main() -> ExitCode {
    if let Some(code) = interlock_lab::machine::guest_main() {
        return code;
    }
    command::main()
}
