//! The catalogue: every tool's executor.
