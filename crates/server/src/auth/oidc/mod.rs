//! Signing in with an `OpenID Connect` provider: code flow with PKCE, a nonce, and a state that is bound to the browser.
//!
//! The provider says who somebody is and in which groups; the configuration says which role a group has. Who has none may
//! not come in. An account of a provider is never joined to a local one of the same name.

mod pending;
mod people;
mod provider;
mod refused;

use std::sync::Arc;
use std::time::Instant;

use axum::Extension;
use axum::extract::State;
use axum::response::{IntoResponse as _, Redirect, Response};
use http::{HeaderMap, header};
use interlock_protocol::UserId;
use openidconnect::{Nonce, PkceCodeChallenge, PkceCodeVerifier};
use serde::Deserialize;
use utoipa::IntoParams;

use self::pending::Pending;
pub(super) use self::provider::Oidc;
use self::refused::Refused;
use super::{Auth, cookie, secret};
use crate::api::answers::{Anybody, Known, Missing};
use crate::api::extract::Asked;
use crate::app::App;
use crate::http::Peer;
use crate::problem::{Code, Problem};

/// The cookie that says that the browser that comes back is the one that went away.
const BOUND: &str = "interlock_oidc";
const ROOT: &str = "/api/v1/auth/oidc";
const CALLBACK: &str = "/api/v1/auth/oidc/callback";
/// How long somebody may take at the provider.
const PATIENCE_SECONDS: u64 = 600;

/// Where to go.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Start {
    /// The page to come back to: a path of ours.
    return_to: Option<String>,
}

/// What the provider sends.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Callback {
    /// What is exchanged for who it is.
    code: Option<String>,
    /// What we sent.
    state: Option<String>,
    /// Why it did not work.
    error: Option<String>,
}

/// Goes to the provider.
#[utoipa::path(get, path = "/api/v1/auth/oidc/start", tag = "auth", operation_id = "oidc_start", params(Start),
    responses((status = 303, description = "To the provider, or back to the sign-in page with `error`"),
        Anybody, Known, Missing))]
pub(super) async fn start(
    State(app): State<App>,
    Extension(peer): Extension<Peer>,
    Asked(query): Asked<Start>,
) -> Result<Response, Problem> {
    let oidc = configured(app.auth())?;
    let (challenge, verifier) = PkceCodeChallenge::new_random_sha256();
    let state = secret::random_hex::<32>();
    let (bound, bound_hash) = secret::new("");
    let nonce = secret::random_hex::<32>();
    let redirect = format!("{}{CALLBACK}", peer.origin);
    let address = match oidc.authorize(&redirect, &state, &nonce, challenge).await {
        Ok(address) => address,
        Err(refused) => return Ok(failed(&refused, &peer)),
    };
    oidc.pending.keep(
        &state,
        Pending {
            bound: bound_hash,
            nonce,
            verifier: verifier.into_secret(),
            redirect,
            return_to: local_path(query.return_to.as_deref()),
        },
    );
    let mut response = Redirect::to(&address).into_response();
    let cookie = cookie::make(BOUND, &bound, ROOT, PATIENCE_SECONDS, &peer)
        .ok_or_else(|| Problem::new(Code::Internal, "the cookie could not be made"))?;
    response.headers_mut().append(header::SET_COOKIE, cookie);
    Ok(response)
}

/// Comes back from the provider.
#[utoipa::path(get, path = "/api/v1/auth/oidc/callback", tag = "auth", operation_id = "oidc_callback", params(Callback),
    responses((status = 303, description = "To the page, signed in, or back to the sign-in page with `error`"),
        Anybody, Known, Missing))]
