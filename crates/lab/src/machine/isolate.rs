//! What only Linux has: namespaces, mounts, and giving capabilities up. Everything here runs in the keeper or in a machine.

use std::ffi::CString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use rustix::mount::{
    MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_bind, mount_bind_recursive, mount_change,
    mount_remount, unmount,
};
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, sendto, socket_with};
use rustix::thread::{CapabilitySet, CapabilitySets, UnshareFlags};

use super::etc;
use super::wire::Config;

/// Where the binary is that machines run their own programs from.
const GUEST: &str = "usr/local/lib/lab/guest";
/// Folders of the system that are links into `/usr` on most systems.
const LIBRARIES: [&str; 6] = ["bin", "sbin", "lib", "lib32", "lib64", "libx32"];
/// How many user namespaces all machines together may have.
const USER_NAMESPACES: &str = "512";
/// What a machine may use of `/dev`.
const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];
/// What of `/proc` is about the whole system: to be read, but not written, even where we are the superuser.
const READ_ONLY: [&str; 7] = ["sys", "irq", "bus", "fs", "acpi", "asound", "sysrq-trigger"];
/// What of `/proc` nobody in a machine needs to see.
const MASKED: [&str; 5] = ["kcore", "keys", "timer_list", "sched_debug", "kmsg"];

fn told(what: impl std::fmt::Display) -> impl FnOnce(rustix::io::Errno) -> io::Error {
    move |cause| {
        let cause = io::Error::from(cause);
        io::Error::new(cause.kind(), format!("{what}: {cause}"))
    }
}

#[expect(
    deprecated,
    reason = "what is unsafe about it is sharing open files no more; those stay shared here"
)]
fn unshare(flags: UnshareFlags) -> io::Result<()> {
    rustix::thread::unshare(flags).map_err(told("namespaces"))
}

/// Makes this process, which has one thread, the superuser of a user namespace of its own, with its own view of the files.
pub(super) fn enter_keeper(folder: &Path) -> io::Result<()> {
    let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
    unshare(UnshareFlags::NEWUSER | UnshareFlags::NEWNS)?;
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("0 {} 1", user.as_raw()))?;
    fs::write("/proc/self/gid_map", format!("0 {} 1", group.as_raw()))?;
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
        .map_err(told("private mounts"))?;
    // As real guests, machines can make namespaces of their own: sandboxes need them. What is taken from a machine stays
    // taken, since its mounts are locked in there. Not every kernel can be told how many are enough.
    let _ = fs::write("/proc/sys/user/max_user_namespaces", USER_NAMESPACES);
    for needed in ["/usr/local", "/usr/bin/env"] {
        fs::metadata(needed).map_err(|cause| io::Error::new(cause.kind(), format!("{needed}: {cause}")))?;
    }
    let disks = folder.join("disks");
    fs::create_dir_all(&disks)?;
    mount(
        "lab",
        &disks,
        "tmpfs",
        MountFlags::NOSUID | MountFlags::NODEV,
        c"mode=0700,size=1m",
    )
    .map_err(told("tmpfs"))
}

/// Gives this thread, and what it starts, namespaces of their own.
pub(super) fn enter_machine() -> io::Result<()> {
    unshare(
        UnshareFlags::NEWNS
            | UnshareFlags::NEWPID
            | UnshareFlags::NEWUTS
            | UnshareFlags::NEWIPC
            | UnshareFlags::NEWNET,
    )
}

/// A disk of a size of its own, in memory.
pub(super) fn make_disk(name: &str, at: &Path, bytes: u64) -> io::Result<()> {
    fs::create_dir_all(at)?;
    let options = CString::new(format!("mode=0755,size={}", bytes.max(1 << 16)))?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    mount(format!("/dev/lab/{name}"), at, "tmpfs", flags, options.as_c_str()).map_err(told(at.display()))
}

/// Throws a disk away.
pub(super) fn drop_disk(at: &Path) -> io::Result<()> {
    unmount(at, UnmountFlags::DETACH).map_err(told(at.display()))
}

