//! How long masking takes.
fn main() {}
