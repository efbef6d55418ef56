//! The Proxmox cluster: its nodes, guests, storages and tasks, and what may be done to them.

pub mod cli;
