//! What was typed before, kept for the one who typed it.

use std::fs::{DirBuilder, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// How many lines are remembered.
const MOST: usize = 1000;

/// The file with what was typed before.
pub(super) struct History {
    file: PathBuf,
}

impl History {
    pub(super) fn new(folder: &Path) -> Self {
        Self {
            file: folder.join("chat_history"),
        }
    }

    /// The last lines. No file is no history.
    pub(super) fn lines(&self) -> Vec<String> {
        let text = std::fs::read_to_string(&self.file).unwrap_or_default();
        let lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines[lines.len().saturating_sub(MOST)..].to_vec()
    }

    /// One more line, with its secrets masked. A history that cannot be kept is no reason to stop.
    pub(super) fn add(&self, line: &str) {
        let kept = self.try_add(line);
        if let Err(error) = kept {
            tracing::debug!(%error, file = %self.file.display(), "the history cannot be kept");
        }
    }

    fn try_add(&self, line: &str) -> std::io::Result<()> {
        if let Some(folder) = self.file.parent() {
            DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        let mut file = OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o600)
            .open(&self.file)?;
        writeln!(file, "{}", crate::globals::masker().mask_text(line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn what_was_typed_is_kept_for_its_owner_alone() {
        let folder = tempfile::tempdir().unwrap();
        let history = History::new(&folder.path().join("new"));
        assert!(history.lines().is_empty());
        history.add("one");
        history.add("two");
        assert_eq!(history.lines(), ["one", "two"]);
        history.add("why does DB_PASSWORD=hunter2abc not work?");
        let kept = std::fs::read_to_string(&history.file).unwrap();
        assert!(
            kept.ends_with("why does DB_PASSWORD=[masked:password] not work?\n"),
            "{kept}"
        );
        let mode = std::fs::metadata(&history.file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}
