//! Who may sign in to the nodes.

use std::fmt::Write as _;

use rand::Rng as _;
use russh::keys::ssh_key::LineEnding;
use russh::keys::{Algorithm, PrivateKey, PublicKey};

use super::Error;

/// How to sign in as root. Generated at each start of the lab.
#[derive(Clone)]
pub struct Access {
    /// The password.
    pub password: String,
    /// The private key, as a client reads it from a file.
    pub private_key: String,
    /// The public key, as a line of `authorized_keys`.
    pub public_key: String,
    key: PublicKey,
}

impl std::fmt::Debug for Access {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Access")
            .field("public_key", &self.public_key)
            .finish_non_exhaustive()
    }
}

impl Access {
    /// Makes some up.
    pub fn generate() -> Result<Self, Error> {
        let mut random = rand::rng();
        let mut bytes = [0; 12];
        random.fill_bytes(&mut bytes);
        let password = bytes.iter().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        });
        let private = PrivateKey::random(&mut random, Algorithm::Ed25519)?;
        Ok(Self {
            password,
            private_key: private.to_openssh(LineEnding::LF)?.to_string(),
            public_key: private.public_key().to_openssh()?,
            key: private.public_key().clone(),
        })
    }

    pub(super) fn is_password(&self, user: &str, password: &str) -> bool {
        user == "root" && password == self.password
    }

    pub(super) fn is_key(&self, user: &str, key: &PublicKey) -> bool {
        user == "root" && key.key_data() == self.key.key_data()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_root_gets_in_with_what_was_made() {
        let (mine, other) = (
            Access::generate().expect("keys"),
            Access::generate().expect("keys"),
        );
        assert!(mine.is_password("root", &mine.password) && mine.is_key("root", &mine.key));
        assert!(!mine.is_password("admin", &mine.password) && !mine.is_key("admin", &mine.key));
        assert!(!mine.is_password("root", &other.password) && !mine.is_key("root", &other.key));
        assert!(
            mine.private_key
                .starts_with("-----BEGIN OPENSSH PRIVATE KEY-----")
        );
        assert!(!format!("{mine:?}").contains(&mine.password));
    }
}
