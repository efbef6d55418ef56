//! The Proxmox cluster of the lab with real machines: its API over HTTP, with somebody else's client, over SSH, and by the
//! programs of its nodes.

#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot be set up has failed"
)]

#[path = "proxmox/api.rs"]
mod api;
#[path = "proxmox/change.rs"]
mod change;
#[path = "proxmox/node.rs"]
mod node;
#[path = "proxmox/python.rs"]
mod python;
#[path = "proxmox/world.rs"]
mod world;
