//! Talks to infrastructure: Proxmox VE and Mail Gateway, Docker, Kubernetes, Prometheus, Alertmanager, hosts by SSH.
//!
//! Each connector is a client of a real wire format, with authentication, time-outs, paging and typed errors. What they
//! know of resources goes into one [`Graph`]: ids, names, aliases, parents and states. Nobody above this room knows
//! whether a lab or a datacentre is behind it.
//!
//! What changes something, or runs what a model wrote, takes a [`Started`](interlock_gate::Started): the proof that the
//! gate permitted this very plan. What code asks by itself (the graph, the reading that verifies a write) is a closed list
//! of typed reads that no model can shape.
//!
//! This room must never decide whether something may happen, never act on another resource than the plan names, and never
//! put a credential into an error, a log or a result.
//!
//! Data walks: a plan → a connector → the wire → typed facts, or an [`Error`] that says which connection and why.

pub mod alertmanager;
pub mod docker;
mod error;
mod graph;
pub mod hosts;
mod http;
mod identity;
mod infra;
mod keeper;
pub mod kubernetes;
mod made;
pub mod mail;
mod meant;
pub mod options;
mod output;
pub mod prometheus;
pub mod proxmox;
mod reach;
mod secrets;
mod ssh;

pub use error::Error;
pub use graph::{Graph, Health, Resource, Source};
pub use infra::Infra;
pub use made::{Connections, FileContents};
pub use options::Options;
pub use output::{Exit, Limits, Output};
pub use reach::{Errors, FilePath, Form, Job, Probe, Stage, UnitName};
pub use secrets::Secrets;

use std::future::Future;
use std::pin::Pin;

/// A future behind a pointer, so that sources of every kind stand in one list.
pub type BoxFuture<'a, Output> = Pin<Box<dyn Future<Output = Output> + Send + 'a>>;
