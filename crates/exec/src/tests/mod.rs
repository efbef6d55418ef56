//! What a process may do, shown by real ones.

mod argv;
mod bounds;
mod environment;
mod prove;
mod sandbox;
mod stage;
mod wall;
