//! Keys and signatures, with one text form each.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use ed25519_dalek::{Signer as _, SigningKey, VerifyingKey};
use zeroize::Zeroizing;

/// How a public key begins, as text.
const PUBLIC: &str = "ed25519:";
/// How a secret key begins, as text.
const SECRET: &str = "interlock-record-key:";

/// Why a text is not a key or a signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// Not a public key.
    #[error("not a public key; a public key looks like `ed25519:` followed by 44 base64 characters")]
    Public,
    /// Not a secret key.
    #[error(
        "not a signing key; create one with `interlock record key --new FILE`, or use 32 random bytes in base64"
    )]
    Secret,
    /// Not a signature.
    #[error("not a signature; a signature is 88 base64 characters")]
    Signature,
    /// The system gave no random bytes.
    #[error("no random bytes from the operating system")]
    Random,
}

/// What a signature is for. A signature for one purpose does not verify for another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// The rows of one session, as they were when it last changed.
    Session,
    /// The end of the audit log and of the seals.
    Checkpoint,
    /// An exported trace.
    Trace,
    /// An evidence bundle.
    Bundle,
}

impl Purpose {
    const fn word(self) -> &'static [u8] {
        match self {
            Self::Session => b"interlock/session/1\0",
            Self::Checkpoint => b"interlock/checkpoint/1\0",
            Self::Trace => b"interlock/trace/1\0",
            Self::Bundle => b"interlock/bundle/1\0",
        }
    }

    fn message(self, content: &[u8]) -> Vec<u8> {
        let mut message = Vec::with_capacity(self.word().len() + content.len());
        message.extend_from_slice(self.word());
        message.extend_from_slice(content);
        message
    }
}

/// The key that signs. Its secret never leaves it.
pub struct Signer {
    key: SigningKey,
    public: PublicKey,
}

impl Signer {
    /// A new random key.
    pub fn generate() -> Result<Self, KeyError> {
        let mut secret = Zeroizing::new([0_u8; 32]);
        getrandom::fill(secret.as_mut_slice()).map_err(|_| KeyError::Random)?;
        Ok(Self::from_secret(&secret))
    }

    fn from_secret(secret: &[u8; 32]) -> Self {
        let key = SigningKey::from_bytes(secret);
        let public = PublicKey(key.verifying_key().to_bytes());
        Self { key, public }
    }

    /// From its text form, or from 32 bytes in base64.
    pub fn from_text(text: &str) -> Result<Self, KeyError> {
        let text = text.trim();
        let encoded = text.strip_prefix(SECRET).unwrap_or(text);
        let bytes = Zeroizing::new(BASE64.decode(encoded).map_err(|_| KeyError::Secret)?);
        let secret: Zeroizing<[u8; 32]> =
            Zeroizing::new(bytes.as_slice().try_into().map_err(|_| KeyError::Secret)?);
        Ok(Self::from_secret(&secret))
    }

    /// The text form of the secret, for the file that keeps it.
    pub(crate) fn to_secret_text(&self) -> Zeroizing<String> {
        Zeroizing::new(format!("{SECRET}{}\n", BASE64.encode(self.key.as_bytes())))
    }

    /// What checks its signatures.
    pub const fn public(&self) -> PublicKey {
        self.public
    }

    /// Signs.
    pub fn sign(&self, purpose: Purpose, content: &[u8]) -> Signature {
        Signature(self.key.sign(&purpose.message(content)).to_bytes())
    }
}

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Signer")
            .field("public", &self.public)
            .finish_non_exhaustive()
    }
}

/// What checks signatures. Text form: `ed25519:BASE64`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PublicKey([u8; 32]);

impl PublicKey {
    /// Whether this key made the signature, for this purpose, over these bytes.
    pub fn verifies(&self, purpose: Purpose, content: &[u8], signature: &Signature) -> bool {
        VerifyingKey::from_bytes(&self.0).is_ok_and(|key| {
            let signature = ed25519_dalek::Signature::from_bytes(&signature.0);
            key.verify_strict(&purpose.message(content), &signature).is_ok()
        })
    }

