//! Runs a process in bounds, for a permit. The only room that may start one.
//!
//! [`Runner::run`] takes a [`Started`](interlock_gate::Started): the proof that the gate permitted this very plan and
//! that the permit is used up. What may be written follows from the plan's kind and not from the caller
//! ([`Profile::of`]). What code wants to know by itself it asks with a [`Probe`], a closed list of questions that no
//! model can shape.
//!
//! Every process gets an argument vector, an empty standard input, an environment of four variables and its own process
//! group; a wall-clock limit, a cap on what it prints, and a sandbox that the kernel enforces ([`Sandbox`]). However the
//! run ends, by itself, in time, cancelled, or because nobody waits any more, nothing of its group is left behind.
//!
//! This room must never decide whether something may run, never pass on a variable of its own environment, and never
//! leave the sandbox out without saying so.
//!
//! Data walks: [`Program`] → a fresh thread that gives up its rights (`sandbox`) and starts the child (`spawn`) → the
//! two streams, head and tail and hash (`capture`) → [`Output`].

mod argv;
pub mod browser;
mod capability;
mod error;
mod hidden;
mod hide;
mod probe;
mod program;
mod protected;
mod runner;
mod sandbox;
mod spawn;

#[cfg(test)]
mod tests;

pub use argv::argv_of;
pub use error::Error;
pub use hide::{hide_this_process, open_many_files};
pub use probe::{Probe, UnitName};
pub use program::{Limits, Program};
pub use protected::Protected;
pub use runner::{Exit, Output, Runner};
pub use sandbox::{Profile, Sandbox, SandboxPolicy};
