//! Which system calls a read may make, by seccomp: inherited by everything that the process starts.
//!
//! Landlock speaks only of opening, making, renaming and removing files. Changing a file's mode, owner, times and
//! attributes, and everything that changes the machine by other ways than its files, is refused here, and so are
//! sockets. Three layers:
//!
//! - A list of what is allowed. Everything else does not exist (`ENOSYS`): system calls of another numbering (x32), of
//!   a kernel newer than this list, `io_uring`, and `clone3`, whose flags cannot be seen from here.
//! - A list of what is refused (`EPERM`), so that programs say that they may not, and not that the kernel is too old.
//! - Conditions on arguments: the family of a socket, the flags of `clone`, the command of an `ioctl`.
//!
//! A process of another architecture (32-bit) is killed at its first system call.

use std::collections::BTreeMap;

use interlock_protocol::SocketKind;
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, apply_filter,
};

use crate::orders::Profile;

/// Restricts this process. A write may make every system call.
pub(crate) fn enter(profile: Profile, sockets: &[SocketKind]) -> Result<(), String> {
    match profile {
        Profile::ReadWrite => Ok(()),
        Profile::ReadOnly => {
            let arch = TargetArch::try_from(std::env::consts::ARCH)
                .map_err(|_| format!("seccomp is not supported on {}", std::env::consts::ARCH))?;
            let known = allowed(arch).map_err(|error| error.to_string())?;
            let refused = refused(arch, sockets).map_err(|error| error.to_string())?;
            // Where both refuse, the one that was set last says how.
            apply_filter(&known).map_err(|error| error.to_string())?;
            apply_filter(&refused).map_err(|error| error.to_string())
        }
    }
}

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

fn allowed(arch: TargetArch) -> Result<BpfProgram, BackendError> {
    let calls = [ALLOWED, NEWER, OF_THIS_ARCH].concat();
    let rules: Rules = calls.into_iter().map(|call| (call, Vec::new())).collect();
    SeccompFilter::new(
        rules,
        SeccompAction::Errno(libc::ENOSYS.unsigned_abs()),
        SeccompAction::Allow,
        arch,
    )?
    .try_into()
}

fn refused(arch: TargetArch, sockets: &[SocketKind]) -> Result<BpfProgram, BackendError> {
    let calls = [REFUSED, REFUSED_OF_THIS_ARCH].concat();
    let mut rules: Rules = calls.into_iter().map(|call| (call, Vec::new())).collect();
    rules.insert(libc::SYS_socket, refused_sockets(sockets)?);
    let mut pairs = vec![none_of(0, &[AF_UNIX])?];
    if !sockets.contains(&SocketKind::Unix) {
        // A pair of streams is connected with itself only. A datagram can be sent to any address; the kernel takes a raw
        // socket for one, too.
        for kind in [libc::SOCK_DGRAM, libc::SOCK_RAW] {
            pairs.push(SeccompRule::new(vec![condition(
                1,
                SeccompCmpArgLen::Dword,
                SeccompCmpOp::MaskedEq(SOCKET_TYPE),
                kind.unsigned_abs().into(),
            )?])?);
        }
    }
    rules.insert(libc::SYS_socketpair, pairs);
    rules.insert(libc::SYS_clone, refused_clones()?);
    rules.insert(libc::SYS_ioctl, vec![none_of(1, IOCTLS)?]);
    rules.insert(libc::SYS_personality, vec![none_of(0, &[0, ASK_PERSONALITY])?]);
    rules.insert(libc::SYS_syslog, vec![none_of(0, SYSLOG_READS)?]);
    rules.insert(libc::SYS_msgctl, vec![none_of(1, MSGCTL_READS)?]);
    rules.insert(libc::SYS_shmctl, vec![none_of(1, SHMCTL_READS)?]);
    rules.insert(libc::SYS_semctl, vec![none_of(2, SEMCTL_READS)?]);
    let exclusive = SeccompCmpOp::MaskedEq(LOCK_EX);
    rules.insert(
        libc::SYS_flock,
        vec![SeccompRule::new(vec![condition(
            1,
            SeccompCmpArgLen::Dword,
            exclusive,
            LOCK_EX,
        )?])?],
    );
    let refused = FCNTL_REFUSED.iter().map(|command| one(1, *command));
    rules.insert(libc::SYS_fcntl, refused.collect::<Result<_, _>>()?);
    // Only of the calling process itself.
    for (call, argument) in OF_A_PROCESS {
        rules.insert(call, vec![none_of(argument, &[0])?]);
    }
    // And not of a group or a user, whose number 0 means the caller's own.
    for (call, process) in OF_WHOM {
        rules.entry(call).or_default().push(none_of(0, &[process])?);
    }
    let other = condition(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, 0)?;
    let sets = condition(2, SeccompCmpArgLen::Qword, SeccompCmpOp::Ne, 0)?;
    rules.insert(libc::SYS_prlimit64, vec![SeccompRule::new(vec![other, sets])?]);
    rules.insert(
        libc::SYS_prctl,
        vec![one(0, PR_SET_PDEATHSIG)?, one(0, PR_SET_CHILD_SUBREAPER)?],
    );
    SeccompFilter::new(
        rules,
        SeccompAction::Allow,
        SeccompAction::Errno(libc::EPERM.unsigned_abs()),
        arch,
    )?
    .try_into()
}

