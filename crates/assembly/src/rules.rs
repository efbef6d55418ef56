//! The operator's rules for questions in logic.

use std::path::{Path, PathBuf};

use interlock_logic::{MAX_RULES_BYTES, Rules};

use crate::Error;

/// The folder with rules, beside the configuration.
const FOLDER: &str = "rules";

/// The folder with the rules that belong to this configuration file, if it is there.
pub fn rules_folder(config_file: Option<&Path>) -> Option<PathBuf> {
    let folder = config_file?.parent()?.join(FOLDER);
    folder.is_dir().then_some(folder)
}

/// The rules in this file, or in the `.pl` files of this folder. One rule that cannot be used makes all of them an error.
pub fn rules(path: &Path) -> Result<Rules, Error> {
    let mut paths = Vec::new();
    if path.is_dir() {
        for entry in std::fs::read_dir(path).map_err(|error| unreadable(path, &error))? {
            let path = entry.map_err(|error| unreadable(path, &error))?.path();
            if path.extension().is_some_and(|extension| extension == "pl") {
                paths.push(path);
            }
        }
        paths.sort();
    } else {
        paths.push(path.to_owned());
    }
    let mut files = Vec::new();
    for path in paths {
        let size = std::fs::metadata(&path)
            .map_err(|error| unreadable(&path, &error))?
            .len();
        if size > MAX_RULES_BYTES as u64 {
            return Err(Error::Rules(format!(
                "{}: the file has {size} bytes; at most {MAX_RULES_BYTES} are allowed",
                path.display()
            )));
        }
        let text = std::fs::read_to_string(&path).map_err(|error| unreadable(&path, &error))?;
        files.push((path.display().to_string(), text));
    }
    let files = files.iter().map(|(name, text)| (name.as_str(), text.as_str()));
    Rules::load(files).map_err(|errors| {
        let lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
        Error::Rules(format!("the rules cannot be used:\n{}", lines.join("\n")))
    })
}

fn unreadable(path: &Path, error: &std::io::Error) -> Error {
    Error::Rules(format!("{}: {error}", path.display()))
}
