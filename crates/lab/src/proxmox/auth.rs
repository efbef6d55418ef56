//! Who asks: a ticket with its cookie, or an API token.

use std::fmt::Write as _;

use axum::http::Method;
use axum::http::header::{AUTHORIZATION, COOKIE};
use axum::http::request::Parts;
use rand::Rng as _;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::answer::Refusal;
use super::params::Params;
use crate::cluster::now;

/// How long a ticket is good for, in seconds.
const LIFETIME: i64 = 7200;

/// How one can sign in. Generated at each start of the lab.
#[derive(Clone)]
pub struct Credentials {
    /// The administrator: `root@pam`.
    pub user: String,
    /// The administrator's password.
    pub password: String,
    /// A token that may do everything: `root@pam!interlock`.
    pub token_id: String,
    /// Its secret.
    pub token_secret: String,
    /// A token that may only look: `audit@pve!readonly`.
    pub auditor_id: String,
    /// Its secret.
    pub auditor_secret: String,
    signing: [u8; 32],
}

impl std::fmt::Debug for Credentials {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Credentials")
            .field("user", &self.user)
            .field("token_id", &self.token_id)
            .field("auditor_id", &self.auditor_id)
            .finish_non_exhaustive()
    }
}

impl Credentials {
    /// Makes some up.
    pub fn generate() -> Self {
        let mut random = rand::rng();
        let mut bytes = || {
            let mut bytes = [0; 16];
            random.fill_bytes(&mut bytes);
            bytes
        };
        let password = hex(&bytes()[..9]);
        let (token_secret, auditor_secret) = (uuid(bytes()), uuid(bytes()));
        let mut signing = [0; 32];
        random.fill_bytes(&mut signing);
        Self {
            user: "root@pam".to_owned(),
            password,
            token_id: "root@pam!interlock".to_owned(),
            token_secret,
            auditor_id: "audit@pve!readonly".to_owned(),
            auditor_secret,
            signing,
        }
    }

    /// The value of an `Authorization` header of the token that may do everything.
    pub fn authorization(&self) -> String {
        format!("PVEAPIToken={}={}", self.token_id, self.token_secret)
    }

    /// The value of an `Authorization` header of the token that may only look.
    pub fn auditor_authorization(&self) -> String {
        format!("PVEAPIToken={}={}", self.auditor_id, self.auditor_secret)
    }

    fn sign(&self, text: &str) -> String {
        let mut digest = Sha256::new();
        digest.update(self.signing);
        digest.update(text.as_bytes());
        digest.update(self.signing);
        hex(&digest.finalize())
    }

    fn make_ticket(&self, at: i64) -> String {
        let plain = format!("PVE:{}:{at:08X}", self.user);
        format!("{plain}::{}", self.sign(&plain))
    }

    fn make_csrf(&self, at: i64) -> String {
        format!("{at:08X}:{}", self.sign(&format!("{at:08X}:{}", self.user)))
    }

    fn is_ticket(&self, ticket: &str) -> bool {
        let fresh = ticket
            .split(':')
            .nth(2)
            .and_then(|digits| i64::from_str_radix(digits, 16).ok())
            .is_some_and(|at| (0..LIFETIME).contains(&(now() - at)));
        let signed = ticket
            .split_once("::")
            .is_some_and(|(plain, signature)| self.sign(plain) == signature);
        fresh && signed && ticket.starts_with(&format!("PVE:{}:", self.user))
    }

