//! The proof that a call may run. Built only in this crate, not copied, consumed by running.

use std::sync::Arc;

use interlock_protocol::{ContentHash, ErrorCode, Outcome, PermitId, Receipt, ReceiptId, ToolKind, UserId};
use jiff::Timestamp;

use crate::plan::Plan;
use crate::refusal::{About, Refusal};
use crate::rule::Rule;
use crate::sabotage::{Flaw, Sabotage};
use crate::state::State;
use crate::world::KillSwitch;

/// The proof that one plan may run once.
///
/// There is no public constructor, no `Clone` and no serial form. Whatever runs something takes one by value.
#[derive(Debug)]
#[must_use = "a permit that is neither begun nor abandoned leaves its execution waiting"]
pub struct Permit {
    id: PermitId,
    plan: Arc<Plan>,
    plan_hash: ContentHash,
    expires_at: Timestamp,
    approved_by: Option<UserId>,
    flaw: Flaw,
}

impl Permit {
    pub(crate) fn issue(
        id: PermitId,
        plan: Arc<Plan>,
        plan_hash: ContentHash,
        expires_at: Timestamp,
        approved_by: Option<UserId>,
        flaw: Flaw,
    ) -> Self {
        Self {
            id,
            plan,
            plan_hash,
            expires_at,
            approved_by,
            flaw,
        }
    }

    /// This permit.
    pub const fn id(&self) -> &PermitId {
        &self.id
    }

    /// The exact plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The exact plan, for what outlives the permit.
    pub fn shared_plan(&self) -> Arc<Plan> {
        Arc::clone(&self.plan)
    }

    /// Its hash.
    pub const fn plan_hash(&self) -> ContentHash {
        self.plan_hash
    }

    /// What it does to the world.
    pub fn kind(&self) -> ToolKind {
        self.plan.kind
    }

    /// Until when it may begin.
    pub const fn expires_at(&self) -> Timestamp {
        self.expires_at
    }

    /// Who approved it, where a human did.
    pub const fn approved_by(&self) -> Option<&UserId> {
        self.approved_by.as_ref()
    }

    /// Consumes the permit at the last moment before the effect. Looks at the kill switch again, and at the time.
    pub fn begin(self, kill_switch: KillSwitch, now: Timestamp) -> Result<Started, Box<NotStarted>> {
        let write = match self.plan.kind {
            ToolKind::Write => true,
            ToolKind::Resolve | ToolKind::Read => false,
        };
        if write && kill_switch == KillSwitch::Engaged && !self.flaw.is(Sabotage::BeginIgnoresKillSwitch) {
            let refusal = Refusal::new(
                Rule::KillSwitch,
                ErrorCode::PolicyBlocked,
                self.about(),
                "Writes are stopped by the kill switch.",
            );
            return Err(Box::new(NotStarted {
                permit: self,
                refusal,
            }));
        }
        if now > self.expires_at && !self.flaw.is(Sabotage::Skip(Rule::PermitExpiry)) {
            let refusal = Refusal::new(
                Rule::PermitExpiry,
                ErrorCode::Timeout,
                self.about(),
                format!("The permit was to begin by {}.", self.expires_at),
            );
            return Err(Box::new(NotStarted {
                permit: self,
                refusal,
            }));
        }
        Ok(Started {
            permit: self,
            at: now,
        })
    }

    /// Gives the permit back unused.
    pub fn abandon(self, why: &str) -> NotStarted {
        self.given_back(Rule::StateMachine, ErrorCode::Cancelled, why)
    }

    /// Gives the permit back unused, because someone in another process writes to its resource.
    pub fn give_way(self, why: &str) -> NotStarted {
        self.given_back(Rule::OneWriter, ErrorCode::FsmBlocked, why)
    }

    fn given_back(self, rule: Rule, code: ErrorCode, why: &str) -> NotStarted {
        let refusal = Refusal::new(rule, code, self.about(), why);
        NotStarted {
            permit: self,
            refusal,
        }
    }

    /// The same permit again, for exploring both futures of one. Nothing outside the model check may have two.
    pub(crate) fn in_another_future(&self) -> Self {
        Self {
            id: self.id.clone(),
            plan: Arc::clone(&self.plan),
            plan_hash: self.plan_hash,
            expires_at: self.expires_at,
            approved_by: self.approved_by.clone(),
            flaw: self.flaw,
        }
    }

