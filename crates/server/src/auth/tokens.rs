//! API tokens: made by their owners, shown once, never more than their owners.

use std::collections::BTreeSet;

use axum::Json;
use axum::extract::{Path, State};
use http::StatusCode;
use interlock_store::ApiToken;
use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use super::{identify, secret};
use crate::access::{Access, Caller, Via};
use crate::api::answers::{Anybody, Bodies, Clash, Missing, Signed};
use crate::api::extract::Sent;
use crate::app::App;
use crate::problem::{Code, Problem};
use crate::wire::{CreatedToken, NewToken, Scope, Token, TokenList};

/// Every scope.
pub(super) const SCOPES: [Scope; 4] = [Scope::Read, Scope::Operate, Scope::Approve, Scope::Admin];
/// For how long, if nothing else is said.
const DAYS: u32 = 90;
const MOST_DAYS: u32 = 3650;
/// How many tokens one user may have at the same time.
const MOST: usize = 100;
const LONGEST_NAME: usize = 128;

/// The word that is kept for a scope.
pub(super) const fn word(scope: Scope) -> &'static str {
    access(scope).as_str()
}

const fn access(scope: Scope) -> Access {
    match scope {
        Scope::Read => Access::Read,
        Scope::Operate => Access::Operate,
        Scope::Approve => Access::Approve,
        Scope::Admin => Access::Admin,
    }
}

/// What a caller may do.
pub(super) fn may(caller: &Caller) -> Vec<Scope> {
    SCOPES
        .into_iter()
        .filter(|scope| caller.may(access(*scope)).is_ok())
        .collect()
}

/// One's own tokens.
#[utoipa::path(get, path = "/api/v1/me/tokens", tag = "auth", operation_id = "my_tokens",
    responses((status = 200, body = TokenList),
        Anybody, Signed))]
pub(super) async fn list(State(app): State<App>, caller: Caller) -> Result<Json<TokenList>, Problem> {
    let tokens = app.auth().store.api_tokens(Some(&caller.user)).await?;
    Ok(Json(forms(tokens)))
}

/// Everybody's tokens.
#[utoipa::path(get, path = "/api/v1/tokens", tag = "people", operation_id = "all_tokens",
    responses((status = 200, body = TokenList),
        Anybody, Signed))]
pub(super) async fn list_all(State(app): State<App>) -> Result<Json<TokenList>, Problem> {
    Ok(Json(forms(app.auth().store.api_tokens(None).await?)))
}

/// Makes a token. Its secret is shown this once.
#[utoipa::path(post, path = "/api/v1/me/tokens", tag = "auth", operation_id = "create_token", request_body = NewToken,
    responses((status = 201, body = CreatedToken),
        Anybody, Signed, Clash, Bodies))]
pub(super) async fn create(
    State(app): State<App>,
    caller: Caller,
    Sent(form): Sent<NewToken>,
) -> Result<(StatusCode, Json<CreatedToken>), Problem> {
    let auth = app.auth();
    if matches!(caller.via, Via::Token { .. }) {
        // A token that leaks must not be able to outlive itself.
        caller.may(Access::Admin)?;
    }
    let name = super::views::name(&app.masker(), &form.name, LONGEST_NAME)?;
    let scopes: BTreeSet<Scope> = form.scopes.into_iter().collect();
    if scopes.is_empty() {
        return Err(Problem::new(
            Code::InvalidInput,
            "a token needs at least one scope",
        ));
    }
    for scope in &scopes {
        caller.may(access(*scope)).map_err(|_| {
            Problem::new(
                Code::Forbidden,
                format!("you may not `{}`, so that no token of yours may", word(*scope)),
            )
            .hint("leave that scope out")
        })?;
    }
    let days = form.days.unwrap_or(DAYS);
    if !(1..=MOST_DAYS).contains(&days) {
        return Err(Problem::new(
            Code::InvalidInput,
            format!("`days` is between 1 and {MOST_DAYS}"),
        ));
    }
    let now = Timestamp::now();
    let mine = auth.store.api_tokens(Some(&caller.user)).await?;
    let live = mine.iter().filter(|token| {
        token.revoked_at.is_none() && token.expires_at.is_none_or(|expires_at| expires_at > now)
    });
    if live.count() >= MOST {
        return Err(
            Problem::new(Code::Conflict, format!("you have {MOST} tokens already"))
                .hint("revoke those that nothing uses"),
        );
    }
    let (secret, hash) = secret::new(secret::TOKEN_PREFIX);
    let token = ApiToken {
        id: format!("tok_{}", secret::random_hex::<8>()),
        hash,
        name,
        user: caller.user.clone(),
        scopes: scopes.iter().map(|scope| word(*scope).to_owned()).collect(),
        created_at: now,
        expires_at: now
            .checked_add(SignedDuration::from_hours(i64::from(days) * 24))
            .ok(),
        used_at: None,
        revoked_at: None,
    };
    let details = json!({ "name": token.name, "scopes": token.scopes, "expires_at": token.expires_at });
    auth.note(Some(&caller.user), "token.created", Some(&token.id), details)
        .await?;
    auth.store.create_token(token.clone()).await?;
    let created = CreatedToken {
        token: self::form(token),
        secret,
    };
    Ok((StatusCode::CREATED, Json(created)))
}

/// Revokes a token of one's own.
#[utoipa::path(delete, path = "/api/v1/me/tokens/{id}", tag = "auth", operation_id = "revoke_token",
    params(("id" = String, Path, description = "The token's id")),
    responses((status = 204),
        Anybody, Signed, Missing))]
pub(super) async fn revoke(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<StatusCode, Problem> {
    match &caller.via {
        Via::Token { id: own, .. } if *own != id => caller.may(Access::Admin)?,
        Via::Token { .. } | Via::Cookie { .. } => {}
    }
    end(&app, &caller, &id, Whose::Own).await
}

/// Revokes anybody's token.
#[utoipa::path(delete, path = "/api/v1/tokens/{id}", tag = "people", operation_id = "revoke_any_token",
    params(("id" = String, Path, description = "The token's id")),
    responses((status = 204),
        Anybody, Signed, Missing))]
pub(super) async fn revoke_any(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<StatusCode, Problem> {
    end(&app, &caller, &id, Whose::Anybodys).await
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Whose {
    Own,
    Anybodys,
}

async fn end(app: &App, caller: &Caller, id: &str, whose: Whose) -> Result<StatusCode, Problem> {
    let auth = app.auth();
    let user = (whose == Whose::Own).then_some(&caller.user);
    if !auth.store.revoke_token(id, user, Timestamp::now()).await? {
        return Err(Problem::new(
            Code::NotFound,
            "there is no such token, or it was revoked already",
        ));
    }
    auth.known.forget();
    auth.note(Some(&caller.user), "token.revoked", Some(id), json!({}))
        .await?;
    Ok(StatusCode::NO_CONTENT)
}

fn forms(mut tokens: Vec<ApiToken>) -> TokenList {
    tokens.sort_by(|one, other| other.created_at.cmp(&one.created_at).then(one.id.cmp(&other.id)));
    TokenList {
        tokens: tokens.into_iter().map(form).collect(),
    }
}

fn form(token: ApiToken) -> Token {
    Token {
        id: token.id,
        name: token.name,
        user: token.user.to_string(),
        scopes: token
            .scopes
            .iter()
            .filter_map(|word| identify::scope(word))
            .collect(),
        created_at: token.created_at,
        expires_at: token.expires_at,
        used_at: token.used_at,
        revoked_at: token.revoked_at,
    }
}
