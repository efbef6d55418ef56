//! A host whose tools answer with secrets.

use std::sync::Mutex;

use interlock_executor::{BoxFuture, Done, Executor, Inventory, Reading};
use interlock_gate::{ResolvedResource, Started};
use interlock_infra::{BoxFuture as InfraFuture, Error as InfraError, Resource, Source};
use interlock_protocol::{
    ErrorCode, Expectation, Observation, ResourceId, Retry, RunIdentity, ToolKind, ToolResponse, UnitActivity,
};
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::canaries::Canaries;
use crate::parts::{self, host};

/// A host with one unit.
#[derive(Default)]
pub(crate) struct Machine {
    found: Mutex<Value>,
    read: Mutex<Value>,
    meta: Mutex<String>,
    summary: Mutex<String>,
    message: Mutex<String>,
    details: Mutex<Map<String, Value>>,
    observed: Mutex<Value>,
}

impl Machine {
    /// What its tools answer from now on.
    pub(crate) fn say(&self, canaries: &mut Canaries) {
        *self.found.lock().unwrap() = json!({
            "resources": [{"id": host(), "name": "web", "note": canaries.token("found resource")}],
        });
        *self.read.lock().unwrap() = json!({
            "stdout": format!("GITHUB={}\n{}\n", canaries.token("stdout"), canaries.assigned("stdout, assigned")),
            "stderr": format!("warning: {}", canaries.token("stderr")),
            "exit_code": 0,
            "structured": { "list": [{ "client_secret": canaries.bare("structured result") }] },
            (canaries.token("key of a result")): true,
        });
        *self.meta.lock().unwrap() = canaries.token("meta of a result");
        *self.summary.lock().unwrap() = format!("read {}", canaries.token("summary of a call"));
        *self.message.lock().unwrap() = format!("refused: {}", canaries.assigned("error of a tool"));
        *self.details.lock().unwrap() = json!({
            "stderr": canaries.token("details of an error"),
            "token": canaries.bare("details of an error by their name"),
        })
        .as_object()
        .cloned()
        .unwrap();
        *self.observed.lock().unwrap() =
            json!({ "unit": "nginx", "environment": canaries.assigned("reading of code") });
    }

    fn reading(data: Value) -> Reading {
        Reading {
            resource: Some(host()),
            taken_at: Timestamp::now(),
            data,
            observations: vec![Observation::Unit {
                unit: "nginx".to_owned(),
                activity: UnitActivity::Active,
                active_since: None,
                run: RunIdentity::named("first".to_owned()),
            }],
            walls: None,
        }
    }
}

impl Executor for Machine {
    fn run<'a>(
        &'a self,
        started: &'a Started,
        _: &'a tokio_util::sync::CancellationToken,
    ) -> BoxFuture<'a, Done> {
        Box::pin(async move {
            let plan = started.plan();
            if plan.kind == ToolKind::Resolve {
                let found = self.found.lock().unwrap().clone();
                return Done::succeeded(found, "found 1").with_discovered(parts::found("web", "running"));
            }
            let command = plan
                .arguments
                .get("command")
                .and_then(Value::as_str)
                .unwrap_or_default();
            let mut done = Done::succeeded(
                self.read.lock().unwrap().clone(),
                self.summary.lock().unwrap().clone(),
            );
            if command.contains("/etc/two") {
                done.response = ToolResponse::failed(
                    ErrorCode::ExecutionFailed,
                    self.message.lock().unwrap().clone(),
                    Retry::Useless,
                    self.details.lock().unwrap().clone(),
                );
                done.outcome = interlock_protocol::Outcome::Failed;
            } else {
                done = done.with_reading(Self::reading(self.read.lock().unwrap().clone()));
            }
            done.response = done.response.with_meta("note", self.meta.lock().unwrap().clone());
            done
        })
    }
}

impl Inventory for Machine {
    fn find<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Vec<ResolvedResource>> {
        Box::pin(async move { parts::found(name, "running") })
    }

    fn observe<'a>(&'a self, _: &'a ResourceId, _: &'a Expectation) -> BoxFuture<'a, Option<Reading>> {
        Box::pin(async { Some(Self::reading(self.observed.lock().unwrap().clone())) })
    }
}

/// A connection that works, with a secret in what it knows.
pub(crate) struct Known(pub(crate) Vec<String>);

impl Source for Known {
    fn connection(&self) -> &'static str {
        "here"
    }

    fn kind(&self) -> &'static str {
        "host"
    }

    fn discover(&self) -> InfraFuture<'_, Result<Vec<Resource>, InfraError>> {
        Box::pin(async {
            let [fact, named, state, alias] = self.0.as_slice() else {
                panic!("four canaries");
            };
            Ok(vec![Resource {
                aliases: vec!["www".to_owned(), alias.clone()],
                state: Some(state.clone()),
                facts: json!({ "description": fact, "password": named })
                    .as_object()
                    .cloned()
                    .unwrap(),
                ..parts::resource()
            }])
        })
    }
}

/// A connection that fails with a secret in what it says.
pub(crate) struct Failing(pub(crate) String);

impl Source for Failing {
    fn connection(&self) -> &'static str {
        "there"
    }

    fn kind(&self) -> &'static str {
        "host"
    }

    fn discover(&self) -> InfraFuture<'_, Result<Vec<Resource>, InfraError>> {
        Box::pin(async {
            Err(InfraError::Refused {
                connection: "there".to_owned(),
                status: Some(500),
                message: self.0.clone(),
            })
        })
    }
}