const AF_UNIX: u64 = 1;
const AF_INET: u64 = 2;
const AF_INET6: u64 = 10;
const AF_NETLINK: u64 = 16;

/// Routes and interfaces, socket tables, the packet filter, generic families.
const NETLINK_PROTOCOLS: &[u64] = &[0, 4, 12, 16];

fn refused_sockets(sockets: &[SocketKind]) -> Result<Vec<SeccompRule>, BackendError> {
    let mut families = Vec::new();
    for kind in sockets {
        match kind {
            SocketKind::Unix => families.push(AF_UNIX),
            SocketKind::Netlink => families.push(AF_NETLINK),
            SocketKind::Network => families.extend([AF_INET, AF_INET6]),
        }
    }
    if families.is_empty() {
        // Without a condition: always.
        return Ok(Vec::new());
    }
    let mut netlink = vec![condition(
        0,
        SeccompCmpArgLen::Dword,
        SeccompCmpOp::Eq,
        AF_NETLINK,
    )?];
    netlink.extend(differs(2, NETLINK_PROTOCOLS)?);
    Ok(vec![none_of(0, &families)?, SeccompRule::new(netlink)?])
}

/// New namespaces of every kind.
const NAMESPACES: [u64; 8] = [
    0x0000_0080, // time
    0x0002_0000, // mount
    0x0200_0000, // cgroup
    0x0400_0000, // uts
    0x0800_0000, // ipc
    0x1000_0000, // user
    0x2000_0000, // pid
    0x4000_0000, // net
];

fn refused_clones() -> Result<Vec<SeccompRule>, BackendError> {
    NAMESPACES
        .iter()
        .map(|flag| {
            let has = SeccompCmpOp::MaskedEq(*flag);
            SeccompRule::new(vec![condition(0, SeccompCmpArgLen::Qword, has, *flag)?])
        })
        .collect()
}

/// Reads what the personality is.
const ASK_PERSONALITY: u64 = 0xffff_ffff;
const PR_SET_PDEATHSIG: u64 = 1;
const PR_SET_CHILD_SUBREAPER: u64 = 36;
/// Opening, closing, reading everything that is kept, and the sizes.
const SYSLOG_READS: &[u64] = &[0, 1, 3, 9, 10];
const MSGCTL_READS: &[u64] = &[2, 3, 11, 12, 13];
const SHMCTL_READS: &[u64] = &[2, 3, 13, 14, 15];
const SEMCTL_READS: &[u64] = &[2, 3, 11, 12, 13, 14, 15, 18, 19, 20];

/// An exclusive lock, which needs no right to write: who waits for it waits for the read. Shared ones stay, also those of
/// `fcntl`, whose exclusive locks need a file that is open for writing.
const LOCK_EX: u64 = 2;

/// Leases hold up who opens the file; a signal of one's choice can be sent to another process when a pipe gets data; hints
/// about writing stay with the file.
const FCNTL_REFUSED: [u64; 4] = [
    10,   // F_SETSIG
    1024, // F_SETLEASE
    1036, // F_SET_RW_HINT
    1038, // F_SET_FILE_RW_HINT
];

/// What changes how a process is scheduled, with the argument that names the process.
const OF_A_PROCESS: [(i64, u8); 6] = [
    (libc::SYS_setpriority, 1),
    (libc::SYS_ioprio_set, 1),
    (libc::SYS_sched_setaffinity, 0),
    (libc::SYS_sched_setattr, 0),
    (libc::SYS_sched_setparam, 0),
    (libc::SYS_sched_setscheduler, 0),
];

/// Calls that can mean a process, a group or a user, with the number that means a process.
const OF_WHOM: [(i64, u64); 2] = [(libc::SYS_setpriority, 0), (libc::SYS_ioprio_set, 1)];

/// The bits of a socket's type that are no flags.
const SOCKET_TYPE: u64 = 0xf;

