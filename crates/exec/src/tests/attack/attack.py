# Tries what a read must not be able to do, and says for each attempt how it went. Arguments: a folder with the files
# `victim` and `spare` and the socket `socket`; the port of a listener; a process outside; the name of an abstract socket.
import ctypes, fcntl, os, signal, socket, sys

folder, port, outside, abstract = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
victim = os.path.join(folder, "victim")


def call(number, *arguments):
    arguments = [ctypes.c_char_p(a) if isinstance(a, bytes) else ctypes.c_long(a) if isinstance(a, int) else a
                 for a in arguments]
    result = libc.syscall(ctypes.c_long(number), *arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def attempt(name, work):
    try:
        work()
        print(name, "open", flush=True)
    except OSError as error:
        print(name, "refused", error.errno, flush=True)


def opens(path, flags):
    return lambda: os.close(os.open(path, flags, 0o644))


def connects(family, kind, address):
    def work():
        with socket.socket(family, kind) as one:
            one.settimeout(2)
            one.connect(address)
            one.send(b"x")
    return work


def lease():
    one = os.open(victim, os.O_RDONLY)
    fcntl.fcntl(one, fcntl.F_SETLEASE, fcntl.F_RDLCK)


def lock(how):
    one = os.open(victim, os.O_RDONLY)
    fcntl.flock(one, how | fcntl.LOCK_NB)


def signal_by_pipe():
    reading, writing = os.pipe()
    fcntl.fcntl(reading, 10, signal.SIGKILL)
    fcntl.fcntl(reading, fcntl.F_SETOWN, outside)
    fcntl.fcntl(reading, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
    os.write(writing, b"x")


def by_pidfd():
    other = os.pidfd_open(outside)
    signal.pidfd_send_signal(other, signal.SIGKILL)


def stolen_descriptor():
    call(438, os.pidfd_open(outside), 0, 0)


def shared_mapping():
    import mmap
    one = os.open(victim, os.O_RDONLY)
    mmap.mmap(one, 4, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)[0:1] = b"!"


def in_memory_program():
    # A program that is no file may run, and is confined like its parent.
    memory = os.memfd_create("program", 0)
    with open("/bin/sh", "rb") as shell:
        os.write(memory, shell.read())
    child = os.fork()
    if child == 0:
        os.execve(f"/proc/self/fd/{memory}", ["sh", "-c", f"echo ! > {victim}"], {})
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0:
        raise OSError(13, "the program could not write")


def inherited():
    # The folder that lists them is one itself.
    if set(os.listdir("/proc/self/fd")) - {"0", "1", "2", "3"}:
        return
    raise OSError(13, "nothing was inherited")


def new_privileges():
    with open("/proc/self/status") as status:
        if "NoNewPrivs:\t1" in status.read():
            raise OSError(1, "no new privileges")


W, C = os.O_WRONLY, os.O_WRONLY | os.O_CREAT
# First: the attempts below open some of their own.
attempt("inherited descriptors", inherited)
attempt("file append", opens(victim, W | os.O_APPEND))
attempt("file create", opens(os.path.join(folder, "new"), C))
attempt("file truncate", lambda: os.truncate(victim, 0))
attempt("file without a name", opens(folder, os.O_TMPFILE | os.O_RDWR))
attempt("file remove", lambda: os.unlink(os.path.join(folder, "spare")))
attempt("file rename", lambda: os.rename(victim, os.path.join(folder, "moved")))
attempt("file exchange", lambda: call(316, -100, victim.encode(), -100, os.path.join(folder, "spare").encode(), 2))
attempt("file link", lambda: os.link(victim, os.path.join(folder, "linked")))
attempt("file symlink", lambda: os.symlink(victim, os.path.join(folder, "symlinked")))
attempt("file folder", lambda: os.mkdir(os.path.join(folder, "made")))
attempt("file pipe", lambda: os.mkfifo(os.path.join(folder, "pipe")))
attempt("file mapping", shared_mapping)
attempt("file by own memory", opens("/proc/self/mem", os.O_RDWR))
attempt("file mode", lambda: os.chmod(victim, 0o777))
attempt("file mode by a new call", lambda: call(452, -100, victim.encode(), 0o777, 0))
attempt("file owner", lambda: os.chown(victim, os.getuid(), os.getgid()))
attempt("file times", lambda: os.utime(victim, (1, 1)))
attempt("file attribute", lambda: os.setxattr(victim, "user.x", b"x"))
attempt("file attribute by a new call", lambda: call(463, -100, victim.encode(), 0, b"user.x", 0, 0))
attempt("file flags", lambda: call(16, os.open(victim, os.O_RDONLY), 0x40086602, 0))
attempt("lock exclusive", lambda: lock(fcntl.LOCK_EX))
attempt("lock lease", lease)
attempt("connect tcp", connects(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", port)))
attempt("connect udp", connects(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", port)))
attempt("connect unix", connects(socket.AF_UNIX, socket.SOCK_STREAM, os.path.join(folder, "socket")))
attempt("connect abstract", connects(socket.AF_UNIX, socket.SOCK_STREAM, "\0" + abstract))
attempt("connect packet", lambda: socket.socket(17, socket.SOCK_RAW))
attempt("connect vsock", lambda: socket.socket(40, socket.SOCK_STREAM))
attempt("connect crypto", lambda: socket.socket(38, socket.SOCK_SEQPACKET))
attempt("connect by a pair", lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM))
attempt("signal", lambda: os.kill(outside, signal.SIGKILL))
attempt("signal everybody", lambda: os.kill(1, 0))
attempt("signal to a thread", lambda: call(234, outside, outside, 9))
attempt("signal by pidfd", by_pidfd)
attempt("signal by a pipe", signal_by_pipe)
attempt("trace attach", lambda: call(101, 16, outside, 0, 0))
attempt("trace seize", lambda: call(101, 0x4206, outside, 0, 0))
attempt("trace read memory", lambda: call(310, outside, 0, 0, 0, 0, 0))
attempt("trace write memory", lambda: call(311, outside, 0, 0, 0, 0, 0))
attempt("trace memory file", opens(f"/proc/{outside}/mem", os.O_RDWR))
attempt("trace environment", lambda: open(f"/proc/{outside}/environ", "rb").read())
attempt("trace descriptor", stolen_descriptor)
attempt("trace open files", lambda: os.readlink(f"/proc/{outside}/fd/0"))
attempt("kernel io_uring", lambda: call(425, 1, 0))
attempt("kernel userfaultfd", lambda: call(323, 0))
attempt("kernel keyctl", lambda: call(250, 0, -3, 1))
attempt("kernel add_key", lambda: call(248, b"user", b"x", b"x", 1, -3))
attempt("kernel bpf", lambda: call(321, 0, 0, 0))
attempt("kernel perf", lambda: call(298, 0, 0, -1, -1, 0))
attempt("kernel module", lambda: call(175, 0, 0, b""))
attempt("kernel kexec", lambda: call(246, 0, 0, 0, 0))
attempt("kernel reboot", lambda: call(169, 0, 0, 0, 0))
attempt("kernel host name", lambda: call(170, b"x", 1))
attempt("kernel time", lambda: call(227, 0, 0))
attempt("kernel swap", lambda: call(167, b"/no/such/file", 0))
attempt("kernel ports", lambda: call(172, 3))
attempt("kernel mq", lambda: call(240, b"x", os.O_CREAT | os.O_RDWR, 0o600, 0))
attempt("kernel shm", lambda: call(29, 0, 4096, 0o1600))
attempt("kernel handle", lambda: call(304, -100, 0, 0))
attempt("kernel x32", lambda: call(0x40000000 | 39))
attempt("kernel affinity of another", lambda: os.sched_setaffinity(outside, {0}))
attempt("kernel limits of another", lambda: call(302, outside, 7, ctypes.byref((ctypes.c_ulong * 2)(1, 1)), 0))
attempt("kernel priority of another", lambda: os.setpriority(os.PRIO_PROCESS, outside, 5))
attempt("mount", lambda: call(165, b"x", folder.encode(), b"tmpfs", 0, 0))
attempt("mount tree", lambda: call(428, -100, b"/", 1))
attempt("mount context", lambda: call(430, b"tmpfs", 0))
attempt("unmount", lambda: call(166, b"/no/such/folder", 2))
attempt("chroot", lambda: os.chroot(folder))
attempt("pivot_root", lambda: call(155, b"/", b"/"))
for name, flag in [("user", 0x10000000), ("mount", 0x20000), ("pid", 0x20000000), ("net", 0x40000000)]:
    attempt(f"namespace {name}", lambda flag=flag: call(272, flag))
attempt("namespace by clone", lambda: call(56, 0x10000000 | 17, 0, 0, 0, 0))
attempt("namespace by clone3", lambda: call(435, ctypes.byref((ctypes.c_ulong * 11)(0x10000000)), 88))
attempt("namespace of another", lambda: call(308, os.open("/proc/self/ns/net", os.O_RDONLY), 0))
attempt("terminal input", lambda: call(16, 0, 0x5412, ctypes.byref(ctypes.c_char(b"x"))))
attempt("terminal input, wide", lambda: call(16, 0, 0x100005412, ctypes.byref(ctypes.c_char(b"x"))))
attempt("terminal selection", lambda: call(16, 0, 0x541C, ctypes.byref(ctypes.c_char(b"\2"))))
attempt("terminal of one's own", lambda: call(16, 0, 0x540E, 0))
for path in ["/proc/sys/kernel/hostname", "/proc/sysrq-trigger", "/proc/self/oom_score_adj", "/proc/self/comm",
             "/proc/self/uid_map", "/proc/self/attr/current", "/sys/power/state", "/sys/kernel/uevent_helper",
             "/dev/kmsg", "/dev/watchdog", "/dev/mem", "/dev/ptmx", "/dev/shm/interlock-attack"]:
    if os.path.exists(path) or path.startswith("/dev/shm/"):
        attempt(f"write {path}", opens(path, W | (os.O_CREAT if "shm" in path else 0)))
attempt("program in memory", in_memory_program)
attempt("new privileges", new_privileges)
# What reads need stays.
print("shared lock", "open" if lock(fcntl.LOCK_SH) is None else "", flush=True)
