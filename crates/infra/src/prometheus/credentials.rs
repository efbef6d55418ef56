//! How a plain HTTP server is signed in to: with a token, with a user and a password, or not at all.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue};
use secrecy::{ExposeSecret as _, SecretString};

use crate::http::secret_header;
use crate::options::Http;
use crate::{Error, Secrets};

/// The headers that sign a request in.
#[derive(Clone, Default)]
pub(crate) struct Credentials {
    header: Option<HeaderValue>,
}

impl Credentials {
    pub(crate) fn new(options: &Http, secrets: &Secrets) -> Result<Self, Error> {
        let wrong = |message: String| Error::Configuration {
            connection: options.name.clone(),
            message,
        };
        let secret = |variable: &str| {
            secrets
                .get(variable)
                .ok_or_else(|| wrong(format!("the environment variable `{variable}` is not set")))
        };
        let value = match (&options.token_env, &options.user, &options.password_env) {
            (None, None, None) => return Ok(Self::default()),
            (Some(token), None, None) => {
                let token = secret(token)?;
                SecretString::from(format!("Bearer {}", token.expose_secret()))
            }
            (None, Some(user), Some(password)) => {
                let password = secret(password)?;
                let pair = format!("{user}:{}", password.expose_secret());
                SecretString::from(format!("Basic {}", STANDARD.encode(pair)))
            }
            _ => {
                return Err(wrong(
                    "give either `token_env`, or both `user` and `password_env`".to_owned(),
                ));
            }
        };
        Ok(Self {
            header: Some(secret_header(&options.name, &value)?),
        })
    }

    pub(crate) fn headers(&self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        if let Some(value) = &self.header {
            headers.insert(AUTHORIZATION, value.clone());
        }
        headers
    }
}