/// Commands to descriptors that only ask, or that change only the descriptor.
const IOCTLS: &[u64] = &[
    0x0001,      // FIBMAP
    0x0002,      // FIGETBSZ
    0x5401,      // TCGETS
    0x540f,      // TIOCGPGRP
    0x5411,      // TIOCOUTQ
    0x5413,      // TIOCGWINSZ
    0x541b,      // FIONREAD
    0x5421,      // FIONBIO
    0x5429,      // TIOCGSID
    0x5450,      // FIONCLEX
    0x5451,      // FIOCLEX
    0x5452,      // FIOASYNC
    0x802c_542a, // TCGETS2
    0x8008_6601, // FS_IOC_GETFLAGS
    0x8008_7601, // FS_IOC_GETVERSION
    0x801c_581f, // FS_IOC_FSGETXATTR
    0xc020_660b, // FS_IOC_FIEMAP
    0x8010_581f, // FS_IOC_GETFSUUID
    0x8400_941f, // BTRFS_IOC_FS_INFO
    0xc010_9414, // BTRFS_IOC_SPACE_INFO
    0xd000_9411, // BTRFS_IOC_TREE_SEARCH
    0xd000_9412, // BTRFS_IOC_INO_LOOKUP
    0xd000_941e, // BTRFS_IOC_DEV_INFO
    0x0000_b701, // NS_GET_USERNS
    0x0000_b702, // NS_GET_PARENT
    0x0000_b703, // NS_GET_NSTYPE
    0x0000_b704, // NS_GET_OWNER_UID
    0x8906,      // SIOCGSTAMP
    0x8910,      // SIOCGIFNAME
    0x8912,      // SIOCGIFCONF
    0x8913,      // SIOCGIFFLAGS
    0x8915,      // SIOCGIFADDR
    0x8917,      // SIOCGIFDSTADDR
    0x8919,      // SIOCGIFBRDADDR
    0x891b,      // SIOCGIFNETMASK
    0x891d,      // SIOCGIFMETRIC
    0x8921,      // SIOCGIFMTU
    0x8927,      // SIOCGIFHWADDR
    0x8933,      // SIOCGIFINDEX
    0x8942,      // SIOCGIFTXQLEN
    0x8954,      // SIOCGARP
    0x8970,      // SIOCGIFMAP
];

fn condition(
    argument: u8,
    length: SeccompCmpArgLen,
    operator: SeccompCmpOp,
    value: u64,
) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(argument, length, operator, value)
}

fn differs(argument: u8, values: &[u64]) -> Result<Vec<SeccompCondition>, BackendError> {
    values
        .iter()
        .map(|value| condition(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, *value))
        .collect()
}

/// A rule for an argument that is none of these.
fn none_of(argument: u8, values: &[u64]) -> Result<SeccompRule, BackendError> {
    SeccompRule::new(differs(argument, values)?)
}

/// A rule for an argument that is this.
fn one(argument: u8, value: u64) -> Result<SeccompRule, BackendError> {
    SeccompRule::new(vec![condition(
        argument,
        SeccompCmpArgLen::Dword,
        SeccompCmpOp::Eq,
        value,
    )?])
}

/// Numbers that are the same on every architecture and that the C library has no names for yet.
const NEWER: &[i64] = &[
    449, // futex_waitv
    450, // set_mempolicy_home_node
    451, // cachestat
    453, // map_shadow_stack
    454, // futex_wake
    455, // futex_wait
    456, // futex_requeue
    457, // statmount
    458, // listmount
    459, // lsm_get_self_attr
    461, // lsm_list_modules
    462, // mseal
    464, // getxattrat
    465, // listxattrat
    468, // file_getattr
];

