//! How much a tool takes in and gives back.

use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How much a tool takes in and gives back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Options {
    /// How many bytes of each stream, or of a file, are kept after they were masked: the beginning and the end.
    pub output_bytes: NonZeroU32,
    /// How many bytes of a file are read to know its hash. A larger file has none.
    pub hashed_bytes: NonZeroU32,
    /// How many entries of a folder, or findings of a search, are given back.
    pub entries: NonZeroU32,
    /// How many files and folders a search looks at.
    pub visited: NonZeroU32,
    /// How many folders deep a search goes.
    pub depth: NonZeroU32,
    /// How many lines the end of a file or log has, where the call does not say.
    pub lines: NonZeroU32,
    /// How many milliseconds a process has to end after it was told to, before it is killed.
    pub grace_ms: NonZeroU32,
}

const fn number(number: u32) -> NonZeroU32 {
    match NonZeroU32::new(number) {
        Some(number) => number,
        None => NonZeroU32::MIN,
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            output_bytes: number(64 * 1024),
            hashed_bytes: number(16 * 1024 * 1024),
            entries: number(1000),
            visited: number(100_000),
            depth: number(16),
            lines: number(200),
            grace_ms: number(2000),
        }
    }
}

/// A count as the standard library takes it.
pub(crate) fn count(number: NonZeroU32) -> usize {
    usize::try_from(number.get()).unwrap_or(usize::MAX)
}
