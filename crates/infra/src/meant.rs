//! Whether a plan permits a change: every connector asks before it changes something.

use interlock_gate::Started;
use interlock_protocol::{ResourceId, ToolKind};

use crate::Error;

/// Makes sure that a plan changes something, and that it is this very resource.
pub(crate) fn to_be_changed(started: &Started, id: &ResourceId) -> Result<(), Error> {
    let plan = started.plan();
    if plan.resource() != Some(id) {
        return Err(Error::Unsupported(format!("the plan is not about `{id}`")));
    }
    changes(started)
}

/// Makes sure that a plan changes something.
pub(crate) fn changes(started: &Started) -> Result<(), Error> {
    match started.plan().kind {
        ToolKind::Write => Ok(()),
        ToolKind::Read | ToolKind::Resolve => Err(Error::Unsupported(
            "the plan only reads, and this would change something".to_owned(),
        )),
    }
}
