//! Reads on machines of the lab run in a sandbox, through the connectors of the product and the real `bwrap` and `unshare`.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot set itself up must stop"
)]

#[path = "sandbox/examples.rs"]
mod examples;
#[path = "sandbox/hold.rs"]
mod hold;
#[path = "../../infra/tests/links/stage.rs"]
mod permits;
#[path = "sandbox/prove.rs"]
mod prove;
#[path = "sandbox/stage.rs"]
mod stage;
