//! What is on the disk of a machine from the beginning, besides the files that it is told to have. Nothing of it is the
//! system's own.

use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use super::places;
use super::wire::Config;

/// The programs that machines have from us, by their names.
pub(super) const APPLETS: [&str; 6] = ["systemctl", "journalctl", "lab-service", "pct", "qm", "docker"];

/// What programs are looked for in.
pub(super) const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

const FOLDERS: [(&str, u32); 24] = [
    ("usr", 0o755),
    ("usr/local", 0o755),
    ("usr/local/bin", 0o755),
    ("usr/local/sbin", 0o755),
    ("usr/local/lib", 0o755),
    ("proc", 0o555),
    ("sys", 0o555),
    ("dev", 0o755),
    ("etc", 0o755),
    ("etc/systemd/system/multi-user.target.wants", 0o755),
    ("var/log/journal", 0o755),
    ("var/lib", 0o755),
    ("var/cache", 0o755),
    ("var/spool", 0o755),
    ("var/tmp", 0o1777),
    ("tmp", 0o1777),
    ("run", 0o755),
    ("root", 0o700),
    ("opt", 0o755),
    ("srv", 0o755),
    ("home", 0o755),
    ("mnt", 0o755),
    ("media", 0o755),
    ("boot", 0o755),
];

/// Makes the folders that every system has.
pub(super) fn make_folders(root: &Path) -> io::Result<()> {
    for (path, mode) in FOLDERS {
        let path = root.join(path);
        super::isolate::without_links(root, &path)?;
        if !path.is_dir() {
            fs::create_dir_all(&path)?;
            fs::set_permissions(&path, fs::Permissions::from_mode(mode))?;
        }
    }
    if fs::symlink_metadata(root.join("var/run")).is_err() {
        symlink("../run", root.join("var/run"))?;
    }
    Ok(())
}

/// Which program stands behind a name such as `awk` is a link in `/etc`, which machines do not see: the links into `/usr`
/// are copied.
pub(super) fn copy_alternatives(root: &Path) -> io::Result<()> {
    let Ok(entries) = fs::read_dir("/etc/alternatives") else {
        return Ok(());
    };
    let folder = root.join("etc/alternatives");
    fs::create_dir_all(&folder)?;
    for entry in entries.flatten() {
        let Ok(target) = fs::read_link(entry.path()) else {
            continue;
        };
        // Manual pages have many and nobody misses them.
        if target.starts_with("/usr/bin") || target.starts_with("/usr/sbin") || target.starts_with("/usr/lib")
        {
            symlink(target, folder.join(entry.file_name()))?;
        }
    }
    Ok(())
}

/// The files that every system has, as path and content.
pub(super) fn files(config: &Config) -> Vec<(&'static str, String)> {
    let name = &config.name;
    let address = config
        .address
        .map(|address| format!("{address} {name}\n"))
        .unwrap_or_default();
    let mut files = vec![
        ("/etc/hostname", format!("{name}\n")),
        ("/etc/hosts", format!("127.0.0.1 localhost\n{address}")),
        ("/etc/resolv.conf", "# This machine has no way to the outside.\n".to_owned()),
        (
            "/etc/passwd",
            "root:x:0:0:root:/root:/bin/sh\ndaemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin\n\
             www-data:x:33:33:www-data:/var/www:/usr/sbin/nologin\n\
             nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"
                .to_owned(),
        ),
        (
            "/etc/group",
            "root:x:0:\ndaemon:x:1:\nadm:x:4:\nwww-data:x:33:\nnogroup:x:65534:\n".to_owned(),
        ),
        (
            "/etc/nsswitch.conf",
            "passwd: files\ngroup: files\nhosts: files\nservices: files\n".to_owned(),
        ),
        (
            "/etc/os-release",
            "PRETTY_NAME=\"Interlock Lab 1\"\nNAME=\"Interlock Lab\"\nVERSION_ID=\"1\"\nID=lab\nID_LIKE=debian\n".to_owned(),
        ),
        ("/etc/shells", "/bin/sh\n".to_owned()),
        (
            "/etc/profile",
            format!("export PATH={PATH}\n"),
        ),
    ];
    if config.program.is_none() {
        files.push(("/etc/machine-id", format!("{}\n", machine_id(name))));
    }
    files
}

fn machine_id(name: &str) -> String {
    use sha2::Digest as _;
    let digest = sha2::Sha256::digest(name.as_bytes());
    let (head, _) = digest.split_at(16);
    places::hex(head)
}
