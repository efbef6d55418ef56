//! Who is asking: users, passwords, cookies, API tokens, OpenID Connect.

use interlock_config::Config;
use interlock_protocol::UserId;
use interlock_store::Store;

use crate::routes::Routes;

/// Who is who.
pub(crate) struct Auth {
    store: Store,
}

impl Auth {
    pub(crate) fn new(config: &Config, store: Store) -> Result<Self, crate::Error> {
        let _ = config;
        Ok(Self { store })
    }

    pub(crate) fn store(&self) -> &Store {
        &self.store
    }
}

/// The routes for signing in and out, people and tokens.
pub(crate) fn routes() -> Routes {
    Routes::new()
}

/// Makes a one-time sign-in link for a user: the part behind `#link=`. The first admin is made if there are no users.
pub async fn sign_in_link(
    store: &Store,
    user: Option<&UserId>,
) -> Result<(UserId, String), interlock_store::Error> {
    let _ = (store, user);
    Err(interlock_store::Error::Closed)
}
