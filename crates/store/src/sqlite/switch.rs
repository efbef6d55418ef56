//! The switch that stops all writes: two settings that are read and written together.

use interlock_protocol::UserId;
use jiff::Timestamp;
use rusqlite::Connection;

use super::fault::Fault;
use super::read::setting;
use super::retain::set_setting;
use crate::prepare::json;
use crate::switch::Moved;
use crate::{Error, Switch, SwitchMove};

/// Whether all writes are stopped.
const STANDS: &str = "kill_switch";
/// Who moved it last.
const MOVED: &str = "kill_switch_by";

pub(crate) fn switch(conn: &Connection) -> Result<Switch, Fault> {
    // What nobody of us wrote lets nothing go.
    let stopped = setting(conn, STANDS)?.is_some_and(|stands| stands != "released");
    let moved: Option<Moved> = setting(conn, MOVED)?.and_then(|kept| serde_json::from_str(&kept).ok());
    let Some(moved) = moved else {
        return Ok(Switch {
            stopped,
            ..Switch::default()
        });
    };
    // Somebody may have set the one setting by hand: what does not fit says nothing about who.
    let fits = moved.stopped == stopped;
    Ok(Switch {
        stopped,
        revision: moved.revision,
        by: fits.then_some(moved.by),
        at: fits.then_some(moved.at),
        reason: moved.reason.filter(|_| fits),
    })
}

pub(crate) fn move_switch(
    conn: &Connection,
    to: &SwitchMove,
    by: &UserId,
    at: Timestamp,
) -> Result<Switch, Fault> {
    let before = switch(conn)?;
    let (stopped, reason) = match to {
        SwitchMove::Stop { reason } => (true, reason.clone()),
        SwitchMove::Resume { seen: Some(seen) } if before.stopped && before.revision != *seen => {
            return Err(Error::StoppedAgain(Box::new(before)).into());
        }
        SwitchMove::Resume { .. } => (false, None),
    };
    let moved = Moved {
        stopped,
        by: by.clone(),
        at,
        reason,
        revision: before.revision.saturating_add(1),
    };
    set_setting(conn, STANDS, if stopped { "engaged" } else { "released" })?;
    set_setting(conn, MOVED, &json("who moved the switch", &moved)?)?;
    Ok(Switch {
        stopped,
        revision: moved.revision,
        by: Some(moved.by),
        at: Some(moved.at),
        reason: moved.reason,
    })
}
