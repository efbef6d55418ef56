//! The name of a task, as Proxmox writes it.

use std::fmt;
use std::str::FromStr;

/// What a task does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TaskKind {
    /// A container is started.
    VzStart,
    /// A container is stopped at once.
    VzStop,
    /// A container is shut down.
    VzShutdown,
    /// A container is rebooted.
    VzReboot,
    /// A container moves to another node.
    VzMigrate,
    /// A container is destroyed.
    VzDestroy,
    /// A snapshot of a container is made.
    VzSnapshot,
    /// A container goes back to a snapshot.
    VzRollback,
    /// A snapshot of a container is deleted.
    VzDelSnapshot,
    /// A virtual machine is started.
    QmStart,
    /// A virtual machine is stopped at once.
    QmStop,
    /// A virtual machine is shut down.
    QmShutdown,
    /// A virtual machine is rebooted.
    QmReboot,
    /// A virtual machine is reset.
    QmReset,
    /// A virtual machine is paused.
    QmSuspend,
    /// A virtual machine goes on.
    QmResume,
    /// A virtual machine moves to another node.
    QmMigrate,
    /// A virtual machine is destroyed.
    QmDestroy,
    /// A virtual machine is configured in the background.
    QmConfig,
    /// A snapshot of a virtual machine is made.
    QmSnapshot,
    /// A virtual machine goes back to a snapshot.
    QmRollback,
    /// A snapshot of a virtual machine is deleted.
    QmDelSnapshot,
    /// A guest is backed up.
    VzDump,
}

impl TaskKind {
    /// All of them.
    pub const ALL: [Self; 23] = [
        Self::VzStart,
        Self::VzStop,
        Self::VzShutdown,
        Self::VzReboot,
        Self::VzMigrate,
        Self::VzDestroy,
        Self::VzSnapshot,
        Self::VzRollback,
        Self::VzDelSnapshot,
        Self::QmStart,
        Self::QmStop,
        Self::QmShutdown,
        Self::QmReboot,
        Self::QmReset,
        Self::QmSuspend,
        Self::QmResume,
        Self::QmMigrate,
        Self::QmDestroy,
        Self::QmConfig,
        Self::QmSnapshot,
        Self::QmRollback,
        Self::QmDelSnapshot,
        Self::VzDump,
    ];

    /// The word for it in a UPID.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::VzStart => "vzstart",
            Self::VzStop => "vzstop",
            Self::VzShutdown => "vzshutdown",
            Self::VzReboot => "vzreboot",
            Self::VzMigrate => "vzmigrate",
            Self::VzDestroy => "vzdestroy",
            Self::VzSnapshot => "vzsnapshot",
            Self::VzRollback => "vzrollback",
            Self::VzDelSnapshot => "vzdelsnapshot",
            Self::QmStart => "qmstart",
            Self::QmStop => "qmstop",
            Self::QmShutdown => "qmshutdown",
            Self::QmReboot => "qmreboot",
            Self::QmReset => "qmreset",
            Self::QmSuspend => "qmsuspend",
            Self::QmResume => "qmresume",
            Self::QmMigrate => "qmigrate",
            Self::QmDestroy => "qmdestroy",
            Self::QmConfig => "qmconfig",
            Self::QmSnapshot => "qmsnapshot",
            Self::QmRollback => "qmrollback",
            Self::QmDelSnapshot => "qmdelsnapshot",
            Self::VzDump => "vzdump",
        }
    }
}

impl fmt::Display for TaskKind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.as_str())
    }
}

/// The name of a task: `UPID:node:pid:pstart:starttime:type:id:user:`, numbers in hexadecimal.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Upid {
    /// The node that it runs on.
    pub node: String,
    /// The process that it is there.
    pub pid: u32,
    /// When that process began, in ticks since the node did.
    pub pstart: u32,
    /// When it began, in seconds of the epoch.
    pub starttime: u32,
    /// What it does.
    pub kind: TaskKind,
    /// With which guest, if with one.
    pub id: String,
    /// Who wants it.
    pub user: String,
}

impl fmt::Display for Upid {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            out,
            "UPID:{}:{:08X}:{:08X}:{:08X}:{}:{}:{}:",
            self.node, self.pid, self.pstart, self.starttime, self.kind, self.id, self.user
        )
    }
}

/// That is no UPID.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unable to parse worker upid '{0}'")]
pub struct NoUpid(pub String);

impl FromStr for Upid {
    type Err = NoUpid;

    fn from_str(text: &str) -> Result<Self, NoUpid> {
        parse(text).ok_or_else(|| NoUpid(text.to_owned()))
    }
}

fn parse(text: &str) -> Option<Upid> {
    let parts: Vec<&str> = text.split(':').collect();
    let ["UPID", node, pid, pstart, starttime, kind, id, user, ""] = parts.as_slice() else {
        return None;
    };
    let hex = |digits: &str| {
        let fits = digits.len() == 8 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        fits.then(|| u32::from_str_radix(digits, 16).ok()).flatten()
    };
    let is_name = |name: &str| {
        !name.is_empty()
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    (is_name(node) && !user.is_empty()).then_some(())?;
    Some(Upid {
        node: (*node).to_owned(),
        pid: hex(pid)?,
        pstart: hex(pstart)?,
        starttime: hex(starttime)?,
        kind: TaskKind::ALL.into_iter().find(|known| known.as_str() == *kind)?,
        id: (*id).to_owned(),
        user: (*user).to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "UPID:delly:0000C3A1:0012D687:68F0A1B2:vzstart:141:root@pam!interlock:";

    #[test]
    fn a_upid_is_read_and_written_alike() {
        let upid: Upid = GOOD.parse().expect("a UPID");
        assert_eq!(
            upid,
            Upid {
                node: "delly".to_owned(),
                pid: 0xC3A1,
                pstart: 0x0012_D687,
                starttime: 0x68F0_A1B2,
                kind: TaskKind::VzStart,
                id: "141".to_owned(),
                user: "root@pam!interlock".to_owned(),
            }
        );
        assert_eq!(upid.to_string(), GOOD);
    }

    #[test]
    fn what_is_no_upid_is_refused() {
        for text in [
            "",
            "UPID",
            "UPID:delly:0000C3A1:0012D687:68F0A1B2:vzstart:141:root@pam",
            "UPID:delly:C3A1:0012D687:68F0A1B2:vzstart:141:root@pam:",
            "UPID:delly:0000C3AG:0012D687:68F0A1B2:vzstart:141:root@pam:",
            "UPID:delly:+000C3A1:0012D687:68F0A1B2:vzstart:141:root@pam:",
            "UPID::0000C3A1:0012D687:68F0A1B2:vzstart:141:root@pam:",
            "UPID:../x:0000C3A1:0012D687:68F0A1B2:vzstart:141:root@pam:",
            "UPID:delly:0000C3A1:0012D687:68F0A1B2:nonsense:141:root@pam:",
            "UPID:delly:0000C3A1:0012D687:68F0A1B2:vzstart:141::",
            "upid:delly:0000C3A1:0012D687:68F0A1B2:vzstart:141:root@pam:",
            "UPID:delly:0000C3A1:0012D687:68F0A1B2:vzstart:141:root@pam:x",
        ] {
            assert_eq!(text.parse::<Upid>(), Err(NoUpid(text.to_owned())));
        }
    }

    #[test]
    fn every_kind_has_a_word_of_its_own() {
        for kind in TaskKind::ALL {
            let text = GOOD.replace("vzstart", kind.as_str());
            assert_eq!(text.parse::<Upid>().map(|upid| upid.kind), Ok(kind));
        }
    }
}
