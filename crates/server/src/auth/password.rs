//! Passwords: argon2id, on threads of their own, a few at a time.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use argon2::password_hash::{PasswordHasher as _, PasswordVerifier as _};
use argon2::{Algorithm, Argon2, Params, Version};
use interlock_protocol::UserId;
use tokio::sync::Semaphore;

use crate::problem::{Code, Problem};

/// At least this many characters.
pub(super) const SHORTEST: usize = 12;
/// At most this many bytes.
pub(super) const LONGEST: usize = 1024;
/// What OWASP asks for: 19 MiB, two passes, one lane.
const MEMORY_KIB: u32 = 19 * 1024;
const PASSES: u32 = 2;
const LANES: u32 = 1;
/// How many are hashed at the same time: each takes a core and its memory.
const AT_ONCE: usize = 2;
/// How long somebody waits for their turn.
const PATIENCE: Duration = Duration::from_secs(5);

/// Hashes and compares passwords.
pub(super) struct Passwords {
    turns: Arc<Semaphore>,
}

impl Passwords {
    pub(super) fn new() -> Self {
        Self {
            turns: Arc::new(Semaphore::new(AT_ONCE)),
        }
    }

    /// The hash of a new password.
    pub(super) async fn hash(&self, password: String) -> Result<String, Problem> {
        self.in_turn(move || hash(&password)).await?.ok_or_else(|| {
            tracing::error!("a password could not be hashed");
            Problem::new(Code::Internal, "the password could not be stored")
        })
    }

    /// Whether a password is the one of this hash. Where there is no hash it takes as long and says no.
    pub(super) async fn is(&self, password: String, expected: Option<String>) -> Result<bool, Problem> {
        self.in_turn(move || {
            let known = expected.is_some();
            let matches = match expected.as_deref().or_else(|| dummy()) {
                Some(expected) => argon().verify_password(password.as_bytes(), expected).is_ok(),
                None => false,
            };
            known && matches
        })
        .await
    }

    async fn in_turn<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Problem> {
        let busy = || {
            Problem::new(Code::RateLimited, "too many sign in at the same time")
                .hint("try again in a moment")
                .retry_after(2)
        };
        let turn = Arc::clone(&self.turns).acquire_owned();
        let turn = tokio::time::timeout(PATIENCE, turn)
            .await
            .map_err(|_| busy())?
            .map_err(|_| busy())?;
        tokio::task::spawn_blocking(move || {
            let _turn = turn;
            work()
        })
        .await
        .map_err(|error| {
            tracing::error!(%error, "hashing a password failed");
            Problem::new(Code::Internal, "the password could not be looked at")
        })
    }
}

fn argon() -> Argon2<'static> {
    let params = Params::new(MEMORY_KIB, PASSES, LANES, None).unwrap_or_default();
    Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
}

fn hash(password: &str) -> Option<String> {
    argon()
        .hash_password(password.as_bytes())
        .ok()
        .map(|hash| hash.to_string())
}

/// What unknown users are compared with.
fn dummy() -> Option<&'static str> {
    static DUMMY: OnceLock<Option<String>> = OnceLock::new();
    DUMMY
        .get_or_init(|| hash(&super::secret::random_hex::<16>()))
        .as_deref()
}

/// Whether a password may be used as a new one.
pub(super) fn good(password: &str, user: &UserId) -> Result<(), Problem> {
    let wrong = |what: &str| {
        Err(Problem::new(Code::InvalidInput, what)
            .hint("use a long sentence, or let a password manager make one"))
    };
    if password.chars().count() < SHORTEST {
        return wrong("a password has at least 12 characters");
    }
    if password.len() > LONGEST {
        return wrong("a password has at most 1024 bytes");
    }
    let mut characters = password.chars();
    let first = characters.next();
    if characters.all(|character| Some(character) == first) {
        return wrong("a password is more than one character again and again");
    }
    if password.to_lowercase().contains(&user.as_str().to_lowercase())
        && password.len() < user.as_str().len() + SHORTEST
    {
        return wrong("a password is not made of the user's name");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_password_is_known_by_its_hash_alone() {
        let passwords = Passwords::new();
        let hash = passwords.hash("correct horse battery".to_owned()).await.unwrap();
        assert!(hash.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{hash}");
        for (password, expected, is) in [
            ("correct horse battery", Some(hash.clone()), true),
            ("correct horse batterz", Some(hash.clone()), false),
            ("", Some(hash.clone()), false),
            ("correct horse battery", None, false),
            ("correct horse battery", Some("not a hash".to_owned()), false),
        ] {
            assert_eq!(
                passwords.is(password.to_owned(), expected).await,
                Ok(is),
                "{password}"
            );
        }
    }

    #[test]
    fn bad_passwords_are_refused() {
        let user = UserId::new("zoe-the-admin").unwrap();
        for (password, fine) in [
            ("correct horse battery", true),
            ("ångström är länge", true),
            ("short", false),
            ("aaaaaaaaaaaaaaaaaaaa", false),
            ("Zoe-the-Admin1", false),
            (&"x1".repeat(513), false),
        ] {
            assert_eq!(good(password, &user).is_ok(), fine, "{password}");
        }
    }
}
