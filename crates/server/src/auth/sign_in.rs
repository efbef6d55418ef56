//! Signing in with a password or a link, and signing out.

use std::time::Instant;

use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use axum::{Extension, Json};
use http::{HeaderMap, StatusCode, header};
use interlock_protocol::{ContentHash, UserId};
use interlock_store::{Login, User};
use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use super::{Auth, cookie, me, password, secret};
use crate::access::{Caller, Via};
use crate::api::answers::{Anybody, Bodies, Known, Signed};
use crate::api::extract::Sent;
use crate::app::App;
use crate::http::Peer;
use crate::problem::{Code, Problem};
use crate::wire::{Me, SignIn, SignInOptions, UseLink};

/// For how long having come by a link is as good as knowing the password.
const LINK_COUNTS: SignedDuration = SignedDuration::from_mins(15);

/// How one can sign in here.
#[utoipa::path(get, path = "/api/v1/auth/options", tag = "auth", operation_id = "sign_in_options",
    responses((status = 200, body = SignInOptions),
        Anybody, Known))]
pub(super) async fn options(State(app): State<App>) -> Json<SignInOptions> {
    Json(SignInOptions {
        password: true,
        oidc: app.config().server.oidc.as_ref().map(|oidc| oidc.label.clone()),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    })
}

/// Signs in with a name and a password.
#[utoipa::path(post, path = "/api/v1/auth/sign-in", tag = "auth", operation_id = "sign_in", request_body = SignIn,
    responses((status = 200, body = Me),
        Anybody, Known, Bodies))]
pub(super) async fn with_password(
    State(app): State<App>,
    Extension(peer): Extension<Peer>,
    headers: HeaderMap,
    Sent(form): Sent<SignIn>,
) -> Result<Response, Problem> {
    let auth = app.auth();
    let attempt = auth
        .throttle
        .attempt(Some(&form.user), peer.address, Instant::now())?;
    let tried = form.user.clone();
    let user = match UserId::new(form.user) {
        Ok(id) => auth.store.user(&id).await?,
        Err(_) => None,
    };
    let expected = user
        .as_ref()
        .filter(|user| user.identity.is_none())
        .and_then(|user| user.password.clone());
    let fits = form.password.len() <= password::LONGEST;
    let given = if fits { form.password } else { String::new() };
    let right = auth.passwords.is(given, expected).await? && fits;
    match user {
        Some(user) if right && user.enabled => {
            auth.throttle.forgive(attempt);
            auth.begin(user, "password", &peer, &headers).await
        }
        user => {
            let id = user.as_ref().map(|user| &user.id);
            auth.note_failure(id, Some(&tried), peer.address, "password")
                .await?;
            Err(
                Problem::new(Code::SignInFailed, "the name or the password is wrong")
                    .hint("try again, or ask an admin for a sign-in link"),
            )
        }
    }
}

/// Signs in with a one-time link.
#[utoipa::path(post, path = "/api/v1/auth/link", tag = "auth", operation_id = "sign_in_with_link",
    request_body = UseLink,
    responses((status = 200, body = Me),
        Anybody, Known, Bodies))]
pub(super) async fn with_link(
    State(app): State<App>,
    Extension(peer): Extension<Peer>,
    headers: HeaderMap,
    Sent(form): Sent<UseLink>,
) -> Result<Response, Problem> {
    let auth = app.auth();
    let attempt = auth.throttle.attempt(None, peer.address, Instant::now())?;
    let user = match secret::hash_of("", form.link.trim()) {
        Some(hash) => auth.store.use_link(&hash, Timestamp::now()).await?,
        None => None,
    };
    match user {
        Some(user) if user.enabled && user.identity.is_none() => {
            auth.throttle.forgive(attempt);
            auth.begin(user, "link", &peer, &headers).await
        }
        user => {
            let id = user.as_ref().map(|user| &user.id);
            auth.note_failure(id, None, peer.address, "link").await?;
            Err(Problem::new(
                Code::SignInFailed,
                "the link was used, has expired or was never made",
            )
            .hint("ask for a new one; the server prints one with `interlock user link`"))
        }
    }
}

