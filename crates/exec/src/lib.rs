//! Runs a process in bounds, for a permit. The only room that may start one.
//!
//! [`Runner::run`] takes a [`Started`](interlock_gate::Started): the proof that the gate permitted this very plan and
//! that the permit is used up. What may be written follows from the plan's kind and not from the caller
//! ([`Profile`]). What code wants to know by itself it asks with a [`Probe`], a closed list of questions that no
//! model can shape.
//!
//! Every process gets an argument vector, an empty standard input, an environment of four or five variables and its own
//! process group; a wall-clock limit, a cap on what it prints, and a sandbox that the kernel enforces ([`Sandbox`]). A
//! pipeline of simple commands needs no shell: each of its programs runs in a sandbox of its own. However the run ends,
//! by itself, in time, cancelled, because nobody waits any more, or because Interlock was killed, nothing of it is left.
//!
//! This room must never decide whether something may run, never pass on a variable of its own environment, and never
//! leave the sandbox out without saying so.
//!
//! Data walks: [`Program`] → orders to `interlock-confine` (`spawn`), which sets the sandbox and executes it → the two
//! streams, head and tail and hash (`capture`) → [`Output`].

mod argv;
pub mod browser;
mod canary;
mod error;
mod helper;
mod hide;
mod lab;
mod probe;
mod program;
mod runner;
mod sandbox;
mod spawn;

#[cfg(test)]
mod tests;

pub use argv::{Simple, argv_of, pipeline_of};
pub use canary::Canary;
pub use error::Error;
pub use helper::Helper;
pub use hide::{hide_this_process, open_many_files};
pub use interlock_confine::Stderr;
pub use interlock_confine::{Policy as SandboxPolicy, Profile, Protected};
pub use lab::{LabProcess, become_lab, lab_incidents};
pub use probe::{Probe, UnitName};
pub use program::{Limits, Program};
pub use runner::{Exit, Output, Runner};
pub use sandbox::Sandbox;
