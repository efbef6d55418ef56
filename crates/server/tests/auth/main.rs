//! Who may sign in, what the server takes, and from whom: over real HTTP, against a server that really listens.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::type_complexity,
    reason = "the functions that tests share are test code too; tables have many columns"
)]

#[path = "../support/mod.rs"]
mod support;

mod callers;
mod front;
mod limits;
mod listening;
mod oidc;
mod people;
mod provider;
mod sign_in;
