//! The lab, as the demo sees it: a process of its own that is asked over loopback.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use interlock_config::Config;
use interlock_exec::LabProcess;
use interlock_infra::Secrets;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::failure::Failure;

/// An incident, as the lab describes it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct Incident {
    pub(super) name: String,
    /// What happens, for people.
    pub(super) summary: String,
    /// The alert that announces it.
    pub(super) alert: String,
}

/// What can be played.
#[derive(Debug, Clone)]
pub(super) struct Incidents(Vec<Incident>);

impl Incidents {
    /// Asks the lab's program, which need not run for it.
    pub(super) async fn of_lab() -> Result<Self, Failure> {
        let text = interlock_exec::lab_incidents().await.map_err(Failure::wrong)?;
        Ok(Self(
            serde_json::from_str(&text).map_err(|error| other_version(&error))?,
        ))
    }

    pub(super) fn all(&self) -> &[Incident] {
        &self.0
    }

    /// The one with this name, or what the names are.
    pub(super) fn named(&self, name: &str) -> Result<Incident, Failure> {
        let found = self.0.iter().find(|incident| incident.name == name);
        found.cloned().ok_or_else(|| {
            let names: Vec<&str> = self.0.iter().map(|incident| incident.name.as_str()).collect();
            Failure::wrong(format!(
                "there is no incident `{name}`; the incidents are {}",
                names.join(", ")
            ))
        })
    }
}

fn other_version(error: &serde_json::Error) -> Failure {
    Failure::wrong(format!(
        "what `interlock-lab` says cannot be read ({error}); install `interlock` and `interlock-lab` of the same version"
    ))
}

/// How the lab's machines are kept apart.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "isolation", rename_all = "snake_case")]
pub(super) enum Isolation {
    Namespaces,
    Folders { why: String },
}

/// What the lab says when it runs.
#[derive(Deserialize)]
struct Said {
    folder: PathBuf,
    /// The credentials, by the environment variables that its configuration names.
    environment: BTreeMap<String, String>,
    warning: Option<String>,
    control: Control,
    #[serde(flatten)]
    isolation: Isolation,
}

#[derive(Deserialize)]
struct Control {
    url: String,
    token: String,
}

/// What the oracle says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Verdict {
    /// Whether the incident is over.
    pub(super) resolved: bool,
    /// Each check of the oracle.
    pub(super) checks: Vec<Check>,
}

/// One look at the world.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Check {
    /// What must be so.
    pub(super) wanted: String,
    /// Whether it is.
    pub(super) holds: bool,
    /// What was found.
    pub(super) found: String,
}

impl Verdict {
    /// The first thing that is not as it must be, for people.
    pub(super) fn reason(&self) -> Option<String> {
        let check = self.checks.iter().find(|check| !check.holds)?;
        Some(format!("{}: {}", check.wanted, check.found))
    }
}

/// A running lab.
pub(super) struct Lab {
    process: LabProcess,
    said: Said,
    client: reqwest::Client,
}

impl Lab {
    /// Starts it in a folder.
    pub(super) async fn start(folder: &Path, speed: f64) -> Result<Self, Failure> {
        let process = LabProcess::start(folder, speed)
            .await
            .map_err(Failure::unsuccessful)?;
        let said = serde_json::from_str(process.said()).map_err(|error| other_version(&error))?;
        // One that is there already is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        // It is on loopback; a proxy of the environment is for everything else.
        let client = reqwest::Client::builder()
            .no_proxy()
            .build()
            .map_err(Failure::unsuccessful)?;
        Ok(Self {
            process,
            said,
            client,
        })
    }

    /// How its machines are kept apart.
    pub(super) const fn isolation(&self) -> &Isolation {
        &self.said.isolation
    }

    /// What people should know about that.
    pub(super) fn warning(&self) -> Option<&str> {
        self.said.warning.as_deref()
    }

    /// The configuration that connects to it.
    pub(super) fn config(&self) -> Result<Config, Failure> {
        let file = self.said.folder.join("interlock.yaml");
        let loaded = interlock_config::load(Some(&file)).map_err(Failure::wrong)?;
        Ok(loaded.config)
    }

    /// Its credentials.
    pub(super) fn credentials(&self) -> Secrets {
        Secrets::given(&self.said.environment)
    }

    /// Breaks the world, and gives the alert once it fires.
    pub(super) async fn break_in(&self, incident: &Incident) -> Result<serde_json::Value, Failure> {
        let _: serde_json::Value = self
            .ask(reqwest::Method::POST, &format!("{}/inject", incident.name))
            .await?;
        self.ask(reqwest::Method::GET, &format!("{}/alert", incident.name))
            .await
    }

    /// Asks the oracle.
    pub(super) async fn verdict(&self, incident: &Incident) -> Result<Verdict, Failure> {
        self.ask(reqwest::Method::GET, &incident.name).await
    }

    /// What the scripted model says to an incident.
    pub(super) async fn script(&self, incident: &Incident) -> Result<String, Failure> {
        self.fetch(reqwest::Method::GET, &format!("{}/script", incident.name))
            .await
    }

    async fn ask<T: DeserializeOwned>(&self, method: reqwest::Method, path: &str) -> Result<T, Failure> {
        serde_json::from_str(&self.fetch(method, path).await?).map_err(|error| other_version(&error))
    }

    async fn fetch(&self, method: reqwest::Method, path: &str) -> Result<String, Failure> {
        let gone = |error: reqwest::Error| {
            Failure::unsuccessful(format!("the lab does not answer: {}", error.without_url()))
        };
        let answer = self
            .client
            .request(method, format!("{}/incidents/{path}", self.said.control.url))
            .bearer_auth(&self.said.control.token)
            .send()
            .await
            .map_err(gone)?;
        let good = answer.status().is_success();
        let text = answer.text().await.map_err(gone)?;
        if good {
            return Ok(text);
        }
        let document: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
        let message = document.get("error").and_then(serde_json::Value::as_str);
        Err(Failure::unsuccessful(format!(
            "the lab: {}",
            message.unwrap_or(&text)
        )))
    }

    /// Ends it and everything that runs in it.
    pub(super) async fn stop(self) {
        self.process.stop().await;
    }
}
