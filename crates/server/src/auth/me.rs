//! Who one is, and one's own password.

use std::time::Instant;

use axum::extract::State;
use axum::{Extension, Json};
use http::StatusCode;
use interlock_store::{User, UserChange};
use serde_json::json;

use super::{password, tokens};
use crate::access::{Caller, Via, unauthenticated};
use crate::api::answers::{Anybody, Bodies, Clash, Signed};
use crate::api::extract::Sent;
use crate::app::App;
use crate::http::Peer;
use crate::problem::{Code, Problem};
use crate::wire::{Me, SetPassword};

/// Who is asking.
#[utoipa::path(get, path = "/api/v1/me", tag = "auth", operation_id = "me",
    responses((status = 200, body = Me),
        Anybody, Signed))]
pub(super) async fn show(State(app): State<App>, caller: Caller) -> Result<Json<Me>, Problem> {
    let user = app.auth().store.user(&caller.user).await?;
    let user = user.ok_or_else(unauthenticated)?;
    Ok(Json(form(&caller, &user)))
}

/// Sets one's own password. Every other browser is signed out.
#[utoipa::path(put, path = "/api/v1/me/password", tag = "auth", operation_id = "set_password",
    request_body = SetPassword,
    responses((status = 204),
        Anybody, Signed, Clash, Bodies))]
pub(super) async fn set_password(
    State(app): State<App>,
    Extension(peer): Extension<Peer>,
    caller: Caller,
    Sent(form): Sent<SetPassword>,
) -> Result<StatusCode, Problem> {
    let auth = app.auth();
    let Via::Cookie { login, .. } = &caller.via else {
        return Err(
            Problem::new(Code::Forbidden, "a token may not change a password").hint("sign in on the page")
        );
    };
    let user = auth.store.user(&caller.user).await?.ok_or_else(unauthenticated)?;
    if user.identity.is_some() {
        return Err(Problem::new(
            Code::Conflict,
            "you sign in with a provider; there is no password here",
        ));
    }
    password::good(&form.new, &user.id)?;
    if user.password.is_some() && !auth.came_by_link(&user.id, login).await? {
        let attempt = auth
            .throttle
            .attempt(Some(user.id.as_str()), peer.address, Instant::now())?;
        let current = form.current.filter(|text| text.len() <= password::LONGEST);
        let right = auth
            .passwords
            .is(current.unwrap_or_default(), user.password.clone())
            .await?;
        if !right {
            auth.note_failure(
                Some(&user.id),
                Some(user.id.as_str()),
                peer.address,
                "password change",
            )
            .await?;
            return Err(
                Problem::new(Code::Forbidden, "the present password is wrong").hint(
                    "whoever forgot it asks an admin for a sign-in link and sets a new one within 15 minutes",
                ),
            );
        }
        auth.throttle.forgive(attempt);
    }
    let hash = auth.passwords.hash(form.new).await?;
    let change = UserChange {
        password: Some(hash),
        ..UserChange::default()
    };
    auth.store.change_user(&user.id, change).await?;
    auth.store.remove_logins(&user.id, Some(login)).await?;
    auth.known.forget();
    auth.note(
        Some(&user.id),
        "user.changed",
        Some(user.id.as_str()),
        json!({ "password": "changed" }),
    )
    .await?;
    Ok(StatusCode::NO_CONTENT)
}

/// A caller, for themselves.
pub(super) fn form(caller: &Caller, user: &User) -> Me {
    let (via, csrf) = match &caller.via {
        Via::Cookie { csrf, .. } => ("cookie", Some(csrf.clone())),
        Via::Token { .. } => ("token", None),
    };
    Me {
        user: super::users::form(user),
        via: via.to_owned(),
        may: tokens::may(caller),
        csrf,
        has_password: user.password.is_some(),
    }
}
