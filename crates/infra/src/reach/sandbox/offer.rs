//! What a machine offers, as our own question finds it out.

use super::seccomp::Processor;

/// What is known of a machine before a sandbox is tried on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Machine {
    /// Which boot of the system, and which start of its first process. A sandbox counts for these alone.
    pub(super) mark: String,
    /// Who commands run as.
    pub(super) superuser: bool,
    /// The processor, where a filter can be made for it.
    pub(super) processor: Option<Processor>,
    /// Whether systemd is its first process.
    pub(super) systemd: bool,
    /// Which of the programs are there.
    pub(super) programs: Vec<String>,
    /// Folders that commands can write to outside a sandbox: there a refusal is the sandbox's doing.
    pub(super) writable: Vec<String>,
    /// The network that commands see outside a sandbox.
    pub(super) network: String,
}

/// Prints what [`Machine::read`] reads. Nothing in it depends on what anyone says.
pub(crate) const QUESTION: &str = r#"LC_ALL=C; export LC_ALL
read -r boot < /proc/sys/kernel/random/boot_id || exit 1
read -r stat < /proc/1/stat || exit 1
set -f; set -- ${stat##*) }
echo "mark=$boot/${20}"
echo "uid=$(id -u)"
echo "processor=$(uname -m)"
[ -d /run/systemd/system ] && echo systemd=yes
for program in systemd-run bwrap unshare setpriv mount timeout; do
  command -v "$program" >/dev/null 2>&1 && echo "program=$program"
done
for folder in /tmp /var/tmp /run /root /etc; do
  [ -d "$folder" ] && [ -w "$folder" ] && echo "writable=$folder"
done
echo "netns=$(readlink /proc/self/ns/net)"
exit 0"#;

impl Machine {
    /// Reads what the question printed. Nothing if it is not understood.
    pub(super) fn read(text: &str) -> Option<Self> {
        let value = |key: &str| {
            text.lines()
                .find_map(|line| line.strip_prefix(key)?.strip_prefix('='))
        };
        let mark = value("mark")?;
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '/');
        if mark.len() < 8 || !mark.chars().all(plain) {
            return None;
        }
        let all = |key: &str| {
            let lines = text
                .lines()
                .filter_map(|line| line.strip_prefix(key)?.strip_prefix('='));
            lines.map(str::to_owned).collect()
        };
        Some(Self {
            mark: mark.to_owned(),
            superuser: value("uid")? == "0",
            processor: Processor::named(value("processor")?),
            systemd: value("systemd") == Some("yes"),
            programs: all("program"),
            writable: all("writable"),
            network: value("netns")?.to_owned(),
        })
    }

    pub(super) fn has(&self, program: &str) -> bool {
        self.programs.iter().any(|there| there == program)
    }
}
