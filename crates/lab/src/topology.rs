//! What the cluster is made of.

use crate::machine::Spec;

/// A cluster to build.
#[derive(Debug, Clone)]
pub struct Topology {
    /// What the cluster is called.
    pub name: String,
    /// Its nodes.
    pub nodes: Vec<Node>,
    /// Its guests.
    pub guests: Vec<Guest>,
    /// Its storages.
    pub storages: Vec<Storage>,
}

/// A Proxmox node.
#[derive(Debug, Clone)]
pub struct Node {
    /// What it is called.
    pub name: String,
    /// How many processors it has.
    pub cpus: u32,
    /// How much memory it has.
    pub memory_bytes: u64,
    /// Its machine: what an administrator finds who signs in.
    pub spec: Spec,
}

/// What a guest is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum GuestKind {
    /// A system container.
    Lxc,
    /// A virtual machine.
    Vm,
}

/// A guest.
#[derive(Debug, Clone)]
pub struct Guest {
    /// Its number, unique in the cluster.
    pub vmid: u32,
    /// What it is.
    pub kind: GuestKind,
    /// What it is called.
    pub name: String,
    /// The node that it is on at first.
    pub node: String,
    /// How many processors it has.
    pub cores: u32,
    /// How much memory it has.
    pub memory_bytes: u64,
    /// Whether it runs at first.
    pub running: bool,
    /// Its tags.
    pub tags: Vec<String>,
    /// The storage of its root disk.
    pub storage: String,
    /// Its machine.
    pub spec: Spec,
}

/// A storage.
#[derive(Debug, Clone)]
pub struct Storage {
    /// What it is called.
    pub name: String,
    /// `dir`, `lvmthin`, `zfspool`, `nfs`, `pbs`.
    pub kind: String,
    /// Whether all nodes share it.
    pub shared: bool,
    /// What it is for: `rootdir,images`.
    pub content: String,
    /// Its size.
    pub total_bytes: u64,
    /// How much of it is used by what the lab does not model one by one.
    pub base_bytes: u64,
}
