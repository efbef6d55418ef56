//! A simulated cluster that speaks the real protocols, and incidents to play in it.
//!
//! Three Proxmox nodes with their guests, Docker containers, a Kubernetes cluster, a mail gateway, metrics and alerts,
//! over loopback HTTP and SSH. What runs in a node, a guest or a container are real processes with real files in a private
//! root ([`machine`]): a service that is started runs, listens and can crash; a full disk is full.
//!
//! An incident breaks the world and has an oracle that probes it: it connects to the service, reads the file, asks the API.
//! It never reads a flag, and never a transcript.
//!
//! This room must never be trusted with anything real: its credentials are made up at each start and it listens on
//! loopback only. It depends on no room that decides or executes, and nothing of the product depends on it: it is a program
//! of its own, `interlock-lab`.

mod access;
pub mod cluster;
mod control;
pub mod docker;
mod homelab;
mod incident;
pub mod kubernetes;
mod lab;
pub mod machine;
pub mod mail;
pub mod prometheus;
pub mod proxmox;
mod rules;
mod scrape;
pub mod ssh;
mod tls;
pub mod topology;

pub use access::Access;
pub use control::Remote;
pub use homelab::CLUSTER;
pub use incident::{Check, Described, Incident, Verdict};
pub use lab::{Error, Lab, Options, write_private};
pub use machine::{Isolation, Wish};
pub use tls::Identity;
