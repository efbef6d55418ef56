//! Runs sessions: any model in, gated calls out, everything recorded.
//!
//! An alert or a question waits in the store; a worker claims it; its stages run one after the other, their agents side
//! by side; each agent is one loop ([`Controller`] picks the dialect): ask the model, read its proposals, put each to the
//! gate, run what has a permit, tell the model what came of it, until an answer is released.
//!
//! This room must never run a call without a permit, never run one that was not kept as about to run, never show or keep
//! a result that was not masked, and never take a model's word for what happened. It asks the gate only through its
//! tape, which writes down every question, so that [`replay`] can ask them all again.
//!
//! Data walks: [`Engine::submit`] → store → [`Engine::start`] or [`Engine::work_on`] → model → dialect → gate → tools →
//! receipt → gate → store → [`Engine::watch`]. A hold pauses the session; [`Engine::approve_with`] and
//! [`Engine::deny`] let it go on, in this process or another, and [`Engine::edit`] makes another hold of it.

mod agent;
mod answer;
mod approve;
mod approver;
mod ask;
pub mod bundle;
mod calls;
mod count;
mod edit;
mod engine;
mod error;
mod head;
mod history;
mod incidents;
mod live;
mod masking;
mod observe;
mod options;
mod people;
mod prompt;
mod refused;
mod registry;
mod replay;
mod resume;
mod rules;
mod run;
mod settings;
mod submit;
mod tape;
mod tell;
mod timeline;
mod trace;
mod work;
mod worker;
mod writes;

pub use approve::Opened;
pub use approver::{Approver, Barred, Channel, Decider, EyesChecked, Person};
pub use count::{configured as count_configured, reload as count_reload};
pub use engine::{Checkpoint, Engine, Moment, OPERATOR, Overrides, QUESTION, Setup};
pub use error::Error;
pub use head::{head, head_of, recorded};
pub use history::{Entry, History, Results, TooLong};
pub use incidents::{Alert, AlertMapping, AlertOptions, Rejected, Taken, TakenAlerts, UnknownTypes};
pub use live::Live;
pub use masking::MaskedLog;
pub use options::{
    AgentOptions, ChainOptions, Controller, Defaults, Limits, MAX_ITERATIONS, StageOptions, Success,
};
pub use people::Called;
pub use prompt::{Error as PromptError, Finding, Prompts, Tiers};
pub use registry::ToolSet;
pub use replay::{Difference, Error as ReplayError, Replayed, replay};
pub use rules::{Catalogues, Error as RulesError, Rules};
pub use run::Outcome;
pub use settings::Settings;
pub use submit::{MAX_INPUT, Submission};
pub use tape::{Ask, Found, Named, Rival};
pub use timeline::derived as derived_timeline;
pub use trace::{Error as TraceError, Rows, SignatureState, Signed, Trace, Traced};
pub use worker::{Queue, QueueControl, Workers};
pub use writes::WritesState;
