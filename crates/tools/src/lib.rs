//! The catalogue: every tool's executor, and what code asks of infrastructure by itself.
//!
//! A [`Toolbox`] finds the [`Executor`] of a call's tool and runs it within the time that its plan gives, for a
//! [`Started`](interlock_gate::Started): the proof that the gate permitted this very plan. What came of it is a [`Done`]:
//! the answer for the model, the facts for the receipt, and what was read or discovered. An [`Inventory`] answers what
//! code itself asks: a mention, a rediscovery, the reading that verifies a write. No model shapes those questions.
//!
//! [`LocalHost`] is the machine that Interlock runs on. Its commands run in the room `exec`, under a sandbox; its files
//! are read and written here, in bounds (`file`), and Interlock's own are refused.
//!
//! This room must never decide whether a call may run, never start a process, never act on another resource than its
//! plan names, and never let a failing tool take the engine with it.
//!
//! Data walks: `Started` → [`Toolbox::run`] → executor → [`Done`] → the engine makes receipt and evidence of it → gate.

mod done;
mod executor;
mod failure;
mod file;
mod fleet;
mod inventory;
mod local;
mod options;
mod toolbox;

mod sockets;
#[cfg(test)]
mod tests;

pub use done::{Done, Reading};
pub use executor::{BoxFuture, Executor};
pub use fleet::{Fleet, Knowledge, Measured, Note, Notes, measure};
pub use inventory::Inventory;
pub use local::LocalHost;
pub use options::Options;
pub use toolbox::{Builder, Error, Filter, Toolbox};
