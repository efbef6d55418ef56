//! The promises of the gate, as tests.
#![expect(
    clippy::needless_pass_by_value,
    reason = "a test hands over its JSON literals"
)]

mod answers;
mod bypasses;
mod evidence;
mod files;
mod fixture;
mod harm;
mod holds;
mod levels;
mod must_not;
mod prove;
mod routing;
mod sandbox;
mod state_machine;
mod tables;
mod verification;
