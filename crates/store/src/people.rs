//! People and programs that may sign in, and what they sign in with.
//!
//! Secrets are never kept: a password is its argon2 hash, a token, a link and a browser's session are their SHA-256.

use interlock_protocol::{ContentHash, Role, UserId, UserName};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::backend::on;
use crate::{Error, Store};

/// How often a visit is noted at most, in nanoseconds.
const A_MINUTE: i64 = 60 * 1_000_000_000;

/// How the names of those begin whom the system of this machine knows and who signed in nowhere. No user can
/// have such a name ([`UserName`] takes no colon), so that nobody at a shell is taken for one.
pub const LOCAL: &str = "local:";

/// Somebody who may sign in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct User {
    /// Who.
    pub id: UserId,
    /// What they may do.
    pub role: Role,
    /// The argon2 hash of their password, in PHC form; nothing if they sign in otherwise.
    pub password: Option<String>,
    /// `issuer` and `subject` of a provider of `OpenID` Connect, if they come from one.
    pub identity: Option<(String, String)>,
    /// Whether they may sign in at present.
    pub enabled: bool,
    /// Grows with every change of role, password or `enabled`: what was signed in before is looked at again.
    pub revision: u64,
    /// Since when.
    pub created_at: Timestamp,
    /// When they were last seen.
    pub seen_at: Option<Timestamp>,
}

/// Somebody who is to be made. Only those whose names cannot be mistaken are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewUser {
    /// Who.
    pub name: UserName,
    /// What they may do.
    pub role: Role,
    /// The argon2 hash of their password, in PHC form; nothing if they sign in otherwise.
    pub password: Option<String>,
    /// `issuer` and `subject` of a provider of `OpenID` Connect, if they come from one.
    pub identity: Option<(String, String)>,
    /// Since when.
    pub created_at: Timestamp,
}

impl From<NewUser> for User {
    fn from(new: NewUser) -> Self {
        Self {
            id: new.name.into(),
            role: new.role,
            password: new.password,
            identity: new.identity,
            enabled: true,
            revision: 1,
            created_at: new.created_at,
            seen_at: None,
        }
    }
}

/// What changes about a user; what is left out stays.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UserChange {
    /// What they may do.
    pub role: Option<Role>,
    /// The hash of the new password.
    pub password: Option<String>,
    /// Whether they may sign in.
    pub enabled: Option<bool>,
}

/// A browser that is signed in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Login {
    /// The hash of the cookie's secret.
    pub hash: ContentHash,
    /// Who.
    pub user: UserId,
    /// The token that a page sends with each change, so that another site cannot.
    pub csrf: String,
    /// From where, for people: an address and a browser's name.
    pub from: String,
    /// Since when.
    pub created_at: Timestamp,
    /// Until when.
    pub expires_at: Timestamp,
}

/// A link with which one signs in once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// The hash of its secret.
    pub hash: ContentHash,
    /// Who.
    pub user: UserId,
    /// Until when.
    pub expires_at: Timestamp,
}

/// A token for a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiToken {
    /// Its public id: `tok_…`.
    pub id: String,
    /// The hash of its secret.
    pub hash: ContentHash,
    /// What it is for, in its maker's words.
    pub name: String,
    /// Whose it is: it may never do more than they.
    pub user: UserId,
    /// What it may do: the words of the server.
    pub scopes: Vec<String>,
    /// Since when.
    pub created_at: Timestamp,
    /// Until when.
    pub expires_at: Option<Timestamp>,
    /// When it was last used, to the minute.
    pub used_at: Option<Timestamp>,
    /// When it was revoked.
    pub revoked_at: Option<Timestamp>,
}

/// A way of looking at the list of sessions that somebody wants to find again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedView {
    /// Its id.
    pub id: String,
    /// Whose.
    pub user: UserId,
    /// What it is called.
    pub name: String,
    /// The query of the list: `status=failed&sort=created_at`.
    pub query: String,
    /// Since when.
    pub created_at: Timestamp,
}

impl Store {
    /// Makes a user. [`Error::Exists`] if there is one of that name, in whatever case, or one with that identity.
    pub async fn create_user(&self, new: NewUser) -> Result<User, Error> {
        on!(self, create_user(User::from(new)))
    }

    /// A user.
    pub async fn user(&self, id: &UserId) -> Result<Option<User>, Error> {
        on!(self, user(id))
    }

    /// The user that a provider knows by this subject.
    pub async fn user_of(&self, issuer: &str, subject: &str) -> Result<Option<User>, Error> {
        on!(self, user_of(issuer, subject))
    }

    /// Every user, by name.
    pub async fn users(&self) -> Result<Vec<User>, Error> {
        on!(self, users())
    }

