//! People and programs that may sign in, what they sign in with, and what they did.
//!
//! Secrets are never kept: a password is its argon2 hash, a token, a link and a browser's session are their SHA-256.

use interlock_protocol::{ContentHash, Role, UserId};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Error, Store};

/// Somebody who may sign in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct User {
    /// Who.
    pub id: UserId,
    /// What they may do.
    pub role: Role,
    /// The argon2 hash of their password, in PHC form; nothing if they sign in otherwise.
    pub password: Option<String>,
    /// `issuer` and `subject` of an OpenID Connect provider, if they come from one.
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

/// Something that somebody did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deed {
    /// When.
    pub at: Timestamp,
    /// Who; nobody for a failed sign-in and for code itself.
    pub actor: Option<UserId>,
    /// What, as a stable dotted word: `hold.approved`, `user.created`, `sign_in.failed`, `writes.stopped`.
    pub action: String,
    /// What it was done to: an id.
    pub subject: Option<String>,
    /// Facts. Never a secret.
    pub details: Value,
}

/// A deed in the audit log: each carries the hash of the one before it, so that none can be taken out or changed unseen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditEntry {
    /// Its place: 1 for the first.
    pub number: u64,
    /// What was done.
    #[serde(flatten)]
    pub deed: Deed,
    /// The hash of the entry before it; of nothing for the first.
    pub previous: ContentHash,
    /// The hash of this entry: of `previous` and everything above in canonical form.
    pub hash: ContentHash,
}

/// Which entries of the audit log to list, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AuditFilter {
    /// Only this actor's.
    pub actor: Option<UserId>,
    /// Only actions that begin like this.
    pub action: Option<String>,
    /// Only about this.
    pub subject: Option<String>,
    /// Only entries before this number.
    pub before: Option<u64>,
    /// At most this many.
    pub limit: u32,
}

/// What came of looking at the whole audit log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AuditVerified {
    /// How many entries there are.
    pub entries: u64,
    /// The hash of the last one.
    pub head: ContentHash,
    /// The first entry that does not fit, and why; nothing if all do.
    pub broken: Option<(u64, String)>,
}

impl Store {
    /// Makes a user. [`Error::Exists`] if there is one of that name.
    pub async fn create_user(&self, user: User) -> Result<(), Error> {
        let _ = user;
        Err(Error::Closed)
    }

    /// A user.
    pub async fn user(&self, id: &UserId) -> Result<Option<User>, Error> {
        let _ = id;
        Err(Error::Closed)
    }

    /// The user that a provider knows by this subject.
    pub async fn user_of(&self, issuer: &str, subject: &str) -> Result<Option<User>, Error> {
        let _ = (issuer, subject);
        Err(Error::Closed)
    }

    /// Every user, by name.
    pub async fn users(&self) -> Result<Vec<User>, Error> {
        Err(Error::Closed)
    }

    /// Changes a user. The last admin that may sign in can be neither disabled nor demoted: [`Error::LastAdmin`].
    pub async fn change_user(&self, id: &UserId, change: UserChange) -> Result<User, Error> {
        let _ = (id, change);
        Err(Error::Closed)
    }

    /// Removes a user with their logins, links, tokens and views. What they did stays. Not the last admin.
    pub async fn remove_user(&self, id: &UserId) -> Result<(), Error> {
        let _ = id;
        Err(Error::Closed)
    }

    /// A browser signed in.
    pub async fn create_login(&self, login: Login) -> Result<(), Error> {
        let _ = login;
        Err(Error::Closed)
    }

    /// The login of a cookie, with its user, unless it expired or its user may not sign in. Notes that they were seen, at
    /// most once a minute.
    pub async fn login(&self, hash: &ContentHash, now: Timestamp) -> Result<Option<(Login, User)>, Error> {
        let _ = (hash, now);
        Err(Error::Closed)
    }

    /// The browsers that a user is signed in with.
    pub async fn logins(&self, user: &UserId, now: Timestamp) -> Result<Vec<Login>, Error> {
        let _ = (user, now);
        Err(Error::Closed)
    }

    /// A browser signed out.
    pub async fn remove_login(&self, hash: &ContentHash) -> Result<(), Error> {
        let _ = hash;
        Err(Error::Closed)
    }

    /// Signs a user out everywhere, but for one login.
    pub async fn remove_logins(&self, user: &UserId, but: Option<&ContentHash>) -> Result<(), Error> {
        let _ = (user, but);
        Err(Error::Closed)
    }

    /// Keeps a link.
    pub async fn create_link(&self, link: Link) -> Result<(), Error> {
        let _ = link;
        Err(Error::Closed)
    }

    /// Uses a link up: whoever comes second gets nothing.
    pub async fn use_link(&self, hash: &ContentHash, now: Timestamp) -> Result<Option<User>, Error> {
        let _ = (hash, now);
        Err(Error::Closed)
    }

    /// Keeps a token.
    pub async fn create_token(&self, token: ApiToken) -> Result<(), Error> {
        let _ = token;
        Err(Error::Closed)
    }

    /// The token with this secret, with its user, unless it expired, was revoked, or its user may not sign in. Notes the
    /// use, at most once a minute.
    pub async fn api_token(
        &self,
        hash: &ContentHash,
        now: Timestamp,
    ) -> Result<Option<(ApiToken, User)>, Error> {
        let _ = (hash, now);
        Err(Error::Closed)
    }

    /// A user's tokens, or everybody's.
    pub async fn api_tokens(&self, user: Option<&UserId>) -> Result<Vec<ApiToken>, Error> {
        let _ = user;
        Err(Error::Closed)
    }

    /// Revokes a token. Says whether it was there, was theirs (where a user is named) and had not been revoked.
    pub async fn revoke_token(&self, id: &str, user: Option<&UserId>, now: Timestamp) -> Result<bool, Error> {
        let _ = (id, user, now);
        Err(Error::Closed)
    }

    /// A user's saved views.
    pub async fn views(&self, user: &UserId) -> Result<Vec<SavedView>, Error> {
        let _ = user;
        Err(Error::Closed)
    }

    /// Keeps a view; one of the same name is replaced.
    pub async fn save_view(&self, view: SavedView) -> Result<(), Error> {
        let _ = view;
        Err(Error::Closed)
    }

    /// Forgets a view. Says whether it was there.
    pub async fn remove_view(&self, user: &UserId, id: &str) -> Result<bool, Error> {
        let _ = (user, id);
        Err(Error::Closed)
    }

    /// Adds to the audit log. On the disk when it returns.
    pub async fn audit(&self, deed: Deed) -> Result<AuditEntry, Error> {
        let _ = deed;
        Err(Error::Closed)
    }

    /// Entries of the audit log, newest first.
    pub async fn audit_entries(&self, filter: &AuditFilter) -> Result<Vec<AuditEntry>, Error> {
        let _ = filter;
        Err(Error::Closed)
    }

    /// Looks at every entry of the audit log and at how they hang together.
    pub async fn verify_audit(&self) -> Result<AuditVerified, Error> {
        Err(Error::Closed)
    }
}
