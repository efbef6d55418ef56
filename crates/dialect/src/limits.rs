//! How much of a reply is read.

/// Caps on what a model may send. Past any of them the reply is refused with a typed problem, never cut in silence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The most bytes of one reply: text, thinking and arguments together.
    pub reply_bytes: usize,
    /// How deep JSON or YAML may nest.
    pub json_depth: usize,
    /// The most calls that are looked at in one reply; 0 counts as 1.
    pub calls: usize,
}

impl Limits {
    /// The deepest nesting that can be allowed: `serde_json` itself ends at 128.
    pub const MAX_DEPTH: usize = 100;

    /// What holds where nobody says otherwise.
    pub const DEFAULT: Self = Self {
        reply_bytes: 1 << 20,
        json_depth: 32,
        calls: 32,
    };

    /// At least one: a reply whose only call is over the limit must not pass for a final answer.
    pub(crate) fn calls(&self) -> usize {
        self.calls.max(1)
    }

    pub(crate) fn depth(&self) -> usize {
        self.json_depth.min(Self::MAX_DEPTH)
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self::DEFAULT
    }
}
