//! Signing in: tickets, and the token that goes with writes.

use http::HeaderMap;
use http::header::COOKIE;
use jiff::Timestamp;

use super::Role;
use crate::docker::wire::digest;

/// How long a ticket is good for, in seconds.
const LIFETIME: i64 = 7200;

/// What nobody else knows.
#[derive(Debug)]
pub(super) struct Keys {
    secret: [u8; 32],
    root: String,
    auditor: String,
}

impl Keys {
    pub(super) fn new() -> Self {
        let word = || {
            digest(&[&rand::random::<[u8; 16]>()])
                .chars()
                .take(20)
                .collect::<String>()
        };
        Self {
            secret: rand::random(),
            root: word(),
            auditor: word(),
        }
    }

    pub(super) fn password(&self, role: Role) -> &str {
        match role {
            Role::Root => &self.root,
            Role::Auditor => &self.auditor,
        }
    }

    /// Who signs in with this, if it is right. A ticket that is still good counts as a password.
    pub(super) fn sign_in(&self, user: &str, password: &str) -> Option<Role> {
        let role = [Role::Root, Role::Auditor]
            .into_iter()
            .find(|role| role.user() == user)?;
        let right = self.password(role) == password || self.read_ticket(password) == Some(role);
        right.then_some(role)
    }

    pub(super) fn ticket(&self, role: Role) -> String {
        let time = format!("{:08X}", Timestamp::now().as_second());
        let signature = self.sign("PMG", role, &time);
        format!("PMG:{}:{time}::{signature}", role.user())
    }

    pub(super) fn csrf_token(&self, role: Role) -> String {
        let time = format!("{:08X}", Timestamp::now().as_second());
        let signature = self.sign("CSRF", role, &time);
        format!("{time}:{signature}")
    }

    fn sign(&self, what: &str, role: Role, time: &str) -> String {
        digest(&[
            &self.secret,
            what.as_bytes(),
            role.user().as_bytes(),
            time.as_bytes(),
        ])
    }

    fn read_ticket(&self, ticket: &str) -> Option<Role> {
        let (head, signature) = ticket.split_once("::")?;
        let (user, time) = head.strip_prefix("PMG:")?.rsplit_once(':')?;
        let role = [Role::Root, Role::Auditor]
            .into_iter()
            .find(|role| role.user() == user)?;
        (fresh(time) && self.sign("PMG", role, time) == signature).then_some(role)
    }

    /// Who calls, by the cookie.
    pub(super) fn caller(&self, headers: &HeaderMap) -> Option<Role> {
        let cookies = headers
            .get_all(COOKIE)
            .iter()
            .filter_map(|value| value.to_str().ok());
        let mut parts = cookies.flat_map(|text| text.split(';'));
        let ticket = parts.find_map(|part| part.trim().strip_prefix("PMGAuthCookie="))?;
        let ticket = percent_encoding::percent_decode_str(ticket).decode_utf8().ok()?;
        self.read_ticket(&ticket)
    }

    /// Whether the token that goes with writes is right.
    pub(super) fn allows_write(&self, headers: &HeaderMap, role: Role) -> bool {
        let token = headers
            .get("CSRFPreventionToken")
            .and_then(|value| value.to_str().ok());
        token
            .and_then(|token| token.split_once(':'))
            .is_some_and(|(time, signature)| fresh(time) && self.sign("CSRF", role, time) == signature)
    }
}

fn fresh(time: &str) -> bool {
    let age = i64::from_str_radix(time, 16)
        .ok()
        .and_then(|at| Timestamp::now().as_second().checked_sub(at));
    age.is_some_and(|age| (-300..=LIFETIME).contains(&age))
}
