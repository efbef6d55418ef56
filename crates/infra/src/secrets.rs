//! Where credentials come from: environment variables or files that the configuration names, never the configuration.

use std::collections::BTreeMap;
use std::fmt;

use secrecy::{ExposeSecret as _, SecretString};

/// Looks credentials up by the name of their environment variable.
#[derive(Clone, Default)]
pub struct Secrets {
    given: BTreeMap<String, SecretString>,
}

impl Secrets {
    /// The environment of this process.
    pub fn environment() -> Self {
        Self::default()
    }

    /// These first, then the environment of this process.
    pub fn given<Name: Into<String>, Secret: Into<String>>(
        pairs: impl IntoIterator<Item = (Name, Secret)>,
    ) -> Self {
        Self {
            given: pairs
                .into_iter()
                .map(|(name, secret)| (name.into(), SecretString::from(secret.into())))
                .collect(),
        }
    }

    /// The value of this variable. An empty one counts as missing.
    pub(crate) fn get(&self, variable: &str) -> Option<SecretString> {
        self.given
            .get(variable)
            .cloned()
            .or_else(|| std::env::var(variable).ok().map(SecretString::from))
            .filter(|secret| !secret.expose_secret().is_empty())
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Secrets").field(&self.given.keys()).finish()
    }
}
