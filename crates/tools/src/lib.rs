//! The built-in tools: the executors of every family, and what code asks of infrastructure by itself.
//!
//! [`LocalHost`] is the machine that Interlock runs on. Its commands run in the room `exec`, under a sandbox; its files
//! are read and written here, in bounds (`file`), and Interlock's own are refused. [`Fleet`] is that machine and everything
//! that `infra` reaches, behind one table of tools (`fleet::TOOLS`).
//!
//! This room must never decide whether a call may run, never start a process, and never act on another resource than its
//! plan names.
//!
//! Data walks: `Started` → `executor::Toolbox` → a tool of the table → `exec` or `infra` → `Done`.

mod file;
mod fleet;
mod local;
mod options;
mod sockets;
#[cfg(test)]
mod tests;

pub use fleet::{Fleet, Knowledge, Measured, Note, Notes, measure};
pub use local::LocalHost;
pub use options::Options;

use interlock_executor::{BoxFuture, Builder, Done, Error, Executor, Failure, Inventory, Reading};