pub(super) async fn callback(
    State(app): State<App>,
    Extension(peer): Extension<Peer>,
    headers: HeaderMap,
    Asked(query): Asked<Callback>,
) -> Result<Response, Problem> {
    let auth = app.auth();
    let oidc = configured(auth)?;
    match come_back(auth, &oidc, &peer, &headers, query).await {
        Ok(response) => Ok(response),
        Err((refused @ Refused::State, _)) => {
            // Anybody can come with a state that nobody has: that fills neither the record nor the log.
            auth.throttle.attempt(None, peer.address, Instant::now())?;
            tracing::debug!(reason = %refused, "somebody came back who never went");
            Ok(failed(&refused, &peer))
        }
        Err((refused, user)) => {
            tracing::warn!(reason = %refused, "somebody could not sign in with the provider");
            auth.note_failure(
                user.as_ref(),
                user.as_ref().map(UserId::as_str),
                peer.address,
                refused.as_str(),
            )
            .await?;
            Ok(failed(&refused, &peer))
        }
    }
}

async fn come_back(
    auth: &Auth,
    oidc: &Oidc,
    peer: &Peer,
    headers: &HeaderMap,
    query: Callback,
) -> Result<Response, (Refused, Option<UserId>)> {
    let unknown = |refused: Refused| (refused, None);
    // Whatever comes of it, that state is used up.
    let pending = query.state.as_deref().and_then(|state| oidc.pending.take(state));
    let Some(pending) = pending else {
        return Err(unknown(Refused::State));
    };
    let mut bound = cookie::values(headers, BOUND);
    let same = match (bound.next(), bound.next()) {
        (Some(value), None) => secret::hash_of("", value) == Some(pending.bound),
        _ => false,
    };
    if !same {
        return Err(unknown(Refused::OtherBrowser));
    }
    let (None, Some(code)) = (query.error, query.code) else {
        return Err(unknown(Refused::Provider));
    };
    let verifier = PkceCodeVerifier::new(pending.verifier);
    let nonce = Nonce::new(pending.nonce);
    let person = oidc
        .exchange(code, verifier, nonce, &pending.redirect)
        .await
        .map_err(unknown)?;
    let user = auth.person(person).await?;
    let id = user.id.clone();
    let store = |problem: Problem| (Refused::Store(problem.code()), Some(id.clone()));
    let (login, secret) = auth
        .new_login(&user, "oidc", peer, headers)
        .await
        .map_err(store)?;
    tracing::info!(user = %login.user, how = "oidc", "signed in");
    let mut response = Redirect::to(&pending.return_to).into_response();
    let cookies = [
        cookie::set(&secret, auth.sessions().absolute.get().as_secs(), peer),
        cookie::make(BOUND, "", ROOT, 0, peer),
    ];
    for cookie in cookies.into_iter().flatten() {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    Ok(response)
}

fn configured(auth: &Auth) -> Result<Arc<Oidc>, Problem> {
    auth.configured().oidc.clone().ok_or_else(|| {
        Problem::new(Code::NotFound, "no provider is configured")
            .hint("sign in with a password, or set `server.oidc`")
    })
}

/// Back to the sign-in page, which says what the code means.
fn failed(refused: &Refused, peer: &Peer) -> Response {
    let mut response = Redirect::to(&format!("/sign-in?error={}", refused.code().as_str())).into_response();
    if let Some(cookie) = cookie::make(BOUND, "", ROOT, 0, peer) {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    response
}

/// A path of ours to come back to. Anything else would let a link send people elsewhere.
fn local_path(wanted: Option<&str>) -> String {
    let fine = |path: &&str| {
        path.len() <= 1024
            && path.starts_with('/')
            && !path.starts_with("//")
            && !path.starts_with("/api/")
            && path
                .bytes()
                .all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'\\' | b'"' | b'<' | b'>'))
    };
    wanted.filter(fine).unwrap_or("/").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_comes_back_only_to_a_page_of_ours() {
        for (wanted, path) in [
            (None, "/"),
            (Some("/sessions?status=failed#x"), "/sessions?status=failed#x"),
            (Some("https://evil.example"), "/"),
            (Some("//evil.example"), "/"),
            (Some("/\\evil.example"), "/"),
            (Some("/x\r\nset-cookie: a=b"), "/"),
            (Some("/api/v1/auth/oidc/start"), "/"),
            (Some("javascript:alert(1)"), "/"),
            (Some("sessions"), "/"),
            (Some("/\tevil"), "/"),
        ] {
            assert_eq!(local_path(wanted), path, "{wanted:?}");
        }
    }
}
