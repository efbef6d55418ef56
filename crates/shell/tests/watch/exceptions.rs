//! Writes that are not what a command is for, with the reason for each.

/// Caches, locks and temporary files of the programs that every test root has.
pub(crate) const EVERYWHERE: &[Exception] = &[
    Exception {
        command: "sqlite3",
        contains: "O_RDWR|O_CREAT|O_NOFOLLOW",
        leaves: false,
        why: "it opens for writing what it only reads; `-readonly` prevents it",
    },
    Exception {
        command: "top",
        contains: "/.config",
        leaves: true,
        why: "the folder of its settings",
    },
    Exception {
        command: "git",
        contains: "/.git/index",
        leaves: true,
        why: "git keeps what it learned of unchanged files; GIT_OPTIONAL_LOCKS=0 prevents it",
    },
    Exception {
        command: "pmap",
        contains: "shmget(IPC_PRIVATE",
        leaves: false,
        why: "a segment of its own, to learn the number of the device; removed at once",
    },
    Exception {
        command: "pmap",
        contains: "IPC_RMID",
        leaves: false,
        why: "a segment of its own, to learn the number of the device; removed at once",
    },
    Exception {
        command: "qemu-img",
        contains: "io_uring_setup(",
        leaves: false,
        why: "the queue of its own event loop; a sandbox denies it, and qemu-img works without",
    },
    Exception {
        command: "pidof",
        contains: "\"/dev/log\"",
        leaves: false,
        why: "an error about its flags goes to the system's log",
    },
    Exception {
        command: "pidof",
        contains: "\"/dev/console\"",
        leaves: false,
        why: "an error about its flags goes to the system's log, or to the console without one",
    },
    Exception {
        command: "ps",
        contains: "/environ",
        leaves: false,
        why: "it reads the environment of each process also where it does not print it",
    },
    Exception {
        command: "tac",
        contains: "/tmp/tac",
        leaves: true,
        why: "a temporary file without a name, for input that cannot be read backwards",
    },
];

pub(crate) struct Exception {
    /// How the command starts, or a part of it.
    pub(crate) command: &'static str,
    /// What the line says where the write is tolerated.
    pub(crate) contains: &'static str,
    /// Whether it leaves a file behind, or a folder with another time.
    pub(crate) leaves: bool,
    /// Why it is not what the command is for.
    pub(crate) why: &'static str,
}

impl Exception {
    /// Whether it is about this command.
    pub(crate) fn is_about(&self, text: &str) -> bool {
        self.command.is_empty()
            || text.starts_with(self.command)
            || text.contains(&format!(" {}", self.command))
    }

    /// Whether it tolerates this line of this command.
    pub(crate) fn tolerates(&self, text: &str, line: &str) -> bool {
        self.is_about(text) && line.contains(self.contains)
    }
}
