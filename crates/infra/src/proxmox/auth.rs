//! Signing in to Proxmox: by an API token, or by a ticket that is renewed before it runs out.

use std::time::{Duration, Instant};

use http::header::{AUTHORIZATION, COOKIE, HeaderName};
use http::{HeaderMap, Method};
use secrecy::{ExposeSecret as _, SecretString};
use tokio::sync::Mutex;

use super::client::data_of;
use crate::http::{Http, Request, form_body, secret_header};
use crate::{Error, Secrets, options};

/// A ticket lives for two hours; one this old is replaced.
const RENEW_AFTER: Duration = Duration::from_mins(90);
const CSRF: HeaderName = HeaderName::from_static("csrfpreventiontoken");

pub(super) enum Auth {
    Token(SecretString),
    Login {
        user: String,
        password: SecretString,
        ticket: Mutex<Option<Ticket>>,
    },
}

#[derive(Clone)]
pub(super) struct Ticket {
    cookie: SecretString,
    csrf: SecretString,
    since: Instant,
}

/// Whether what was refused can be tried with a new ticket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Renewal {
    Possible,
    Useless,
}

impl Auth {
    pub(super) fn new(options: &options::Proxmox, secrets: &Secrets) -> Result<Self, Error> {
        let wrong = |message: String| Error::Configuration {
            connection: options.name.clone(),
            message,
        };
        let secret = |variable: &str| {
            secrets
                .get(variable)
                .ok_or_else(|| wrong(format!("the environment variable `{variable}` is not set")))
        };
        match (
            &options.token_id,
            &options.token_secret_env,
            &options.user,
            &options.password_env,
        ) {
            (Some(id), Some(variable), None, None) => {
                if !(id.contains('@') && id.contains('!')) {
                    return Err(wrong("`token_id` is not of the form user@realm!name".to_owned()));
                }
                let secret = secret(variable)?;
                let header = format!("PVEAPIToken={id}={}", secret.expose_secret());
                Ok(Self::Token(SecretString::from(header)))
            }
            (None, None, Some(user), Some(variable)) => {
                if !user.contains('@') {
                    return Err(wrong("`user` lacks its realm, such as root@pam".to_owned()));
                }
                Ok(Self::Login {
                    user: user.clone(),
                    password: secret(variable)?,
                    ticket: Mutex::new(None),
                })
            }
            _ => Err(wrong(
                "give either `token_id` with `token_secret_env`, or `user` with `password_env`".to_owned(),
            )),
        }
    }

    /// The headers that sign a request in.
    pub(super) async fn headers(
        &self,
        connection: &str,
        http: &Http,
        method: &Method,
    ) -> Result<HeaderMap, Error> {
        let mut headers = HeaderMap::new();
        match self {
            Self::Token(header) => {
                headers.insert(AUTHORIZATION, secret_header(connection, header)?);
            }
            Self::Login {
                user,
                password,
                ticket,
            } => {
                // Held over the sign-in, so that many requests at once sign in once.
                let mut held = ticket.lock().await;
                held.take_if(|ticket| ticket.since.elapsed() >= RENEW_AFTER);
                let current = if let Some(ticket) = held.as_ref() {
                    ticket.clone()
                } else {
                    let fresh = sign_in(connection, http, user, password).await?;
                    held.insert(fresh).clone()
                };
                drop(held);
                headers.insert(COOKIE, secret_header(connection, &current.cookie)?);
                if *method != Method::GET {
                    headers.insert(CSRF, secret_header(connection, &current.csrf)?);
                }
            }
        }
        Ok(headers)
    }

    /// Forgets a ticket that was not taken.
    pub(super) async fn refused(&self) -> Renewal {
        match self {
            Self::Token(_) => Renewal::Useless,
            Self::Login { ticket, .. } => {
                *ticket.lock().await = None;
                Renewal::Possible
            }
        }
    }
}

async fn sign_in(
    connection: &str,
    http: &Http,
    user: &str,
    password: &SecretString,
) -> Result<Ticket, Error> {
    let mut headers = HeaderMap::new();
    let pairs = [("username", user), ("password", password.expose_secret())];
    let body = form_body(&pairs, &mut headers);
    let since = Instant::now();
    let answer = http
        .send(Request {
            method: Method::POST,
            path: "/api2/json/access/ticket",
            headers,
            body: Some(body),
        })
        .await?;
    let data = data_of(connection, &answer)?;
    let text = |key: &str| {
        data.get(key)
            .and_then(serde_json::Value::as_str)
            .ok_or_else(|| Error::Protocol {
                connection: connection.to_owned(),
                message: format!("the answer to a sign-in has no `{key}`"),
            })
    };
    Ok(Ticket {
        cookie: SecretString::from(format!("PVEAuthCookie={}", text("ticket")?)),
        csrf: SecretString::from(text("CSRFPreventionToken")?.to_owned()),
        since,
    })
}
