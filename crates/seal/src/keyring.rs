//! The key that signs, and the public keys that are trusted.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::{PublicKey, Purpose, Signature, Signer};

/// What a process has for signing and checking: the signer, its public key, and the public keys of earlier signers.
///
/// The keys are in order, the newest first: a key signs until its successor has signed, and not after that.
#[derive(Debug, Clone)]
pub struct Keyring {
    signer: Option<Arc<Signer>>,
    /// The newest first.
    trusted: Vec<PublicKey>,
    marks: Option<PathBuf>,
}

impl Keyring {
    /// Signs with this key, and trusts its signatures.
    pub fn signing(signer: Signer) -> Self {
        Self {
            trusted: vec![signer.public()],
            signer: Some(Arc::new(signer)),
            marks: None,
        }
    }

    /// Checks with these keys, the newest first, and signs nothing.
    pub fn checking(trusted: impl IntoIterator<Item = PublicKey>) -> Self {
        let none = Self {
            signer: None,
            trusted: Vec::new(),
            marks: None,
        };
        none.trusting(trusted)
    }

    /// The same, and trusts these keys too: those that signed before the key was changed, the newest first.
    #[must_use]
    pub fn trusting(mut self, earlier: impl IntoIterator<Item = PublicKey>) -> Self {
        for key in earlier {
            if !self.trusted.contains(&key) {
                self.trusted.push(key);
            }
        }
        self
    }

    /// The same, and keeps the last signed end of each store in this folder, which lies outside the stores: a store whose end
    /// was cut off is noticed.
    #[must_use]
    pub fn keeping_marks(mut self, folder: impl Into<PathBuf>) -> Self {
        self.marks = Some(folder.into());
        self
    }

    /// The folder with the last signed end of each store, if one is kept.
    pub fn marks(&self) -> Option<&Path> {
        self.marks.as_deref()
    }

    /// What signs, if anything does.
    pub fn signer(&self) -> Option<&Signer> {
        self.signer.as_deref()
    }

    /// Whether this key is trusted.
    pub fn trusts(&self, key: &PublicKey) -> bool {
        self.trusted.contains(key)
    }

    /// The keys that are trusted, the newest first.
    pub fn keys(&self) -> &[PublicKey] {
        &self.trusted
    }

    /// How many keys came after this one: 0 for the newest. Nothing for a key that is not trusted.
    pub fn age(&self, key: &PublicKey) -> Option<usize> {
        self.trusted.iter().position(|trusted| trusted == key)
    }

    /// Whether a trusted key made this signature.
    pub fn verifies(&self, key: &PublicKey, purpose: Purpose, content: &[u8], signature: &Signature) -> bool {
        self.trusts(key) && key.verifies(purpose, content, signature)
    }
}
