//! How much of a reply is read and kept.

/// Caps on what a provider may send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The most bytes of one reply on the wire; a larger one is a failure.
    pub reply_bytes: usize,
    /// The most bytes of it that are kept as they came.
    pub raw_bytes: usize,
    /// The most bytes of an error's body that are read.
    pub error_bytes: usize,
}

impl Limits {
    /// What holds where nobody says otherwise.
    pub const DEFAULT: Self = Self {
        reply_bytes: 8 << 20,
        raw_bytes: 1 << 20,
        error_bytes: 64 << 10,
    };
}

impl Default for Limits {
    fn default() -> Self {
        Self::DEFAULT
    }
}