    fn is_csrf(&self, token: &str) -> bool {
        token.split_once(':').is_some_and(|(at, signature)| {
            i64::from_str_radix(at, 16).is_ok_and(|at| (0..LIFETIME).contains(&(now() - at)))
                && self.sign(&format!("{at}:{}", self.user)) == signature
        })
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn uuid(mut bytes: [u8; 16]) -> String {
    bytes[6] = bytes[6] & 0x0F | 0x40;
    bytes[8] = bytes[8] & 0x3F | 0x80;
    let text = hex(&bytes);
    let cut = |from: usize, to: usize| text.get(from..to).unwrap_or_default();
    [cut(0, 8), cut(8, 12), cut(12, 16), cut(16, 20), cut(20, 32)].join("-")
}

/// What somebody may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Everything.
    Administrator,
    /// Look.
    Auditor,
}

impl Role {
    /// Whether a role has a privilege.
    pub(super) fn has(self, privilege: &str) -> bool {
        match self {
            Self::Administrator => true,
            Self::Auditor => privilege.ends_with(".Audit"),
        }
    }
}

/// Who asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Who {
    /// As tasks name them.
    pub(super) name: String,
    /// What they may do.
    pub(super) role: Role,
}

/// Finds out who asks.
pub(super) fn identify(credentials: &Credentials, parts: &Parts) -> Result<Who, Refusal> {
    let refuse = |why: &str| Err(Refusal::Unauthenticated(why.to_owned()));
    let header = |name: &str| parts.headers.get(name).and_then(|value| value.to_str().ok());
    if let Some(token) = header(AUTHORIZATION.as_str()).and_then(|value| value.strip_prefix("PVEAPIToken=")) {
        return by_token(credentials, token);
    }
    let cookies = header(COOKIE.as_str()).unwrap_or("");
    let cookie = cookies
        .split(';')
        .find_map(|cookie| cookie.trim().strip_prefix("PVEAuthCookie="));
    let Some(cookie) = cookie else {
        return refuse("No ticket");
    };
    let ticket = percent_encoding::percent_decode_str(cookie.trim_matches('"')).decode_utf8_lossy();
    if !credentials.is_ticket(&ticket) {
        return refuse("permission denied - invalid PVE ticket");
    }
    let reads = parts.method == Method::GET || parts.method == Method::HEAD;
    let csrf = header("csrfpreventiontoken").is_some_and(|token| credentials.is_csrf(token));
    if !reads && !csrf {
        return refuse("Permission denied - invalid csrf token");
    }
    Ok(Who {
        name: credentials.user.clone(),
        role: Role::Administrator,
    })
}

fn by_token(credentials: &Credentials, token: &str) -> Result<Who, Refusal> {
    let refuse = |why: String| Err(Refusal::Unauthenticated(why));
    let Some((id, secret)) = token.split_once('=') else {
        return refuse("no token specified".to_owned());
    };
    let known = [
        (
            &credentials.token_id,
            &credentials.token_secret,
            Role::Administrator,
        ),
        (
            &credentials.auditor_id,
            &credentials.auditor_secret,
            Role::Auditor,
        ),
    ];
    match known.into_iter().find(|(known, ..)| *known == id) {
        Some((name, right, role)) if right == secret => Ok(Who {
            name: name.clone(),
            role,
        }),
        Some(_) => refuse("invalid token value!".to_owned()),
        None => match id.split_once('!') {
            Some((user, name)) => refuse(format!("no such token '{name}' for user '{user}'")),
            None => refuse("unable to parse token".to_owned()),
        },
    }
}

