//! Docker, Kubernetes, Prometheus, Alertmanager and Mail Gateway over real sockets, with answers of real servers and with
//! hostile ones.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails where it likes")]

mod alertmanager;
mod docker;
mod docker_update;
mod kubernetes;
mod mail;
mod prometheus;
mod server;
mod slow;
mod stage;
