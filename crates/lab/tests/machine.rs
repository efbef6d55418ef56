//! Machines: real processes in private roots, with a supervisor, a journal, and disks that can be full.

mod machine {
    mod apart;
    mod container;
    mod disks;
    mod folders;
    mod lives;
    mod support;
    mod units;
}
