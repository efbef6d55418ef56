//! Finds the file and makes a configuration of it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use interlock_protocol::ContentHash;
use interlock_store::Options as StoreOptions;

use crate::interpolate::{Sources, interpolate};
use crate::outside::{self, Found};
use crate::problem::{Error, Place, Problem};
use crate::tree::{Data, MAX_BYTES, Name, Node};
use crate::{Config, check, de, literal, paths, schema, shape, tree, view};

/// What the file is called.
pub const FILE_NAME: &str = "interlock.yaml";

/// A value that came from the environment or from a file.
#[derive(Clone, PartialEq, Eq)]
pub struct Outside {
    /// The value.
    pub value: String,
    /// Where it came from: the name of a variable, or `file PATH`.
    pub origin: String,
    /// Whether it is a part of a web address: errors of a connection repeat that.
    pub in_address: bool,
}

impl std::fmt::Debug for Outside {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "[from {}]", self.origin)
    }
}

/// A configuration, and where it came from.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The configuration. Its paths are absolute if the file's is.
    pub config: Config,
    /// The file; nothing for the built-in defaults.
    pub file: Option<PathBuf>,
    /// What is allowed and probably not meant.
    pub warnings: Vec<Problem>,
    /// The files whose contents stand in the configuration: no tool may read them.
    pub secret_files: Vec<PathBuf>,
    /// The values that came from the environment or from files: no message may repeat them.
    pub outside: Vec<Outside>,
    /// The hash of the file's bytes: what `sha256sum` says of it. Nothing for the built-in defaults.
    pub hash: Option<ContentHash>,
    /// What is written in the file, for the places of its keys.
    written: Option<Node>,
    data_folder: PathBuf,
}

impl Loaded {
    /// Where a key such as `server.listen` is written.
    pub(crate) fn place_of(&self, key: &str) -> Option<Place> {
        let parts: Vec<&str> = key.split('.').collect();
        Some(self.written.as_ref()?.place_of(&parts))
    }

    /// The store to open: the configured one, or a file in the user's data folder.
    pub fn store(&self) -> StoreOptions {
        let default = || StoreOptions::sqlite(self.data_folder.join("interlock").join("interlock.db"));
        self.config.store.clone().unwrap_or_else(default)
    }
}

/// Loads the configuration of this process: this file, else `./interlock.yaml`, else the one in the user's folder.
pub fn load(file: Option<&Path>) -> Result<Loaded, Error> {
    Loader::from_process(file).load()
}

/// Finds and reads a configuration. Everything that it depends on is a value, also the environment.
#[derive(Clone)]
pub struct Loader {
    file: Option<PathBuf>,
    folder: PathBuf,
    environment: BTreeMap<String, String>,
}

impl std::fmt::Debug for Loader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Loader")
            .field("file", &self.file)
            .field("folder", &self.folder)
            .finish_non_exhaustive()
    }
}

impl Loader {
    /// With the working folder and the environment of this process.
    pub fn from_process(file: Option<&Path>) -> Self {
        let environment = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
        Self::new(file, std::env::current_dir().unwrap_or_default(), environment)
    }

    /// With this file if one is named, this working folder and this environment.
    pub fn new(
        file: Option<&Path>,
        folder: impl Into<PathBuf>,
        environment: impl IntoIterator<Item = (String, String)>,
    ) -> Self {
        Self {
            file: file.map(Path::to_owned),
            folder: folder.into(),
            environment: environment.into_iter().collect(),
        }
    }

    /// Finds the file and loads it. No file at all is the built-in defaults; a file that was named must exist.
    pub fn load(&self) -> Result<Loaded, Error> {
        match self.find() {
            Some(file) => {
                let bytes = read(&file)?;
                self.parse(&file, &bytes)
            }
            None => Ok(Loaded {
                config: Config::default(),
                file: None,
                warnings: Vec::new(),
                secret_files: Vec::new(),
                outside: Vec::new(),
                hash: None,
                written: None,
                data_folder: self.data_folder(),
            }),
        }
    }