    /// Changes a user. The last admin that may sign in can be neither disabled nor demoted: [`Error::LastAdmin`].
    /// Who is disabled is signed out everywhere, and their links are void.
    pub async fn change_user(&self, id: &UserId, change: UserChange) -> Result<User, Error> {
        on!(self, change_user(id, change))
    }

    /// Removes a user with their logins, links, tokens and views. What they did stays. Not the last admin.
    pub async fn remove_user(&self, id: &UserId) -> Result<(), Error> {
        on!(self, remove_user(id))
    }

    /// A browser signed in.
    pub async fn create_login(&self, login: Login) -> Result<(), Error> {
        on!(self, create_login(login))
    }

    /// The login of a cookie, with its user, unless it expired or its user may not sign in. Notes that they were seen, at
    /// most once a minute.
    pub async fn login(&self, hash: &ContentHash, now: Timestamp) -> Result<Option<(Login, User)>, Error> {
        let found = on!(self, login(hash, now))?;
        if let Some((_, user)) = &found
            && is_stale(user.seen_at, now)
        {
            note(on!(self, seen(&user.id, now, A_MINUTE)));
        }
        Ok(found)
    }

    /// The browsers that a user is signed in with.
    pub async fn logins(&self, user: &UserId, now: Timestamp) -> Result<Vec<Login>, Error> {
        on!(self, logins(user, now))
    }

    /// A browser that is used stays signed in until then. Nothing happens if it is not signed in any more.
    pub async fn extend_login(&self, hash: &ContentHash, until: Timestamp) -> Result<(), Error> {
        on!(self, extend_login(hash, until))
    }

    /// A browser signed out.
    pub async fn remove_login(&self, hash: &ContentHash) -> Result<(), Error> {
        on!(self, remove_login(hash))
    }

    /// Signs a user out everywhere, but for one login.
    pub async fn remove_logins(&self, user: &UserId, but: Option<&ContentHash>) -> Result<(), Error> {
        on!(self, remove_logins(user, but))
    }

    /// Keeps a link.
    pub async fn create_link(&self, link: Link) -> Result<(), Error> {
        on!(self, create_link(link))
    }

    /// Uses a link up: whoever comes second gets nothing.
    pub async fn use_link(&self, hash: &ContentHash, now: Timestamp) -> Result<Option<User>, Error> {
        on!(self, use_link(hash, now))
    }

    /// Keeps a token.
    pub async fn create_token(&self, token: ApiToken) -> Result<(), Error> {
        on!(self, create_token(token))
    }

    /// The token with this secret, with its user, unless it expired, was revoked, or its user may not sign in. Notes the
    /// use, at most once a minute.
    pub async fn api_token(
        &self,
        hash: &ContentHash,
        now: Timestamp,
    ) -> Result<Option<(ApiToken, User)>, Error> {
        let found = on!(self, api_token(hash, now))?;
        if let Some((token, _)) = &found
            && is_stale(token.used_at, now)
        {
            note(on!(self, used(&token.id, now, A_MINUTE)));
        }
        Ok(found)
    }

    /// A user's tokens, or everybody's, newest first.
    pub async fn api_tokens(&self, user: Option<&UserId>) -> Result<Vec<ApiToken>, Error> {
        on!(self, api_tokens(user))
    }

    /// Revokes a token. Says whether it was there, was theirs (where a user is named) and had not been revoked.
    pub async fn revoke_token(&self, id: &str, user: Option<&UserId>, now: Timestamp) -> Result<bool, Error> {
        on!(self, revoke_token(id, user, now))
    }

    /// A user's saved views, by name.
    pub async fn views(&self, user: &UserId) -> Result<Vec<SavedView>, Error> {
        on!(self, views(user))
    }

    /// Keeps a view; one of the same name is replaced.
    pub async fn save_view(&self, view: SavedView) -> Result<(), Error> {
        on!(self, save_view(view))
    }

    /// Forgets a view. Says whether it was there.
    pub async fn remove_view(&self, user: &UserId, id: &str) -> Result<bool, Error> {
        on!(self, remove_view(user, id))
    }
}

/// Whether something was noted so long ago that it is worth a write again.
fn is_stale(noted: Option<Timestamp>, now: Timestamp) -> bool {
    noted.is_none_or(|noted| now.as_nanosecond() - noted.as_nanosecond() >= i128::from(A_MINUTE))
}

/// Who signs in need not wait for a full disk: only the time of the last visit is not noted.
fn note(noted: Result<(), Error>) {
    if let Err(error) = noted {
        tracing::debug!(%error, "the last visit was not noted");
    }
}
