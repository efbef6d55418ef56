//! Paths in the file are relative to its folder.

use std::path::{Path, PathBuf};

use crate::Config;
use crate::record::RecordKey;

/// Makes every path of the configuration independent of where the program was started.
pub(crate) fn resolve(config: &mut Config, folder: &Path) {
    if let Some(store) = &mut config.store {
        store.location = store.location.clone().relative_to(folder);
    }
    if let Some(tls) = &mut config.server.tls {
        join(&mut tls.certificate, folder);
        join(&mut tls.key, folder);
    }
    if let Some(oidc) = &mut config.server.oidc {
        oidc.client_secret_file
            .iter_mut()
            .for_each(|path| join(path, folder));
    }
    for model in config.models.values_mut() {
        model.ca_file.iter_mut().for_each(|path| join(path, folder));
        model.script.iter_mut().for_each(|path| join(path, folder));
    }
    if let Some(RecordKey::File(path)) = &mut config.record.key {
        join(path, folder);
    }
    if let Some(ship) = &mut config.record.ship {
        ship.file.iter_mut().for_each(|path| join(path, folder));
    }
    infrastructure(&mut config.infrastructure, folder);
    config.governance.iter_mut().for_each(|path| join(path, folder));
    config.policies.iter_mut().for_each(|path| join(path, folder));
    config
        .prompts
        .folder
        .iter_mut()
        .for_each(|path| join(path, folder));
}

fn infrastructure(options: &mut interlock_infra::Options, folder: &Path) {
    for cluster in &mut options.proxmox {
        cluster.ssh.iter_mut().for_each(|ssh| sign_in(ssh, folder));
    }
    for host in &mut options.hosts {
        sign_in(&mut host.ssh, folder);
    }
    for cluster in &mut options.kubernetes {
        cluster.kubeconfig.iter_mut().for_each(|path| join(path, folder));
    }
    options
        .tls_mut()
        .flat_map(|tls| &mut tls.ca_file)
        .for_each(|path| join(path, folder));
}

fn sign_in(ssh: &mut interlock_infra::options::Ssh, folder: &Path) {
    join(&mut ssh.known_hosts, folder);
    ssh.key_file.iter_mut().for_each(|path| join(path, folder));
}

fn join(path: &mut PathBuf, folder: &Path) {
    if path.is_relative() {
        *path = folder.join(&*path);
    }
}
