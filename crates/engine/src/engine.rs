//! The engine: what it is made of, and what one may ask of it.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use interlock_dialect::Offer;
use interlock_gate::{SessionOptions, ToolScope};
use interlock_model::ModelInfo;
use interlock_protocol::{
    AgentName, ControlLevel, RunId, SessionId, Status, ToolDefinition, ToolName, WorkerId,
};
use interlock_store::Store;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;

use crate::agent;
use crate::error::{Error, draw};
use crate::live::{Broadcast, Live};
use crate::options::{AgentOptions, Controller, MAX_ITERATIONS, StageOptions, Success};
use crate::registry::{RuleSet, ToolSet};
use crate::settings::{LevelChange, Settings};
use crate::tape::{Shared, Tape};
use crate::writes::Seen;

/// The chain of a question that names none.
pub const QUESTION: &str = "question";
/// The agent that answers where none is named.
pub const OPERATOR: &str = "operator";
/// How many sessions are remembered between two of their runs.
const PARKED: usize = 256;

/// What an engine is made of.
pub struct Setup {
    /// Where everything is kept.
    pub store: Store,
    /// What the configuration sets.
    pub settings: Settings,
    /// Called around each batch that is kept. Nothing but a test that ends the process there has a use for it.
    pub checkpoint: Option<Checkpoint>,
}

/// What is called before and after a batch is kept.
pub type Checkpoint = Arc<dyn Fn(Moment, &interlock_store::Batch) + Send + Sync>;

/// Where a batch stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// It is about to be kept.
    Before,
    /// It was kept.
    After,
}

pub(crate) struct Inner {
    pub(crate) store: Store,
    checkpoint: Option<Checkpoint>,
    /// What a reload replaces.
    pub(crate) settings: RwLock<Arc<Settings>>,
    /// How the configured level changed last in this process.
    pub(crate) level: RwLock<Option<LevelChange>>,
    pub(crate) worker: WorkerId,
    pub(crate) shared: Shared,
    pub(crate) live: Broadcast,
    /// What the gate remembers of sessions that pause, with the number of the claim under which they did.
    parked: Mutex<HashMap<SessionId, (u64, Tape)>>,
    /// Held by whoever moves the switch that stops all writes.
    pub(crate) switching: tokio::sync::Mutex<()>,
    /// What this process knows of the switch that stops all writes.
    pub(crate) seen: Mutex<Seen>,
    /// The sessions that are worked on here.
    pub(crate) running: Mutex<HashMap<SessionId, CancellationToken>>,
    /// When it was last looked for what need not be kept any longer.
    pub(crate) tidied: Mutex<Option<std::time::Instant>>,
}

/// Runs sessions. Cheap to clone.
#[derive(Clone)]
pub struct Engine {
    pub(crate) inner: Arc<Inner>,
}

/// What a session is asked for.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Overrides {
    /// The model, by its name in the configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How its agents work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub controller: Option<Controller>,
    /// How often a model is asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_iterations: Option<u32>,
    /// The agent that answers, for a question.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The level that was configured when the session was submitted with a level of its own. Set by [`Engine::submit`]; empty
    /// for a session that took the configured level.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub configured_level: Option<ControlLevel>,
}

impl Overrides {
    /// The overrides that a session was submitted with.
    pub(crate) fn of(session: &interlock_store::NewSession) -> Result<Self, Error> {
        serde_json::from_value(session.options.clone()).map_err(|source| Error::Unreadable {
            what: format!("the options of {}", session.id),
            source,
        })
    }
}

impl Engine {
    /// An engine over these parts.
    pub fn new(setup: Setup) -> Result<Self, Error> {
        let worker = WorkerId::from_bytes(draw()?);
        let engine = Self {
            inner: Arc::new(Inner {
                store: setup.store,
                checkpoint: setup.checkpoint,
                settings: RwLock::new(Arc::new(setup.settings)),
                level: RwLock::default(),
                worker,
                shared: Shared::default(),
                live: Broadcast::default(),
                parked: Mutex::default(),
                switching: tokio::sync::Mutex::default(),
                seen: Mutex::default(),
                running: Mutex::default(),
                tidied: Mutex::default(),
            }),
        };
        Ok(engine)
    }

    /// This process, as the queue knows it.
    pub fn worker(&self) -> &WorkerId {
        &self.inner.worker
    }

    /// Everything that happens from now on.
    pub fn watch(&self) -> broadcast::Receiver<Live> {
        self.inner.live.watch()
    }

