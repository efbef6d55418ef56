//! The guests.

use std::path::PathBuf;

use super::{GIB, MIB, logs, services};
use crate::machine::{Runs, Spec};
use crate::topology::{Guest, GuestKind};

/// How large the log volume of the guest is that may run out of it.
const LOG_VOLUME: u64 = 24 * MIB;

/// Every guest: number, kind, name, node, cores, memory, tag.
const GUESTS: &[(u32, GuestKind, &str, &str, u32, u64, &str)] = &[
    (101, GuestKind::Lxc, "pihole", "delly", 1, 512 * MIB, "dns"),
    (110, GuestKind::Lxc, "nginx-proxy", "minipc", 1, 512 * MIB, "web"),
    (120, GuestKind::Lxc, "influxdb", "tower", 2, 2 * GIB, "metrics"),
    (125, GuestKind::Lxc, "grafana", "tower", 2, GIB, "metrics"),
    (130, GuestKind::Lxc, "postgres", "tower", 4, 4 * GIB, "database"),
    (
        141,
        GuestKind::Lxc,
        "homepage-docker",
        "delly",
        2,
        2 * GIB,
        "docker",
    ),
    (150, GuestKind::Lxc, "jellyfin", "delly", 4, 4 * GIB, "media"),
    (
        160,
        GuestKind::Lxc,
        "vaultwarden",
        "tower",
        1,
        512 * MIB,
        "critical",
    ),
    (170, GuestKind::Lxc, "mailgw", "tower", 2, 4 * GIB, "mail"),
    (190, GuestKind::Lxc, "backup", "delly", 2, 2 * GIB, "backup"),
    (200, GuestKind::Vm, "truenas", "tower", 4, 16 * GIB, "storage"),
    (203, GuestKind::Vm, "home-assistant", "minipc", 2, 4 * GIB, "home"),
    (210, GuestKind::Vm, "server1", "tower", 4, 8 * GIB, "docker"),
    (220, GuestKind::Vm, "k3s-1", "tower", 4, 8 * GIB, "kubernetes"),
];

/// What does not run at first.
const STOPPED: u32 = 190;

pub(super) fn guests() -> Vec<Guest> {
    GUESTS
        .iter()
        .map(|(vmid, kind, name, node, cores, memory, tag)| {
            guest(*vmid, *kind, name, node, *cores, *memory, tag)
        })
        .collect()
}

/// The names of all guests, with their numbers.
pub(super) fn numbers() -> impl Iterator<Item = (&'static str, u32)> {
    GUESTS.iter().map(|(vmid, _, name, ..)| (*name, *vmid))
}

fn guest(
    vmid: u32,
    kind: GuestKind,
    name: &str,
    node: &str,
    cores: u32,
    memory_bytes: u64,
    tag: &str,
) -> Guest {
    let number = u8::try_from(vmid % 256).unwrap_or(0);
    let mut files = services::service_of(name).map_or_else(Vec::new, services::Service::files);
    files.extend(logs::of(name));
    let volumes = match name {
        "influxdb" => vec![(PathBuf::from("/var/log/influxdb"), LOG_VOLUME)],
        _ => Vec::new(),
    };
    Guest {
        vmid,
        kind,
        name: name.to_owned(),
        node: node.to_owned(),
        cores,
        memory_bytes,
        running: vmid != STOPPED,
        tags: vec![tag.to_owned()],
        // What may move without its disk being copied lives on the shared storage.
        storage: if node == "minipc" { "shared" } else { "local-lvm" }.to_owned(),
        spec: Spec {
            name: name.to_owned(),
            address: Some([10, 20, 1, number].into()),
            disk_bytes: 256 * MIB,
            volumes,
            files,
            runs: Runs::Units,
            ..Spec::default()
        },
    }
}
