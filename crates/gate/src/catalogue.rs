//! The tools: their definitions, and the one classification of what a call does, to what, and how its effect is
//! checked. The tables live in `tools.toml`; tool servers register theirs at run time.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;

use interlock_protocol::{
    AlertState, ArgumentName, Arguments, CategoryName, ContentHash, Expectation, KindRule, Mode, ResourceId,
    ResourceKind, RiskLevel, RunState, ShellRule, TargetArgument, TargetRule, ToolDefinition, ToolKind,
    ToolName, UnitActivity,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::bearing;

const BUILT_IN: &str = include_str!("../tools.toml");
const DEFAULT_TIMEOUT: NonZeroU32 = NonZeroU32::new(30).unwrap();

/// Why a tool cannot be registered.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The table does not read.
    #[error("the tool table does not read: {0}")]
    Table(#[from] toml::de::Error),
    /// A name or argument is malformed.
    #[error("the tool table has a malformed name: {0}")]
    Name(#[from] interlock_protocol::id::Error),
    /// The definition contradicts itself.
    #[error(transparent)]
    Definition(#[from] interlock_protocol::tool::Error),
    /// The parameters are no valid JSON Schema.
    #[error("the parameters of `{tool}` are no valid JSON Schema: {why}")]
    Schema {
        /// The tool.
        tool: ToolName,
        /// What is wrong.
        why: String,
    },
    /// A write says neither what must be observed after it nor why nothing can be.
    #[error(
        "`{tool}` {action}: a write needs `expect`, or `free_form` with the reason why nothing particular can be expected"
    )]
    NoExpectation {
        /// The tool.
        tool: ToolName,
        /// The action.
        action: String,
    },
    /// A write does not say whether what it does can be taken back, or a read says so.
    #[error("`{tool}` {action}: a write needs `undo`, and only a write has it")]
    NoUndo {
        /// The tool.
        tool: ToolName,
        /// The action.
        action: String,
    },
    /// A read does not say whether its result shows the state of its target, or a write says that it does.
    #[error("`{tool}` {action}: a read needs `state`, and only a read has it")]
    NoState {
        /// The tool.
        tool: ToolName,
        /// The action.
        action: String,
    },
    /// A synonym does not lead to an action of the tool.
    #[error("`{tool}`: a synonym leads to `{action}`, which is no action of it")]
    Synonym {
        /// The tool.
        tool: ToolName,
        /// The action.
        action: String,
    },
    /// A tool that may write says nowhere what it writes to.
    #[error("`{0}` may write, yet declares no target: its effect could not be looked at")]
    WriteWithoutTarget(ToolName),
    /// The name is taken.
    #[error("`{0}` is registered already")]
    Duplicate(ToolName),
}

/// What must be observed after an action, before the arguments fill it in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ExpectRule {
    /// The guest or container runs, and not in the run in which it was before the write.
    Restarted,
    /// The container was made again under its own image name.
    Updated,
    /// The workload runs a specification that is newer than the one from before the write.
    RolledOut,
    /// The object is gone, or another of its name is in its place.
    Replaced,
    /// The resource is gone.
    Absent,
    /// The guest or container is in this state.
    State(RunState),
    /// The alert stands here.
    Alert(AlertState),
    /// The unit that an argument names is in this activity.
    Unit {
        /// The activity.
        activity: UnitActivity,
        /// The argument.
        argument: String,
    },
    /// The unit that this argument names is active, and not in the run in which it was before the write.
    UnitRestarted(String),
    /// The file that one argument names has the content that another gives.
    File {
        /// The argument with the path.
        path: String,
        /// The argument with the content.
        content: String,
    },
    /// The file that this argument names has what the write made of it.
    FilePatched(String),
    /// The file that one argument names has its content from before the write, and what another gives after it.
    FileAppended {
        /// The argument with the path.
        path: String,
        /// The argument with the added text.
        content: String,
    },
    /// The file that this argument names is gone.
    FileAbsent(String),
    /// A note with the text that this argument gives is kept.
    Note(String),
    /// The container runs from the image that this argument names.
    Image(String),
    /// As many replicas are ready as this argument says.
    Replicas(String),
    /// A property of the resource has the value that an argument names.
    Property {
        /// The property.
        name: String,
        /// The argument.
        argument: String,
    },
}

