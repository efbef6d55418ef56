//! The handlers: one module for each kind of thing.

mod alerts;
mod answers;
mod approvals;
mod audit;
mod chats;
mod decide;
mod decisions;
mod describe;
mod extract;
mod health;
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

use crate::app::App;
use crate::problem::{Code, Problem};
use crate::routes::Routes;
use crate::wire::Accepted;

/// The routes of the API proper.
pub(crate) fn routes() -> Routes {
    health::routes()
        .and(overview::routes())
        .and(alerts::routes())
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

fn not_yet() -> Problem {
    Problem::new(Code::Unavailable, "not yet")
}

/// What became of a submission.
fn accepted(session: &SessionId, duplicate: bool) -> Accepted {
    Accepted {
        session: session.to_string(),
        status: if duplicate { "duplicate" } else { "queued" }.to_owned(),
        url: format!("/sessions/{session}"),
    }
}

/// The session, if it is there and not deleted.
async fn visible(app: &App, session: &SessionId) -> Result<interlock_store::Session, Problem> {
    let found = app.store().session(session).await?;
    if found.deleted_at.is_some() {
        return Err(extract::missing("session", session)
            .hint("it was deleted; restore it with POST /api/v1/sessions/{id}/restore"));
    }
    Ok(found)
}
