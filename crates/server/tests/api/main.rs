//! The API over real HTTP: a server on a free port, a real database file, the real gate, a scripted model.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::type_complexity,
    reason = "a test that cannot go on must stop; tables have many columns"
)]

mod alerts;
mod altered;
mod decide;
mod description;
mod hostile;
mod incidents;
mod looking;
mod not_run;
#[path = "../support/parts.rs"]
mod parts;
mod place;
mod rules;
