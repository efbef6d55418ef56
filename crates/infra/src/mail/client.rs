//! One request to a gateway: signed in with a ticket, its envelope opened, its refusals named.

use std::time::{Duration, Instant};

use http::header::COOKIE;
use http::{HeaderMap, Method};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::Value;

use super::MailGateway;
use crate::Error;
use crate::http::{self as wire, Answer, Request, message, segment};

/// How long a ticket is used: they are good for two hours.
const TICKET: Duration = Duration::from_mins(90);

pub(super) struct Ticket {
    cookie: SecretString,
    since: Instant,
}

impl MailGateway {
    /// Reads. The path is escaped already.
    pub(super) async fn get(&self, path: &str) -> Result<Value, Error> {
        let answer = self.once(path).await?;
        if answer.status != 401 {
            return self.data_of(&answer);
        }
        // The ticket may have expired early: the gateway restarted, or its clock was set.
        *self.inner.ticket.lock().await = None;
        let answer = self.once(path).await?;
        self.data_of(&answer)
    }

    async fn once(&self, path: &str) -> Result<Answer, Error> {
        let cookie = self.cookie().await?;
        let mut headers = HeaderMap::new();
        headers.insert(COOKIE, wire::secret_header(&self.inner.name, &cookie)?);
        self.inner
            .http
            .send(Request {
                headers,
                ..Request::get(&format!("/api2/json{path}"))
            })
            .await
    }

    async fn cookie(&self) -> Result<SecretString, Error> {
        let mut ticket = self.inner.ticket.lock().await;
        if let Some(ticket) = &*ticket
            && ticket.since.elapsed() < TICKET
        {
            return Ok(ticket.cookie.clone());
        }
        let cookie = self.sign_in().await?;
        *ticket = Some(Ticket {
            cookie: cookie.clone(),
            since: Instant::now(),
        });
        Ok(cookie)
    }

    async fn sign_in(&self) -> Result<SecretString, Error> {
        let mut headers = HeaderMap::new();
        let pairs = [
            ("username", self.inner.user.as_str()),
            ("password", self.inner.password.expose_secret()),
        ];
        let body = wire::form_body(&pairs, &mut headers);
        let answer = self
            .inner
            .http
            .send(Request {
                method: Method::POST,
                path: "/api2/json/access/ticket",
                headers,
                body: Some(body),
            })
            .await?;
        let data = self.data_of(&answer)?;
        let ticket = data
            .get("ticket")
            .and_then(Value::as_str)
            .ok_or_else(|| self.not_understood("it signed in and gave no ticket"))?;
        Ok(SecretString::from(format!("PMGAuthCookie={}", segment(ticket))))
    }

    /// What is in the envelope, or why there is none.
    fn data_of(&self, answer: &Answer) -> Result<Value, Error> {
        let parsed: Option<Value> = serde_json::from_slice(&answer.body).ok();
        let connection = self.inner.name.clone();
        let said = parsed
            .as_ref()
            .and_then(|value| value.get("message"))
            .and_then(Value::as_str)
            .unwrap_or(&answer.reason);
        let said = message(said);
        match answer.status {
            200..300 => match parsed {
                Some(Value::Object(mut envelope)) => envelope.remove("data"),
                _ => None,
            }
            .ok_or_else(|| {
                self.not_understood(&format!(
                    "{} bytes that are no JSON object with `data`",
                    answer.body.len()
                ))
            }),
            401 => Err(Error::Unauthorized {
                connection,
                message: said,
            }),
            403 => Err(Error::Forbidden {
                connection,
                message: said,
            }),
            404 => Err(Error::NotFound { what: said }),
            status => Err(Error::Refused {
                connection,
                status: Some(status),
                message: said,
            }),
        }
    }

    pub(super) fn not_understood(&self, message: &str) -> Error {
        Error::Protocol {
            connection: self.inner.name.clone(),
            message: message.to_owned(),
        }
    }
}
