//! How a container is recreated: as it was created before, from another image.

use std::collections::HashMap;

use bollard::models::{
    ContainerConfig, ContainerCreateBody, ContainerInspectResponse, EndpointSettings, ImageConfig,
    NetworkingConfig,
};

use super::ImageRef;

/// What to make, and the networks to join afterwards.
pub(super) struct Blueprint {
    pub(super) body: Box<ContainerCreateBody>,
    pub(super) further_networks: Vec<(String, EndpointSettings)>,
}

/// The same container from another image. What the old image had set is left to the new one.
pub(super) fn blueprint(
    old: &ContainerInspectResponse,
    old_image: Option<&ImageConfig>,
    image: &ImageRef,
) -> Blueprint {
    let mut config = old.config.clone().unwrap_or_default();
    if let Some(defaults) = old_image {
        leave_to_image(&mut config, defaults);
    }
    let id = old.id.as_deref().unwrap_or_default();
    // The engine names a machine after its container where nobody did.
    config.hostname = config
        .hostname
        .filter(|name| !name.is_empty() && !id.starts_with(name.as_str()));
    let mut host = old.host_config.clone().unwrap_or_default();
    keep_volumes(old, &mut host);
    let mode = host.network_mode.clone().unwrap_or_default();
    let shares = matches!(mode.as_str(), "host" | "none") || mode.starts_with("container:");
    if shares {
        // Its name is that of whatever it shares the network with.
        config.hostname = None;
    }
    let mut networks = if shares { Vec::new() } else { networks_of(old, id) };
    // The one it was made in comes first; older engines take only that.
    networks.sort_by_key(|(name, _)| *name != mode);
    let first = (!networks.is_empty()).then(|| networks.remove(0));
    let mut body = body_of(config);
    body.image = Some(image.as_str().to_owned());
    body.host_config = Some(host);
    body.networking_config = first.map(|endpoint| NetworkingConfig {
        endpoints_config: Some(HashMap::from([endpoint])),
    });
    Blueprint {
        body: Box::new(body),
        further_networks: networks,
    }
}

fn leave_to_image(config: &mut ContainerConfig, image: &ImageConfig) {
    let defaults = image.env.clone().unwrap_or_default();
    if let Some(env) = &mut config.env {
        env.retain(|line| !defaults.contains(line));
    }
    if let (Some(labels), Some(defaults)) = (&mut config.labels, &image.labels) {
        labels.retain(|name, value| defaults.get(name) != Some(value));
    }
    if config.entrypoint == image.entrypoint {
        config.entrypoint = None;
        if config.cmd == image.cmd {
            config.cmd = None;
        }
    }
    clear_if_same(&mut config.working_dir, image.working_dir.as_ref());
    clear_if_same(&mut config.user, image.user.as_ref());
    clear_if_same(&mut config.stop_signal, image.stop_signal.as_ref());
    clear_if_same(&mut config.healthcheck, image.healthcheck.as_ref());
    clear_if_same(&mut config.exposed_ports, image.exposed_ports.as_ref());
    clear_if_same(&mut config.volumes, image.volumes.as_ref());
    clear_if_same(&mut config.shell, image.shell.as_ref());
}

fn clear_if_same<Setting: PartialEq>(setting: &mut Option<Setting>, default: Option<&Setting>) {
    if setting.as_ref() == default {
        *setting = None;
    }
}

/// A volume without a name of its own would be left behind, with what is in it.
fn keep_volumes(old: &ContainerInspectResponse, host: &mut bollard::models::HostConfig) {
    let mut binds = host.binds.clone().unwrap_or_default();
    for mount in old.mounts.iter().flatten() {
        let (Some("volume"), Some(name), Some(destination)) =
            (mount.typ.as_deref(), &mount.name, &mount.destination)
        else {
            continue;
        };
        let bound = binds
            .iter()
            .any(|bind| bind.split(':').nth(1) == Some(destination.as_str()));
        let mounted = host
            .mounts
            .iter()
            .flatten()
            .any(|mount| mount.target.as_ref() == Some(destination) && mount.source.is_some());
        if !bound && !mounted {
            host.mounts
                .iter_mut()
                .flatten()
                .filter(|mount| mount.target.as_ref() == Some(destination))
                .for_each(|mount| mount.source = Some(name.clone()));
            let named = host
                .mounts
                .iter()
                .flatten()
                .any(|mount| mount.target.as_ref() == Some(destination));
            if !named {
                let suffix = if mount.rw == Some(false) { ":ro" } else { "" };
                binds.push(format!("{name}:{destination}{suffix}"));
            }
        }
    }
    host.binds = (!binds.is_empty()).then_some(binds);
}

/// The networks by name, with what someone chose and without what the engine gave.
fn networks_of(old: &ContainerInspectResponse, id: &str) -> Vec<(String, EndpointSettings)> {
    let networks = old
        .network_settings
        .as_ref()
        .and_then(|settings| settings.networks.clone())
        .unwrap_or_default();
    let mut networks: Vec<(String, EndpointSettings)> = networks
        .into_iter()
        .map(|(name, endpoint)| {
            let aliases = endpoint.aliases.map(|mut aliases| {
                aliases.retain(|alias| alias.is_empty() || !id.starts_with(alias.as_str()));
                aliases
            });
            let chosen = EndpointSettings {
                ipam_config: endpoint.ipam_config,
                links: endpoint.links,
                aliases,
                driver_opts: endpoint.driver_opts,
                gw_priority: endpoint.gw_priority,
                ..EndpointSettings::default()
            };
            (name, chosen)
        })
        .collect();
    networks.sort_by(|one, other| one.0.cmp(&other.0));
    networks
}

fn body_of(config: ContainerConfig) -> ContainerCreateBody {
    ContainerCreateBody {
        hostname: config.hostname,
        domainname: config.domainname,
        user: config.user,
        attach_stdin: config.attach_stdin,
        attach_stdout: config.attach_stdout,
        attach_stderr: config.attach_stderr,
        exposed_ports: config.exposed_ports,
        tty: config.tty,
        open_stdin: config.open_stdin,
        stdin_once: config.stdin_once,
        env: config.env,
        cmd: config.cmd,
        healthcheck: config.healthcheck,
        args_escaped: config.args_escaped,
        volumes: config.volumes,
        working_dir: config.working_dir,
        entrypoint: config.entrypoint,
        network_disabled: config.network_disabled,
        on_build: config.on_build,
        labels: config.labels,
        stop_signal: config.stop_signal,
        stop_timeout: config.stop_timeout,
        shell: config.shell,
        ..ContainerCreateBody::default()
    }
}