/// Signs this browser out.
#[utoipa::path(post, path = "/api/v1/auth/sign-out", tag = "auth", operation_id = "sign_out",
    responses((status = 204),
        Anybody, Signed))]
pub(super) async fn out(
    State(app): State<App>,
    Extension(peer): Extension<Peer>,
    caller: Caller,
) -> Result<Response, Problem> {
    let auth = app.auth();
    let mut response = StatusCode::NO_CONTENT.into_response();
    if let Via::Cookie { login, .. } = &caller.via {
        auth.store.remove_login(login).await?;
        auth.known.forget();
        auth.note(
            Some(&caller.user),
            "sign_out",
            Some(caller.user.as_str()),
            json!({}),
        )
        .await?;
        if let Some(cookie) = cookie::clear(&peer) {
            response.headers_mut().insert(header::SET_COOKIE, cookie);
        }
    }
    Ok(response)
}

impl Auth {
    /// Somebody has shown who they are: a new login, with a new secret. What the browser had before is over.
    pub(super) async fn begin(
        &self,
        user: User,
        how: &str,
        peer: &Peer,
        headers: &HeaderMap,
    ) -> Result<Response, Problem> {
        let (mut response, login, cookie) = {
            let (login, secret) = self.new_login(&user, how, peer, headers).await?;
            let seconds = self.sessions().absolute.get().as_secs();
            let cookie = cookie::set(&secret, seconds, peer);
            let caller = Caller {
                user: user.id.clone(),
                role: user.role,
                revision: user.revision,
                via: Via::Cookie {
                    login: login.hash,
                    csrf: login.csrf.clone(),
                },
            };
            (Json(me::form(&caller, &user)).into_response(), login, cookie)
        };
        let cookie = cookie.ok_or_else(|| Problem::new(Code::Internal, "the cookie could not be made"))?;
        response.headers_mut().insert(header::SET_COOKIE, cookie);
        tracing::info!(user = %login.user, how, "signed in");
        Ok(response)
    }

    /// Keeps a new login; gives back the secret of its cookie.
    pub(super) async fn new_login(
        &self,
        user: &User,
        how: &str,
        peer: &Peer,
        headers: &HeaderMap,
    ) -> Result<(Login, String), Problem> {
        let now = Timestamp::now();
        let details = json!({ "how": how, "from": peer.address.to_string() });
        self.note(Some(&user.id), "sign_in", Some(user.id.as_str()), details)
            .await?;
        if let Some(before) = cookie::login(headers) {
            self.store.remove_login(&before).await?;
            self.known.forget();
        }
        let (secret, hash) = secret::new("");
        let login = Login {
            hash,
            user: user.id.clone(),
            csrf: secret::random_hex::<32>(),
            from: from(how, peer, headers),
            created_at: now,
            expires_at: self.until(now, now),
        };
        self.store.create_login(login.clone()).await?;
        Ok((login, secret))
    }

    /// Until when a login works that was made and was used at these times.
    pub(super) fn until(&self, created_at: Timestamp, used_at: Timestamp) -> Timestamp {
        let absolute = created_at
            .checked_add(self.sessions().absolute.get())
            .unwrap_or(Timestamp::MAX);
        let idle = used_at
            .checked_add(self.sessions().idle.get())
            .unwrap_or(Timestamp::MAX);
        absolute.min(idle)
    }

    /// Whether this login was made with a link a moment ago.
    pub(super) async fn came_by_link(&self, user: &UserId, login: &ContentHash) -> Result<bool, Problem> {
        let now = Timestamp::now();
        let logins = self.store.logins(user, now).await?;
        Ok(logins.iter().any(|kept| {
            kept.hash == *login
                && kept.from.starts_with("link ")
                && now.duration_since(kept.created_at) < LINK_COUNTS
        }))
    }
}

/// From where, for people: how, the address, and what the browser calls itself.
fn from(how: &str, peer: &Peer, headers: &HeaderMap) -> String {
    let browser: String = headers
        .get(header::USER_AGENT)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default()
        .chars()
        .filter(|character| !character.is_control())
        .take(200)
        .collect();
    format!("{how} {} {browser}", peer.address)
}
