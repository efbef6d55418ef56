//! A model that plays a script: for demonstrations, tests and runbooks whose every step is known.
//!
//! It keeps nothing between requests. Which reply comes next follows from the conversation alone, so that sessions that
//! run side by side each have their own place, and a resumed session goes on where it was. `scripts/README.md`
//! explains the format.

mod play;
mod script;

pub(crate) use play::{body, play};
pub use script::{Error, Script};