    /// The bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// From its bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, KeyError> {
        let bytes: [u8; 32] = bytes.try_into().map_err(|_| KeyError::Public)?;
        VerifyingKey::from_bytes(&bytes).map_err(|_| KeyError::Public)?;
        Ok(Self(bytes))
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PUBLIC}{}", BASE64.encode(self.0))
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for PublicKey {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        let encoded = text.trim().strip_prefix(PUBLIC).ok_or(KeyError::Public)?;
        Self::from_bytes(&BASE64.decode(encoded).map_err(|_| KeyError::Public)?)
    }
}

impl TryFrom<String> for PublicKey {
    type Error = KeyError;

    fn try_from(text: String) -> Result<Self, KeyError> {
        text.parse()
    }
}

impl From<PublicKey> for String {
    fn from(key: PublicKey) -> Self {
        key.to_string()
    }
}

/// A signature. Text form: base64.
#[derive(Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Signature([u8; 64]);

impl Signature {
    /// The bytes.
    pub const fn as_bytes(&self) -> &[u8; 64] {
        &self.0
    }

    /// From its bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, KeyError> {
        Ok(Self(bytes.try_into().map_err(|_| KeyError::Signature)?))
    }
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&BASE64.encode(self.0))
    }
}

impl fmt::Debug for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl TryFrom<String> for Signature {
    type Error = KeyError;

    fn try_from(text: String) -> Result<Self, KeyError> {
        Self::from_bytes(&BASE64.decode(text).map_err(|_| KeyError::Signature)?)
    }
}

impl From<Signature> for String {
    fn from(signature: Signature) -> Self {
        signature.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_signature_counts_for_its_purpose_alone() {
        let signer = Signer::generate().unwrap();
        let purposes = [
            Purpose::Session,
            Purpose::Checkpoint,
            Purpose::Trace,
            Purpose::Bundle,
        ];
        for made_for in purposes {
            let signature = signer.sign(made_for, b"content");
            for purpose in purposes {
                let verifies = signer.public().verifies(purpose, b"content", &signature);
                assert_eq!(verifies, purpose == made_for, "{made_for:?} as {purpose:?}");
            }
        }
    }

    #[test]
    fn keys_and_signatures_come_back_from_their_text() {
        let signer = Signer::generate().unwrap();
        let again = Signer::from_text(&signer.to_secret_text()).unwrap();
        assert_eq!(again.public(), signer.public());
        assert_eq!(
            signer.public().to_string().parse::<PublicKey>().unwrap(),
            signer.public()
        );
        let signature = signer.sign(Purpose::Trace, b"x");
        assert_eq!(Signature::try_from(signature.to_string()).unwrap(), signature);
    }

    #[test]
    fn a_signer_does_not_print_its_secret() {
        let signer = Signer::from_text("AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=").unwrap();
        assert!(!format!("{signer:?}").contains("AQEBAQ"));
    }

    proptest! {
        #[test]
        fn any_changed_byte_breaks_the_signature(content in prop::collection::vec(any::<u8>(), 1..200), at in any::<prop::sample::Index>(), flip in 1_u8..) {
            let signer = Signer::from_text("AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=").unwrap();
            let signature = signer.sign(Purpose::Bundle, &content);
            prop_assert!(signer.public().verifies(Purpose::Bundle, &content, &signature));
            let mut changed = content.clone();
            changed[at.index(content.len())] ^= flip;
            prop_assert!(!signer.public().verifies(Purpose::Bundle, &changed, &signature));
        }

        #[test]
        fn no_text_makes_it_panic(text in ".*") {
            let _ = text.parse::<PublicKey>();
            let _ = Signer::from_text(&text);
            let _ = Signature::try_from(text);
        }
    }
}
