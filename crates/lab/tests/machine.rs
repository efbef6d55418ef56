//! Machines: real processes in private roots, with a supervisor, a journal, and disks that can be full.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot set itself up must stop"
)]

mod machine {
    mod apart;
    mod container;
    mod disks;
    mod folders;
    mod lives;
    mod support;
    mod units;
}
