//! Sets the sandbox of one command, then executes it. See the library of the same name.

use std::process::ExitCode;

fn main() -> ExitCode {
    interlock_confine::main()
}
