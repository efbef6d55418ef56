//! The engine from a question to its answer, with a scripted model, a real store and tools that really write.

mod batches;
mod collision;
mod controllers;
mod crash;
mod fixture;
mod flow;
mod holds;
mod takeover;
