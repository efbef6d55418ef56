//! The Docker hosts: which containers they run, from which images.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use super::MIB;
use super::nodes::file;
use crate::docker::{ContainerSpec, HostSpec, ImageSpec, PortSpec, Registry, RestartPolicy};
use crate::machine::Spec;

/// The container that a bad release breaks, and its releases.
pub(crate) const PAPERLESS: &str = "paperless";
/// The release that works.
pub(crate) const PAPERLESS_GOOD: &str = "ghcr.io/paperless-ngx/paperless-ngx:2.12.1";
/// The release that does not.
pub(crate) const PAPERLESS_BAD: &str = "ghcr.io/paperless-ngx/paperless-ngx:2.13.0";
/// Where it listens.
pub(crate) const PAPERLESS_PORT: u16 = 8000;

/// What the bad release says before it gives up.
const PAPERLESS_FAULT: &str = "migration 1053_document_page_count requires PostgreSQL 17 or newer, found 16.4: \
                               refusing to start (release 2.13.0 dropped support for PostgreSQL 16)";

/// The Docker hosts of the lab, by the guest that they run in.
pub(crate) fn hosts() -> Vec<HostSpec> {
    vec![
        host(
            "homepage-docker",
            10,
            &[
                ("portainer", "portainer/portainer-ce", "2.21.4", 9000),
                ("uptime-kuma", "louislam/uptime-kuma", "1.23.15", 3001),
            ],
        ),
        host(
            "server1",
            20,
            &[
                (
                    PAPERLESS,
                    "ghcr.io/paperless-ngx/paperless-ngx",
                    "2.12.1",
                    PAPERLESS_PORT,
                ),
                ("paperless-redis", "redis", "7.4", 6379),
                ("traefik", "traefik", "3.2", 8080),
            ],
        ),
    ]
}

fn host(name: &str, number: u8, containers: &[(&str, &str, &str, u16)]) -> HostSpec {
    let images: Vec<ImageSpec> = containers
        .iter()
        .map(|(name, repository, tag, port)| image(name, repository, tag, *port, ""))
        .collect();
    let mut registry = images.clone();
    if let Some((repository, tag)) = PAPERLESS_BAD.rsplit_once(':')
        && containers.iter().any(|(name, ..)| *name == PAPERLESS)
    {
        let fault = format!("fails = {PAPERLESS_FAULT:?}\n");
        registry.push(image(PAPERLESS, repository, tag, PAPERLESS_PORT, &fault));
    }
    let specs = containers
        .iter()
        .zip(1..)
        .map(|((name, repository, tag, port), at)| ContainerSpec {
            name: (*name).to_owned(),
            image: format!("{repository}:{tag}"),
            machine: Spec {
                address: Some([172, 17, number, at].into()),
                disk_bytes: 64 * MIB,
                ..Spec::default()
            },
            ports: vec![PortSpec {
                container: *port,
                host: Some(*port),
            }],
            restart: RestartPolicy::UnlessStopped,
            labels: BTreeMap::from([("com.docker.compose.project".to_owned(), "home".to_owned())]),
            ..ContainerSpec::default()
        });
    HostSpec {
        name: name.to_owned(),
        containers: specs.collect(),
        images,
        registry: Registry { images: registry },
    }
}

fn image(name: &str, repository: &str, tag: &str, port: u16, extra: &str) -> ImageSpec {
    let config = format!(
        "name = {name:?}\nversion = {tag:?}\nlisten = {port}\npage = {name:?}\nlevel = \"info\"\n{extra}"
    );
    ImageSpec {
        repository: repository.to_owned(),
        tag: tag.to_owned(),
        id: String::new(),
        size: 180 * MIB,
        created: Timestamp::now()
            .checked_sub(SignedDuration::from_hours(24 * 20))
            .unwrap_or_default(),
        files: vec![file("/etc/app/service.toml", config)],
        argv: ["/usr/local/bin/lab-service", "/etc/app/service.toml"]
            .map(str::to_owned)
            .to_vec(),
        env: BTreeMap::new(),
    }
}