impl ExpectRule {
    /// The expectation of a call. `Err` names the argument that is missing for it.
    pub(crate) fn fill<'a>(
        &'a self,
        arguments: &Arguments,
        resource: ResourceKind,
    ) -> Result<Expectation, &'a str> {
        let text = |name: &'a str| {
            arguments
                .get(name)
                .and_then(Value::as_str)
                .map(str::to_owned)
                .ok_or(name)
        };
        let container = matches!(resource, ResourceKind::DockerContainer);
        Ok(match self {
            Self::Restarted if container => Expectation::ContainerRestarted,
            Self::Restarted => Expectation::GuestRestarted,
            Self::Updated => Expectation::ContainerUpdated,
            Self::RolledOut => Expectation::RolledOut,
            Self::Replaced => Expectation::Replaced,
            Self::Absent => Expectation::Absent,
            Self::State(state) if container => Expectation::ContainerState { state: *state },
            Self::State(state) => Expectation::GuestState { state: *state },
            Self::Alert(state) => Expectation::AlertState { state: *state },
            Self::Unit { activity, argument } => Expectation::UnitActivity {
                unit: text(argument)?,
                activity: *activity,
            },
            Self::UnitRestarted(argument) => Expectation::UnitRestarted {
                unit: text(argument)?,
            },
            Self::File { path, content } => Expectation::FileHash {
                path: text(path)?,
                hash: ContentHash::of(text(content)?),
            },
            Self::FilePatched(path) => Expectation::FilePatched { path: text(path)? },
            Self::FileAppended { path, content } => Expectation::FileAppended {
                path: text(path)?,
                added: ContentHash::of(text(content)?),
            },
            Self::FileAbsent(path) => Expectation::FileAbsent { path: text(path)? },
            Self::Note(argument) => Expectation::NoteKept {
                text: ContentHash::of(text(argument)?),
            },
            Self::Image(argument) => Expectation::ContainerImage {
                image: text(argument)?,
            },
            Self::Replicas(argument) => Expectation::ReadyReplicas {
                count: arguments
                    .get(argument)
                    .and_then(Value::as_u64)
                    .and_then(|count| u32::try_from(count).ok())
                    .ok_or(argument.as_str())?,
            },
            Self::Property { name, argument } => Expectation::Property {
                name: name.clone(),
                value: text(argument)?.into(),
            },
        })
    }
}

/// Whether a call runs inside its target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Placement {
    /// It does: a parent host must not stand in for a child.
    Inside,
    /// It is about the target, from outside.
    About,
}

/// Whether a read needs something discovered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Discovery {
    /// It does, if it has a target.
    Needed,
    /// It does not.
    Exempt,
}

/// Whether the result of a read shows the state of its target. Logs, lists of events and lists of other things do not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ShowsState {
    /// It does, or it does not, whatever the arguments. A command or a path is judged by what it reads besides.
    Always(bool),
    /// It does if this argument has one of these values.
    Where {
        /// The argument.
        argument: String,
        /// The values.
        values: BTreeSet<String>,
    },
}

/// Whether what a write does can be taken back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Undo {
    /// The opposite action brings back what was.
    Reversible,
    /// The earlier state is lost, unless there is a copy of it.
    NotByItself,
    /// Nothing can be told from the plan.
    #[default]
    Unknown,
}

impl Undo {
    /// Whether nothing can be told: then it is not written down, as before it was known.
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks with a reference")]
    pub(crate) const fn is_unknown(&self) -> bool {
        matches!(self, Self::Unknown)
    }
}

/// What one action of a tool does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Action {
    /// What it does to the world.
    pub kind: ToolKind,
    /// How much harm it can do.
    pub risk: RiskLevel,
    /// Whether it runs inside its target.
    pub placement: Placement,
    /// Whether it needs something discovered.
    pub discovery: Discovery,
    /// The argument that asks for a single resource.
    pub opens: Option<String>,
    /// The argument that reaches a shell; a call must have it.
    pub command: Option<String>,
    /// The argument that names a file or folder.
    pub path: Option<String>,
    /// Whether it turns its target off, or restarts it.
    pub power: bool,
    /// The kinds of resource it is for; none named, any.
    pub kinds: BTreeSet<ResourceKind>,
    /// What must be observed afterwards.
    pub expect: Option<ExpectRule>,
    /// Why nothing particular can be expected of a write.
    pub free_form: Option<String>,
    /// Whether what a write does can be taken back.
    #[serde(default, skip_serializing_if = "Undo::is_unknown")]
    pub undo: Undo,
    /// Whether the result of a read shows the state of its target.
    pub state: ShowsState,
}

