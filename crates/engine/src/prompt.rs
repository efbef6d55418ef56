//! What a model is told, from templates in three tiers: general, per tool server, per agent.
//!
//! The templates are files (`prompts/`), and a folder of the operator's may hold others under the same names. What comes
//! from outside goes into them as data between marks that it cannot close.

use std::collections::BTreeMap;
use std::path::Path;

use interlock_protocol::ControlLevel;
use jiff::Timestamp;
use minijinja::{Environment, UndefinedBehavior, Value, context};

/// The templates that come with the program.
const BUILT_IN: &[(&str, &str)] = &[
    ("general.j2", include_str!("../prompts/general.j2")),
    ("server.j2", include_str!("../prompts/server.j2")),
    ("agent.j2", include_str!("../prompts/agent.j2")),
    ("alert.j2", include_str!("../prompts/alert.j2")),
    ("question.j2", include_str!("../prompts/question.j2")),
    ("synthesis.j2", include_str!("../prompts/synthesis.j2")),
    ("conclusion.j2", include_str!("../prompts/conclusion.j2")),
];

/// Why a prompt cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A template of the operator's cannot be read.
    #[error("cannot read the prompt template {path}: {source}")]
    Read {
        /// The file.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// A file that replaces nothing.
    #[error("{path} replaces no template; there are {}", known())]
    Unknown {
        /// The file.
        path: String,
    },
    /// A template does not compile, or names what it is not given.
    #[error("the prompt template `{name}` does not work: {source:#}")]
    Template {
        /// The template.
        name: String,
        /// Why.
        source: minijinja::Error,
    },
}

fn known() -> String {
    let names: Vec<&str> = BUILT_IN.iter().map(|(name, _)| *name).collect();
    names.join(", ")
}

/// What an earlier stage, or an agent beside, found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The stage.
    pub stage: String,
    /// The agent.
    pub agent: String,
    /// What it answered.
    pub text: String,
    /// What was done until then, from receipts: one line for each write.
    pub done: String,
}

/// What the general instructions depend on.
#[derive(Debug, Clone, Copy)]
pub struct Tiers<'a> {
    /// The names of the tools.
    pub tools: &'a [&'a str],
    /// How the dialect wants tools called; empty where the wire says it.
    pub dialect: &'a str,
    /// What is said about each tool server.
    pub servers: &'a BTreeMap<String, String>,
    /// What the agent is told besides.
    pub agent: &'a str,
    /// How much may happen without a human.
    pub level: ControlLevel,
    /// The time.
    pub now: Timestamp,
}

/// The templates.
#[derive(Debug)]
pub struct Prompts {
    environment: Environment<'static>,
}

impl Prompts {
    /// The templates that come with the program.
    pub fn built_in() -> Result<Self, Error> {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        for (name, source) in BUILT_IN {
            environment
                .add_template(name, source)
                .map_err(|source| failed(name, source))?;
        }
        Ok(Self { environment })
    }

    /// The templates of a folder in place of those that come with the program. Each is tried at once.
    pub fn with_folder(folder: &Path) -> Result<Self, Error> {
        let mut prompts = Self::built_in()?;
        let read = |source| Error::Read {
            path: folder.display().to_string(),
            source,
        };
        for file in std::fs::read_dir(folder).map_err(read)? {
            let path = file.map_err(read)?.path();
            if path.extension().is_none_or(|extension| extension != "j2") {
                continue;
            }
            let name = path
                .file_name()
                .map(|name| name.to_string_lossy().into_owned())
                .unwrap_or_default();
            if !BUILT_IN.iter().any(|(known, _)| *known == name) {
                return Err(Error::Unknown {
                    path: path.display().to_string(),
                });
            }
            let source = std::fs::read_to_string(&path).map_err(|source| Error::Read {
                path: path.display().to_string(),
                source,
            })?;
            prompts
                .environment
                .add_template_owned(name.clone(), source)
                .map_err(|source| failed(&name, source))?;
        }
        prompts.try_all()?;
        Ok(prompts)
    }

    /// Fills every template once, so that one that cannot be filled is found before a session needs it.
    fn try_all(&self) -> Result<(), Error> {
        let finding = Finding {
            done: String::new(),
            stage: "stage".to_owned(),
            agent: "agent".to_owned(),
            text: "text".to_owned(),
        };
        let findings = std::slice::from_ref(&finding);
        let servers = BTreeMap::from([("server".to_owned(), "text".to_owned())]);
        for tools in [["infra_query", "infra_read"].as_slice(), &[]] {
            self.system(&Tiers {
                tools,
                dialect: "",
                servers: &servers,
                agent: "text",
                level: ControlLevel::default(),
                now: Timestamp::UNIX_EPOCH,
            })?;
        }
        self.alert("text", Some("type"), findings)?;
        self.question("text", findings)?;
        self.synthesis("text", findings)?;
        self.conclusion("text")?;
        Ok(())
    }

    /// The instructions of an execution.
    pub fn system(&self, tiers: &Tiers<'_>) -> Result<String, Error> {
        let Tiers {
            tools,
            dialect,
            servers,
            agent,
            level,
            now,
        } = *tiers;
        // To the hour: the same instructions word for word let a provider reuse what it has read.
        let now = now.round(jiff::Unit::Hour).map_or_else(
            |_| now.to_string(),
            |now| now.strftime("%Y-%m-%d %H:00 UTC").to_string(),
        );
        let owned: Vec<String> = tools.iter().map(|&name| name.to_owned()).collect();
        let mut parts = vec![self.fill(
            "general.j2",
            context! { tools => owned, level => level.as_str(), now },
        )?];
        for (server, instructions) in servers {
            parts.push(self.fill("server.j2", context! { server, instructions })?);
        }
        if !agent.trim().is_empty() {
            parts.push(self.fill("agent.j2", context! { instructions => agent })?);
        }
        if !dialect.is_empty() {
            parts.push(dialect.to_owned());
        }
        Ok(parts.join("\n\n"))
    }

    /// The first message about an alert.
    pub fn alert(
        &self,
        input: &str,
        alert_type: Option<&str>,
        findings: &[Finding],
    ) -> Result<String, Error> {
        self.fill(
            "alert.j2",
            context! { input, alert_type, findings => values(findings) },
        )
    }

    /// The first message about a question.
    pub fn question(&self, input: &str, findings: &[Finding]) -> Result<String, Error> {
        self.fill("question.j2", context! { input, findings => values(findings) })
    }

    /// The message that asks to unite findings.
    pub fn synthesis(&self, input: &str, findings: &[Finding]) -> Result<String, Error> {
        self.fill("synthesis.j2", context! { input, findings => values(findings) })
    }

    /// The message that asks for an answer without tools.
    pub fn conclusion(&self, why: &str) -> Result<String, Error> {
        self.fill("conclusion.j2", context! { why })
    }

    fn fill(&self, name: &str, values: Value) -> Result<String, Error> {
        self.environment
            .get_template(name)
            .and_then(|template| template.render(values))
            .map_err(|source| failed(name, source))
    }
}

fn values(findings: &[Finding]) -> Vec<Value> {
    findings
        .iter()
        .map(
            |Finding {
                 stage,
                 agent,
                 text,
                 done,
             }| context! { stage, agent, text, done },
        )
        .collect()
}

fn failed(name: &str, source: minijinja::Error) -> Error {
    Error::Template {
        name: name.to_owned(),
        source,
    }
}