    /// Loads the same file again, for a server that runs. Stricter than [`Loader::load`]: what is no regular file, is empty or
    /// changes while it is read is an error, because somebody may be writing it at this moment.
    pub fn load_again(&self) -> Result<Loaded, Error> {
        let Some(file) = self.find() else {
            return self.load();
        };
        let bytes = read_settled(&file)?;
        self.parse(&file, &bytes)
    }

    /// The same environment and folder, with this file and no other from now on.
    #[must_use]
    pub fn of_file(mut self, file: Option<&Path>) -> Self {
        if let Some(file) = file {
            self.file = Some(file.to_owned());
        }
        self
    }

    /// The file that [`Loader::load`] reads.
    pub fn find(&self) -> Option<PathBuf> {
        if let Some(file) = &self.file {
            return Some(self.folder.join(file));
        }
        let here = self.folder.join(FILE_NAME);
        let user = self
            .user_folder("XDG_CONFIG_HOME", ".config")
            .map(|folder| folder.join("interlock").join(FILE_NAME));
        // What is there and cannot be looked at is an error, not another file.
        std::iter::once(here)
            .chain(user)
            .find(|file| file.symlink_metadata().is_ok())
    }

    /// Makes a configuration of the content of a file.
    pub fn parse(&self, file: &Path, bytes: &[u8]) -> Result<Loaded, Error> {
        self.understand(file, bytes).map_err(|mut problems| {
            problems.sort();
            problems.dedup();
            Error::Wrong {
                file: file.to_owned(),
                problems,
            }
        })
    }

    fn understand(&self, file: &Path, bytes: &[u8]) -> Result<Loaded, Vec<Problem>> {
        let folder = file.parent().unwrap_or(Path::new(""));
        let written = tree::read(bytes).map_err(|problem| vec![problem])?;
        let mut tree = written.clone();
        let mut unresolved = Vec::new();
        let sources = Sources {
            variable: &|name| self.environment.get(name).cloned(),
            folder,
            read: RefCell::default(),
            values: RefCell::default(),
        };
        interpolate(&mut tree, "", &sources, &mut unresolved);
        let (config, found) = self.examine(&tree, folder, &unresolved);
        let examine = |tree: &Node| self.examine(tree, folder, &unresolved).1;
        let found = outside::told(&written, &tree, found, examine);
        let Some(mut config) = config.filter(|_| found.problems.is_empty()) else {
            return Err(found.problems);
        };
        let view = view::of(&config, Some(&tree));
        paths::resolve(&mut config, folder);
        config.view = Some(view);
        let mut secret_files = sources.read.into_inner();
        secret_files.extend(config.infrastructure.key_files().cloned());
        secret_files.extend(config.server.secret_files().cloned());
        Ok(Loaded {
            config,
            file: Some(file.to_owned()),
            warnings: found.warnings,
            secret_files,
            outside: sources.values.into_inner(),
            hash: Some(ContentHash::of(bytes)),
            written: Some(written),
            data_folder: self.data_folder(),
        })
    }

    /// The configuration of a tree, and everything that is wrong with it, beginning with what is known already. The paths in
    /// it are as they are written.
    fn examine(&self, tree: &Node, folder: &Path, known: &[Problem]) -> (Option<Config>, Found) {
        static SCHEMA: LazyLock<serde_json::Value> = LazyLock::new(schema);
        let mut problems = known.to_vec();
        shape::check(&SCHEMA, tree, &mut problems);
        literal::no_literal_secrets(tree, &mut problems);
        let wrong = |problems| Found {
            problems,
            warnings: Vec::new(),
        };
        if !problems.is_empty() {
            return (None, wrong(problems));
        }
        let config = match typed(tree) {
            Ok(config) => config,
            Err(problems) => return (None, wrong(problems)),
        };
        let mut resolved = config.clone();
        paths::resolve(&mut resolved, folder);
        match check::references(&resolved, tree, &|name| self.environment.contains_key(name)) {
            Ok(mut warnings) => {
                warnings.sort();
                let found = Found {
                    problems: Vec::new(),
                    warnings,
                };
                (Some(config), found)
            }
            Err(problems) => (None, wrong(problems)),
        }
    }