impl Action {
    /// Whether the result of a call shows the state of its target, so that it ends the verification of a free-form write.
    pub fn shows_state(&self, arguments: &Arguments) -> bool {
        let text = |name: &str| arguments.get(name).and_then(Value::as_str);
        let declared = match &self.state {
            ShowsState::Always(shows) => *shows,
            ShowsState::Where { argument, values } => {
                text(argument).is_some_and(|value| values.contains(value))
            }
        };
        let command = self.command.as_deref().and_then(text);
        let path = self.path.as_deref().and_then(text);
        declared && command.is_none_or(bearing::command_shows_state) && !path.is_some_and(bearing::is_log)
    }
}

/// The arguments that say again what the uid of a target says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ObjectRule {
    /// The argument with the namespace.
    pub(crate) namespace: String,
    /// The argument with the name.
    pub(crate) name: String,
}

/// Arguments that say the same as others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Synonym {
    /// What a call says.
    when: BTreeMap<String, String>,
    /// What it says in the form that has an action of its own.
    is: BTreeMap<String, String>,
}

impl Synonym {
    fn is_meant_by(&self, arguments: &Arguments) -> bool {
        let says = |(name, value): (&String, &String)| {
            arguments.get(name).and_then(Value::as_str) == Some(value.as_str())
        };
        self.when.iter().all(says)
    }
}

/// Everything about a tool that decides. This is what a record of a catalogue keeps, and what its hash is taken over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolRecord {
    definition: ToolDefinition,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fixed_target: Option<ResourceId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    object: Option<ObjectRule>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    discriminator: Option<String>,
    actions: BTreeMap<String, Action>,
    synonyms: Vec<Synonym>,
    /// What holds where no action is picked by an argument.
    always: Action,
    /// What holds for an action that is missing or not listed.
    unclear: Action,
}

/// A tool as the gate knows it.
#[derive(Debug)]
pub struct Tool {
    record: ToolRecord,
    validator: jsonschema::Validator,
}

/// A catalogue as it is kept: everything that decides, tool by tool, in the order of their names.
///
/// It is written and hashed as it was recorded. A record of an earlier version keeps its hash, so its sessions replay.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Value", into = "Value")]
pub struct CatalogueRecord {
    tools: Vec<ToolRecord>,
    recorded: Value,
}

/// Fields of a definition that earlier versions recorded and that never decided anything.
const RETIRED: &[&str] = &["requires_sandbox"];

impl TryFrom<Value> for CatalogueRecord {
    type Error = serde_json::Error;

    fn try_from(recorded: Value) -> Result<Self, serde_json::Error> {
        let mut current = recorded.clone();
        let definitions = current
            .as_array_mut()
            .into_iter()
            .flatten()
            .filter_map(|tool| tool.get_mut("definition")?.as_object_mut());
        for definition in definitions {
            for field in RETIRED {
                definition.remove(*field);
            }
        }
        Ok(Self {
            tools: serde_json::from_value(current)?,
            recorded,
        })
    }
}

impl From<CatalogueRecord> for Value {
    fn from(record: CatalogueRecord) -> Self {
        record.recorded
    }
}

impl CatalogueRecord {
    /// The hash by which a session names the catalogue that it ran on.
    pub fn hash(&self) -> ContentHash {
        ContentHash::of_json(&self.recorded)
    }

    /// What each tool is offered as.
    pub fn definitions(&self) -> impl Iterator<Item = &ToolDefinition> {
        self.tools.iter().map(|tool| &tool.definition)
    }
}

impl Tool {
    /// Its definition.
    pub const fn definition(&self) -> &ToolDefinition {
        &self.record.definition
    }

    /// The resource that every call is about, where that does not depend on arguments.
    pub const fn fixed_target(&self) -> Option<&ResourceId> {
        self.record.fixed_target.as_ref()
    }

    /// The arguments that say again what the uid of a target says.
    pub(crate) const fn object(&self) -> Option<&ObjectRule> {
        self.record.object.as_ref()
    }

    /// Whether this action is one of the tool's own.
    pub fn lists(&self, action: &str) -> bool {
        self.record.actions.contains_key(action)
    }

