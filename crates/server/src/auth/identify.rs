//! Who a request is from: its cookie or its token.

use std::time::Duration;

use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, header};
use interlock_protocol::{ContentHash, UserId};
use interlock_store::{ApiToken, Login, User};
use jiff::Timestamp;
use metrics::counter;
use serde_json::json;

use super::{Auth, cookie, secret};
use crate::access::{Caller, Via};
use crate::app::App;
use crate::http::{Peer, changes, is_upgrade};
use crate::problem::{Code, Problem};
use crate::wire::Scope;

/// How much longer a login must become for that to be written down.
const EXTEND_EVERY: Duration = Duration::from_mins(1);
/// What a page sends with each change.
const CSRF: &str = "x-csrf-token";
/// Where one signs in: there is no token against other sites yet, so that only the origin counts.
const SIGNING_IN: [&str; 2] = ["/api/v1/auth/sign-in", "/api/v1/auth/link"];

/// Puts the [`Caller`] into the request, if there is one.
pub(crate) async fn identify(State(app): State<App>, request: Request, next: Next) -> Response {
    let path = request.uri().path();
    let program = path.starts_with("/api/") || path == "/metrics";
    if !program {
        // Pages, files and health are the same for everybody.
        return next.run(request).await;
    }
    let Some(peer) = request.extensions().get::<Peer>().cloned() else {
        return Problem::new(Code::Internal, "the sender of the request is not known").into_response();
    };
    let (mut parts, body) = request.into_parts();
    let mut known = None;
    match app.auth().caller(&parts, &peer).await {
        Ok(Some(caller)) => {
            known = Some(Attempt::of(&caller, &parts));
            parts.extensions.insert(caller);
        }
        Ok(None) => {}
        Err(problem) => {
            let unknown = problem.code() == Code::Unauthenticated;
            let mut response = problem.into_response();
            if unknown {
                response.headers_mut().insert(
                    header::WWW_AUTHENTICATE,
                    HeaderValue::from_static("Bearer realm=\"interlock\""),
                );
            }
            return response;
        }
    }
    let response = next.run(Request::from_parts(parts, body)).await;
    if response.extensions().get::<Code>() == Some(&Code::Forbidden)
        && let Some(attempt) = known
    {
        attempt.record(app.auth()).await;
    }
    response
}

/// A request of a signed-in user or of a token.
struct Attempt {
    user: UserId,
    token: Option<String>,
    method: Method,
    /// The route, not the path: a path holds what was sent.
    route: String,
}

impl Attempt {
    fn of(caller: &Caller, request: &Parts) -> Self {
        let route = request.extensions.get::<MatchedPath>();
        Self {
            user: caller.user.clone(),
            token: match &caller.via {
                Via::Cookie { .. } => None,
                Via::Token { id, .. } => Some(id.clone()),
            },
            method: request.method.clone(),
            route: route.map_or_else(|| "unmatched".to_owned(), |route| route.as_str().to_owned()),
        }
    }

    /// Counts that the role or the scope did not suffice. A request that would change something is also in the audit log.
    async fn record(self, auth: &Auth) {
        counter!("interlock_request_refused_total", "route" => self.route.clone()).increment(1);
        if !changes(&self.method) {
            return;
        }
        let mut details = json!({ "method": self.method.as_str() });
        if let Some(token) = self.token {
            details["token"] = token.into();
        }
        let noted = auth.note(Some(&self.user), "request.refused", Some(&self.route), details);
        if noted.await.is_err() {
            tracing::error!(user = %self.user, route = self.route, "a refusal could not be recorded");
        }
    }
}

impl Auth {
    async fn caller(&self, request: &Parts, peer: &Peer) -> Result<Option<Caller>, Problem> {
        let headers = &request.headers;
        let known = match (bearer(headers), cookie::login(headers)) {
            (Ok(None), None) => Ok(None),
            (Ok(Some(_)), Some(_)) => Err(Problem::new(
                Code::Unauthenticated,
                "the request has a cookie and a token, and they may mean two people",
            )
            .hint("send one of them")),
            (Ok(Some(token)), None) => self.by_token(&token).await.and_then(|caller| {
                let caller = caller.ok_or_else(|| bad_token("the token is unknown, expired or revoked"))?;
                Ok(Some(caller))
            }),
            (Ok(None), Some(login)) => self.by_login(&login, Seen::Now).await,
            (Err(problem), _) => Err(problem),
        };
        let known = match known {
            Ok(Some(caller)) => {
                self.configured().limits.user(&caller.user)?;
                caller
            }
            nobody => {
                self.configured().limits.address(peer.address)?;
                return nobody;
            }
        };
        if let Via::Cookie { csrf, .. } = &known.via {
            own_page(request, csrf)?;
        }
        Ok(Some(known))
    }

