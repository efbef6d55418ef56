//! A family of tools in a crate of its own: the locator light of a rack.
//!
//! Of Interlock it needs `interlock-executor` and `interlock-protocol`. It brings three things: the rows of the catalogue
//! (`tools.toml`), which say what the gate must know; an executor for each tool; and an inventory that looks at the light,
//! so that code verifies what was switched. The gate, approvals, receipts and the record come with the engine.

use std::sync::{Arc, Mutex, PoisonError};

use interlock_executor::{
    BoxFuture, Builder, CancellationToken, Done, Error, Executor, Failure, Inventory, Reading,
    ResolvedResource, Started,
};
use interlock_protocol::{Expectation, Observation, ResourceId, ResourceKind, ToolName};
use jiff::Timestamp;
use serde_json::{Value, json};

/// The rows for the catalogue: [`Catalogue::add_toml`](interlock_executor::Catalogue::add_toml) adds them.
pub const TOOLS: &str = include_str!("../tools.toml");

/// The light. A real one would be behind a wire; this one is a value. Cheap to clone.
#[derive(Debug, Clone)]
pub struct RackLight {
    id: ResourceId,
    light: Arc<Mutex<&'static str>>,
}

impl RackLight {
    /// The light of this rack, which is off.
    pub fn new(rack: &str) -> Result<Self, interlock_protocol::resource::Error> {
        Ok(Self {
            id: ResourceId::global(ResourceKind::Host, rack)?,
            light: Arc::new(Mutex::new("off")),
        })
    }

    /// Adds the executors of its tools to a toolbox.
    pub fn register(&self, builder: Builder) -> Result<Builder, Error> {
        builder
            .register(ToolName::new("rack_light_query")?, Arc::new(Query(self.clone())))?
            .register(
                ToolName::new("rack_light_switch")?,
                Arc::new(Switch(self.clone())),
            )
    }

    /// What the light is now.
    pub fn light(&self) -> &'static str {
        *self.light.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn resource(&self) -> ResolvedResource {
        ResolvedResource::new(self.id.clone(), self.id.uid())
    }

    fn data(&self) -> Value {
        json!({ "id": self.id, "light": self.light() })
    }

    fn reading(&self) -> Reading {
        Reading {
            resource: Some(self.id.clone()),
            taken_at: Timestamp::now(),
            data: self.data(),
            observations: vec![Observation::Property {
                name: "light".to_owned(),
                value: self.light().into(),
            }],
            walls: None,
        }
    }
}

struct Query(RackLight);

impl Executor for Query {
    fn run<'a>(&'a self, _: &'a Started, _: &'a CancellationToken) -> BoxFuture<'a, Done> {
        let light = &self.0;
        let done = Done::succeeded(light.data(), "found 1 rack")
            .with_reading(light.reading())
            .with_discovered(vec![light.resource()]);
        Box::pin(std::future::ready(done))
    }
}

struct Switch(RackLight);

impl Executor for Switch {
    fn run<'a>(&'a self, started: &'a Started, _: &'a CancellationToken) -> BoxFuture<'a, Done> {
        // The plan is what was permitted, and what a person saw where one was asked.
        let wanted = started.plan().arguments.get("light").and_then(Value::as_str);
        let done = match wanted {
            Some("on") => self.switch("on"),
            Some("off") => self.switch("off"),
            _ => Failure::missing("light").into(),
        };
        Box::pin(std::future::ready(done))
    }
}

impl Switch {
    fn switch(&self, wanted: &'static str) -> Done {
        *self.0.light.lock().unwrap_or_else(PoisonError::into_inner) = wanted;
        Done::succeeded(json!({ "switched": wanted }), format!("switched {wanted}"))
    }
}

impl Inventory for RackLight {
    fn knows(&self, resource: &ResourceId) -> bool {
        *resource == self.id
    }

    fn find<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Vec<ResolvedResource>> {
        let mine = name == self.id.uid() || name == self.id.to_string();
        Box::pin(std::future::ready(
            mine.then(|| self.resource()).into_iter().collect(),
        ))
    }

    fn observe<'a>(&'a self, resource: &'a ResourceId, _: &'a Expectation) -> BoxFuture<'a, Option<Reading>> {
        Box::pin(std::future::ready(self.knows(resource).then(|| self.reading())))
    }
}
