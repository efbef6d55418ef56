//! The switch that stops all writes: whether it is on, who moved it, and the deed that says so are one step, for every
//! process.

use interlock_protocol::UserId;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::backend::on;
use crate::{Deed, Error, Store};

/// Where the switch stands.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Switch {
    /// Whether no write begins.
    pub stopped: bool,
    /// How often it was moved: whoever moves it names what they looked at by this number.
    pub revision: u64,
    /// Who moved it last; nothing if nobody did, or it is not known.
    pub by: Option<UserId>,
    /// When.
    pub at: Option<Timestamp>,
    /// Why, if they said.
    pub reason: Option<String>,
}

/// Somebody moves the switch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SwitchMove {
    /// Stops all writes, whatever was so before.
    Stop {
        /// Why, if they said.
        reason: Option<String>,
    },
    /// Lets writes go again.
    Resume {
        /// The revision that was looked at; nothing for whoever did not look. Where it was stopped again since, it is
        /// [`Error::StoppedAgain`].
        seen: Option<u64>,
    },
}

/// Who moved the switch, as it is kept.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Moved {
    pub(crate) stopped: bool,
    pub(crate) by: UserId,
    pub(crate) at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<String>,
    #[serde(default)]
    pub(crate) revision: u64,
}

impl Store {
    /// Where the switch stands, and who moved it: of one moment.
    pub async fn switch(&self) -> Result<Switch, Error> {
        on!(self, switch())
    }

    /// Moves the switch, and writes down the deed with it: both or neither. On the disk when it returns. Says where the
    /// switch stands by this move.
    pub async fn move_switch(
        &self,
        to: SwitchMove,
        by: &UserId,
        at: Timestamp,
        deed: Option<Deed>,
    ) -> Result<Switch, Error> {
        on!(self, move_switch(to, by, at, deed))
    }
}
