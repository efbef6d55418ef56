//! What the parts of a configuration say about each other.

mod infrastructure;
mod models;
mod record;
mod server;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use interlock_engine::OPERATOR;
use interlock_mask::Masker;

use crate::interpolate::join;
use crate::problem::{Problem, nearest};
use crate::tree::{Data, Node};
use crate::{Config, Transport};

/// Top keys that the design names and that this version does not implement. A rule that nothing enforces must not pass for
/// one that holds.
pub(crate) const NOT_SUPPORTED: &[&str] = &["mcp_servers", "governance", "policies", "notifications"];
const MAX_NAME: usize = 64;

/// Checks what needs the whole configuration; gives back what is allowed and probably not meant.
pub(crate) fn references(
    config: &Config,
    tree: &Node,
    is_set: &dyn Fn(&str) -> bool,
) -> Result<Vec<Problem>, Vec<Problem>> {
    let mut check = Check {
        config,
        tree,
        problems: Vec::new(),
        warnings: Vec::new(),
    };
    check.names();
    check.models(is_set);
    check.infrastructure(is_set);
    check.agents();
    check.chains();
    check.server(is_set);
    check.queue();
    check.record(is_set);
    check.files();
    check.mcp_servers();
    check.mask();
    check.unused();
    if check.problems.is_empty() {
        Ok(check.warnings)
    } else {
        Err(check.problems)
    }
}

struct Check<'a> {
    config: &'a Config,
    tree: &'a Node,
    problems: Vec<Problem>,
    warnings: Vec<Problem>,
}

