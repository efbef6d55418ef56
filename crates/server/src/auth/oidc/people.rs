//! Which user somebody is whom the provider knows, and which role their groups give them.

use interlock_config::Oidc as Options;
use interlock_protocol::{ContentHash, Role, UserId, UserName};
use interlock_store::{Error, NewUser, User, UserChange};
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::refused::Refused;
use crate::auth::Auth;

/// Somebody whom the provider knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Person {
    /// The provider.
    pub(super) issuer: String,
    /// Their unchanging id there.
    pub(super) subject: String,
    /// What to call them, best first.
    pub(super) names: Vec<UserName>,
    /// What their groups allow.
    pub(super) role: Option<Role>,
    /// Whether the provider said anything about groups.
    pub(super) told_groups: bool,
}

/// The highest role of somebody's groups.
pub(super) fn role(options: &Options, claims: &Map<String, Value>) -> Option<Role> {
    groups(&options.groups_claim, claims)
        .iter()
        .filter_map(|group| options.roles.get(group).copied())
        .max()
        .or(options.default_role)
}

/// Whether the claim is there at all. An empty list is an answer.
pub(super) fn lists_groups(options: &Options, claims: &Map<String, Value>) -> bool {
    listed(&options.groups_claim, claims).is_some_and(|groups| !groups.is_null())
}

/// What a claim says: `groups`, or a path such as `realm_access.roles`.
fn listed<'c>(claim: &str, claims: &'c Map<String, Value>) -> Option<&'c Value> {
    claims.get(claim).or_else(|| {
        let mut parts = claim.split('.');
        let first = claims.get(parts.next()?)?;
        parts.try_fold(first, |value, part| value.get(part))
    })
}

/// The groups that a claim lists.
fn groups(claim: &str, claims: &Map<String, Value>) -> Vec<String> {
    match listed(claim, claims) {
        Some(Value::Array(items)) => items
            .iter()
            .filter_map(|item| item.as_str().map(str::to_owned))
            .collect(),
        Some(Value::String(one)) => vec![one.clone()],
        _ => Vec::new(),
    }
}

/// What to call somebody, best first. What could be mistaken for another's name is passed over; the last is always
/// there, and nobody else's.
pub(super) fn names(
    name: Option<String>,
    email: Option<String>,
    issuer: &str,
    subject: &str,
) -> Vec<UserName> {
    let own = ContentHash::of(format!("{issuer}\n{subject}")).to_string();
    let own: String = own.chars().take(16).collect();
    let wanted = [
        name,
        email,
        Some(format!("oidc-{subject}")),
        Some(format!("oidc-{own}")),
    ];
    wanted
        .iter()
        .flatten()
        .filter_map(|text| UserName::new(text).ok())
        .collect()
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
            // Who is not told about is refused, and is not somebody who lost their groups.
            if let Some(user) = found.filter(|user| user.enabled && person.told_groups) {
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
        for name in person.names {
            let new = NewUser {
                name,
                role,
                password: None,
                identity: Some((person.issuer.clone(), person.subject.clone())),
                created_at: Timestamp::now(),
            };
            match self.store.create_user(new).await {
                Ok(user) => {
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
    fn a_name_of_the_provider_is_plain_or_another_is_taken() {
        let own = "oidc-646fd7cc7b9c769b";
        for (name, email, subject, expected) in [
            (Some("zoe"), None, "8", &["zoe", "oidc-8", own][..]),
            (
                Some("Zo\u{eb} \u{c5}"),
                Some("zoe@example.org"),
                "8",
                &["zoe@example.org", "oidc-8", own],
            ),
            // A letter of another alphabet does not make an admin.
            (Some("\u{430}dmin"), None, "8", &["oidc-8", own]),
            (Some("admin\u{200b}"), None, "8", &["oidc-8", own]),
            (Some(" admin"), None, "8", &["oidc-8", own]),
            (None, None, "8", &["oidc-8", own]),
            (None, None, "auth0|5f7c", &["oidc-73c8d2b8a91fec83"]),
        ] {
            let found = names(
                name.map(str::to_owned),
                email.map(str::to_owned),
                "https://id.example",
                subject,
            );
            let found: Vec<&str> = found.iter().map(UserName::as_str).collect();
            assert_eq!(found, expected, "{name:?} {email:?} {subject}");
        }
    }

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
