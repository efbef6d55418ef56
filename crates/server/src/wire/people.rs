//! People, programs, signing in.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Role, Scope};

/// Who is asking, and what they may do.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Me {
    /// The user.
    pub user: User,
    /// How they are known: `cookie` or `token`.
    pub via: String,
    /// What they may do, as words: `read`, `operate`, `approve`, `admin`.
    pub may: Vec<Scope>,
    /// To be sent as `x-csrf-token` with everything that changes something; only for a browser.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub csrf: Option<String>,
    /// Whether a password was set; without one the sign-in link was the only way in.
    pub has_password: bool,
}

/// How one can sign in here.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct SignInOptions {
    /// With a name and a password.
    pub password: bool,
    /// With a provider: what its button says; nothing if none is configured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oidc: Option<String>,
    /// The version of the server.
    pub version: String,
}

/// Signing in with a password.
#[derive(Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SignIn {
    /// Who.
    #[schema(min_length = 1, max_length = 128)]
    pub user: String,
    /// The password.
    #[schema(min_length = 1, max_length = 1024, format = Password)]
    pub password: String,
}

/// Signing in with a one-time link.
#[derive(Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct UseLink {
    /// What stands behind `#link=` in it.
    #[schema(min_length = 1, max_length = 128)]
    pub link: String,
}

/// A new password of one's own.
#[derive(Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SetPassword {
    /// The present one, if there is one.
    #[serde(default)]
    #[schema(max_length = 1024, format = Password)]
    pub current: Option<String>,
    /// The new one: at least 12 characters.
    #[schema(min_length = 12, max_length = 1024, format = Password)]
    pub new: String,
}

/// Somebody who may sign in.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct User {
    /// Their name, which is their id.
    pub id: String,
    /// What they may do.
    pub role: Role,
    /// Whether they may sign in at present.
    pub enabled: bool,
    /// How they sign in: `password`, `link` or `oidc`.
    pub sign_in: String,
    /// Since when.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    /// When they were last seen.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub seen_at: Option<Timestamp>,
}

/// A list of users.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct UserList {
    /// The users, by name.
    pub users: Vec<User>,
}

/// A user to make.
#[derive(Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewUser {
    /// Their name: letters from a to z, digits and `.`, `_`, `-`, `@`. No two differ in nothing but case.
    #[schema(min_length = 1, max_length = 128, pattern = "^[A-Za-z0-9][A-Za-z0-9._@-]*$")]
    pub id: String,
    /// What they may do.
    pub role: Role,
    /// Their first password; left out, they get a one-time link.
    #[serde(default)]
    #[schema(min_length = 12, max_length = 1024, format = Password)]
    pub password: Option<String>,
}

/// A user that was made.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct CreatedUser {
    /// The user.
    pub user: User,
    /// The link with which they sign in the first time, shown once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
}

/// What changes about a user; what is left out stays.
#[derive(Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangeUser {
    /// What they may do.
    #[serde(default)]
    pub role: Option<Role>,
    /// Whether they may sign in.
    #[serde(default)]
    pub enabled: Option<bool>,
}

/// A link that was made for a user.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct CreatedLink {
    /// The link, shown once.
    pub link: String,
    /// Until when it works.
    #[schema(value_type = String, format = DateTime)]
    pub expires_at: Timestamp,
}

/// A token for a program.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Token {
    /// Its id.
    pub id: String,
    /// What it is for.
    pub name: String,
    /// Whose.
    pub user: String,
    /// What it may do; never more than its user.
    pub scopes: Vec<Scope>,
    /// Since when.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
    /// Until when; nothing, for ever.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub expires_at: Option<Timestamp>,
    /// When it was last used.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub used_at: Option<Timestamp>,
    /// When it was revoked.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub revoked_at: Option<Timestamp>,
}

/// A list of tokens.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct TokenList {
    /// The tokens, newest first.
    pub tokens: Vec<Token>,
}

/// A token to make.
#[derive(Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewToken {
    /// What it is for, on one line.
    #[schema(
        min_length = 1,
        max_length = 128,
        pattern = "^(?=.*\\S)[^\\x00-\\x1f\\x7f-\\x9f]+$"
    )]
    pub name: String,
    /// What it may do.
    #[schema(min_items = 1)]
    pub scopes: Vec<Scope>,
    /// For how many days; left out, 90.
    #[serde(default, deserialize_with = "super::whole::maybe_whole")]
    #[schema(minimum = 1, maximum = 3650)]
    pub days: Option<u32>,
}

/// A token that was made.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct CreatedToken {
    /// What is kept of it.
    pub token: Token,
    /// The secret, shown once: `ilk_…`.
    pub secret: String,
}

/// A way of looking at the list of sessions.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct View {
    /// Its id.
    pub id: String,
    /// What it is called.
    pub name: String,
    /// The query of the list.
    pub query: String,
    /// Since when.
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Timestamp,
}

/// One's saved views.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ViewList {
    /// The views, by name.
    pub views: Vec<View>,
}

/// A view to keep.
#[derive(Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewView {
    /// What to call it, on one line.
    #[schema(
        min_length = 1,
        max_length = 128,
        pattern = "^(?=.*\\S)[^\\x00-\\x1f\\x7f-\\x9f]+$"
    )]
    pub name: String,
    /// The query of the list.
    #[schema(max_length = 2048)]
    pub query: String,
}

/// An entry of the audit log.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct AuditEntry {
    /// Its place.
    pub number: u64,
    /// When.
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
    /// Who.
    pub actor: Option<String>,
    /// What: `hold.approved`.
    pub action: String,
    /// What it was done to.
    pub subject: Option<String>,
    /// Facts.
    #[schema(value_type = Object)]
    pub details: serde_json::Value,
    /// The hash of this entry, which covers the one before it.
    pub hash: String,
}

/// A page of the audit log.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct AuditPage {
    /// The entries, newest first.
    pub entries: Vec<AuditEntry>,
    /// What `before` is for the next page; nothing on the last.
    pub next: Option<u64>,
}

/// What came of looking at the whole audit log.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct AuditCheck {
    /// Whether everything that was checked is as it was written or signed.
    pub intact: bool,
    /// How many entries the audit log has.
    pub entries: u64,
    /// The hash of the last one.
    pub head: String,
    /// Whether the store is signed. If it is not, only the hashes of the audit log and the schema are checked, and no session.
    pub signed: bool,
    /// How many sessions this request checked.
    pub sessions: u64,
    /// How many of them are as they were signed.
    pub sessions_intact: u64,
    /// How many of them are in progress.
    pub sessions_in_progress: u64,
    /// How many of them are older than the signing of this store.
    pub sessions_older: u64,
    /// The ids of those that were changed outside Interlock.
    pub altered: Vec<String>,
    /// The first problem.
    pub problem: Option<String>,
    /// Every problem that was found, at most 100 besides those of sessions.
    pub problems: Vec<String>,
    /// Ask with this as `after` for the sessions that follow; nothing if these were the last.
    pub next: Option<String>,
}