/// Binds something and everything under it, to be read only.
fn bind_read_only(from: &Path, to: &Path) -> io::Result<()> {
    mount_bind_recursive(from, to).map_err(told(to.display()))?;
    let to = fs::canonicalize(to)?;
    let mounts = fs::read_to_string("/proc/thread-self/mountinfo")?;
    let under = mounts
        .lines()
        .filter_map(|line| line.split(' ').nth(4))
        .map(unescape)
        .filter(|mounted| mounted.starts_with(&to));
    for mounted in under {
        // What the system has forbidden on a mount stays so: leaving it out would be refused.
        let mut flags = MountFlags::BIND | MountFlags::RDONLY;
        let has = rustix::fs::statvfs(&mounted)?.f_flag;
        for (there, flag) in [
            (rustix::fs::StatVfsMountFlags::NOSUID, MountFlags::NOSUID),
            (rustix::fs::StatVfsMountFlags::NODEV, MountFlags::NODEV),
            (rustix::fs::StatVfsMountFlags::NOEXEC, MountFlags::NOEXEC),
            (rustix::fs::StatVfsMountFlags::NOATIME, MountFlags::NOATIME),
            (rustix::fs::StatVfsMountFlags::NODIRATIME, MountFlags::NODIRATIME),
            (rustix::fs::StatVfsMountFlags::RELATIME, MountFlags::RELATIME),
        ] {
            if has.contains(there) {
                flags |= flag;
            }
        }
        mount_remount(&mounted, flags, c"").map_err(told(mounted.display()))?;
    }
    Ok(())
}

/// A path as the system writes it in its list of mounts.
fn unescape(text: &str) -> PathBuf {
    let text = text
        .replace("\\040", " ")
        .replace("\\011", "\t")
        .replace("\\012", "\n")
        .replace("\\134", "\\");
    PathBuf::from(text)
}

/// Where a path of a machine is under its root. Nothing may lead out of it.
pub(super) fn inside(root: &Path, path: &Path) -> io::Result<PathBuf> {
    let mut at = root.to_owned();
    for part in path.components() {
        match part {
            std::path::Component::RootDir | std::path::Component::CurDir => {}
            std::path::Component::Normal(part) => at.push(part),
            std::path::Component::ParentDir | std::path::Component::Prefix(_) => {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidInput,
                    format!("{}: not a plain path", path.display()),
                ));
            }
        }
    }
    Ok(at)
}

/// Puts the root of a machine together, in a mount namespace of its own: its disk, its volumes and, to be read only, the
/// programs of the system. `disk` is where its own disk is, `volumes` where its further ones are.
pub(super) fn assemble(config: &Config, disk: &Path, volumes: &[PathBuf], program: &Path) -> io::Result<()> {
    let root = &config.root;
    etc::make_folders(disk)?;
    make_points(config, disk)?;
    mount_bind(disk, root).map_err(told(root.display()))?;
    bind_read_only(Path::new("/usr"), &root.join("usr"))?;
    // Its own, so that what is put there stays with the machine, and what the system has there is not seen.
    mount_bind(disk.join("usr/local"), root.join("usr/local")).map_err(told("usr/local"))?;
    bind_read_only(program, &root.join(GUEST))?;
    for name in etc::APPLETS {
        for folder in ["usr/bin", "usr/sbin"] {
            let shadowed = root.join(folder).join(name);
            if fs::symlink_metadata(&shadowed).is_ok_and(|found| found.is_file()) {
                bind_read_only(program, &shadowed)?;
            }
        }
    }
    for name in LIBRARIES {
        let host = Path::new("/").join(name);
        if fs::symlink_metadata(&host).is_ok_and(|found| found.is_dir()) {
            bind_read_only(&host, &root.join(name))?;
        }
    }
    for name in DEVICES {
        let device = Path::new("/dev").join(name);
        if device.exists() {
            mount_bind(&device, root.join("dev").join(name)).map_err(told(device.display()))?;
        }
    }
    mount_temporary(&root.join("run"), c"mode=0755,size=4m")?;
    mount_temporary(&root.join("dev/shm"), c"mode=1777,size=8m")?;
    for ((path, _), volume) in config.volumes.iter().zip(volumes) {
        let at = inside(root, path)?;
        without_links(root, &at)?;
        fs::create_dir_all(&at)?;
        mount_bind(volume, &at).map_err(told(at.display()))?;
    }
    for (path, outside) in config.shared.iter().chain(&config.sockets) {
        let at = inside(root, path)?;
        without_links(root, &at)?;
        bind_from_outside(outside, &at)?;
    }
    Ok(())
}

