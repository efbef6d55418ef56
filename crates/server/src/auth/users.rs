//! Users: made, changed and removed by admins.

use axum::extract::{Path, State};
use axum::{Extension, Json};
use http::StatusCode;
use interlock_mask::Masker;
use interlock_protocol::{Role, UserId, UserName};
use interlock_store::UserChange;
use jiff::Timestamp;
use serde_json::json;

use super::{first, password};
use crate::access::Caller;
use crate::api::answers::{Anybody, Bodies, Clash, Missing, Signed};
use crate::api::extract::Sent;
use crate::app::App;
use crate::http::Peer;
use crate::problem::{Code, Problem};
use crate::wire::{self, ChangeUser, CreatedLink, CreatedUser, NewUser, UserList};

/// Every user.
#[utoipa::path(get, path = "/api/v1/users", tag = "people", operation_id = "users",
    responses((status = 200, body = UserList),
        Anybody, Signed))]
pub(super) async fn list(State(app): State<App>) -> Result<Json<UserList>, Problem> {
    let users = app.auth().store.users().await?;
    Ok(Json(UserList {
        users: users.iter().map(form).collect(),
    }))
}

/// Makes a user. Without a password they get a link.
#[utoipa::path(post, path = "/api/v1/users", tag = "people", operation_id = "create_user", request_body = NewUser,
    responses((status = 201, body = CreatedUser),
        Anybody, Signed, Clash, Bodies))]
pub(super) async fn create(
    State(app): State<App>,
    Extension(peer): Extension<Peer>,
    caller: Caller,
    Sent(form): Sent<NewUser>,
) -> Result<(StatusCode, Json<CreatedUser>), Problem> {
    caller.may_make_people()?;
    let auth = app.auth();
    let name = user_name(&app.masker(), &form.id)?;
    let role = Role::from(form.role);
    let password = match form.password {
        None => None,
        Some(password) => {
            password::good(&password, name.id())?;
            Some(auth.passwords.hash(password).await?)
        }
    };
    let needs_link = password.is_none();
    let new = interlock_store::NewUser {
        name,
        role,
        password,
        identity: None,
        created_at: Timestamp::now(),
    };
    let user = auth.store.create_user(new).await?;
    let details = json!({ "role": role.as_str() });
    auth.note(
        Some(&caller.user),
        "user.created",
        Some(user.id.as_str()),
        details,
    )
    .await?;
    let link = if needs_link {
        let (secret, _) = first::make_link(&auth.store, &user.id, Some(&caller.user)).await?;
        Some(address(&peer, &secret))
    } else {
        None
    };
    let created = CreatedUser {
        user: self::form(&user),
        link,
    };
    Ok((StatusCode::CREATED, Json(created)))
}

/// Changes what a user may do, or whether they may sign in.
///
/// A token raises a role and lets somebody in again only if it has every scope.
#[utoipa::path(patch, path = "/api/v1/users/{id}", tag = "people", operation_id = "change_user",
    params(("id" = String, Path, description = "The user's name")), request_body = ChangeUser,
    responses((status = 200, body = wire::User),
        Anybody, Signed, Missing, Clash, Bodies))]
pub(super) async fn change(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    Sent(form): Sent<ChangeUser>,
) -> Result<Json<wire::User>, Problem> {
    let auth = app.auth();
    let id = named(&id)?;
    let role = form.role.map(Role::from);
    let before = auth.store.user(&id).await?.ok_or_else(|| no_user(id.as_str()))?;
    let raises = role.is_some_and(|role| role > before.role);
    let lets_in = form.enabled == Some(true) && !before.enabled;
    if raises || lets_in {
        caller.may_make_people()?;
    }
    if role.is_none() && form.enabled.is_none() {
        return Ok(Json(self::form(&before)));
    }
    let change = UserChange {
        role,
        password: None,
        enabled: form.enabled,
    };
    let user = auth.store.change_user(&id, change).await?;
    if !user.enabled {
        auth.store.remove_logins(&id, None).await?;
    }
    auth.known.forget();
    let details = json!({ "role": role.map(Role::as_str), "enabled": form.enabled });
    auth.note(Some(&caller.user), "user.changed", Some(id.as_str()), details)
        .await?;
    Ok(Json(self::form(&user)))
}

/// Removes a user with their logins and tokens. What they did stays in the record.
#[utoipa::path(delete, path = "/api/v1/users/{id}", tag = "people", operation_id = "remove_user",
    params(("id" = String, Path, description = "The user's name")),
    responses((status = 204),
        Anybody, Signed, Missing, Clash))]
pub(super) async fn remove(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<StatusCode, Problem> {
    let auth = app.auth();
    let id = named(&id)?;
    auth.store.remove_user(&id).await?;
    auth.known.forget();
    auth.note(Some(&caller.user), "user.removed", Some(id.as_str()), json!({}))
        .await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Makes a sign-in link for a user: for those who have no password, or forgot it.
#[utoipa::path(post, path = "/api/v1/users/{id}/link", tag = "people", operation_id = "create_link",
    params(("id" = String, Path, description = "The user's name")),
    responses((status = 200, body = CreatedLink),
        Anybody, Signed, Missing, Clash))]
pub(super) async fn link(
    State(app): State<App>,
    Extension(peer): Extension<Peer>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Json<CreatedLink>, Problem> {
    caller.may_make_people()?;
    let auth = app.auth();
    let id = named(&id)?;
    let user = auth.store.user(&id).await?.ok_or_else(|| no_user(id.as_str()))?;
    if user.identity.is_some() {
        return Err(Problem::new(
            Code::Conflict,
            format!("`{id}` signs in with a provider, not with a link"),
        ));
    }
    if !user.enabled {
        return Err(
            Problem::new(Code::Conflict, format!("`{id}` may not sign in at present"))
                .hint("enable them first"),
        );
    }
    let (secret, expires_at) = first::make_link(&auth.store, &id, Some(&caller.user)).await?;
    Ok(Json(CreatedLink {
        link: address(&peer, &secret),
        expires_at,
    }))
}

/// The whole link. The secret is behind the `#`, which a browser sends to nobody.
fn address(peer: &Peer, secret: &str) -> String {
    format!("{}/sign-in#link={secret}", peer.origin)
}

/// The name of a new user. It is shown and kept everywhere, so it is none that looks like a secret.
fn user_name(masker: &Masker, text: &str) -> Result<UserName, Problem> {
    if masker.mask_text(text) != text {
        return Err(Problem::new(
            Code::InvalidInput,
            "`id` looks like a secret, and the name of a user is shown to others: choose another name",
        )
        .details(json!({ "field": "id" })));
    }
    UserName::new(text).map_err(|error| {
        Problem::new(Code::InvalidInput, format!("`id` cannot be a name: {error}"))
            .details(json!({ "field": "id" }))
    })
}

/// A user in an address. What can be no name is nobody's.
fn named(text: &str) -> Result<UserId, Problem> {
    UserId::new(text).map_err(|_| no_user(text))
}

fn no_user(text: &str) -> Problem {
    let shown: String = text.chars().take(128).collect();
    Problem::new(Code::NotFound, format!("there is no user `{shown}`"))
}

/// A user, as they are shown.
pub(super) fn form(user: &interlock_store::User) -> wire::User {
    let sign_in = match (&user.identity, &user.password) {
        (Some(_), _) => "oidc",
        (None, Some(_)) => "password",
        (None, None) => "link",
    };
    wire::User {
        id: user.id.to_string(),
        role: user.role.into(),
        enabled: user.enabled,
        sign_in: sign_in.to_owned(),
        created_at: user.created_at,
        seen_at: user.seen_at,
    }
}
