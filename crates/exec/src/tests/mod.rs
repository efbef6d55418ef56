//! What a process may do, shown by real ones.

mod argv;
mod attack;
mod bounds;
mod ending;
mod environment;
mod helpers;
mod prove;
mod sandbox;
mod stage;
mod wall;