fn bind_from_outside(outside: &Path, at: &Path) -> io::Result<()> {
    let found = fs::metadata(outside)
        .map_err(|cause| io::Error::new(cause.kind(), format!("{}: {cause}", outside.display())))?;
    if found.is_dir() {
        fs::create_dir_all(at)?;
    } else {
        if let Some(above) = at.parent() {
            fs::create_dir_all(above)?;
        }
        if !at.exists() {
            fs::write(at, "")?;
        }
    }
    mount_bind(outside, at).map_err(told(at.display()))
}

fn mount_temporary(at: &Path, options: &std::ffi::CStr) -> io::Result<()> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    mount("tmpfs", at, "tmpfs", flags, options).map_err(told(at.display()))
}

/// What things are mounted on has to be there first.
fn make_points(config: &Config, disk: &Path) -> io::Result<()> {
    if !config.fresh {
        return Ok(());
    }
    for name in LIBRARIES {
        let host = Path::new("/").join(name);
        match fs::symlink_metadata(&host) {
            Ok(found) if found.is_symlink() => symlink(fs::read_link(&host)?, disk.join(name))?,
            Ok(found) if found.is_dir() => fs::create_dir(disk.join(name))?,
            Ok(_) | Err(_) => {}
        }
    }
    fs::create_dir_all(disk.join("dev/shm"))?;
    for name in DEVICES {
        fs::write(disk.join("dev").join(name), "")?;
    }
    for (link, target) in [
        ("fd", "/proc/self/fd"),
        ("stdin", "/proc/self/fd/0"),
        ("stdout", "/proc/self/fd/1"),
        ("stderr", "/proc/self/fd/2"),
    ] {
        symlink(target, disk.join("dev").join(link))?;
    }
    if let Some(above) = disk.join(GUEST).parent() {
        fs::create_dir_all(above)?;
    }
    fs::write(disk.join(GUEST), "")?;
    for name in etc::APPLETS {
        symlink(Path::new("/").join(GUEST), disk.join("usr/local/bin").join(name))?;
    }
    etc::copy_alternatives(disk)
}

/// Enters the root that was assembled, for good: this process is the first of its own process namespace.
pub(super) fn enter_root(config: &Config) -> io::Result<()> {
    let root = &config.root;
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    mount("proc", root.join("proc"), "proc", flags, c"").map_err(told("proc"))?;
    std::env::set_current_dir(root)?;
    rustix::process::pivot_root(".", ".").map_err(told("pivot_root"))?;
    unmount(".", UnmountFlags::DETACH).map_err(told("the old root"))?;
    std::env::set_current_dir("/")?;
    rustix::system::sethostname(config.name.as_bytes()).map_err(told("host name"))?;
    loopback(config)?;
    mask_proc()?;
    give_up_capabilities()
}

fn mask_proc() -> io::Result<()> {
    for name in READ_ONLY {
        let at = Path::new("/proc").join(name);
        if at.exists() {
            bind_read_only(&at, &at)?;
        }
    }
    for name in MASKED {
        let at = Path::new("/proc").join(name);
        if at.exists() {
            mount_bind("/dev/null", &at).map_err(told(at.display()))?;
        }
    }
    Ok(())
}

/// Keeps what a container has: to own, read and signal what is its own.
fn give_up_capabilities() -> io::Result<()> {
    let kept = CapabilitySet::CHOWN
        | CapabilitySet::DAC_OVERRIDE
        | CapabilitySet::FOWNER
        | CapabilitySet::FSETID
        | CapabilitySet::KILL
        // Without it no user namespace of the machine could have a superuser.
        | CapabilitySet::SETFCAP
        | CapabilitySet::SETGID
        | CapabilitySet::SETUID
        | CapabilitySet::NET_BIND_SERVICE
        | CapabilitySet::NET_RAW
        | CapabilitySet::SYS_CHROOT;
    for bit in 0..64 {
        let one = CapabilitySet::from_bits_retain(1 << bit);
        if !kept.contains(one) {
            match rustix::thread::remove_capability_from_bounding_set(one) {
                // Beyond the last one that this kernel knows.
                Ok(()) | Err(rustix::io::Errno::INVAL) => {}
                Err(cause) => return Err(told("capabilities")(cause)),
            }
        }
    }
    let sets = CapabilitySets {
        effective: kept,
        permitted: kept,
        inheritable: CapabilitySet::empty(),
    };
    rustix::thread::set_capabilities(None, sets).map_err(told("capabilities"))?;
    rustix::thread::set_no_new_privs(true).map_err(told("privileges"))
}

