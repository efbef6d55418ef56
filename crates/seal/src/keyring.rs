//! The key that signs, and the public keys that are trusted.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::{PublicKey, Purpose, Signature, Signer};

/// What a process has for signing and checking: the signer, its public key, and the public keys of earlier signers.
#[derive(Debug, Clone)]
pub struct Keyring {
    signer: Option<Arc<Signer>>,
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

    /// Checks with these keys, and signs nothing.
    pub fn checking(trusted: impl IntoIterator<Item = PublicKey>) -> Self {
        Self {
            signer: None,
            trusted: trusted.into_iter().collect(),
            marks: None,
        }
    }

    /// The same, and trusts these keys too: those that signed before the key was changed.
    #[must_use]
    pub fn trusting(mut self, earlier: impl IntoIterator<Item = PublicKey>) -> Self {
        self.trusted.extend(earlier);
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

    /// Whether a trusted key made this signature.
    pub fn verifies(&self, key: &PublicKey, purpose: Purpose, content: &[u8], signature: &Signature) -> bool {
        self.trusts(key) && key.verifies(purpose, content, signature)
    }
}