    fn about(&self) -> About {
        About {
            tool: Some(self.plan.tool.clone()),
            action: self.plan.action.clone(),
            kind: Some(self.plan.kind),
            state: match self.plan.kind {
                ToolKind::Write => State::Writing,
                ToolKind::Resolve | ToolKind::Read => State::Reading,
            },
        }
    }
}

/// A permit that was consumed: the call runs, or has run. Turns into the receipt, by value, once.
#[derive(Debug)]
#[must_use = "what was started leaves a receipt"]
pub struct Started {
    permit: Permit,
    at: Timestamp,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// How.
    pub outcome: Outcome,
    /// When, where that is known.
    pub finished_at: Option<Timestamp>,
    /// The exit code, where a process ran and ended.
    pub exit_code: Option<i32>,
    /// The hash of the whole output.
    pub output_hash: Option<ContentHash>,
    /// One line for people.
    pub summary: String,
}

impl Started {
    /// The permit.
    pub const fn permit(&self) -> &PermitId {
        &self.permit.id
    }

    /// The exact plan.
    pub fn plan(&self) -> &Plan {
        &self.permit.plan
    }

    /// The exact plan, for what outlives the run.
    pub fn shared_plan(&self) -> Arc<Plan> {
        Arc::clone(&self.permit.plan)
    }

    /// Who approved it, where a human did.
    pub const fn approved_by(&self) -> Option<&UserId> {
        self.permit.approved_by.as_ref()
    }

    /// Its hash.
    pub const fn plan_hash(&self) -> ContentHash {
        self.permit.plan_hash
    }

    /// When it began.
    pub const fn at(&self) -> Timestamp {
        self.at
    }

    /// The same run again, for exploring both futures of one.
    pub(crate) fn in_another_future(&self) -> Self {
        Self {
            permit: self.permit.in_another_future(),
            at: self.at,
        }
    }

    /// The receipt of this run.
    pub fn finish(self, ended: Ended) -> Receipt {
        let plan = &self.permit.plan;
        receipt(&self.permit.id, plan, self.permit.plan_hash, self.at, ended)
    }
}

/// The receipt of a run of which nothing came back.
pub(crate) fn interrupted(
    permit: &PermitId,
    plan: &Plan,
    plan_hash: ContentHash,
    started_at: Timestamp,
) -> Receipt {
    let ended = Ended {
        outcome: Outcome::InterruptedUnknown,
        finished_at: None,
        exit_code: None,
        output_hash: None,
        summary: "Interrupted; whether it took effect is not known.".to_owned(),
    };
    receipt(permit, plan, plan_hash, started_at, ended)
}

fn receipt(
    permit: &PermitId,
    plan: &Plan,
    plan_hash: ContentHash,
    started_at: Timestamp,
    ended: Ended,
) -> Receipt {
    let digest = ContentHash::of(permit.as_str());
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest.as_bytes()[..16]);
    Receipt {
        id: ReceiptId::from_bytes(bytes),
        permit: permit.clone(),
        call: plan.call.clone(),
        session: plan.session.clone(),
        execution: plan.execution.clone(),
        tool: plan.tool.clone(),
        kind: plan.kind,
        resource: plan.resource().cloned(),
        plan_hash,
        started_at,
        finished_at: ended.finished_at,
        outcome: ended.outcome,
        exit_code: ended.exit_code,
        output_hash: ended.output_hash,
        summary: ended.summary,
    }
}

/// The proof that a permit was consumed and nothing ran.
#[derive(Debug)]
#[must_use = "the gate must hear that nothing ran"]
pub struct NotStarted {
    permit: Permit,
    refusal: Box<Refusal>,
}

impl NotStarted {
    /// Why.
    pub fn refusal(&self) -> &Refusal {
        &self.refusal
    }

    pub(crate) const fn permit(&self) -> &PermitId {
        &self.permit.id
    }

    pub(crate) fn plan(&self) -> &Plan {
        &self.permit.plan
    }

    pub(crate) fn into_refusal(self) -> Box<Refusal> {
        self.refusal
    }
}