/// What a read may call, on every architecture.
const ALLOWED: &[i64] = &[
    libc::SYS_accept,
    libc::SYS_accept4,
    libc::SYS_bind,
    libc::SYS_brk,
    libc::SYS_capget,
    libc::SYS_capset,
    libc::SYS_chdir,
    libc::SYS_clock_getres,
    libc::SYS_clock_gettime,
    libc::SYS_clock_nanosleep,
    libc::SYS_clone,
    libc::SYS_close,
    libc::SYS_close_range,
    libc::SYS_connect,
    libc::SYS_copy_file_range,
    libc::SYS_dup,
    libc::SYS_dup3,
    libc::SYS_epoll_create1,
    libc::SYS_epoll_ctl,
    libc::SYS_epoll_pwait,
    libc::SYS_epoll_pwait2,
    libc::SYS_eventfd2,
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_faccessat,
    libc::SYS_faccessat2,
    libc::SYS_fadvise64,
    libc::SYS_fallocate,
    libc::SYS_fchdir,
    libc::SYS_fcntl,
    libc::SYS_fdatasync,
    libc::SYS_fgetxattr,
    libc::SYS_flistxattr,
    libc::SYS_flock,
    libc::SYS_fstat,
    libc::SYS_fstatfs,
    libc::SYS_fsync,
    libc::SYS_ftruncate,
    libc::SYS_futex,
    libc::SYS_get_mempolicy,
    libc::SYS_get_robust_list,
    libc::SYS_getcpu,
    libc::SYS_getcwd,
    libc::SYS_getdents64,
    libc::SYS_getegid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getgroups,
    libc::SYS_getitimer,
    libc::SYS_getpeername,
    libc::SYS_getpgid,
    libc::SYS_getpid,
    libc::SYS_getppid,
    libc::SYS_getpriority,
    libc::SYS_getrandom,
    libc::SYS_getresgid,
    libc::SYS_getresuid,
    libc::SYS_getrlimit,
    libc::SYS_getrusage,
    libc::SYS_getsid,
    libc::SYS_getsockname,
    libc::SYS_getsockopt,
    libc::SYS_gettid,
    libc::SYS_gettimeofday,
    libc::SYS_getuid,
    libc::SYS_getxattr,
    libc::SYS_inotify_add_watch,
    libc::SYS_inotify_init1,
    libc::SYS_inotify_rm_watch,
    libc::SYS_io_cancel,
    libc::SYS_io_destroy,
    libc::SYS_io_getevents,
    libc::SYS_io_setup,
    libc::SYS_io_submit,
    libc::SYS_ioctl,
    libc::SYS_ioprio_get,
    libc::SYS_ioprio_set,
    libc::SYS_kill,
    libc::SYS_landlock_add_rule,
    libc::SYS_landlock_create_ruleset,
    libc::SYS_landlock_restrict_self,
    libc::SYS_lgetxattr,
    libc::SYS_linkat,
    libc::SYS_listen,
    libc::SYS_listxattr,
    libc::SYS_llistxattr,
    libc::SYS_lseek,
    libc::SYS_madvise,
    libc::SYS_mbind,
    libc::SYS_membarrier,
    libc::SYS_memfd_create,
    libc::SYS_mincore,
    libc::SYS_mkdirat,
    libc::SYS_mknodat,
    libc::SYS_mlock,
    libc::SYS_mlock2,
    libc::SYS_mlockall,
    libc::SYS_mmap,
    libc::SYS_mprotect,
    libc::SYS_mremap,
    libc::SYS_msgctl,
    libc::SYS_msync,
    libc::SYS_munlock,
    libc::SYS_munlockall,
    libc::SYS_munmap,
    libc::SYS_name_to_handle_at,
    libc::SYS_nanosleep,
    libc::SYS_newfstatat,
    libc::SYS_openat,
    libc::SYS_openat2,
    libc::SYS_personality,
    libc::SYS_pidfd_open,
    libc::SYS_pidfd_send_signal,
    libc::SYS_pipe2,
    libc::SYS_pkey_alloc,
    libc::SYS_pkey_free,
    libc::SYS_pkey_mprotect,
    libc::SYS_ppoll,
    libc::SYS_prctl,
    libc::SYS_pread64,
    libc::SYS_preadv,
    libc::SYS_preadv2,
    libc::SYS_prlimit64,
    libc::SYS_pselect6,
    libc::SYS_pwrite64,
    libc::SYS_pwritev,
    libc::SYS_pwritev2,
    libc::SYS_read,
    libc::SYS_readahead,
    libc::SYS_readlinkat,
    libc::SYS_readv,
    libc::SYS_recvfrom,
    libc::SYS_recvmmsg,
    libc::SYS_recvmsg,
    libc::SYS_remap_file_pages,
    libc::SYS_renameat2,
    libc::SYS_restart_syscall,
    libc::SYS_rseq,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigpending,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigqueueinfo,
    libc::SYS_rt_sigreturn,
    libc::SYS_rt_sigsuspend,
    libc::SYS_rt_sigtimedwait,
    libc::SYS_rt_tgsigqueueinfo,
    libc::SYS_sched_get_priority_max,
    libc::SYS_sched_get_priority_min,
    libc::SYS_sched_getaffinity,
    libc::SYS_sched_getattr,
    libc::SYS_sched_getparam,
    libc::SYS_sched_getscheduler,
    libc::SYS_sched_rr_get_interval,
    libc::SYS_sched_setaffinity,
    libc::SYS_sched_setattr,
    libc::SYS_sched_setparam,
    libc::SYS_sched_setscheduler,
    libc::SYS_sched_yield,
    libc::SYS_seccomp,
    libc::SYS_semctl,
    libc::SYS_sendfile,
    libc::SYS_sendmmsg,
    libc::SYS_sendmsg,
    libc::SYS_sendto,
    libc::SYS_set_mempolicy,
    libc::SYS_set_robust_list,
    libc::SYS_set_tid_address,
    libc::SYS_setfsgid,
    libc::SYS_setfsuid,
    libc::SYS_setgid,
    libc::SYS_setgroups,
    libc::SYS_setitimer,
    libc::SYS_setpgid,
    libc::SYS_setpriority,
    libc::SYS_setregid,
    libc::SYS_setresgid,
    libc::SYS_setresuid,
    libc::SYS_setreuid,
    libc::SYS_setrlimit,
    libc::SYS_setsid,
    libc::SYS_setsockopt,
    libc::SYS_setuid,
    libc::SYS_shmctl,
    libc::SYS_shutdown,
    libc::SYS_sigaltstack,
    libc::SYS_signalfd4,
    libc::SYS_socket,
    libc::SYS_socketpair,
    libc::SYS_splice,
    libc::SYS_statfs,
    libc::SYS_statx,
    libc::SYS_symlinkat,
    libc::SYS_sync,
    libc::SYS_sync_file_range,
    libc::SYS_syncfs,
    libc::SYS_sysinfo,
    libc::SYS_syslog,
    libc::SYS_tee,
    libc::SYS_tgkill,
    libc::SYS_timer_create,
    libc::SYS_timer_delete,
    libc::SYS_timer_getoverrun,
    libc::SYS_timer_gettime,
    libc::SYS_timer_settime,
    libc::SYS_timerfd_create,
    libc::SYS_timerfd_gettime,
    libc::SYS_timerfd_settime,
    libc::SYS_times,
    libc::SYS_tkill,
    libc::SYS_truncate,
    libc::SYS_umask,
    libc::SYS_uname,
    libc::SYS_unlinkat,
    libc::SYS_vmsplice,
    libc::SYS_wait4,
    libc::SYS_waitid,
    libc::SYS_write,
    libc::SYS_writev,
];