    /// Every action of its own, by name.
    pub fn actions(&self) -> impl Iterator<Item = (&str, &Action)> {
        let named = self
            .record
            .actions
            .iter()
            .map(|(name, action)| (name.as_str(), action));
        let always = self
            .record
            .discriminator
            .is_none()
            .then_some(("", &self.record.always));
        named.chain(always)
    }

    /// The arguments of every synonym, and those that they stand for.
    pub fn synonyms(&self) -> impl Iterator<Item = (Arguments, Arguments)> {
        let arguments = |said: &BTreeMap<String, String>| {
            said.iter()
                .map(|(name, value)| (name.clone(), Value::from(value.as_str())))
                .collect()
        };
        self.record
            .synonyms
            .iter()
            .map(move |synonym| (arguments(&synonym.when), arguments(&synonym.is)))
    }

    /// The same call in the one form that its action has: a synonym is replaced by what it stands for.
    pub fn normalised(&self, mut arguments: Arguments) -> Arguments {
        let Some(synonym) = self.synonym(&arguments) else {
            return arguments;
        };
        for name in synonym.when.keys() {
            arguments.remove(name);
        }
        for (name, value) in &synonym.is {
            arguments.insert(name.clone(), Value::from(value.as_str()));
        }
        arguments
    }

    /// An argument that only synonyms have and that says nothing in a call with these (normalised) arguments.
    pub(crate) fn contradicts(&self, arguments: &Arguments) -> Option<&str> {
        let discriminator = self.record.discriminator.as_deref();
        self.record
            .synonyms
            .iter()
            .flat_map(|synonym| synonym.when.keys())
            .map(String::as_str)
            .find(|name| Some(*name) != discriminator && arguments.contains_key(*name))
    }

    fn synonym(&self, arguments: &Arguments) -> Option<&Synonym> {
        self.record
            .synonyms
            .iter()
            .find(|synonym| synonym.is_meant_by(arguments))
    }

    /// The action that a call names, synonyms resolved.
    pub fn action_name<'a>(&'a self, arguments: &'a Arguments) -> Option<&'a str> {
        let argument = self.record.discriminator.as_deref().unwrap_or("action");
        let meant = self
            .synonym(arguments)
            .and_then(|synonym| synonym.is.get(argument));
        match meant {
            Some(action) => Some(action.as_str()),
            None => arguments.get(argument).and_then(Value::as_str),
        }
    }

    /// What a call with these arguments does. What is not said clearly is a write.
    pub fn action(&self, arguments: &Arguments) -> &Action {
        match &self.record.discriminator {
            None => &self.record.always,
            Some(_) => self
                .action_name(arguments)
                .and_then(|action| self.record.actions.get(action))
                .unwrap_or(&self.record.unclear),
        }
    }

    /// Every command argument of this tool, whichever action a call names: an argument that can reach a shell is
    /// judged even where the action says that it will not.
    pub(crate) fn command<'a>(&self, action: &Action, arguments: &'a Arguments) -> Option<&'a Value> {
        match &action.command {
            Some(argument) => arguments.get(argument),
            None => self.record.definition.shell.command(arguments),
        }
    }

    /// Checks arguments against the schema. `Err` is where and why, for people; it says no value back.
    pub(crate) fn validate(&self, arguments: &Value) -> Result<(), (String, String)> {
        if self.validator.is_valid(arguments) {
            return Ok(());
        }
        let found = self.validator.iter_errors(arguments).next();
        Err(found.map_or_else(
            || (String::new(), "does not fit the schema".to_owned()),
            |error| {
                let at = error.instance_path().to_string();
                (shortened(&at), shortened(&error.masked().to_string()))
            },
        ))
    }
}

/// The longest part of an argument's place or problem that is repeated, in characters.
const MOST_REPEATED: usize = 300;

