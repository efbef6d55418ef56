//! Our own questions to this machine. A closed list: nothing that a model says becomes a program or a flag here.

use std::fmt;

use interlock_protocol::SocketKind;

use crate::{Error, Program};

/// The longest name of a unit that systemd takes.
const MOST_BYTES: usize = 255;

/// The name of a service unit, checked: it can be neither a flag nor a pattern.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UnitName(String);

impl UnitName {
    /// Checks the text and takes it.
    pub fn new(text: &str) -> Result<Self, Error> {
        let takes = |c: char| c.is_ascii_alphanumeric() || matches!(c, ':' | '_' | '.' | '@' | '\\' | '-');
        let well_formed = !text.is_empty()
            && text.len() <= MOST_BYTES
            && !text.starts_with(['-', '.'])
            && text.chars().all(takes);
        if well_formed {
            Ok(Self(text.to_owned()))
        } else {
            // A hostile text may be long; the message need not be.
            Err(Error::UnitName(text.chars().take(64).collect()))
        }
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for UnitName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// A question of our own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Probe {
    /// What a unit is doing, as `Property=value` lines.
    Unit(UnitName),
    /// The loaded services, one per line.
    Services,
}

impl Probe {
    pub(crate) fn program(&self) -> Result<Program, Error> {
        // systemd is asked over D-Bus, a Unix socket.
        Ok(match self {
            Self::Unit(unit) => Program::new([
                "systemctl",
                "show",
                "--no-pager",
                "--timestamp=us+utc",
                "--property=LoadState,ActiveState,SubState,ActiveEnterTimestamp,ActiveEnterTimestampMonotonic,InvocationID",
                "--",
                unit.as_str(),
            ]),
            Self::Services => Program::new([
                "systemctl",
                "list-units",
                "--type=service",
                "--all",
                "--plain",
                "--no-legend",
                "--no-pager",
            ]),
        }?
        .with_sockets(&[SocketKind::Unix]))
    }
}
