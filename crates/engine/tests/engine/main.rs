//! The engine from a question to its answer, with a scripted model, a real store and tools that really write.

mod collision;
mod crash;
mod fixture;
mod flow;
mod takeover;
