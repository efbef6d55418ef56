//! Checking the promise: the real gate, driven through every state of a small world and by a hostile proposer, with
//! the same [invariants](crate::invariants) asked after every step.

mod exhaustive;
mod hostile;
mod model;
mod random;

#[cfg(test)]
pub(crate) use exhaustive::{explore, guarded_gate, real_gate};
#[cfg(test)]
pub(crate) use hostile::attack;

pub use exhaustive::{GateOptions, GateReport, gate};
pub use hostile::{HostileOptions, HostileReport, hostile};
