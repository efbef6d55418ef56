//! Paths in the file are relative to its folder.

use std::path::{Path, PathBuf};

use interlock_store::Place;

use crate::Config;

/// Makes every path of the configuration independent of where the program was started.
pub(crate) fn resolve(config: &mut Config, folder: &Path) {
    if let Some(store) = &mut config.store
        && let Place::File(path) = &mut store.place
    {
        join(path, folder);
    }
    if let Some(tls) = &mut config.server.tls {
        join(&mut tls.certificate, folder);
        join(&mut tls.key, folder);
    }
    for model in config.models.values_mut() {
        model.ca_file.iter_mut().for_each(|path| join(path, folder));
        model.script.iter_mut().for_each(|path| join(path, folder));
    }
    config.governance.iter_mut().for_each(|path| join(path, folder));
    config.policies.iter_mut().for_each(|path| join(path, folder));
    config
        .prompts
        .folder
        .iter_mut()
        .for_each(|path| join(path, folder));
}

fn join(path: &mut PathBuf, folder: &Path) {
    if path.is_relative() {
        *path = folder.join(&*path);
    }
}
