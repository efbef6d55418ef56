//! Random secrets, and what is kept of them.

use interlock_protocol::ContentHash;
use subtle::ConstantTimeEq as _;

/// How an API token begins, so that people and scanners recognise one.
pub(super) const TOKEN_PREFIX: &str = "ilk_";

/// So many random bytes of the system, as hexadecimal digits.
pub(crate) fn random_hex<const BYTES: usize>() -> String {
    let mut bytes = [0_u8; BYTES];
    loop {
        // A system without randomness can do nothing safely; it has some as soon as it has started.
        match getrandom::fill(&mut bytes) {
            Ok(()) => break,
            Err(error) => {
                tracing::error!(%error, "the system has no randomness");
                std::thread::sleep(std::time::Duration::from_millis(100));
            }
        }
    }
    hex(&bytes)
}

/// Bytes as lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let digit = |half: u8| char::from_digit(u32::from(half), 16).unwrap_or('0');
    bytes
        .iter()
        .flat_map(|byte| [digit(byte >> 4), digit(byte & 15)])
        .collect()
}

/// A secret of 256 bits, and the hash that is kept of it.
pub(super) fn new(prefix: &str) -> (String, ContentHash) {
    let secret = format!("{prefix}{}", random_hex::<32>());
    let hash = ContentHash::of(&secret);
    (secret, hash)
}

/// The hash of a secret, if it has the form of one.
pub(super) fn hash_of(prefix: &str, text: &str) -> Option<ContentHash> {
    let digits = text.strip_prefix(prefix)?;
    let well = digits.len() == 64
        && digits
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    well.then(|| ContentHash::of(text))
}

/// Whether two texts are the same, in a time that says nothing about where they differ.
pub(super) fn equal(one: &str, other: &str) -> bool {
    one.as_bytes().ct_eq(other.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_form_of_a_secret_is_looked_up() {
        let (secret, hash) = new(TOKEN_PREFIX);
        assert_eq!(hash_of(TOKEN_PREFIX, &secret), Some(hash));
        let upper = format!("ilk_{}", "A".repeat(64));
        let short = format!("ilk_{}", "a".repeat(63));
        let bare = "a".repeat(64);
        for text in ["", "ilk_", &upper, &short, &bare, &format!("{secret} ")] {
            assert_eq!(hash_of(TOKEN_PREFIX, text), None, "{text}");
        }
    }

    #[test]
    fn no_secret_is_like_another() {
        let many: std::collections::BTreeSet<String> = (0..1000).map(|_| random_hex::<32>()).collect();
        assert_eq!(many.len(), 1000);
        assert!(many.iter().all(|text| text.len() == 64));
    }
}
