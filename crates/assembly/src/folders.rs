//! Where Interlock's own files are, and what no tool may reach.

use std::path::{Path, PathBuf};

/// The folders of this user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folders {
    /// Where data goes: the store, the history of the chat.
    pub data: PathBuf,
    /// Where the configuration is.
    pub config: PathBuf,
}

impl Folders {
    /// As the environment says.
    pub fn of_user() -> Self {
        let home = std::env::home_dir().unwrap_or_else(|| PathBuf::from("/"));
        let base = |variable: &str, otherwise: &str| {
            std::env::var_os(variable)
                .map(PathBuf::from)
                // A relative one is to be ignored, by the specification.
                .filter(|path| path.is_absolute())
                .unwrap_or_else(|| home.join(otherwise))
                .join("interlock")
        };
        Self {
            data: base("XDG_DATA_HOME", ".local/share"),
            config: base("XDG_CONFIG_HOME", ".config"),
        }
    }

    /// Both in one folder.
    pub fn within(folder: &Path) -> Self {
        Self {
            data: folder.to_owned(),
            config: folder.to_owned(),
        }
    }
}

/// What no tool and no command may reach: the store with its journals, the configuration with the files that it takes
/// secrets from, the folders of both.
///
/// The folder of a store that was put elsewhere is protected only if it is Interlock's own: with `sqlite:/tmp/a.db` the
/// whole of `/tmp` would be closed.
pub fn protected(files: &[&Path], store: Option<&Path>, folders: &Folders) -> Vec<PathBuf> {
    let mut paths = vec![folders.data.clone(), folders.config.clone()];
    let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    if let Some(store) = store.map(absolute) {
        if let Some(folder) = store
            .parent()
            .filter(|folder| folder.file_name().is_some_and(|name| name == "interlock"))
        {
            paths.push(folder.to_owned());
        }
        paths.push(store);
    }
    paths.extend(files.iter().map(|file| absolute(file)));
    paths.sort();
    paths.dedup();
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_files_are_protected_and_a_shared_folder_is_not() {
        let folders = Folders {
            data: "/home/zoe/.local/share/interlock".into(),
            config: "/home/zoe/.config/interlock".into(),
        };
        let shown = |file: Option<&str>, store: &str| {
            let files: Vec<&Path> = file.map(Path::new).into_iter().collect();
            let paths = protected(&files, Some(Path::new(store)), &folders);
            paths
                .iter()
                .map(|path| path.display().to_string())
                .collect::<Vec<_>>()
        };
        assert_eq!(
            shown(Some("/srv/interlock.yaml"), "/tmp/a.db"),
            [
                "/home/zoe/.config/interlock",
                "/home/zoe/.local/share/interlock",
                "/srv/interlock.yaml",
                "/tmp/a.db"
            ]
        );
        assert_eq!(
            shown(None, "/var/lib/interlock/interlock.db"),
            [
                "/home/zoe/.config/interlock",
                "/home/zoe/.local/share/interlock",
                "/var/lib/interlock",
                "/var/lib/interlock/interlock.db"
            ]
        );
    }
}