    /// Who a token belongs to.
    pub(super) async fn by_token(&self, hash: &ContentHash) -> Result<Option<Caller>, Problem> {
        let found = self.store.api_token(hash, Timestamp::now()).await?;
        Ok(found.map(|(token, user)| token_caller(token, user)))
    }

    /// Who a cookie belongs to.
    pub(super) async fn by_login(&self, hash: &ContentHash, seen: Seen) -> Result<Option<Caller>, Problem> {
        let now = Timestamp::now();
        let Some((login, user)) = self.store.login(hash, now).await? else {
            return Ok(None);
        };
        let until = self.until(login.created_at, now);
        if until <= now {
            return Ok(None);
        }
        // Not with each request: the database has better things to do.
        let worth = self.sessions().idle.get().min(EXTEND_EVERY * 10) / 10;
        let later = login.expires_at.checked_add(worth).unwrap_or(until);
        if seen == Seen::Now && until > later {
            self.store.extend_login(hash, until).await?;
        }
        Ok(Some(login_caller(login, user)))
    }
}

/// Whether a look at a login counts as using it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Seen {
    /// Somebody did something.
    Now,
    /// A stream that is open looks whether it may stay so.
    No,
}

fn login_caller(login: Login, user: User) -> Caller {
    Caller {
        user: user.id,
        role: user.role,
        revision: user.revision,
        via: Via::Cookie {
            login: login.hash,
            csrf: login.csrf,
        },
    }
}

fn token_caller(token: ApiToken, user: User) -> Caller {
    Caller {
        user: user.id,
        role: user.role,
        revision: user.revision,
        via: Via::Token {
            id: token.id,
            hash: token.hash,
            scopes: token.scopes.iter().filter_map(|word| scope(word)).collect(),
        },
    }
}

/// A scope by its word. A word that is not known gives nothing.
pub(super) fn scope(word: &str) -> Option<Scope> {
    super::tokens::SCOPES
        .into_iter()
        .find(|scope| super::tokens::word(*scope) == word)
}

fn bad_token(what: &str) -> Problem {
    Problem::new(Code::Unauthenticated, what)
        .hint("send `Authorization: Bearer ilk_…` with a token from Settings, or no such header at all")
}

/// The hash of the token in `Authorization`. A header that is none of ours is an error at once: whoever sends one means to
/// be somebody.
fn bearer(headers: &HeaderMap) -> Result<Option<ContentHash>, Problem> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let value = match (values.next(), values.next()) {
        (None, _) => return Ok(None),
        (Some(value), None) => value,
        (Some(_), Some(_)) => return Err(bad_token("there is more than one `Authorization` header")),
    };
    value
        .to_str()
        .ok()
        .and_then(|text| text.split_once(' '))
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
        .and_then(|(_, token)| secret::hash_of(secret::TOKEN_PREFIX, token.trim()))
        .map(Some)
        .ok_or_else(|| bad_token("the `Authorization` header holds no API token"))
}

/// With a cookie, a change must come from our own page, which knows the token, and a socket from a page of ours.
fn own_page(request: &Parts, csrf: &str) -> Result<(), Problem> {
    let headers = &request.headers;
    if is_upgrade(headers) && !headers.contains_key(header::ORIGIN) {
        return Err(
            Problem::new(Code::WrongOrigin, "a browser says which page opens a socket")
                .hint("programs use an API token"),
        );
    }
    if !changes(&request.method) || SIGNING_IN.contains(&request.uri.path()) {
        return Ok(());
    }
    let mut sent = headers.get_all(CSRF).iter();
    let right = match (sent.next(), sent.next()) {
        (Some(value), None) => value.to_str().is_ok_and(|value| secret::equal(value, csrf)),
        _ => false,
    };
    if right {
        return Ok(());
    }
    Err(Problem::new(
        Code::CsrfFailed,
        "a change with a cookie needs the header `x-csrf-token`",
    )
    .hint("reload the page; a program uses an API token instead of the cookie"))
}
