//! The engine: SLD resolution over an immutable base, with limits.
//!
//! A [`Machine`] answers one question and is dropped. It reads a [`Base`] and writes to nothing but its own memory: there
//! is no built-in that could do more. Unification checks that no term contains itself, so every term is finite. No function
//! recurses over terms that a goal builds; the depth of what recursion there is has a fixed limit.

mod arithmetic;
mod base;
mod builtins;
mod cell;
mod heap;
mod machine;
mod proof;

pub(crate) use base::{Base, Origin};
pub use machine::{Limits, Stop};
pub(crate) use machine::{Machine, Solution};
pub use proof::{Ground, Proof};