    fn user_folder(&self, variable: &str, below_home: &str) -> Option<PathBuf> {
        let named = self
            .environment
            .get(variable)
            .map(PathBuf::from)
            .filter(|folder| folder.is_absolute());
        named.or_else(|| {
            self.environment
                .get("HOME")
                .map(|home| Path::new(home).join(below_home))
        })
    }

    fn data_folder(&self) -> PathBuf {
        self.user_folder("XDG_DATA_HOME", ".local/share")
            .unwrap_or_else(|| self.folder.clone())
    }
}

/// Reads each key by itself if the whole does not fit, so that a bad value in one does not hide those in the others.
fn typed(tree: &Node) -> Result<Config, Vec<Problem>> {
    de::from_node::<Config>(tree).map_err(|first| {
        let mut problems = Vec::new();
        for (name, value) in entries(tree) {
            let Err(problem) = alone(tree, name, value.clone()) else {
                continue;
            };
            let parts = entries(value).filter_map(|(part, below)| {
                let below = Node {
                    place: value.place,
                    data: Data::Map(vec![(part.clone(), below.clone())]),
                };
                // A part by itself lacks what its neighbours say: only what is wrong inside of it counts.
                let inside = format!("{}.{}", name.text, part.text);
                alone(tree, name, below)
                    .err()
                    .filter(|problem| problem.path.starts_with(&inside))
            });
            problems.extend(parts);
            problems.push(problem);
        }
        if problems.is_empty() {
            problems.push(first);
        }
        problems.into_iter().map(explained).collect()
    })
}

fn entries(node: &Node) -> std::slice::Iter<'_, (Name, Node)> {
    match &node.data {
        Data::Map(entries) => entries.iter(),
        _ => [].iter(),
    }
}

/// Reads a configuration of one top key.
fn alone(tree: &Node, name: &Name, value: Node) -> Result<Config, Problem> {
    de::from_node(&Node {
        place: tree.place,
        data: Data::Map(vec![(name.clone(), value)]),
    })
}

/// Adds what to do where the message of a library does not say it.
fn explained(problem: Problem) -> Problem {
    if problem.path == "server.listen" {
        problem.help("write an address and a port, such as `127.0.0.1:7878`")
    } else {
        problem
    }
}

/// Reads a file that nobody is writing.
fn read_settled(file: &Path) -> Result<Vec<u8>, Error> {
    use std::os::unix::fs::MetadataExt as _;
    let unreadable = |reason: String| Error::Unreadable {
        file: file.to_owned(),
        reason,
    };
    let state = || -> Result<_, Error> {
        let data = file.metadata().map_err(|error| unreadable(error.to_string()))?;
        if data.is_dir() {
            return Err(unreadable("it is a folder".to_owned()));
        }
        // Opening a named pipe would wait for somebody who writes to it.
        if !data.is_file() {
            return Err(unreadable("it is no regular file".to_owned()));
        }
        Ok((
            data.dev(),
            data.ino(),
            data.len(),
            data.mtime(),
            data.mtime_nsec(),
        ))
    };
    let before = state()?;
    let bytes = read(file)?;
    if state()? != before {
        return Err(unreadable(
            "it changed while it was read; write a new file beside it and rename it".to_owned(),
        ));
    }
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(unreadable(
            "it is empty; write a new file beside it and rename it, or restart to use the built-in defaults"
                .to_owned(),
        ));
    }
    Ok(bytes)
}

fn read(file: &Path) -> Result<Vec<u8>, Error> {
    use std::io::Read as _;
    let unreadable = |reason: String| Error::Unreadable {
        file: file.to_owned(),
        reason,
    };
    let opened = std::fs::File::open(file).map_err(|error| unreadable(error.to_string()))?;
    if opened.metadata().is_ok_and(|data| data.is_dir()) {
        return Err(unreadable("it is a folder".to_owned()));
    }
    let mut bytes = Vec::new();
    let limit = u64::try_from(MAX_BYTES).unwrap_or(u64::MAX) + 1;
    opened
        .take(limit)
        .read_to_end(&mut bytes)
        .map_err(|error| unreadable(error.to_string()))?;
    Ok(bytes)
}
