//! Signs the record, and checks signatures.
//!
//! The server has one Ed25519 [`Signer`], made from a key that is kept outside the store: a file with mode 600, an environment
//! variable, or a systemd credential ([`KeySource`]). Everything it signs names what it is ([`Purpose`]), so that a
//! signature for one purpose never counts for another. Whoever checks has a [`Keyring`] of public keys.
//!
//! This room knows nothing about sessions or stores: bytes come in, signatures go out. It never prints, logs or serialises
//! a secret key.

mod file;
mod key;
mod keyring;
mod source;

pub use key::{KeyError, PublicKey, Purpose, Signature, Signer};
pub use keyring::Keyring;
pub use source::{Error, KeySource};