/// What a read may call besides.
#[cfg(target_arch = "x86_64")]
const OF_THIS_ARCH: &[i64] = &[
    libc::SYS_access,
    libc::SYS_alarm,
    libc::SYS_arch_prctl,
    libc::SYS_creat,
    libc::SYS_dup2,
    libc::SYS_epoll_create,
    libc::SYS_epoll_wait,
    libc::SYS_eventfd,
    libc::SYS_fork,
    libc::SYS_get_thread_area,
    libc::SYS_getdents,
    libc::SYS_getpgrp,
    libc::SYS_inotify_init,
    libc::SYS_link,
    libc::SYS_lstat,
    libc::SYS_mkdir,
    libc::SYS_mknod,
    libc::SYS_open,
    libc::SYS_pause,
    libc::SYS_pipe,
    libc::SYS_poll,
    libc::SYS_readlink,
    libc::SYS_rename,
    libc::SYS_renameat,
    libc::SYS_rmdir,
    libc::SYS_select,
    libc::SYS_set_thread_area,
    libc::SYS_signalfd,
    libc::SYS_stat,
    libc::SYS_symlink,
    libc::SYS_sysfs,
    libc::SYS_time,
    libc::SYS_unlink,
    libc::SYS_ustat,
    libc::SYS_vfork,
];
#[cfg(not(target_arch = "x86_64"))]
const OF_THIS_ARCH: &[i64] = &[];

/// What a read may not call, on every architecture.
const REFUSED: &[i64] = &[
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_setns,
    libc::SYS_unshare,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_process_mrelease,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_adjtimex,
    libc::SYS_clock_adjtime,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_vhangup,
    libc::SYS_fanotify_init,
    libc::SYS_open_by_handle_at,
    libc::SYS_migrate_pages,
    libc::SYS_move_pages,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
];

/// What a read may not call besides.
#[cfg(target_arch = "x86_64")]
const REFUSED_OF_THIS_ARCH: &[i64] = &[
    libc::SYS_chmod,
    libc::SYS_chown,
    libc::SYS_lchown,
    libc::SYS_utime,
    libc::SYS_utimes,
    libc::SYS_futimesat,
    libc::SYS_iopl,
    libc::SYS_ioperm,
    libc::SYS_modify_ldt,
];
#[cfg(not(target_arch = "x86_64"))]
const REFUSED_OF_THIS_ARCH: &[i64] = &[];