    /// The tools as they are now.
    pub fn tools(&self) -> Arc<ToolSet> {
        self.inner.tools()
    }
}

/// What an agent may use: what can run here, and of that what its configuration names.
fn offer(options: &AgentOptions, controller: Controller, tools: &RuleSet) -> Result<Offer, Error> {
    if !controller.has_tools() {
        return Ok(Offer::default());
    }
    let named: Option<BTreeSet<&str>> = options
        .tools
        .as_ref()
        .map(|tools| tools.iter().map(String::as_str).collect());
    if let Some(wanted) = &options.tools {
        for tool in wanted {
            let known = ToolName::new(tool.clone()).is_ok_and(|name| tools.names().contains(&name));
            if !known {
                let all: Vec<String> = tools.names().iter().map(ToString::to_string).collect();
                return Err(Error::unknown("tool", tool, &all));
            }
        }
    }
    let may = |name: &ToolName| named.as_ref().is_none_or(|named| named.contains(name.as_str()));
    let definitions: Vec<&ToolDefinition> = tools.runnable().collect();
    let offered = definitions
        .iter()
        .copied()
        .filter(|definition| may(&definition.name));
    let withheld = definitions
        .iter()
        .filter(|definition| !may(&definition.name))
        .map(|definition| definition.name.clone());
    Ok(Offer::new(offered)?.withholding(withheld))
}

/// The one name, if there is one.
fn only<'a>(mut names: impl Iterator<Item = &'a str>) -> Option<String> {
    let first = names.next()?;
    names.next().is_none().then(|| first.to_owned())
}

/// One stage of a session, with its agents.
#[derive(Debug, Clone)]
pub(crate) struct StagePlan {
    pub(crate) name: String,
    pub(crate) agents: Vec<agent::Plan>,
    pub(crate) instructions: Vec<String>,
    pub(crate) success: Success,
    pub(crate) synthesis: Option<(agent::Plan, String)>,
}

impl Inner {
    /// The one way into the record.
    pub(crate) async fn append(
        &self,
        batch: interlock_store::Batch,
    ) -> Result<interlock_store::Kept, interlock_store::Error> {
        let Some(checkpoint) = &self.checkpoint else {
            return self.store.append(batch).await;
        };
        checkpoint(Moment::Before, &batch);
        let kept = self.store.append(batch.clone()).await;
        checkpoint(Moment::After, &batch);
        kept
    }

    pub(crate) async fn append_unclaimed(
        &self,
        session: &SessionId,
        records: Vec<interlock_store::Record>,
    ) -> Result<(), Error> {
        let batch = interlock_store::Batch {
            session: session.clone(),
            claim: None,
            at: Timestamp::now(),
            records,
        };
        let kept = self.append(batch).await?;
        for event in kept.events {
            self.live.tell(|| Live::Event(Box::new(event)));
        }
        Ok(())
    }

    pub(crate) fn model_info(&self, name: &str) -> ModelInfo {
        match self.settings().models.options(name) {
            Ok(options) => ModelInfo {
                name: name.to_owned(),
                provider: options.provider,
                model: options.model.clone(),
            },
            Err(_) => ModelInfo {
                name: name.to_owned(),
                provider: interlock_model::Provider::Scripted,
                model: String::new(),
            },
        }
    }

    /// The stages of a chain, as the configuration and the overrides make them.
    pub(crate) fn stages(
        &self,
        chain: &str,
        overrides: &Overrides,
        tools: &RuleSet,
    ) -> Result<Vec<StagePlan>, Error> {
        let settings = self.settings();
        let built_in;
        let stages = match settings.chains.get(chain) {
            Some(chain) => &chain.stages,
            None if chain == QUESTION => {
                let agent = overrides
                    .agent
                    .clone()
                    .or_else(|| settings.defaults.agent.clone())
                    .unwrap_or_else(|| OPERATOR.to_owned());
                built_in = vec![StageOptions {
                    name: "answer".to_owned(),
                    agents: vec![agent],
                    success: Success::Any,
                    synthesis: None,
                }];
                &built_in
            }
            None => return Err(Error::unknown("chain", chain, settings.chains.keys())),
        };
        stages
            .iter()
            .map(|stage| settings.stage(stage, (overrides, tools)))
            .collect()
    }

