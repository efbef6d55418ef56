//! May this proposal run? The gate answers with a [`Permit`], a [`Hold`] or a [`Refusal`].
//!
//! One path for every caller, in one order (see [`Rule`]): is the tool known and its arguments valid; what kind of
//! call is it; does the execution's state allow it; does it repeat itself; was its target discovered; is the target
//! the one that is meant; does its command do what the tool is for; what does governance say; must a human see it.
//! The order matters: nobody is asked to approve what would be refused anyway.
//!
//! This room must never do input or output, ask for the time, draw a random number, or trust a word of the model.
//! Everything it needs comes in as a value, and the same values give the same answer: a recorded trace replays.
//! Only here can a [`Permit`] be made, and only by asking every rule.
//!
//! Data walks: a [`ToolCall`](interlock_protocol::ToolCall) comes in; [`Gate::decide`] answers; running the permit
//! ([`Permit::begin`], [`Started::finish`]) leaves a receipt, which [`Gate::settle`] takes back together with what was
//! read; a write is then looked at, by a read of its resource or, at the deadline, by code ([`Gate::due_readings`],
//! [`Gate::observe`]); and [`Gate::decide_final_answer`] lets an answer out. A hold goes to a human and comes back
//! through [`Gate::approve`], which asks every rule again.

mod answer;
mod approvals;
mod bearing;
mod catalogue;
mod context;
mod explain;
mod file;
mod gate;
mod governance;
mod harm;
mod hold;
mod intent;
mod invariants;
mod masked;
mod metric;
mod permit;
mod plan;
pub mod prove;
mod recovery;
mod refusal;
mod repetition;
mod resolution;
mod routing;
mod rule;
mod rules;
mod sabotage;
mod sandbox;
mod session;
mod settle;
mod state;
mod tighten;
mod verification;
mod wording;
mod world;

#[cfg(test)]
mod tests;

pub use answer::{
    Answer, AnswerDecision, Checked, Claim, Conclusion, EvidenceRules, NotRunCall, PhantomCategory, Question,
    SAFE_FAILURE, Span, SpanKind, head, planned,
};
pub use approvals::Approval;
pub use catalogue::{
    Action, Catalogue, CatalogueRecord, Discovery, Error as CatalogueError, ExpectRule, Placement,
    ShowsState, Tool, ToolRecord, Undo,
};
pub use context::{Access, Added, ContextLimits, Keep, Lookup, ResolvedContext, ResolvedResource};
pub use file::{FileBefore, FilePlace};
pub use gate::{Decision, Gate, HOLD_TTL, Options, PERMIT_TTL, REDEEM_WITHIN, Situation, VERIFY_WITHIN};
pub use governance::{
    ApprovalNeed, ArgumentRule, BlastRadius, Bound, Budget, Governance, GovernanceInput, PolicyVerdict,
};
pub use hold::{ApprovalToken, EditedFrom, Hold, HoldStatus, TOKEN_TTL, TokenRecord};
pub use invariants::Violation;
pub use metric::{MAX_LABEL, Metric, iteration, phantom_detected, sanitize_label};
pub use permit::{Ended, NotStarted, Permit, Started};
pub use plan::{Plan, Target};
pub use recovery::{PendingRecovery, Recoveries};
pub use refusal::{About, Recovery, Refusal, Severity};
pub use repetition::THRESHOLD as REPETITION_THRESHOLD;
pub use resolution::{NameEntry, StrictResolution};
pub use rule::Rule;
pub use sandbox::{ReadTarget, RequireSandbox, Where};
pub use session::{FourEyes, Session, SessionOptions, ToolScope, WriteRecord};
pub use settle::{DueReading, Error as SettleError, InterruptedWrite, Moment, Report, Settled};
pub use state::State;
pub use verification::{Before, Comparison, Look, PendingVerification, VerificationEnd, compare};
pub use wording::expected;
pub use world::{KillSwitch, World, Writer};
