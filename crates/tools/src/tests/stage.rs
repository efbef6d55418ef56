//! A gate, a session, a toolbox for this machine, and a folder to play in.

use std::fs;
use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use interlock_exec::{Protected, Runner, SandboxPolicy};
use interlock_executor::Toolbox;
use interlock_gate::{Catalogue, Options as GateOptions, Settled};
use interlock_protocol::Verification;
use serde_json::{Value, json};

use crate::{LocalHost, Options};

/// The stage of every tool family, with this machine and a folder to play in.
pub(super) struct Stage {
    shared: interlock_executor::Stage,
    pub(super) host: LocalHost,
    folder: tempfile::TempDir,
}

impl Deref for Stage {
    type Target = interlock_executor::Stage;

    fn deref(&self) -> &Self::Target {
        &self.shared
    }
}

impl DerefMut for Stage {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.shared
    }
}

impl Stage {
    /// A stage on which nothing is discovered. Next to its folder is one that is Interlock's own.
    pub(super) fn new() -> Self {
        Self::with(Options::default())
    }

    pub(super) fn with(options: Options) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let own = folder.path().join("own");
        fs::create_dir(&own).unwrap();
        fs::create_dir(folder.path().join("play")).unwrap();
        fs::write(own.join("key"), "hush").unwrap();
        let runner = Runner::new(Protected::new([own]), SandboxPolicy::WhereAvailable);
        let host = LocalHost::new(runner, options).unwrap();
        let toolbox = host.register(Toolbox::builder()).unwrap().build();
        let gate = GateOptions {
            // The operator says that the files of these tests are data.
            data_files: [std::env::temp_dir().to_string_lossy().into_owned()].into(),
            ..GateOptions::default()
        };
        let inventory = Arc::new(host.clone());
        Self {
            shared: interlock_executor::Stage::new(Catalogue::built_in().unwrap(), gate, toolbox, inventory),
            host,
            folder,
        }
    }

    /// A stage on which this machine is discovered.
    pub(super) async fn discovered() -> Self {
        let mut stage = Self::new();
        stage.run("infra_query", json!({"action": "search"})).await;
        stage
    }

    pub(super) fn folder(&self) -> PathBuf {
        self.folder.path().join("play").canonicalize().unwrap()
    }

    /// A file of Interlock's own.
    pub(super) fn own(&self, name: &str) -> String {
        let own = self.folder.path().canonicalize().unwrap().join("own");
        own.join(name).to_str().unwrap().to_owned()
    }

    pub(super) fn path(&self, name: &str) -> String {
        self.folder().join(name).to_str().unwrap().to_owned()
    }

    pub(super) fn file(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.path(name);
        fs::write(&path, content).unwrap();
        path
    }

    pub(super) fn here(&self) -> String {
        self.host.id().to_string()
    }

    /// Arguments of `infra_read` on this machine.
    pub(super) fn read(&self, action: &str, more: Value) -> Value {
        with(json!({"action": action, "target_resource_id": self.here()}), more)
    }

    pub(super) fn at(&self, path: &str) -> Value {
        json!({"path": path, "target_resource_id": self.here()})
    }
}

pub(super) fn with(mut first: Value, second: Value) -> Value {
    if let (Value::Object(first), Value::Object(second)) = (&mut first, second) {
        first.extend(second);
    }
    first
}

pub(super) fn outcomes(settled: &Settled) -> Vec<Verification> {
    settled.ended.iter().map(|end| end.outcome).collect()
}

pub(super) fn names_in(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort_unstable();
    names
}