    /// Opens the gate's memory of a session of which nothing is known in this process, with the tools of this moment.
    pub(crate) async fn open_tape(
        &self,
        snapshot: &interlock_store::Snapshot,
        run: RunId,
        now: Timestamp,
    ) -> Result<Tape, Error> {
        let settings = self.settings();
        let tools = Arc::clone(settings.tools.rules());
        tools.keep(&self.store).await?;
        let session = &snapshot.session;
        let options = SessionOptions {
            level: self.level_of(&session.submitted).await?,
            tools: ToolScope::Only(tools.names().clone()),
            owner: session.submitted.owner.clone(),
            four_eyes: settings.four_eyes,
            limits: interlock_gate::ContextLimits::default(),
        };
        let id = session.submitted.id.clone();
        Ok(Tape::open(tools, id, options, run, snapshot.last_step, now))
    }

    /// Remembers what the gate knows of a session that pauses. The oldest is forgotten: it discovers again.
    pub(crate) fn park(&self, session: SessionId, epoch: u64, tape: Tape) {
        let mut parked = self.parked.lock().unwrap_or_else(PoisonError::into_inner);
        if parked.len() >= PARKED
            && let Some(any) = parked.keys().next().cloned()
        {
            parked.remove(&any);
        }
        parked.insert(session, (epoch, tape));
    }

    /// What the gate remembers of a session, if nobody else worked on it since.
    pub(crate) fn unpark(&self, session: &SessionId, epoch: u64) -> Option<Tape> {
        let mut parked = self.parked.lock().unwrap_or_else(PoisonError::into_inner);
        let (then, tape) = parked.remove(session)?;
        // Other rules decide otherwise: what was remembered with the old ones is found out again.
        let same_tools = Arc::ptr_eq(tape.tools(), self.tools().rules());
        (then + 1 == epoch && same_tools).then_some(tape)
    }

    /// Forgets what the gate remembers of sessions that pause: it is found out again.
    pub(crate) fn forget_parked(&self) {
        self.parked.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Whether a status is an end.
    pub(crate) const fn is_end(status: Status) -> bool {
        match status {
            Status::Completed
            | Status::Unverified
            | Status::Failed
            | Status::Cancelled
            | Status::TimedOut => true,
            Status::Pending | Status::InProgress | Status::Held | Status::Cancelling => false,
        }
    }
}

impl Settings {
    fn stage(&self, stage: &StageOptions, wanted: (&Overrides, &RuleSet)) -> Result<StagePlan, Error> {
        let mut agents = Vec::new();
        let mut instructions = Vec::new();
        for name in &stage.agents {
            let (plan, told) = self.agent(name, wanted, None)?;
            agents.push(plan);
            instructions.push(told);
        }
        let synthesis = match (&stage.synthesis, agents.len()) {
            (Some(name), 2..) => Some(self.agent(name, wanted, Some(Controller::Synthesis))?),
            (None, 2..) => {
                let (mut plan, _) = self.agent(&stage.agents[0], wanted, Some(Controller::Synthesis))?;
                plan.name = AgentName::new("synthesis")?;
                Some((plan, String::new()))
            }
            _ => None,
        };
        Ok(StagePlan {
            name: stage.name.clone(),
            agents,
            instructions,
            success: stage.success,
            synthesis,
        })
    }

    fn agent(
        &self,
        name: &str,
        (overrides, tools): (&Overrides, &RuleSet),
        forced: Option<Controller>,
    ) -> Result<(agent::Plan, String), Error> {
        let built_in = AgentOptions::default();
        let options = match self.agents.get(name) {
            Some(options) => options,
            None if name == OPERATOR => &built_in,
            None => return Err(Error::unknown("agent", name, self.agents.keys())),
        };
        let model = overrides
            .model
            .clone()
            .or_else(|| options.model.clone())
            .or_else(|| self.defaults.model.clone())
            .or_else(|| only(self.models.names()))
            .ok_or(Error::NoModel)?;
        let of_model = self.models.options(&model)?;
        let controller = forced
            .or(overrides.controller)
            .or(options.controller)
            .or(of_model.dialect.map(Controller::from))
            .or(self.defaults.controller)
            .unwrap_or(Controller::Native);
        let max_iterations = overrides
            .max_iterations
            .or(options.max_iterations)
            .or(self.defaults.max_iterations)
            .unwrap_or(MAX_ITERATIONS);
        let plan = agent::Plan {
            name: AgentName::new(name)?,
            model,
            controller,
            max_iterations,
            strict: options.strict,
            offer: Arc::new(offer(options, controller, tools)?),
        };
        Ok((plan, options.instructions.clone()))
    }
}
