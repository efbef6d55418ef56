//! The promises of the gate, as tests.

mod fixture;
mod state_machine;
