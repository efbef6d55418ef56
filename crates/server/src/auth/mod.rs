//! Who is asking: users, passwords, cookies, API tokens, `OpenID Connect`.
//!
//! Only hashes of secrets are kept. Whether a name exists is never told, by words or by time. A request is known by its
//! cookie or by its token, never by both and never by what a proxy says. What was done is in the audit log before the
//! answer leaves.
//!
//! Data walks: a request → `identify` (cookie or token → [`Caller`](crate::access::Caller), CSRF, rate) → a handler;
//! `sign_in` and `oidc` make logins, `me`, `tokens`, `views` and `users` look after them.

mod cookie;
mod first;
mod identify;
mod me;
mod oidc;
mod password;
mod recheck;
mod secret;
mod sign_in;
mod throttle;
mod tokens;
mod users;
mod views;

use std::net::IpAddr;
use std::sync::{Arc, PoisonError, RwLock};

use interlock_config::{Config, Sessions};
use interlock_protocol::UserId;
use interlock_store::{Deed, Store};
use jiff::Timestamp;
use serde_json::{Value, json};
use utoipa_axum::routes;

pub use first::sign_in_link;
pub(crate) use identify::identify;
pub(crate) use secret::{hex, random_hex};

use self::oidc::Oidc;
use self::password::Passwords;
use self::recheck::Known;
use self::throttle::Throttle;
use crate::access::Access;
use crate::http::Limits;
use crate::problem::Problem;
use crate::routes::Routes;

/// Who is who.
pub(crate) struct Auth {
    store: Store,
    passwords: Passwords,
    throttle: Throttle,
    known: Known,
    configured: RwLock<Arc<Configured>>,
}

/// What the configuration sets. A reload replaces it.
pub(crate) struct Configured {
    sessions: Sessions,
    attempts: u32,
    rates: (u32, u32),
    limits: Arc<Limits>,
    oidc: Option<Arc<Oidc>>,
}

impl Configured {
    /// As configured. What did not change is taken over, with what it remembers: who asked how much in this minute, and who
    /// is at the provider.
    fn new(config: &Config, before: Option<&Self>) -> Result<Self, crate::Error> {
        let server = &config.server;
        let limits = &server.limits;
        let rates = (limits.requests_per_minute, limits.anonymous_per_minute);
        let oidc = server.oidc.as_ref().map(Oidc::new).transpose()?.map(Arc::new);
        let known = before.and_then(|before| before.oidc.as_ref());
        Ok(Self {
            sessions: server.sessions.clone(),
            attempts: limits.sign_in_attempts,
            rates,
            limits: match before {
                Some(before) if before.rates == rates => Arc::clone(&before.limits),
                Some(_) | None => Arc::new(Limits::new(limits)),
            },
            oidc: match (oidc, known) {
                (Some(new), Some(known)) if new.is_like(known) => Some(Arc::clone(known)),
                (new, _) => new,
            },
        })
    }
}

impl Auth {
    /// As configured, over this store.
    pub(crate) fn new(config: &Config, store: Store) -> Result<Self, crate::Error> {
        let configured = Configured::new(config, None)?;
        Ok(Self {
            store,
            passwords: Passwords::new(),
            throttle: Throttle::new(configured.attempts),
            known: Known::default(),
            configured: RwLock::new(Arc::new(configured)),
        })
    }

    /// What the configuration sets now.
    fn configured(&self) -> Arc<Configured> {
        Arc::clone(&self.configured.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn sessions(&self) -> Sessions {
        self.configured().sessions.clone()
    }

    /// What another configuration sets. Nothing changes yet.
    pub(crate) fn prepare(&self, config: &Config) -> Result<Configured, crate::Error> {
        Configured::new(config, Some(&self.configured()))
    }

    /// From now on this is set.
    pub(crate) fn replace(&self, configured: Configured) {
        self.throttle.allow(configured.attempts);
        *self.configured.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(configured);
    }

    /// Writes into the audit log what somebody did.
    async fn note(
        &self,
        actor: Option<&UserId>,
        action: &str,
        subject: Option<&str>,
        details: Value,
    ) -> Result<(), Problem> {
        let deed = Deed {
            at: Timestamp::now(),
            actor: actor.cloned(),
            action: action.to_owned(),
            subject: subject.map(str::to_owned),
            details,
        };
        self.store.audit(deed).await?;
        Ok(())
    }

    /// Notes that an attempt to sign in failed, and with which name. Only the beginning of a name that belongs to no user is
    /// kept: it may be a password in the wrong field. [`Throttle`] limits how many attempts get this far.
    async fn note_failure(
        &self,
        user: Option<&UserId>,
        tried: Option<&str>,
        from: IpAddr,
        how: &str,
    ) -> Result<(), Problem> {
        let mut details = json!({ "from": from.to_string(), "how": how });
        if let Some(tried) = tried {
            details["name"] = match user {
                Some(user) => user.as_str().into(),
                None => attempted(tried).into(),
            };
        }
        self.note(None, "sign_in.failed", user.map(UserId::as_str), details)
            .await
    }
}

/// How many characters of a name that belongs to no user are kept.
const SHOWN: usize = 3;

/// A name that belongs to no user, safe to keep and to show: its beginning and its length.
fn attempted(name: &str) -> String {
    let length = name.chars().count();
    // A short name is shown in part only, too: half of it at most.
    let shown = name.chars().take(SHOWN.min(length / 2));
    let shown: String = shown.flat_map(char::escape_default).collect();
    match length {
        1 => format!("{shown}… (1 character, no such user)"),
        length => format!("{shown}… ({length} characters, no such user)"),
    }
}

/// The routes for signing in and out, people and tokens.
pub(crate) fn routes() -> Routes {
    Routes::new()
        .route(Access::Public, routes!(sign_in::options))
        .route(Access::Public, routes!(sign_in::with_password))
        .route(Access::Public, routes!(sign_in::with_link))
        .route(Access::Public, routes!(oidc::start))
        .route(Access::Public, routes!(oidc::callback))
        .route(Access::Read, routes!(sign_in::out))
        .route(Access::Read, routes!(me::show))
        .route(Access::Read, routes!(me::set_password))
        .route(Access::Read, routes!(tokens::list))
        .route(Access::Read, routes!(tokens::create))
        .route(Access::Read, routes!(tokens::revoke))
        .route(Access::Admin, routes!(tokens::list_all))
        .route(Access::Admin, routes!(tokens::revoke_any))
        .route(Access::Read, routes!(views::list))
        .route(Access::Read, routes!(views::create))
        .route(Access::Read, routes!(views::remove))
        .route(Access::Admin, routes!(users::list))
        .route(Access::Admin, routes!(users::create))
        .route(Access::Admin, routes!(users::change))
        .route(Access::Admin, routes!(users::remove))
        .route(Access::Admin, routes!(users::link))
}

#[cfg(test)]
mod tests {
    use super::attempted;

    #[test]
    fn a_name_of_no_user_is_kept_in_part_and_escaped() {
        let cases = [
            ("", "… (0 characters, no such user)"),
            ("a", "… (1 character, no such user)"),
            ("root", "ro… (4 characters, no such user)"),
            ("correct horse", "cor… (13 characters, no such user)"),
            ("\u{1b}[31mx\u{202e}", "\\u{1b}[3… (7 characters, no such user)"),
        ];
        for (name, kept) in cases {
            assert_eq!(attempted(name), kept);
        }
    }
}
