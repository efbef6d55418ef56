//! The handlers: one module for each kind of thing.

mod alert_forms;
mod alerts;
pub(crate) mod answers;
mod approvals;
mod asked;
mod audit;
mod chats;
mod decide;
mod decisions;
mod describe;
pub(crate) mod extract;
mod forms;
mod health;
mod hold;
mod hold_run;
mod incidents;
mod markdown;
mod measurements;
mod models;
mod overview;
mod resources;
mod session;
mod sessions;
mod settings;
mod tools;
mod trace;

pub(crate) use describe::describe;

use interlock_protocol::SessionId;
use interlock_store::Deed;
use jiff::Timestamp;

use crate::access::{Access, Caller};
use crate::app::App;
use crate::problem::Problem;
use crate::routes::Routes;
use crate::wire::Accepted;

/// The routes of the API proper.
pub(crate) fn routes() -> Routes {
    health::routes()
        .and(overview::routes())
        .and(alerts::routes())
        .and(incidents::routes())
        .and(chats::routes())
        .and(sessions::routes())
        .and(session::routes())
        .and(trace::routes())
        .and(markdown::routes())
        .and(approvals::routes())
        .and(decide::routes())
        .and(tools::routes())
        .and(models::routes())
        .and(resources::routes())
        .and(measurements::routes())
        .and(decisions::routes())
        .and(audit::routes())
        .and(settings::routes())
}

/// What became of a question.
fn accepted(session: &SessionId) -> Accepted {
    Accepted {
        session: session.to_string(),
        status: "queued".to_owned(),
        url: format!("/sessions/{session}"),
    }
}

/// Writes down what somebody did.
async fn note(app: &App, caller: &Caller, action: &str, subject: &str) -> Result<(), Problem> {
    let deed = Deed {
        at: Timestamp::now(),
        actor: Some(caller.user.clone()),
        action: action.to_owned(),
        subject: Some(subject.to_owned()),
        details: serde_json::json!({}),
    };
    app.store().audit(deed).await?;
    Ok(())
}

/// The session, if it is there and not deleted.
async fn visible(app: &App, session: &SessionId) -> Result<interlock_store::Session, Problem> {
    let found = app.store().session(session).await?;
    if found.deleted_at.is_some() {
        return Err(extract::missing("session", session));
    }
    Ok(found)
}

/// The session, if it is there; a deleted one only for whoever may restore it.
async fn seen(app: &App, caller: &Caller, session: &SessionId) -> Result<(), Problem> {
    let found = app.store().session(session).await?;
    if found.deleted_at.is_some() && caller.may(Access::Operate).is_err() {
        return Err(extract::missing("session", session));
    }
    Ok(())
}
