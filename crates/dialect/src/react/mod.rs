//! `react`: Thought / Action / Action Input / Final Answer, as lines that begin with these words.
//!
//! An action together with its input beats a final answer; an action without one gives way to it. Of several actions or
//! thoughts the last counts, of several final answers the first. From an `Observation:` on, everything is made up by the
//! model and cut. What is missing is told by what was found.

mod arguments;
mod machine;
pub(crate) mod prompt;
mod recovery;
mod scan;

pub(crate) use machine::Machine;
