//! Sign-in links, and the first admin.

use std::time::Duration;

use interlock_protocol::{Role, UserId, UserName};
use interlock_store::{Deed, Error, Link, NewUser, Store, User};
use jiff::Timestamp;
use serde_json::json;

use super::secret;

/// The name of the first admin.
const FIRST: &str = "admin";
/// How long a link works.
const LASTS: Duration = Duration::from_mins(15);

/// Makes a one-time sign-in link for a user: the part behind `#link=`. The first admin is made if there is none; where
/// no user is named, the link is for the first admin who may sign in with one.
pub async fn sign_in_link(store: &Store, user: Option<&UserId>) -> Result<(UserId, String), Error> {
    let user = match user {
        Some(id) => store.user(id).await?.ok_or_else(|| missing(id.as_str()))?,
        None => first_admin(store).await?,
    };
    if !user.enabled || user.identity.is_some() {
        return Err(missing(user.id.as_str()));
    }
    let (secret, _) = make_link(store, &user.id, None).await?;
    Ok((user.id, secret))
}

/// A link for a user, and until when it works.
pub(super) async fn make_link(
    store: &Store,
    user: &UserId,
    by: Option<&UserId>,
) -> Result<(String, Timestamp), Error> {
    let now = Timestamp::now();
    let expires_at = now + LASTS;
    let (secret, hash) = secret::new("");
    let deed = Deed {
        at: now,
        actor: by.cloned(),
        action: "link.created".to_owned(),
        subject: Some(user.to_string()),
        details: json!({ "expires_at": expires_at }),
    };
    store.audit(deed).await?;
    store
        .create_link(Link {
            hash,
            user: user.clone(),
            expires_at,
        })
        .await?;
    Ok((secret, expires_at))
}

async fn first_admin(store: &Store) -> Result<User, Error> {
    let users = store.users().await?;
    // Others may have been made before the server was first started.
    if !users.iter().any(|user| user.role == Role::Admin) {
        return make_first_admin(store).await;
    }
    let mut admins: Vec<User> = users
        .into_iter()
        .filter(|user| user.enabled && user.role == Role::Admin && user.identity.is_none())
        .collect();
    admins.sort_by_key(|user| (user.id.as_str() != FIRST, user.created_at));
    admins.into_iter().next().ok_or_else(|| missing(FIRST))
}

async fn make_first_admin(store: &Store) -> Result<User, Error> {
    let name = UserName::new(FIRST).map_err(|error| Error::Unstorable {
        what: "the first admin",
        reason: error.to_string(),
    })?;
    let new = NewUser {
        name: name.clone(),
        role: Role::Admin,
        password: None,
        identity: None,
        created_at: Timestamp::now(),
    };
    let user = match store.create_user(new).await {
        // Another process was faster.
        Err(Error::Exists { .. }) => {
            let found = store.user(name.id()).await?;
            return found
                .filter(|user| user.role == Role::Admin)
                .ok_or_else(|| missing(FIRST));
        }
        made => made?,
    };
    let deed = Deed {
        at: user.created_at,
        actor: None,
        action: "user.created".to_owned(),
        subject: Some(user.id.to_string()),
        details: json!({ "role": user.role.as_str(), "first": true }),
    };
    store.audit(deed).await?;
    Ok(user)
}

fn missing(id: &str) -> Error {
    Error::NotFound {
        what: "user who may sign in with a link",
        id: id.to_owned(),
    }
}
