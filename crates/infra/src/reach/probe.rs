//! Our own questions to a machine. A closed list: nothing that a model says becomes a program or a flag here.

use std::fmt;

/// The longest name of a unit that systemd takes.
const MOST_UNIT: usize = 255;
/// The longest path that Linux takes.
const MOST_PATH: usize = 4095;

/// The name of a service unit, checked: it can be neither a flag nor a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnitName(String);

impl UnitName {
    /// Checks the text and takes it.
    pub fn new(text: &str) -> Option<Self> {
        let takes = |c: char| c.is_ascii_alphanumeric() || matches!(c, ':' | '_' | '.' | '@' | '\\' | '-');
        (!text.is_empty()
            && text.len() <= MOST_UNIT
            && !text.starts_with(['-', '.'])
            && text.chars().all(takes))
        .then(|| Self(text.to_owned()))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The absolute path of a file or folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePath(String);

impl FilePath {
    /// Checks the text and takes it.
    pub fn new(text: &str) -> Option<Self> {
        // A line break at its end would be lost on the way through a shell, and another file be meant.
        (text.starts_with('/') && text.len() <= MOST_PATH && !text.contains(char::is_control))
            .then(|| Self(text.to_owned()))
    }

    /// The path.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for FilePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// Hashes a file, and nothing that never ends.
const HASH: &str = r#"LC_ALL=C; export LC_ALL
[ -f "$1" ] || { [ -e "$1" ] && { echo "$1: no ordinary file" >&2; exit 2; }; }
exec sha256sum -- "$1""#;

/// Hashes a file together with what comes after it.
const HASH_WITH_INPUT: &str = r#"[ -f "$1" ] || exit 2
cat -- "$1" - | sha256sum"#;

/// A question of our own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Probe {
    /// What a unit is doing, as `Property=value` lines.
    Unit(UnitName),
    /// The loaded services, one per line.
    Services,
    /// The hash of a file, or a complaint that there is none.
    FileHash(FilePath),
    /// Where a path leads once every link in it is followed.
    RealPath(FilePath),
    /// Kind, size, rights, owner, group and change of what a path leads to, separated by `|`.
    Stat(FilePath),
    /// The same of everything in a folder, each with its path at the end.
    Folder(FilePath),
    /// The sockets that listen, with what holds them, as `ss` prints them.
    Listening,
    /// All TCP sockets, as the kernel prints them.
    TcpTables,
    /// The hash that a file will have once the input was added to its end.
    HashWithInput(FilePath),
    /// Which boot it is, when its first process began, and for how many seconds it runs.
    Uptime,
    /// What system it is.
    OsRelease,
    /// How full its file systems are.
    FileSystems,
    /// What a read sandbox could be made of: boot, user, processor, programs.
    Sandbox,
}

impl Probe {
    pub(crate) fn argv(&self) -> Vec<String> {
        let fixed = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        match self {
            Self::Unit(unit) => fixed(&[
                "systemctl",
                "show",
                "--no-pager",
                "--timestamp=us+utc",
                "--property=LoadState,ActiveState,SubState,ActiveEnterTimestamp,ActiveEnterTimestampMonotonic,InvocationID",
                "--",
                unit.as_str(),
            ]),
            Self::Services => fixed(&[
                "systemctl",
                "list-units",
                "--type=service",
                "--all",
                "--plain",
                "--no-legend",
                "--no-pager",
            ]),
            Self::FileHash(path) => fixed(&["sh", "-c", HASH, "sh", path.as_str()]),
            Self::RealPath(path) => fixed(&["env", "LC_ALL=C", "readlink", "-f", "--", path.as_str()]),
            Self::Stat(path) => fixed(&[
                "env",
                "LC_ALL=C",
                "stat",
                "-L",
                "-c",
                "%F|%s|%a|%U|%G|%Y",
                "--",
                path.as_str(),
            ]),
            // An absolute path can be no flag; `find` knows no `--`.
            Self::Folder(path) => fixed(&[
                "env",
                "LC_ALL=C",
                "find",
                path.as_str(),
                "-mindepth",
                "1",
                "-maxdepth",
                "1",
                "-exec",
                "stat",
                "-c",
                "%F|%s|%a|%U|%G|%Y|%n",
                "{}",
                "+",
            ]),
            Self::Listening => fixed(&["ss", "-H", "-lntup"]),
            Self::TcpTables => fixed(&["cat", "/proc/net/tcp", "/proc/net/tcp6"]),
            Self::HashWithInput(path) => fixed(&["sh", "-c", HASH_WITH_INPUT, "sh", path.as_str()]),
            Self::Uptime => fixed(&[
                "cat",
                "/proc/sys/kernel/random/boot_id",
                "/proc/1/stat",
                "/proc/uptime",
            ]),
            Self::OsRelease => fixed(&["cat", "/etc/os-release"]),
            Self::FileSystems => fixed(&["env", "LC_ALL=C", "df", "-P", "-k"]),
            Self::Sandbox => fixed(&["sh", "-c", super::sandbox::QUESTION]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operands_are_checked() {
        for good in ["nginx", "nginx.service", "getty@tty1", "a\\x2db"] {
            assert!(UnitName::new(good).is_some(), "{good}");
        }
        for bad in ["", "-x", ".x", "a b", "a;b", "a*", "é", &"x".repeat(300)] {
            assert_eq!(UnitName::new(bad), None, "{bad}");
        }
        for bad in ["", "etc/passwd", "-x", "~/x", "/a\0b", &"/x".repeat(3000)] {
            assert_eq!(FilePath::new(bad), None, "{bad}");
        }
        let path = FilePath::new("/a b/-c").unwrap();
        assert_eq!(
            Probe::FileHash(path).argv().last().map(String::as_str),
            Some("/a b/-c")
        );
    }
}
