//! Saved views of the list of sessions.

use axum::Json;
use axum::extract::{Path, State};
use http::StatusCode;
use interlock_mask::Masker;
use interlock_store::SavedView;
use jiff::Timestamp;

use super::secret;
use crate::access::{Caller, Via};
use crate::api::answers::{Anybody, Bodies, Clash, Missing, Signed};
use crate::api::extract::Sent;
use crate::app::App;
use crate::problem::{Code, Problem};
use crate::wire::{NewView, Scope, View, ViewList};

const LONGEST_NAME: usize = 128;
const LONGEST_QUERY: usize = 2048;
/// How many one user may keep.
const MOST: usize = 100;

/// One's saved views.
#[utoipa::path(get, path = "/api/v1/me/views", tag = "auth", operation_id = "my_views",
    responses((status = 200, body = ViewList),
        Anybody, Signed))]
pub(super) async fn list(State(app): State<App>, caller: Caller) -> Result<Json<ViewList>, Problem> {
    let mut views = app.auth().store.views(&caller.user).await?;
    views.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(Json(ViewList {
        views: views.into_iter().map(form).collect(),
    }))
}

/// Keeps a view; one of the same name is replaced.
#[utoipa::path(post, path = "/api/v1/me/views", tag = "auth", operation_id = "save_view", request_body = NewView,
    responses((status = 201, body = View),
        Anybody, Signed, Clash, Bodies))]
pub(super) async fn create(
    State(app): State<App>,
    caller: Caller,
    Sent(form): Sent<NewView>,
) -> Result<(StatusCode, Json<View>), Problem> {
    may_change(&caller)?;
    let store = &app.auth().store;
    let name = name(&app.masker(), &form.name, LONGEST_NAME)?;
    if form.query.chars().count() > LONGEST_QUERY {
        return Err(Problem::new(
            Code::InvalidInput,
            format!("`query` has at most {LONGEST_QUERY} characters"),
        ));
    }
    let kept = store.views(&caller.user).await?;
    if kept.len() >= MOST && !kept.iter().any(|view| view.name == name) {
        return Err(
            Problem::new(Code::Conflict, format!("you keep {MOST} views already")).hint("remove some"),
        );
    }
    let view = SavedView {
        id: format!("view_{}", secret::random_hex::<8>()),
        user: caller.user,
        name,
        query: app.masker().mask_text(&form.query).into_owned(),
        created_at: Timestamp::now(),
    };
    store.save_view(view.clone()).await?;
    Ok((StatusCode::CREATED, Json(self::form(view))))
}

/// Forgets a view.
#[utoipa::path(delete, path = "/api/v1/me/views/{id}", tag = "auth", operation_id = "remove_view",
    params(("id" = String, Path, description = "The view's id")),
    responses((status = 204),
        Anybody, Signed, Missing))]
pub(super) async fn remove(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<StatusCode, Problem> {
    may_change(&caller)?;
    if app.auth().store.remove_view(&caller.user, &id).await? {
        return Ok(StatusCode::NO_CONTENT);
    }
    Err(Problem::new(Code::NotFound, "there is no such view of yours"))
}

/// A token that only reads changes nothing of its owner's.
fn may_change(caller: &Caller) -> Result<(), Problem> {
    match &caller.via {
        Via::Token { scopes, .. }
            if !scopes
                .iter()
                .any(|scope| matches!(scope, Scope::Operate | Scope::Admin)) =>
        {
            Err(Problem::new(
                Code::Forbidden,
                "this token may not change views; it needs the scope `operate`",
            )
            .hint("make another token with that scope"))
        }
        Via::Token { .. } | Via::Cookie { .. } => Ok(()),
    }
}

/// A name that people gave to something, without what looks like a secret.
pub(super) fn name(masker: &Masker, text: &str, longest: usize) -> Result<String, Problem> {
    let text = text.trim();
    if text.is_empty() || text.chars().count() > longest || text.chars().any(char::is_control) {
        return Err(Problem::new(
            Code::InvalidInput,
            format!("`name` has 1 to {longest} characters, on one line"),
        ));
    }
    Ok(masker.mask_text(text).into_owned())
}

fn form(view: SavedView) -> View {
    View {
        id: view.id,
        name: view.name,
        query: view.query,
        created_at: view.created_at,
    }
}
