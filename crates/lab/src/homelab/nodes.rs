//! The nodes.

use std::path::PathBuf;

use super::{GIB, MIB};
use crate::machine::{File, Runs, Spec};
use crate::topology::Node;

/// Left behind when the dashboard moved into a container: the same path, and nobody reads it.
pub(crate) const OLD_SERVICES: &str = "\
# Homepage services (moved to the container homepage-docker in spring)
- Media:
    - Jellyfin: { href: 'http://jellyfin.lan:8096' }
- Home:
    - Home Assistant: { href: 'http://home-assistant.lan:8123' }
";

pub(super) fn nodes() -> Vec<Node> {
    let node = |name: &str, number: u8, cpus, memory, mut files: Vec<File>| {
        files.push(file(
            "/etc/motd",
            format!("Linux {name}: Proxmox VE, cluster {}.\n", super::CLUSTER),
        ));
        Node {
            name: name.to_owned(),
            cpus,
            memory_bytes: memory,
            spec: Spec {
                name: name.to_owned(),
                address: Some([10, 20, 0, number].into()),
                disk_bytes: 256 * MIB,
                files,
                runs: Runs::Units,
                ..Spec::default()
            },
        }
    };
    vec![
        node(
            "delly",
            11,
            8,
            32 * GIB,
            vec![file(super::services::HOMEPAGE_CONFIG, OLD_SERVICES)],
        ),
        node("minipc", 12, 4, 16 * GIB, Vec::new()),
        node("tower", 13, 12, 64 * GIB, Vec::new()),
    ]
}

/// A file that its owner may write and all may read.
pub(super) fn file(path: &str, content: impl Into<Vec<u8>>) -> File {
    File {
        path: PathBuf::from(path),
        content: content.into(),
        mode: 0o644,
    }
}
