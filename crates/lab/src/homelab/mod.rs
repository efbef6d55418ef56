//! The cluster of the lab: a household with three nodes, as its owner would describe it.

mod docker;
mod guests;
mod logs;
mod nodes;
mod services;

use crate::topology::{Storage, Topology};

pub(crate) use docker::{PAPERLESS, PAPERLESS_BAD, PAPERLESS_GOOD, PAPERLESS_PORT, hosts as docker_hosts};
pub(crate) use nodes::OLD_SERVICES;
pub(crate) use services::{HOMEPAGE_CONFIG, service_of};

const GIB: u64 = 1 << 30;
const MIB: u64 = 1 << 20;

/// What the cluster is called.
pub const CLUSTER: &str = "homelab";

/// The nodes, guests and storages.
pub(crate) fn topology() -> Topology {
    Topology {
        name: CLUSTER.to_owned(),
        nodes: nodes::nodes(),
        guests: guests::guests(),
        storages: storages(),
    }
}

/// The number of a guest.
pub(crate) fn vmid_of(name: &str) -> Option<u32> {
    guests::numbers()
        .find(|(guest, _)| *guest == name)
        .map(|(_, vmid)| vmid)
}

fn storages() -> Vec<Storage> {
    let storage = |name: &str, kind: &str, shared, content: &str, total, base| Storage {
        name: name.to_owned(),
        kind: kind.to_owned(),
        shared,
        content: content.to_owned(),
        total_bytes: total,
        base_bytes: base,
    };
    vec![
        storage("local", "dir", false, "iso,vztmpl,backup", 94 * GIB, 21 * GIB),
        storage(
            "local-lvm",
            "lvmthin",
            false,
            "rootdir,images",
            370 * GIB,
            96 * GIB,
        ),
        storage(
            "shared",
            "nfs",
            true,
            "rootdir,images,backup",
            3_600 * GIB,
            1_240 * GIB,
        ),
        storage("backup", "pbs", true, "backup", 7_200 * GIB, 3_010 * GIB),
    ]
}
