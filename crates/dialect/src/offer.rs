//! The tools that a session may use, as the dialects name and find them.

use crate::problem::Fault;
use crate::{Quote, WireName};
use interlock_protocol::{ToolDefinition, ToolName};
use serde::Serialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The name under which results are shown to a model. It is never a tool: a model that repeats a result calls nothing.
pub const RESERVED: &str = "tool.result";
/// The same, as it would look on a wire.
const RESERVED_ON_THE_WIRE: &str = "tool__result";

/// Why tools cannot be offered together.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The name is not one for a tool.
    #[error("`{0}` is how results are shown to a model; no tool can have that name")]
    Reserved(ToolName),
    /// The same tool twice.
    #[error("`{0}` is offered twice")]
    Twice(ToolName),
    /// Two tools that a provider could not tell apart.
    #[error("`{0}` and `{1}` have the same name on the wire")]
    SameWireName(ToolName, ToolName),
}

/// A tool as a provider's wire takes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WireTool {
    /// Its name there.
    pub name: WireName,
    /// What it does.
    pub description: String,
    /// What it takes: a JSON Schema of an object.
    pub parameters: Value,
}

#[derive(Debug, Clone)]
pub(crate) struct Tool {
    pub(crate) name: ToolName,
    pub(crate) description: String,
    pub(crate) parameters: Value,
    wire: WireName,
}

/// The tools that a session may use, in the order in which a model is shown them.
#[derive(Debug, Clone, Default)]
pub struct Offer {
    tools: Vec<Tool>,
    by_wire: BTreeMap<String, usize>,
    by_name: BTreeMap<ToolName, usize>,
    withheld: BTreeSet<ToolName>,
}

impl Offer {
    /// Offers these tools.
    pub fn new<'a>(definitions: impl IntoIterator<Item = &'a ToolDefinition>) -> Result<Self, Error> {
        let mut offer = Self::default();
        for ToolDefinition {
            name,
            description,
            parameters,
            ..
        } in definitions
        {
            if is_reserved(name.as_str()) {
                return Err(Error::Reserved(name.clone()));
            }
            let wire = WireName::of(name);
            let index = offer.tools.len();
            if offer.by_name.insert(name.clone(), index).is_some() {
                return Err(Error::Twice(name.clone()));
            }
            if let Some(other) = offer.by_wire.insert(wire.as_str().to_owned(), index) {
                return Err(Error::SameWireName(offer.tools[other].name.clone(), name.clone()));
            }
            offer.tools.push(Tool {
                name: name.clone(),
                description: description.clone(),
                parameters: parameters.clone(),
                wire,
            });
        }
        Ok(offer)
    }

    /// Tools that exist and that this session may not use: a call to one is told apart from a call to nothing.
    #[must_use]
    pub fn withholding(mut self, names: impl IntoIterator<Item = ToolName>) -> Self {
        self.withheld
            .extend(names.into_iter().filter(|name| !self.by_name.contains_key(name)));
        self
    }

    /// The names of the tools, in their order.
    pub fn names(&self) -> impl Iterator<Item = &ToolName> {
        self.tools.iter().map(|tool| &tool.name)
    }

    /// Whether nothing is offered.
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    /// The tools as a provider's wire takes them.
    pub fn wire_tools(&self) -> impl Iterator<Item = WireTool> {
        self.tools.iter().map(|tool| WireTool {
            name: tool.wire.clone(),
            description: tool.description.clone(),
            parameters: tool.parameters.clone(),
        })
    }

    pub(crate) fn tools(&self) -> &[Tool] {
        &self.tools
    }

    /// Finds the tool that a text dialect names.
    pub(crate) fn find(&self, written: &str) -> Result<&ToolName, Fault> {
        self.resolve(written, |name| self.by_name.get(name).copied())
    }

    /// Finds the tool that a name on the wire means. Names on the wire have no dot, so one with a dot can only be a
    /// tool's own name, which models fall back to.
    pub(crate) fn find_on_wire(&self, written: &str) -> Result<&ToolName, Fault> {
        self.resolve(written, |name| {
            if name.contains('.') {
                self.by_name.get(name).copied()
            } else {
                self.by_wire.get(name).copied()
            }
        })
    }

    fn resolve(&self, written: &str, lookup: impl Fn(&str) -> Option<usize>) -> Result<&ToolName, Fault> {
        let name = written.trim();
        // Some models put the name of a name space before it: `default_api:infra_query`.
        let bare = name.rsplit_once(':').map_or(name, |(_, bare)| bare);
        if is_reserved(bare) {
            return Err(Fault::ResultAsCall);
        }
        if let Some(index) = lookup(name).or_else(|| lookup(bare)) {
            return Ok(&self.tools[index].name);
        }
        let tools = self.names().cloned().collect();
        match self
            .withheld
            .iter()
            .find(|tool| tool.as_str() == bare || WireName::of(tool).as_str() == bare)
        {
            Some(tool) => Err(Fault::ToolNotAllowed {
                tool: tool.clone(),
                tools,
            }),
            None => Err(Fault::UnknownTool {
                name: Quote::of(name),
                tools,
            }),
        }
    }
}

/// Whether the name is the one under which results are shown, in any spelling.
pub(crate) fn is_reserved(name: &str) -> bool {
    let name = name.trim();
    name.eq_ignore_ascii_case(RESERVED) || name.eq_ignore_ascii_case(RESERVED_ON_THE_WIRE)
}