/// `POST /access/ticket`: signs in with a password, or renews a ticket that is given as one.
pub(super) fn ticket(credentials: &Credentials, method: &Method, params: &Params) -> Result<Value, Refusal> {
    if method == Method::GET {
        return Ok(Value::Null);
    }
    if method != Method::POST {
        return Err(Refusal::NotImplemented {
            method: method.to_string(),
            path: "/access/ticket".to_owned(),
        });
    }
    let (username, password) = (params.required("username")?, params.required("password")?);
    let user = match (username.contains('@'), params.get("realm")) {
        (false, Some(realm)) => format!("{username}@{realm}"),
        (true | false, _) => username.to_owned(),
    };
    if user != credentials.user || !(password == credentials.password || credentials.is_ticket(password)) {
        return Err(Refusal::WrongPassword);
    }
    let at = now();
    Ok(json!({
        "username": user,
        "ticket": credentials.make_ticket(at),
        "CSRFPreventionToken": credentials.make_csrf(at),
        "cap": {
            "access": { "User.Modify": 1, "Group.Allocate": 1, "Permissions.Modify": 1 },
            "dc": { "Sys.Audit": 1, "SDN.Audit": 1, "Sys.Modify": 1 },
            "nodes": {
                "Sys.Audit": 1, "Sys.Console": 1, "Sys.Modify": 1, "Sys.PowerMgmt": 1, "Sys.Syslog": 1,
                "Permissions.Modify": 1,
            },
            "storage": { "Datastore.Audit": 1, "Datastore.Allocate": 1, "Datastore.AllocateSpace": 1 },
            "vms": {
                "VM.Allocate": 1, "VM.Audit": 1, "VM.Backup": 1, "VM.Config.Options": 1, "VM.Console": 1,
                "VM.Migrate": 1, "VM.Monitor": 1, "VM.PowerMgmt": 1, "VM.Snapshot": 1,
                "VM.Snapshot.Rollback": 1,
            },
        },
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::Request;

    fn asked(method: &str, headers: &[(&str, String)]) -> Parts {
        let mut request = Request::builder().method(method).uri("/x");
        for (name, value) in headers {
            request = request.header(*name, value);
        }
        request.body(()).expect("a request").into_parts().0
    }

    #[test]
    fn who_asks_is_found_out_or_refused() {
        let credentials = Credentials::generate();
        let cookie = |ticket: &str| ("cookie", format!("a=b; PVEAuthCookie={ticket}"));
        let good = credentials.make_ticket(now());
        let csrf = ("csrfpreventiontoken", credentials.make_csrf(now()));
        let token = |text: &str| ("authorization", format!("PVEAPIToken={text}"));
        let root = Ok(("root@pam".to_owned(), Role::Administrator));
        let refused = |why: &str| Err(Refusal::Unauthenticated(why.to_owned()));
        let invalid = || refused("permission denied - invalid PVE ticket");
        let old = credentials.make_ticket(now() - LIFETIME - 1);
        let other = Credentials::generate();
        let cases = [
            ("GET", vec![], refused("No ticket")),
            ("GET", vec![cookie(&good)], root.clone()),
            ("GET", vec![cookie(&good.replace(':', "%3A"))], root.clone()),
            ("GET", vec![cookie(&old)], invalid()),
            (
                "GET",
                vec![cookie(&good.replace("root@pam", "evil@pam"))],
                invalid(),
            ),
            ("GET", vec![cookie(&other.make_ticket(now()))], invalid()),
            ("GET", vec![cookie("PVE")], invalid()),
            (
                "POST",
                vec![cookie(&good)],
                refused("Permission denied - invalid csrf token"),
            ),
            (
                "POST",
                vec![cookie(&good), ("csrfpreventiontoken", other.make_csrf(now()))],
                refused("Permission denied - invalid csrf token"),
            ),
            ("POST", vec![cookie(&good), csrf], root),
            (
                "POST",
                vec![("authorization", credentials.authorization())],
                Ok(("root@pam!interlock".to_owned(), Role::Administrator)),
            ),
            (
                "POST",
                vec![("authorization", credentials.auditor_authorization())],
                Ok(("audit@pve!readonly".to_owned(), Role::Auditor)),
            ),
            (
                "GET",
                vec![token("root@pam!interlock=x")],
                refused("invalid token value!"),
            ),
            (
                "GET",
                vec![token("root@pam!other=x")],
                refused("no such token 'other' for user 'root@pam'"),
            ),
            ("GET", vec![token("nonsense")], refused("no token specified")),
        ];
        for (method, headers, expected) in cases {
            let who = identify(&credentials, &asked(method, &headers)).map(|who| (who.name, who.role));
            assert_eq!(who, expected, "{method} {headers:?}");
        }
    }

    #[test]
    fn secrets_do_not_show() {
        let credentials = Credentials::generate();
        let shown = format!("{credentials:?}");
        assert!(!shown.contains(&credentials.password) && !shown.contains(&credentials.token_secret));
        assert_eq!(credentials.token_secret.len(), 36);
    }
}