impl Check<'_> {
    fn at(&self, path: &[&str], message: impl Into<String>) -> Problem {
        let shown = path.iter().fold(String::new(), |shown, part| {
            if part.parse::<usize>().is_ok() {
                format!("{shown}[{part}]")
            } else {
                join(&shown, part)
            }
        });
        Problem::new(shown, self.tree.place_of(path), message)
    }

    fn wrong(&mut self, path: &[&str], message: impl Into<String>, help: impl Into<String>) {
        let problem = self.at(path, message).help(help);
        self.problems.push(problem);
    }

    fn warn(&mut self, path: &[&str], message: impl Into<String>, help: impl Into<String>) {
        let problem = self.at(path, message).help(help);
        self.warnings.push(problem);
    }

    fn names(&mut self) {
        let config = self.config;
        let maps = [
            ("models", config.models.keys().collect::<Vec<_>>()),
            ("agents", config.agents.keys().collect()),
            ("chains", config.chains.keys().collect()),
            ("mcp_servers", config.mcp_servers.keys().collect()),
        ];
        for (map, names) in maps {
            for name in names {
                let plain = |character: char| character.is_ascii_alphanumeric() || "_-.".contains(character);
                if name.is_empty() || name.len() > MAX_NAME || !name.chars().all(plain) {
                    self.wrong(
                        &[map, name],
                        "is no name",
                        "use 1 to 64 letters, digits, `_`, `-` and `.`",
                    );
                }
            }
        }
    }

    /// A name that must be a key of a map.
    fn exists<'n>(
        &mut self,
        path: &[&str],
        name: &str,
        what: &str,
        names: impl Iterator<Item = &'n String> + Clone,
    ) {
        if names.clone().any(|known| known == name) {
            return;
        }
        let help = match nearest(name, names.clone().map(String::as_str)) {
            Some(known) => format!("did you mean `{known}`?"),
            None if names.clone().next().is_none() => format!("add it under `{what}s`"),
            None => format!(
                "the {what}s are {}",
                names
                    .map(|name| format!("`{name}`"))
                    .collect::<Vec<_>>()
                    .join(", ")
            ),
        };
        self.wrong(path, format!("there is no {what} `{name}`"), help);
    }

    fn agents(&mut self) {
        let config = self.config;
        let catalogue = interlock_gate::Catalogue::built_in().ok();
        for (name, agent) in &config.agents {
            if let Some(model) = &agent.model {
                self.exists(&["agents", name, "model"], model, "model", config.models.keys());
            }
            let tools: Vec<String> = catalogue
                .iter()
                .flat_map(|all| all.tools().map(|tool| tool.definition().name.to_string()))
                .collect();
            for (index, tool) in agent.tools.iter().flatten().enumerate() {
                // A tool of a server is known when the server runs.
                if !tool.contains('.') && !tools.is_empty() {
                    let index = index.to_string();
                    self.exists(&["agents", name, "tools", &index], tool, "tool", tools.iter());
                }
            }
        }
        if let Some(agent) = &config.defaults.agent {
            self.agent(&["defaults", "agent"], agent);
        }
    }

    fn agent(&mut self, path: &[&str], name: &str) {
        let built_in = OPERATOR.to_owned();
        let config = self.config;
        self.exists(
            path,
            name,
            "agent",
            config.agents.keys().chain(std::iter::once(&built_in)),
        );
    }

    fn chains(&mut self) {
        let config = self.config;
        let mut types: BTreeMap<&str, &str> = BTreeMap::new();
        for (name, chain) in &config.chains {
            for (index, alert_type) in chain.alert_types.iter().enumerate() {
                let index = index.to_string();
                let path = ["chains", name.as_str(), "alert_types", index.as_str()];
                match types.insert(alert_type, name) {
                    _ if alert_type.trim().is_empty() => {
                        self.wrong(&path, "is empty", "name a type of alert");
                    }
                    Some(other) if other == name => {
                        self.wrong(&path, format!("`{alert_type}` is listed twice"), "remove one");
                    }
                    Some(other) => {
                        self.wrong(
                            &path,
                            format!("`{alert_type}` belongs to the chain `{other}`"),
                            "an alert type belongs to one chain",
                        );
                    }
                    None => {}
                }
            }
            let mut stages = BTreeSet::new();
            for (number, stage) in chain.stages.iter().enumerate() {
                let number = number.to_string();
                let path = ["chains", name.as_str(), "stages", number.as_str()];
                if stage.name.trim().is_empty() {
                    self.wrong(&path, "has an empty name", "name the stage");
                }
                if !stages.insert(&stage.name) {
                    self.wrong(
                        &path,
                        format!("there are two stages `{}`", stage.name),
                        "give each a name of its own",
                    );
                }
                for (index, agent) in stage.agents.iter().enumerate() {
                    let index = index.to_string();
                    self.agent(&["chains", name, "stages", &number, "agents", &index], agent);
                }
                if let Some(agent) = &stage.synthesis {
                    self.agent(&["chains", name, "stages", &number, "synthesis"], agent);
                }
            }
        }
    }

    fn queue(&mut self) {
        let queue = &self.config.queue;
        if queue.heartbeat >= queue.orphan_after {
            let message = "a process is given up before it has to speak again";
            let path = if self.tree.has(&["queue", "orphan_after"]) {
                "orphan_after"
            } else {
                "heartbeat"
            };
            self.wrong(
                &["queue", path],
                message,
                "make `orphan_after` longer than `heartbeat`, several times if you can",
            );
        }
        for (key, span) in [
            ("heartbeat", queue.heartbeat),
            ("poll", queue.poll),
            ("session_timeout", queue.session_timeout),
            ("iteration_timeout", queue.iteration_timeout),
        ] {
            if span.get().is_zero() {
                self.wrong(&["queue", key], "is no time at all", "give it at least `1s`");
            }
        }
    }

    fn file(&mut self, path: &[&str], file: &Path, is_folder: bool) {
        let right = if is_folder { file.is_dir() } else { file.is_file() };
        if !right {
            let what = if is_folder { "folder" } else { "file" };
            self.wrong(
                path,
                format!("there is no {what} `{}`", file.display()),
                "paths are relative to the folder of this file",
            );
        }
    }

    fn files(&mut self) {
        let config = self.config;
        for (name, model) in &config.models {
            if let Some(file) = &model.ca_file {
                self.file(&["models", name, "ca_file"], file, false);
            }
            if let Some(file) = &model.script {
                self.file(&["models", name, "script"], file, false);
            }
        }
        if let Some(file) = &config.governance {
            self.file(&["governance"], file, false);
        }
        for (index, file) in config.policies.iter().enumerate() {
            let index = index.to_string();
            self.file(&["policies", &index], file, false);
        }
        if let Some(folder) = &config.prompts.folder {
            self.file(&["prompts", "folder"], folder, true);
        }
    }

    fn mcp_servers(&mut self) {
        let config = self.config;
        for (name, server) in &config.mcp_servers {
            let path = ["mcp_servers", name.as_str()];
            match server.transport {
                Transport::Stdio if server.command.is_none() => self.wrong(
                    &path,
                    "`stdio` needs the key `command`",
                    "name the program to start",
                ),
                Transport::Stdio if server.url.is_some() => self.wrong(
                    &path,
                    "`stdio` has no `url`",
                    "write `transport: http`, or remove `url`",
                ),
                Transport::Http if server.url.is_none() => {
                    self.wrong(&path, "`http` needs the key `url`", "give its address");
                }
                Transport::Http if server.command.is_some() => self.wrong(
                    &path,
                    "`http` has no `command`",
                    "write `transport: stdio`, or remove `command`",
                ),
                Transport::Stdio | Transport::Http => {}
            }
        }
    }

    fn mask(&mut self) {
        let config = self.config;
        let mask = &config.mask;
        let help = "correct it; a pattern is never left out";
        // What is wrong everywhere is said once, and each source is tried alone, so that the place is right.
        let everywhere = interlock_mask::Options {
            alerts: None,
            tools: BTreeMap::new(),
            ..mask.clone()
        };
        if let Err(error) = Masker::new(&everywhere) {
            let key = if error == interlock_mask::Error::NotOff {
                "off"
            } else {
                "custom"
            };
            self.wrong(&["mask", key], error.to_string(), help);
            return;
        }
        if mask.alerts.is_some() {
            let alone = interlock_mask::Options {
                alerts: mask.alerts.clone(),
                ..everywhere.clone()
            };
            if let Err(error) = Masker::new(&alone) {
                self.wrong(&["mask", "alerts"], error.to_string(), help);
            }
        }
        let catalogue = interlock_gate::Catalogue::built_in().ok();
        let known: Vec<String> = catalogue
            .iter()
            .flat_map(|all| all.tools().map(|tool| tool.definition().name.to_string()))
            .collect();
        for (name, source) in &mask.tools {
            let alone = interlock_mask::Options {
                tools: BTreeMap::from([(name.clone(), source.clone())]),
                ..everywhere.clone()
            };
            if let Err(error) = Masker::new(&alone) {
                self.wrong(&["mask", "tools", name], error.to_string(), help);
                continue;
            }
            if known.is_empty() || name.contains('.') {
                continue;
            }
            match name.strip_suffix('*') {
                Some(stem) if !known.iter().any(|tool| tool.starts_with(stem)) => self.wrong(
                    &["mask", "tools", name],
                    "no tool has a name that begins like this",
                    "see `interlock tools` for the names",
                ),
                Some(_) => {}
                None => self.exists(&["mask", "tools", name], name, "tool", known.iter()),
            }
        }
    }

    fn unused(&mut self) {
        let Data::Map(entries) = &self.tree.data else {
            return;
        };
        for (name, _) in entries {
            if NOT_SUPPORTED.contains(&name.text.as_str()) {
                self.wrong(&[&name.text], "not supported by this version", "remove it");
            }
        }
    }
}

fn is_http(url: &str) -> bool {
    let rest = url
        .strip_prefix("http://")
        .or_else(|| url.strip_prefix("https://"));
    rest.is_some_and(|rest| !rest.is_empty() && !rest.starts_with('/') && !rest.contains(char::is_whitespace))
}
