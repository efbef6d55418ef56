//! The file of the signing key: made once, mode 600, never through a link.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use zeroize::Zeroizing;

use crate::{Error, Signer};

/// Longer than any key.
const MAX: u64 = 1024;

fn failed(path: &Path, what: &'static str, error: &std::io::Error) -> Error {
    Error::File {
        path: path.to_owned(),
        what,
        reason: error.to_string(),
    }
}

/// The key in the file; a new one if there is no file.
pub(crate) fn load_or_create(path: &Path) -> Result<Signer, Error> {
    match std::fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => match create(path) {
            // Another process was faster.
            Err(Error::File { .. }) if path.exists() => load(path),
            created => created,
        },
        Err(error) => Err(failed(path, "read", &error)),
        Ok(_) => load(path),
    }
}

/// The key in the file; nothing if there is no file.
pub(crate) fn load_present(path: &Path) -> Result<Option<Signer>, Error> {
    match std::fs::symlink_metadata(path) {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        _ => load(path).map(Some),
    }
}

fn load(path: &Path) -> Result<Signer, Error> {
    let found = std::fs::symlink_metadata(path).map_err(|error| failed(path, "read", &error))?;
    if !found.is_file() {
        return Err(Error::NotAFile(path.to_owned()));
    }
    let file = File::open(path).map_err(|error| failed(path, "read", &error))?;
    let opened = file.metadata().map_err(|error| failed(path, "read", &error))?;
    if (opened.dev(), opened.ino()) != (found.dev(), found.ino()) {
        return Err(Error::NotAFile(path.to_owned()));
    }
    let mode = opened.mode() & 0o7777;
    if mode & 0o077 != 0 {
        return Err(Error::Mode {
            path: path.to_owned(),
            mode,
        });
    }
    parse(path, file)
}

/// systemd protects the folder of credentials by itself.
pub(crate) fn load_credential(path: &Path) -> Result<Signer, Error> {
    let file = File::open(path).map_err(|error| failed(path, "read", &error))?;
    parse(path, file)
}

fn parse(path: &Path, file: File) -> Result<Signer, Error> {
    let mut text = Zeroizing::new(String::new());
    file.take(MAX)
        .read_to_string(&mut text)
        .map_err(|error| failed(path, "read", &error))?;
    Signer::from_text(&text).map_err(|error| Error::Key {
        place: path.display().to_string(),
        error,
    })
}

/// Writes the whole key before the file has its name, so that no other process reads half of one.
pub(crate) fn create(path: &Path) -> Result<Signer, Error> {
    let key_error = |error| Error::Key {
        place: path.display().to_string(),
        error,
    };
    let signer = Signer::generate().map_err(key_error)?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    if let Some(folder) = folder {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)
            .map_err(|error| failed(path, "created", &error))?;
    }
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".new-{}", std::process::id()));
    let draft = folder.unwrap_or_else(|| Path::new(".")).join(name);
    let made = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&draft)
        .and_then(|mut file| {
            file.write_all(signer.to_secret_text().as_bytes())?;
            file.sync_all()?;
            // Fails where the name is taken, unlike a rename.
            std::fs::hard_link(&draft, path)
        });
    let removed = std::fs::remove_file(&draft);
    made.and(removed)
        .map_err(|error| failed(path, "created", &error))?;
    Ok(signer)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::KeySource;

    #[test]
    fn a_key_is_made_once_and_is_its_owners() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/record.key");
        let source = KeySource::File(path.clone());
        let first = source.load().unwrap().public();
        assert_eq!(source.load().unwrap().public(), first);
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(std::fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
        assert!(KeySource::create(&path).is_err(), "a key is never replaced");
    }

    #[test]
    fn looking_for_a_key_creates_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/record.key");
        assert!(KeySource::File(path.clone()).load_present().unwrap().is_none());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        let made = KeySource::create(&path).unwrap().public();
        let found = KeySource::File(path).load_present().unwrap();
        assert_eq!(found.map(|signer| signer.public()), Some(made));
    }

    #[test]
    fn a_key_that_others_can_read_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("record.key");
        KeySource::create(&path).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        let error = KeySource::File(path).load().unwrap_err();
        assert!(matches!(error, Error::Mode { mode: 0o640, .. }), "{error}");
    }

    #[test]
    fn a_link_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (real, link) = (folder.path().join("real"), folder.path().join("link"));
        KeySource::create(&real).unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        let error = KeySource::File(link.clone()).load().unwrap_err();
        assert!(matches!(error, Error::NotAFile(_)), "{error}");
        std::fs::remove_file(&real).unwrap();
        assert!(KeySource::File(link).load().is_err());
    }

    #[test]
    fn what_is_not_a_key_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("record.key");
        std::fs::write(&path, "hunter2").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        let error = KeySource::File(path).load().unwrap_err().to_string();
        assert!(
            error.contains("not a signing key") && !error.contains("hunter2"),
            "{error}"
        );
    }
}
