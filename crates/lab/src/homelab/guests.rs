//! The guests.

use std::path::PathBuf;

use super::{GIB, MIB, logs, services};
use crate::machine::{Runs, Spec};
use crate::topology::{Guest, GuestKind};

/// How large the log volume of the guest is that may run out of it.
const LOG_VOLUME: u64 = 24 * MIB;

pub(super) fn guests() -> Vec<Guest> {
    use GuestKind::{Lxc, Vm};
    vec![
        guest(101, Lxc, "pihole", "delly", 1, 512 * MIB, "dns"),
        guest(110, Lxc, "nginx-proxy", "minipc", 1, 512 * MIB, "web"),
        guest(120, Lxc, "influxdb", "tower", 2, 2 * GIB, "metrics"),
        guest(125, Lxc, "grafana", "tower", 2, GIB, "metrics"),
        guest(130, Lxc, "postgres", "tower", 4, 4 * GIB, "database"),
        guest(141, Lxc, "homepage-docker", "delly", 2, 2 * GIB, "docker"),
        guest(150, Lxc, "jellyfin", "delly", 4, 4 * GIB, "media"),
        guest(160, Lxc, "vaultwarden", "tower", 1, 512 * MIB, "critical"),
        guest(170, Lxc, "mailgw", "tower", 2, 4 * GIB, "mail"),
        Guest {
            running: false,
            ..guest(190, Lxc, "backup", "delly", 2, 2 * GIB, "backup")
        },
        guest(200, Vm, "truenas", "tower", 4, 16 * GIB, "storage"),
        guest(203, Vm, "home-assistant", "minipc", 2, 4 * GIB, "home"),
        guest(210, Vm, "server1", "tower", 4, 8 * GIB, "docker"),
        guest(220, Vm, "k3s-1", "tower", 4, 8 * GIB, "kubernetes"),
    ]
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
    let mut files = services::service_of(name).map_or_else(Vec::new, |service| service.files());
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
        running: true,
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
