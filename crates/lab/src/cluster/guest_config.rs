//! The configuration file of a guest: `key: value` lines, and a `[section]` for each snapshot.

use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;

use crate::topology::{Guest, GuestKind};

/// The configuration of a guest.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GuestConfig {
    /// How it is now.
    pub now: Lines,
    /// How it was at each snapshot, oldest first.
    pub snapshots: Vec<(String, Lines)>,
}

/// `key: value` lines, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lines(Vec<(String, String)>);

impl Lines {
    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(name, _)| name == key)
            .map(|(_, value)| value.as_str())
    }

    /// Sets a key. A line break would begin another key, so it becomes a space.
    pub fn set(&mut self, key: &str, value: &str) {
        let value = value.replace(['\n', '\r'], " ");
        match self.0.iter_mut().find(|(name, _)| name == key) {
            Some((_, old)) => *old = value,
            None => self.0.push((key.to_owned(), value)),
        }
    }

    /// Takes a key out.
    pub fn remove(&mut self, key: &str) {
        self.0.retain(|(name, _)| name != key);
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }

    fn text(&self) -> String {
        self.iter().fold(String::new(), |mut text, (key, value)| {
            let _ = writeln!(text, "{key}: {value}");
            text
        })
    }

    /// A value that is a number.
    pub fn number(&self, key: &str) -> Option<u64> {
        self.get(key)?.trim().parse().ok()
    }
}

impl GuestConfig {
    /// The configuration of a guest as it is built.
    pub fn of(guest: &Guest) -> Self {
        let mut now = Lines::default();
        let mut set = |key: &str, value: &str| now.set(key, value);
        let mac = mac(guest.vmid);
        let volume = format!(
            "{}:vm-{}-disk-0,size={}",
            guest.storage,
            guest.vmid,
            size(guest.spec.disk_bytes)
        );
        let memory = (guest.memory_bytes >> 20).to_string();
        match guest.kind {
            GuestKind::Lxc => {
                set("arch", "amd64");
                set("cores", &guest.cores.to_string());
                set("features", "nesting=1");
                set("hostname", &guest.name);
                set("memory", &memory);
                let address = guest
                    .spec
                    .address
                    .map_or_else(|| "dhcp".to_owned(), |address| format!("{address}/24"));
                set(
                    "net0",
                    &format!("name=eth0,bridge=vmbr0,hwaddr={mac},ip={address},type=veth"),
                );
                set("onboot", "1");
                set("ostype", "debian");
                set("rootfs", &volume);
                set("swap", "512");
            }
            GuestKind::Vm => {
                set("agent", "1");
                set("boot", "order=scsi0");
                set("cores", &guest.cores.to_string());
                set("cpu", "x86-64-v2-AES");
                set("memory", &memory);
                set("name", &guest.name);
                set("net0", &format!("virtio={mac},bridge=vmbr0"));
                set("onboot", "1");
                set("ostype", "l26");
                set("scsi0", &volume);
                set("scsihw", "virtio-scsi-single");
                set("sockets", "1");
            }
        }
        if !guest.tags.is_empty() {
            set("tags", &guest.tags.join(";"));
        }
        if guest.kind == GuestKind::Lxc {
            set("unprivileged", "1");
        }
        Self {
            now,
            snapshots: Vec::new(),
        }
    }

    /// Reads a configuration file. Lines that say nothing are left out.
    pub fn parse(text: &str) -> Self {
        let mut config = Self::default();
        for line in text.lines() {
            let line = line.trim();
            if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
                config.snapshots.push((name.to_owned(), Lines::default()));
            } else if !line.starts_with('#')
                && let Some((key, value)) = line.split_once(':')
            {
                let lines = config
                    .snapshots
                    .last_mut()
                    .map_or(&mut config.now, |(_, lines)| lines);
                lines.set(key.trim(), value.trim());
            }
        }
        config
    }

    /// The file.
    pub fn text(&self) -> String {
        let mut text = self.now.text();
        for (name, lines) in &self.snapshots {
            let _ = write!(text, "\n[{name}]\n{}", lines.text());
        }
        text
    }

    /// What tells one version of it from another.
    pub fn digest(&self) -> String {
        Sha256::digest(self.text().as_bytes())
            .iter()
            .take(20)
            .fold(String::new(), |mut text, byte| {
                let _ = write!(text, "{byte:02x}");
                text
            })
    }

    /// What it is called.
    pub fn name(&self, kind: GuestKind) -> Option<&str> {
        match kind {
            GuestKind::Lxc => self.now.get("hostname"),
            GuestKind::Vm => self.now.get("name"),
        }
    }

    /// How many processors it has.
    pub fn cores(&self) -> u64 {
        self.now.number("cores").unwrap_or(1) * self.now.number("sockets").unwrap_or(1)
    }

    /// How much memory it has.
    pub fn memory_bytes(&self) -> u64 {
        self.now.number("memory").unwrap_or(512).saturating_mul(1 << 20)
    }

    /// The volume of its root disk: the storage, and the name in there.
    pub fn volume(&self, kind: GuestKind) -> Option<(&str, &str)> {
        let key = match kind {
            GuestKind::Lxc => "rootfs",
            GuestKind::Vm => "scsi0",
        };
        self.now.get(key)?.split(',').next()?.split_once(':')
    }
}

fn mac(vmid: u32) -> String {
    let [_, a, b, c] = vmid.wrapping_mul(2_654_435_761).to_be_bytes();
    format!("BC:24:11:{a:02X}:{b:02X}:{c:02X}")
}

/// A size as Proxmox writes it.
fn size(bytes: u64) -> String {
    match bytes {
        bytes if bytes >= 1 << 30 && bytes.is_multiple_of(1 << 30) => format!("{}G", bytes >> 30),
        bytes => format!("{}M", bytes.div_ceil(1 << 20)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_is_read_and_written_alike() {
        let text = "arch: amd64\nhostname: homepage\nparent: before\nrootfs: local-lvm:vm-141-disk-0,size=8G\n\n\
                    [before]\narch: amd64\nsnaptime: 1700000000\n";
        let config = GuestConfig::parse(text);
        assert_eq!(config.text(), text);
        assert_eq!(config.name(GuestKind::Lxc), Some("homepage"));
        assert_eq!(
            config.volume(GuestKind::Lxc),
            Some(("local-lvm", "vm-141-disk-0"))
        );
        assert_eq!(config.snapshots.len(), 1);
        assert_eq!(config.digest().len(), 40);
        assert_ne!(config.digest(), GuestConfig::parse("arch: amd64\n").digest());
    }

    #[test]
    fn a_value_cannot_bring_another_key() {
        let mut config = GuestConfig::parse("cores: 2\n");
        config.now.set("description", "hello\nlock: backup");
        assert_eq!(config.text(), "cores: 2\ndescription: hello lock: backup\n");
    }

    #[test]
    fn sizes_are_written_as_proxmox_does() {
        for (bytes, text) in [(8 << 30, "8G"), (64 << 20, "64M"), ((1 << 30) + 1, "1025M")] {
            assert_eq!(size(bytes), text);
        }
    }
}
