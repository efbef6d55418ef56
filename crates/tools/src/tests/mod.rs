//! Calls through a real gate, to this machine or to a cluster over real wires, and back.

mod audit;
mod box_of_tools;
mod commands;
mod files;
mod fleet;
mod fleet_files;
mod fleet_guests;
mod logic;
mod protected;
mod query;
mod stage;
mod world;
