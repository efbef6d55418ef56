//! What runs inside the lab's machines, as a program of its own for this room's tests. The `interlock` binary does the same
//! when it is called so.

use std::process::ExitCode;

fn main() -> ExitCode {
    interlock_lab::machine::guest_main().unwrap_or(ExitCode::from(2))
}
