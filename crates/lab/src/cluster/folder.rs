//! `/etc/pve`, which all nodes share: where the file of a guest lies is where the guest is.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use super::guest_config::GuestConfig;
use crate::topology::{GuestKind, Topology};

/// A file that is larger than this is not a configuration.
const MOST: u64 = 256 << 10;

/// The folder.
#[derive(Debug)]
pub(super) struct Folder {
    root: PathBuf,
}

/// Where a guest is, and how it is configured.
#[derive(Debug, Clone)]
pub struct Located {
    /// The node that has its file.
    pub node: String,
    /// What it is.
    pub kind: GuestKind,
    /// Its configuration.
    pub config: GuestConfig,
}

/// The folder of the guests of a kind.
pub(crate) const fn folder_of(kind: GuestKind) -> &'static str {
    match kind {
        GuestKind::Lxc => "lxc",
        GuestKind::Vm => "qemu-server",
    }
}

impl Folder {
    pub(super) fn create(root: PathBuf, topology: &Topology) -> std::io::Result<Self> {
        let folder = Self { root };
        for node in &topology.nodes {
            for kind in [GuestKind::Lxc, GuestKind::Vm] {
                std::fs::create_dir_all(folder.guests(&node.name, kind))?;
            }
        }
        for guest in &topology.guests {
            folder.write(&guest.node, guest.kind, guest.vmid, &GuestConfig::of(guest))?;
        }
        folder.put("storage.cfg", &storage_cfg(topology))?;
        folder.put("corosync.conf", &corosync_conf(topology))?;
        Ok(folder)
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    fn guests(&self, node: &str, kind: GuestKind) -> PathBuf {
        self.root.join("nodes").join(node).join(folder_of(kind))
    }

    fn path(&self, node: &str, kind: GuestKind, vmid: u32) -> PathBuf {
        self.guests(node, kind).join(format!("{vmid}.conf"))
    }

    /// Every guest. A guest that is in two places is in the first.
    pub(super) fn all(&self) -> BTreeMap<u32, Located> {
        let mut all = BTreeMap::new();
        for node in entries(&self.root.join("nodes")) {
            for kind in [GuestKind::Lxc, GuestKind::Vm] {
                let folder = self.guests(&node, kind);
                for file in entries(&folder) {
                    let vmid = file.strip_suffix(".conf").and_then(|stem| stem.parse().ok());
                    if let Some(vmid) = vmid
                        && let Some(text) = read(&folder.join(&file))
                    {
                        let config = GuestConfig::parse(&text);
                        all.entry(vmid).or_insert_with(|| Located {
                            node: node.clone(),
                            kind,
                            config,
                        });
                    }
                }
            }
        }
        all
    }

    pub(super) fn locate(&self, vmid: u32) -> Option<Located> {
        self.all().remove(&vmid)
    }

    pub(super) fn write(
        &self,
        node: &str,
        kind: GuestKind,
        vmid: u32,
        config: &GuestConfig,
    ) -> std::io::Result<()> {
        replace(&self.path(node, kind, vmid), &config.text())
    }

    pub(super) fn move_to(&self, vmid: u32, target: &str) -> std::io::Result<()> {
        let Some(located) = self.locate(vmid) else {
            return Err(std::io::ErrorKind::NotFound.into());
        };
        std::fs::rename(
            self.path(&located.node, located.kind, vmid),
            self.path(target, located.kind, vmid),
        )
    }

    pub(super) fn remove(&self, vmid: u32) -> std::io::Result<()> {
        match self.locate(vmid) {
            Some(located) => std::fs::remove_file(self.path(&located.node, located.kind, vmid)),
            None => Ok(()),
        }
    }

    /// Writes a file of the cluster itself.
    pub(super) fn put(&self, name: &str, text: &str) -> std::io::Result<()> {
        replace(&self.root.join(name), text)
    }
}

/// Programs in machines may write here. A link must not lead out, so none is followed.
fn entries(folder: &Path) -> Vec<String> {
    let real = std::fs::symlink_metadata(folder).is_ok_and(|data| data.is_dir());
    let Some(listing) = real.then(|| std::fs::read_dir(folder).ok()).flatten() else {
        return Vec::new();
    };
    let mut names: Vec<String> = listing
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .collect();
    names.sort();
    names
}

fn read(path: &Path) -> Option<String> {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let file = std::fs::OpenOptions::new()
        .read(true)
        .custom_flags(i32::try_from(flags.bits()).ok()?)
        .open(path)
        .ok()?;
    file.metadata().ok().filter(std::fs::Metadata::is_file)?;
    let mut bytes = Vec::new();
    file.take(MOST).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

fn replace(path: &Path, text: &str) -> std::io::Result<()> {
    let folder = path.parent().ok_or(std::io::ErrorKind::InvalidInput)?;
    let mut file = tempfile::Builder::new().prefix(".new").tempfile_in(folder)?;
    file.write_all(text.as_bytes())?;
    file.persist(path)?;
    Ok(())
}

fn storage_cfg(topology: &Topology) -> String {
    let stanzas: Vec<String> = topology
        .storages
        .iter()
        .map(|storage| {
            let name = &storage.name;
            let place = match storage.kind.as_str() {
                "dir" => format!("\tpath /var/lib/{name}\n"),
                "lvmthin" => "\tthinpool data\n\tvgname pve\n".to_owned(),
                "zfspool" => format!("\tpool rpool/{name}\n"),
                "nfs" => format!("\texport /export/{name}\n\tpath /mnt/pve/{name}\n\tserver nas\n"),
                _ => String::new(),
            };
            let shared = if storage.shared { "\tshared 1\n" } else { "" };
            format!(
                "{}: {name}\n{place}\tcontent {}\n{shared}",
                storage.kind, storage.content
            )
        })
        .collect();
    stanzas.join("\n")
}

fn corosync_conf(topology: &Topology) -> String {
    let mut nodes = String::new();
    for (index, node) in topology.nodes.iter().enumerate() {
        let address = node
            .spec
            .address
            .map_or_else(String::new, |address| address.to_string());
        let _ = write!(
            nodes,
            "  node {{\n    name: {}\n    nodeid: {}\n    quorum_votes: 1\n    ring0_addr: {address}\n  }}\n",
            node.name,
            index + 1
        );
    }
    format!(
        "logging {{\n  debug: off\n  to_syslog: yes\n}}\n\nnodelist {{\n{nodes}}}\n\nquorum {{\n  provider: \
         corosync_votequorum\n}}\n\ntotem {{\n  cluster_name: {}\n  config_version: {}\n  ip_version: ipv4-6\n  \
         secauth: on\n  version: 2\n}}\n",
        topology.name,
        topology.nodes.len()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> (tempfile::TempDir, Folder) {
        let place = tempfile::tempdir().expect("a folder");
        let topology = Topology {
            name: "lab".to_owned(),
            nodes: ["delly", "minipc"]
                .map(|name| crate::topology::Node {
                    name: name.to_owned(),
                    cpus: 4,
                    memory_bytes: 1 << 30,
                    spec: crate::machine::Spec::default(),
                })
                .to_vec(),
            guests: Vec::new(),
            storages: Vec::new(),
        };
        let folder = Folder::create(place.path().join("pve"), &topology).expect("a cluster folder");
        (place, folder)
    }

    #[test]
    fn a_guest_is_where_its_file_is() {
        let (_place, folder) = folder();
        let config = GuestConfig::parse("hostname: homepage\n");
        folder
            .write("delly", GuestKind::Lxc, 141, &config)
            .expect("a file");
        assert_eq!(
            folder.locate(141).map(|found| found.node).as_deref(),
            Some("delly")
        );
        // As an administrator does it when a node is dead.
        std::fs::rename(
            folder.root.join("nodes/delly/lxc/141.conf"),
            folder.root.join("nodes/minipc/lxc/141.conf"),
        )
        .expect("moved");
        assert_eq!(
            folder.locate(141).map(|found| found.node).as_deref(),
            Some("minipc")
        );
        folder.move_to(141, "delly").expect("moved back");
        assert_eq!(
            folder.locate(141).map(|found| found.node).as_deref(),
            Some("delly")
        );
        folder.remove(141).expect("removed");
        assert!(folder.all().is_empty());
    }

    #[test]
    fn a_link_leads_nowhere() {
        let (place, folder) = folder();
        let secret = place.path().join("secret");
        std::fs::write(&secret, "hostname: secret\n").expect("a file");
        std::os::unix::fs::symlink(&secret, folder.root.join("nodes/delly/lxc/7.conf")).expect("a link");
        assert!(folder.locate(7).is_none());
    }
}
