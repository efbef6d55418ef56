//! A text that is not shown because masking it would cost too much.

use std::fmt;

/// A text was withheld: looking through it would have cost more than the budget for one text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Withheld {
    /// How long the text is.
    pub bytes: usize,
}

impl Withheld {
    /// What stands in the place of the text.
    pub fn notice(self) -> String {
        format!("[{self}]")
    }
}

impl fmt::Display for Withheld {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "withheld: too costly to mask, {} bytes", self.bytes)
    }
}
