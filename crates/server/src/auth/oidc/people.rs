//! Which user somebody is whom the provider knows, and which role their groups give them.

use interlock_config::Oidc as Options;
use interlock_protocol::{Role, UserId};
use interlock_store::{Error, User, UserChange};
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::Refused;
use crate::auth::Auth;

/// Somebody whom the provider knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Person {
    /// The provider.
    pub(super) issuer: String,
    /// Their unchanging id there.
    pub(super) subject: String,
    /// What to call them, best first.
    pub(super) names: Vec<String>,
    /// What their groups allow.
    pub(super) role: Option<Role>,
}

/// The highest role of somebody's groups.
pub(super) fn role(options: &Options, claims: &Map<String, Value>) -> Option<Role> {
    groups(&options.groups_claim, claims)
        .iter()
        .filter_map(|group| options.roles.get(group).copied())
        .max()
        .or(options.default_role)
}

/// The groups that a claim lists: `groups`, or a path such as `realm_access.roles`.
fn groups(claim: &str, claims: &Map<String, Value>) -> Vec<String> {
    let found = claims.get(claim).or_else(|| {
        let mut parts = claim.split('.');
        let first = claims.get(parts.next()?)?;
        parts.try_fold(first, |value, part| value.get(part))
    });
    match found {
        Some(Value::Array(items)) => items
            .iter()
            .filter_map(|item| item.as_str().map(str::to_owned))
            .collect(),
        Some(Value::String(one)) => vec![one.clone()],
        _ => Vec::new(),
    }
}

impl Auth {
    /// The user that a person is: found, brought up to date, or made.
    pub(super) async fn person(&self, person: Person) -> Result<User, (Refused, Option<UserId>)> {
        let store = |error: Error| (Refused::from(error), None);
        let found = self
            .store
            .user_of(&person.issuer, &person.subject)
            .await
            .map_err(store)?;
        let id = found.as_ref().map(|user| user.id.clone());
        let Some(role) = person.role else {
            if let Some(user) = found.filter(|user| user.enabled) {
                self.disable(&user)
                    .await
                    .map_err(|refused| (refused, id.clone()))?;
            }
            return Err((Refused::NoRole, id));
        };
        match found {
            None => self.make(person, role).await.map_err(|refused| (refused, None)),
            Some(user) if !user.enabled => Err((Refused::Disabled, id)),
            Some(user) if user.role == role => Ok(user),
            Some(user) => self
                .change_role(&user, role)
                .await
                .map_err(|refused| (refused, id)),
        }
    }

    /// The provider gives them nothing any more: what they have here ends too, until an admin enables them again.
    async fn disable(&self, user: &User) -> Result<(), Refused> {
        let change = UserChange {
            enabled: Some(false),
            ..UserChange::default()
        };
        self.store.change_user(&user.id, change).await?;
        self.store.remove_logins(&user.id, None).await?;
        self.known.forget();
        let details = json!({ "enabled": false, "before": user.role.as_str(), "how": "oidc" });
        self.note(None, "user.changed", Some(user.id.as_str()), details)
            .await
            .map_err(|problem| Refused::Store(problem.code()))
    }

    async fn change_role(&self, user: &User, role: Role) -> Result<User, Refused> {
        let change = UserChange {
            role: Some(role),
            ..UserChange::default()
        };
        let changed = self.store.change_user(&user.id, change).await?;
        self.known.forget();
        let details = json!({ "role": role.as_str(), "before": user.role.as_str(), "how": "oidc" });
        self.note(None, "user.changed", Some(user.id.as_str()), details)
            .await
            .map_err(|problem| Refused::Store(problem.code()))?;
        Ok(changed)
    }

    /// A name that is taken is somebody else's: the next is tried.
    async fn make(&self, person: Person, role: Role) -> Result<User, Refused> {
        for name in &person.names {
            let Ok(id) = UserId::new(name.as_str()) else {
                continue;
            };
            let user = User {
                id,
                role,
                password: None,
                identity: Some((person.issuer.clone(), person.subject.clone())),
                enabled: true,
                revision: 0,
                created_at: Timestamp::now(),
                seen_at: None,
            };
            match self.store.create_user(user.clone()).await {
                Ok(()) => {
                    let details = json!({ "role": role.as_str(), "how": "oidc", "issuer": person.issuer });
                    self.note(None, "user.created", Some(user.id.as_str()), details)
                        .await
                        .map_err(|problem| Refused::Store(problem.code()))?;
                    return Ok(user);
                }
                Err(Error::Exists { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(Refused::NoName)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_become_the_highest_role() {
        let options = |default_role: Option<Role>, claim: &str| Options {
            issuer: String::new(),
            client_id: String::new(),
            client_secret_env: None,
            client_secret_file: None,
            scopes: Vec::new(),
            groups_claim: claim.to_owned(),
            roles: [
                ("sre".to_owned(), Role::Approver),
                ("dev".to_owned(), Role::Operator),
            ]
            .into(),
            default_role,
            label: String::new(),
        };
        for (claims, claim, default, expected) in [
            (
                json!({ "groups": ["dev", "sre", "x"] }),
                "groups",
                None,
                Some(Role::Approver),
            ),
            (json!({ "groups": ["dev"] }), "groups", None, Some(Role::Operator)),
            (json!({ "groups": "dev" }), "groups", None, Some(Role::Operator)),
            (json!({ "groups": ["DEV", "admin"] }), "groups", None, None),
            (
                json!({ "groups": [1, null, { "sre": true }] }),
                "groups",
                None,
                None,
            ),
            (json!({}), "groups", None, None),
            (json!({}), "groups", Some(Role::Viewer), Some(Role::Viewer)),
            (
                json!({ "groups": ["dev"] }),
                "groups",
                Some(Role::Viewer),
                Some(Role::Operator),
            ),
            (
                json!({ "realm": { "roles": ["sre"] } }),
                "realm.roles",
                None,
                Some(Role::Approver),
            ),
            (
                json!({ "https://x.y/groups": ["sre"] }),
                "https://x.y/groups",
                None,
                Some(Role::Approver),
            ),
        ] {
            let found = role(&options(default, claim), claims.as_object().unwrap());
            assert_eq!(found, expected, "{claims}");
        }
    }
}