/// Brings the loopback device up and gives it the machine's address.
fn loopback(config: &Config) -> io::Result<()> {
    const NEW_LINK: u16 = 16;
    const NEW_ADDRESS: u16 = 20;
    // The first of its protocols, which is the default, is about devices and addresses.
    let netlink = socket_with(
        AddressFamily::NETLINK,
        SocketType::RAW,
        SocketFlags::CLOEXEC,
        None,
    )?;
    // struct ifinfomsg: family, padding, type, index 1, flags and change: up.
    let mut link = vec![0_u8; 4];
    link.extend_from_slice(&1_i32.to_ne_bytes());
    link.extend_from_slice(&1_u32.to_ne_bytes());
    link.extend_from_slice(&1_u32.to_ne_bytes());
    netlink_ask(&netlink, NEW_LINK, &link)?;
    let Some(address) = config.address.filter(|address| !address.is_loopback()) else {
        return Ok(());
    };
    // struct ifaddrmsg: family IPv4, prefix, flags, scope, index 1; then the address, twice.
    let mut message = vec![2_u8, 32, 0, 0];
    message.extend_from_slice(&1_u32.to_ne_bytes());
    for attribute in [1_u16, 2] {
        message.extend_from_slice(&8_u16.to_ne_bytes());
        message.extend_from_slice(&attribute.to_ne_bytes());
        message.extend_from_slice(&address.octets());
    }
    netlink_ask(&netlink, NEW_ADDRESS, &message)
}

fn netlink_ask(netlink: &rustix::fd::OwnedFd, kind: u16, body: &[u8]) -> io::Result<()> {
    /// A request, to be acknowledged, that creates.
    const FLAGS: u16 = 1 | 4 | 0x400;
    let length = u32::try_from(16 + body.len()).map_err(io::Error::other)?;
    let mut message = length.to_ne_bytes().to_vec();
    message.extend_from_slice(&kind.to_ne_bytes());
    message.extend_from_slice(&FLAGS.to_ne_bytes());
    message.extend_from_slice(&[0; 8]);
    message.extend_from_slice(body);
    sendto(
        netlink,
        &message,
        SendFlags::empty(),
        &SocketAddrNetlink::new(0, 0),
    )?;
    let mut answer = [0_u8; 4096];
    let (got, _) = recv(netlink, answer.as_mut_slice(), RecvFlags::empty())?;
    let code = answer
        .get(16..20)
        .filter(|_| got >= 20)
        .and_then(|bytes| bytes.try_into().ok())
        .map_or(0, i32::from_ne_bytes);
    if code == 0 {
        Ok(())
    } else {
        Err(io::Error::from_raw_os_error(-code))
    }
}

/// Makes this process end with its parent.
pub(super) fn end_with_parent() -> io::Result<()> {
    let kill = Some(rustix::process::Signal::KILL);
    rustix::process::set_parent_process_death_signal(kill).map_err(told("death signal"))
}

/// Nobody in the machine may look into this process: its program and open files are those of the system outside.
pub(super) fn close_to_others() -> io::Result<()> {
    use rustix::process::{DumpableBehavior, set_dumpable_behavior};
    set_dumpable_behavior(DumpableBehavior::NotDumpable).map_err(told("dumpable"))
}

/// Makes sure that no link is on the way: before a machine's root is entered, it would lead out of it.
pub(super) fn without_links(root: &Path, at: &Path) -> io::Result<()> {
    let mut here = root.to_owned();
    for part in at.strip_prefix(root).unwrap_or(at).components() {
        here.push(part);
        if fs::symlink_metadata(&here).is_ok_and(|found| found.is_symlink()) {
            return Err(io::Error::other(format!(
                "{}: a link is in the way",
                here.display()
            )));
        }
    }
    Ok(())
}

/// Whether a path has a zero byte, which no file can have.
pub(super) fn has_zero(path: &Path) -> bool {
    path.as_os_str().as_bytes().contains(&0)
}
