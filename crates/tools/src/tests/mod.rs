//! Calls through a real gate to this machine and back.

mod box_of_tools;
mod commands;
mod files;
mod protected;
mod query;
mod stage;