fn shortened(text: &str) -> String {
    match text.char_indices().nth(MOST_REPEATED) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

/// Every tool that exists.
#[derive(Debug, Default)]
pub struct Catalogue {
    tools: BTreeMap<ToolName, Tool>,
}

impl Catalogue {
    /// The tools of `tools.toml`.
    pub fn built_in() -> Result<Self, Error> {
        Self::from_toml(BUILT_IN)
    }

    /// The tools of a table in the form of `tools.toml`.
    pub fn from_toml(table: &str) -> Result<Self, Error> {
        let mut catalogue = Self::default();
        catalogue.add_toml(table)?;
        Ok(catalogue)
    }

    /// Adds the tools of such a table: those of a tool family in a crate of its own.
    pub fn add_toml(&mut self, table: &str) -> Result<(), Error> {
        let table: Table = toml::from_str(table)?;
        for row in table.tool {
            self.insert(row.into_tool()?)?;
        }
        Ok(())
    }

    /// Adds a tool that a tool server offers. Its target is that server unless its arguments name one. What it finds
    /// is read, never discovered: no tool server adds to what may be acted on.
    pub fn register(
        &mut self,
        mut definition: ToolDefinition,
        target: Option<ResourceId>,
    ) -> Result<(), Error> {
        match &mut definition.kind {
            KindRule::Fixed { kind } => *kind = without_discovery(*kind),
            KindRule::ByAction { actions, .. } => {
                for kind in actions.values_mut() {
                    *kind = without_discovery(*kind);
                }
            }
        }
        let (discriminator, kinds, always) = match &definition.kind {
            KindRule::Fixed { kind } => (None, BTreeMap::new(), *kind),
            KindRule::ByAction { argument, actions } => (
                Some(argument.as_str().to_owned()),
                actions.clone(),
                ToolKind::Write,
            ),
        };
        let name = definition.name.clone();
        let action = |kind| Action {
            kind,
            risk: definition.risk,
            placement: match definition.shell {
                ShellRule::Argument { .. } => Placement::Inside,
                ShellRule::Never => Placement::About,
            },
            discovery: Discovery::Needed,
            opens: None,
            // Judged wherever it stands, and not needed: only the server knows which of its calls need one.
            command: None,
            path: None,
            power: false,
            kinds: BTreeSet::new(),
            expect: None,
            free_form: (kind == ToolKind::Write)
                .then(|| "its tool server does not say what the call changes".to_owned()),
            undo: Undo::Unknown,
            state: ShowsState::Always(kind != ToolKind::Write && !bearing::names_a_list(name.as_str())),
        };
        let record = ToolRecord {
            fixed_target: target,
            object: None,
            discriminator,
            actions: kinds
                .into_iter()
                .map(|(name, kind)| {
                    let mut action = action(kind);
                    if bearing::names_a_list(&name) {
                        action.state = ShowsState::Always(false);
                    }
                    (name, action)
                })
                .collect(),
            synonyms: Vec::new(),
            always: action(always),
            unclear: Action {
                risk: RiskLevel::High,
                ..action(ToolKind::Write)
            },
            definition: definition.clone(),
        };
        self.insert(record.into_tool()?)
    }

    /// Keeps only these tools: a model is not offered a tool that cannot run.
    pub fn retain(&mut self, keep: impl Fn(&ToolName) -> bool) {
        self.tools.retain(|name, _| keep(name));
    }

    fn insert(&mut self, tool: Tool) -> Result<(), Error> {
        let name = tool.record.definition.name.clone();
        if self.tools.contains_key(&name) {
            return Err(Error::Duplicate(name));
        }
        self.tools.insert(name, tool);
        Ok(())
    }

    /// The catalogue that a record was made of. It passes the same checks as every other one.
    pub fn from_record(record: CatalogueRecord) -> Result<Self, Error> {
        let mut catalogue = Self::default();
        for tool in record.tools {
            catalogue.insert(tool.into_tool()?)?;
        }
        Ok(catalogue)
    }

    /// What is kept of it. Fails if it has no written form.
    pub fn record(&self) -> Result<CatalogueRecord, serde_json::Error> {
        let tools: Vec<ToolRecord> = self.tools.values().map(|tool| tool.record.clone()).collect();
        Ok(CatalogueRecord {
            recorded: serde_json::to_value(&tools)?,
            tools,
        })
    }

    /// The tool of this name.
    pub fn get(&self, name: &str) -> Option<&Tool> {
        self.tools.get(name)
    }

    /// Every tool, by name.
    pub fn tools(&self) -> impl Iterator<Item = &Tool> {
        self.tools.values()
    }

    /// What a call does to the world: the single classification. An unknown tool is a write.
    pub fn classify(&self, tool: &str, arguments: &Arguments) -> ToolKind {
        self.get(tool)
            .map_or(ToolKind::Write, |tool| tool.action(arguments).kind)
    }
}

const fn without_discovery(kind: ToolKind) -> ToolKind {
    match kind {
        ToolKind::Resolve | ToolKind::Read => ToolKind::Read,
        ToolKind::Write => ToolKind::Write,
    }
}

impl ToolRecord {
    fn into_tool(self) -> Result<Tool, Error> {
        let definition = &self.definition;
        definition.check()?;
        self.check_synonyms(&definition.name)?;
        let may_write = self.discriminator.is_some()
            || self.always.kind == ToolKind::Write
            || self.actions.values().any(|action| action.kind == ToolKind::Write);
        let only_resolves = self.always.kind == ToolKind::Resolve
            && self
                .actions
                .values()
                .all(|action| action.kind == ToolKind::Resolve);
        if may_write && !only_resolves && self.fixed_target.is_none() && definition.target == TargetRule::None
        {
            return Err(Error::WriteWithoutTarget(definition.name.clone()));
        }
        let validator = jsonschema::options()
            .build(&definition.parameters)
            .map_err(|error| Error::Schema {
                tool: definition.name.clone(),
                why: error.to_string(),
            })?;
        Ok(Tool {
            record: self,
            validator,
        })
    }

    fn check_synonyms(&self, tool: &ToolName) -> Result<(), Error> {
        for synonym in &self.synonyms {
            let action = self
                .discriminator
                .as_ref()
                .and_then(|argument| synonym.is.get(argument))
                .map_or("", String::as_str);
            if !self.actions.contains_key(action) {
                return Err(Error::Synonym {
                    tool: tool.clone(),
                    action: action.to_owned(),
                });
            }
        }
        Ok(())
    }
}

/// A write says what must be observed after it, or why nothing can be; a read says whether it shows state.
fn declared(
    tool: &ToolName,
    action: &str,
    kind: ToolKind,
    expected: bool,
    free_form: Option<&str>,
    state: Option<ShowsState>,
) -> Result<ShowsState, Error> {
    let (tool, action) = (tool.clone(), action.to_owned());
    match (kind, state) {
        (ToolKind::Write, _) if expected == free_form.is_some_and(|reason| !reason.trim().is_empty()) => {
            Err(Error::NoExpectation { tool, action })
        }
        (ToolKind::Write, None) => Ok(ShowsState::Always(false)),
        (ToolKind::Resolve | ToolKind::Read, Some(state)) if !expected && free_form.is_none() => Ok(state),
        (ToolKind::Resolve | ToolKind::Read | ToolKind::Write, _) => Err(Error::NoState { tool, action }),
    }
}

/// A write says whether what it does can be taken back; a read does nothing that could be.
fn taken_back(tool: &ToolName, action: &str, kind: ToolKind, undo: Option<Undo>) -> Result<Undo, Error> {
    match (kind, undo) {
        (ToolKind::Write, Some(undo)) => Ok(undo),
        (ToolKind::Resolve | ToolKind::Read, None) => Ok(Undo::Unknown),
        (ToolKind::Write, None) | (ToolKind::Resolve | ToolKind::Read, Some(_)) => Err(Error::NoUndo {
            tool: tool.clone(),
            action: action.to_owned(),
        }),
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    tool: Vec<Row>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    name: ToolName,
    description: String,
    category: CategoryName,
    risk: RiskLevel,
    kind: ToolKind,
    by: Option<String>,
    #[serde(default)]
    actions: BTreeMap<String, ActionRow>,
    target: Option<TargetRow>,
    #[serde(default)]
    routed: bool,
    command: Option<String>,
    path: Option<String>,
    #[serde(default)]
    kinds: BTreeSet<ResourceKind>,
    object: Option<ObjectRule>,
    expect: Option<ExpectRule>,
    free_form: Option<String>,
    undo: Option<Undo>,
    state: Option<ShowsState>,
    #[serde(default)]
    synonyms: Vec<Synonym>,
    #[serde(default)]
    requires_approval: bool,
    allowed_modes: Option<BTreeSet<Mode>>,
    timeout_seconds: Option<NonZeroU32>,
    rate_limit_per_hour: Option<NonZeroU32>,
    parameters: Value,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ActionRow {
    kind: ToolKind,
    risk: Option<RiskLevel>,
    #[serde(default)]
    routed: bool,
    #[serde(default)]
    exempt: bool,
    #[serde(default)]
    power: bool,
    opens: Option<String>,
    command: Option<String>,
    kinds: Option<BTreeSet<ResourceKind>>,
    expect: Option<ExpectRule>,
    free_form: Option<String>,
    undo: Option<Undo>,
    state: Option<ShowsState>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TargetRow {
    #[serde(default)]
    arguments: Vec<ArgumentName>,
    bare: Option<ResourceKind>,
    fixed: Option<ResourceId>,
}

impl Row {
    fn into_tool(self) -> Result<Tool, Error> {
        let placement = |routed: bool| {
            if routed {
                Placement::Inside
            } else {
                Placement::About
            }
        };
        let tool = self.name.clone();
        let state = match &self.by {
            // Each action says so itself.
            Some(_) => ShowsState::Always(false),
            None => declared(
                &tool,
                "",
                self.kind,
                self.expect.is_some(),
                self.free_form.as_deref(),
                self.state.clone(),
            )?,
        };
        let undo = match &self.by {
            Some(_) => Undo::Unknown,
            None => taken_back(&tool, "", self.kind, self.undo)?,
        };
        let unclear = Action {
            kind: ToolKind::Write,
            // Nobody knows what it does.
            risk: RiskLevel::High,
            placement: placement(self.routed),
            discovery: Discovery::Needed,
            opens: None,
            command: self.command.clone(),
            path: self.path.clone(),
            power: false,
            kinds: self.kinds.clone(),
            expect: None,
            free_form: Some("the tool has no such action".to_owned()),
            undo: Undo::Unknown,
            state: ShowsState::Always(false),
        };
        let always = Action {
            kind: self.kind,
            risk: self.risk,
            expect: self.expect.clone(),
            free_form: self.free_form.clone(),
            undo,
            state,
            ..unclear.clone()
        };
        let command = self
            .command
            .iter()
            .chain(self.actions.values().filter_map(|action| action.command.as_ref()))
            .next()
            .cloned();
        let routed = self.routed;
        let kind = match &self.by {
            None => KindRule::Fixed { kind: self.kind },
            Some(argument) => KindRule::ByAction {
                argument: ArgumentName::new(argument.as_str())?,
                actions: self
                    .actions
                    .iter()
                    .map(|(name, row)| (name.clone(), row.kind))
                    .collect(),
            },
        };
        let risk = self.risk;
        let actions = self
            .actions
            .into_iter()
            .map(|(name, row)| {
                let state = declared(
                    &tool,
                    &name,
                    row.kind,
                    row.expect.is_some(),
                    row.free_form.as_deref(),
                    row.state,
                )?;
                let undo = taken_back(&tool, &name, row.kind, row.undo)?;
                let action = Action {
                    kind: row.kind,
                    risk: row.risk.unwrap_or(risk),
                    placement: placement(routed || row.routed),
                    discovery: if row.exempt {
                        Discovery::Exempt
                    } else {
                        Discovery::Needed
                    },
                    opens: row.opens,
                    command: row.command,
                    path: self.path.clone(),
                    power: row.power,
                    kinds: row.kinds.unwrap_or_else(|| self.kinds.clone()),
                    expect: row.expect,
                    free_form: row.free_form,
                    undo,
                    state,
                };
                Ok((name, action))
            })
            .collect::<Result<_, Error>>()?;
        let (arguments, bare, fixed_target) = match self.target {
            None => (Vec::new(), None, None),
            Some(row) => (row.arguments, row.bare, row.fixed),
        };
        let target = if arguments.is_empty() {
            TargetRule::None
        } else {
            let arguments = arguments
                .into_iter()
                .map(|name| TargetArgument { name, bare })
                .collect();
            TargetRule::Arguments { arguments }
        };
        let shell = match command {
            None => ShellRule::Never,
            Some(argument) => ShellRule::Argument {
                argument: ArgumentName::new(argument)?,
            },
        };
        let definition = ToolDefinition {
            name: self.name,
            description: self.description,
            parameters: self.parameters,
            category: self.category,
            risk: self.risk,
            kind,
            modes: self
                .allowed_modes
                .unwrap_or_else(|| Mode::ALL.iter().copied().collect()),
            requires_approval: self.requires_approval,
            timeout_seconds: self.timeout_seconds.unwrap_or(DEFAULT_TIMEOUT),
            rate_limit_per_hour: self.rate_limit_per_hour,
            target,
            shell,
        };
        ToolRecord {
            definition,
            fixed_target,
            object: self.object,
            discriminator: self.by,
            actions,
            synonyms: self.synonyms,
            always,
            unclear,
        }
        .into_tool()
    }
}
