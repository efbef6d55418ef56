//! How a plain HTTP server is signed in to: with a token, with a user and a password, or not at all.

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
                SecretString::from(format!("Basic {}", base64(pair.as_bytes())))
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

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

fn base64(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4_u32 {
            let digit = ALPHABET[(bits >> (18 - 6 * place) & 63) as usize];
            let is_there = place as usize <= chunk.len();
            text.push(if is_there { char::from(digit) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::base64;

    #[test]
    fn base64_is_that_of_the_standard() {
        for (plain, encoded) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("Aladdin:open sesame", "QWxhZGRpbjpvcGVuIHNlc2FtZQ=="),
        ] {
            assert_eq!(base64(plain.as_bytes()), encoded);
        }
    }
}
