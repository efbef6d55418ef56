//! What a run was made of, and whether the gate would say the same again.

use axum::Json;
use axum::extract::State;
use interlock_engine::{Trace, Traced};
use interlock_protocol::SessionId;
use serde::Deserialize;
use serde_json::{Value, json};
use utoipa::IntoParams;
use utoipa_axum::routes;

use super::answers::{Anybody, Missing, Signed};
use super::extract::{Asked, At, missing, text};
use super::forms::cut;
use crate::access::Access;
use crate::app::App;
use crate::problem::{Code, Problem};
use crate::routes::Routes;
use crate::wire::TraceForm;

/// The routes.
pub(crate) fn routes() -> Routes {
    Routes::new().route(Access::Read, routes!(trace))
}

/// Which run, and whether to ask again.
#[derive(Debug, Clone, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub(crate) struct Which {
    /// The run; left out, the session's last
    #[param(min_length = 1, max_length = 128)]
    pub(crate) run: Option<String>,
    /// Whether to ask the gate everything again and compare
    #[param(default = false)]
    pub(crate) replay: Option<bool>,
}

/// Show the trace of a run.
///
/// Everything that was asked of models and of the gate. With `replay=true` the gate is asked everything again; nothing runs.
/// Long bodies are cut, with a note of how long they were.
#[utoipa::path(
    get, path = "/api/v1/sessions/{id}/trace", operation_id = "getTrace", tag = "sessions",
    params(
        ("id" = String, Path, min_length = 1, max_length = 128, description = "The session"),
        Which,
    ),
    responses(
        (status = 200, description = "The trace", body = TraceForm),
        Anybody, Signed, Missing,
    ),
)]
async fn trace(
    State(app): State<App>,
    At(session): At<SessionId>,
    Asked(which): Asked<Which>,
) -> Result<Json<TraceForm>, Problem> {
    super::visible(&app, &session).await?;
    let store = app.store();
    let runs = store.runs(&session).await?;
    let run = match &which.run {
        Some(named) => {
            text("run", named, 1, 128)?;
            let found = runs.into_iter().find(|run| run.id.as_str() == named);
            found.ok_or_else(|| missing("run", named))?
        }
        None => runs.into_iter().next_back().ok_or_else(|| {
            Problem::new(
                Code::NotFound,
                "this session has no run yet: no worker has started it",
            )
            .hint("wait until it is in progress")
        })?,
    };
    let trace = Trace::of(store, &session, run).await.map_err(unreadable)?;
    let (trace, checked) = if which.replay == Some(true) {
        // Asking again is work for the processor; others go on meanwhile.
        let keyring = store.keyring().cloned();
        let check = move || {
            let checked = trace.check(keyring.as_ref());
            (trace, checked)
        };
        let (trace, checked) = tokio::task::spawn_blocking(check)
            .await
            .map_err(|_| Problem::new(Code::Internal, "the trace could not be asked again"))?;
        (trace, Some(checked.map_err(unreadable)?))
    } else {
        (trace, None)
    };
    Ok(Json(form(&trace, checked.as_ref())))
}

fn unreadable(error: interlock_engine::TraceError) -> Problem {
    match error {
        interlock_engine::TraceError::Store(error) => Problem::from(error),
        other => {
            tracing::error!(error = %other, "a trace cannot be read");
            Problem::new(Code::Internal, format!("the trace cannot be read: {other}"))
        }
    }
}

/// The longest text of a request or a reply that is shown, in bytes.
const LONGEST: usize = 64 * 1024;
/// How much all of them together may have, in bytes; what comes after is told with its length alone.
const TOGETHER: usize = 4 * 1024 * 1024;
/// How many differences are told.
const DIFFERENCES: usize = 100;

fn form(trace: &Trace, checked: Option<&Traced>) -> TraceForm {
    let mut room = TOGETHER;
    let interactions = trace
        .asked
        .iter()
        .map(|asked| {
            json!({
                "execution": asked.execution,
                "number": asked.number,
                "provider": asked.provider,
                "model": asked.model,
                "at": asked.at,
                "request": shown(&asked.request, &mut room),
                "request_hash": asked.request_hash,
                "reply": shown(&asked.raw_reply, &mut room),
                "facts": shown_value(&asked.facts, &mut room),
            })
        })
        .collect();
    let steps = trace
        .steps
        .iter()
        .map(|step| {
            json!({
                "number": step.number,
                "run": step.run,
                "at": step.at,
                "input": shown_value(&step.input, &mut room),
                "outcome": shown_value(&step.outcome, &mut room),
            })
        })
        .collect();
    TraceForm {
        session: trace.run.session_id.to_string(),
        run: trace.run.run_id.to_string(),
        replayed: checked.map(Traced::holds),
        decisions: checked.map_or(0, |checked| checked.replayed.decisions as u64),
        differences: checked.map(differences).unwrap_or_default(),
        interactions,
        steps,
    }
}

/// A text, or its beginning with a note of how long it is.
fn shown(text: &str, room: &mut usize) -> Value {
    let most = LONGEST.min(*room);
    if text.len() <= most {
        *room -= text.len();
        return json!(text);
    }
    let end = text.floor_char_boundary(most);
    *room -= end;
    json!({"truncated": true, "bytes": text.len(), "beginning": &text[..end]})
}

/// The same for JSON, which stays as it is where there is room for it.
fn shown_value(value: &Value, room: &mut usize) -> Value {
    let text = value.to_string();
    if text.len() <= LONGEST.min(*room) {
        *room -= text.len();
        return value.clone();
    }
    shown(&text, room)
}

fn differences(traced: &Traced) -> Vec<String> {
    traced
        .sentences()
        .iter()
        .take(DIFFERENCES)
        .map(|sentence| cut(sentence, 1000))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_long_is_cut_with_a_note() {
        let mut room = 10;
        assert_eq!(shown("short", &mut room), json!("short"));
        assert_eq!(
            shown("äöüäöü", &mut room),
            json!({"truncated": true, "bytes": 12, "beginning": "äö"})
        );
        assert_eq!(room, 1);
        assert_eq!(
            shown_value(&json!({"a": 1}), &mut room),
            json!({"truncated": true, "bytes": 7, "beginning": "{"})
        );
        assert_eq!(room, 0);
    }
}
