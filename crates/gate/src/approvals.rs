//! A human decides. Approving, denying, editing and expiring holds, as functions of values.

use interlock_protocol::{Arguments, ErrorCode, Identity, ToolCall, UserId};
use jiff::Timestamp;
use serde_json::json;

use crate::answer::NotRunCall;
use crate::file::FileBefore;
use crate::gate::{Assessed, Gate, Origin, Situation};
use crate::hold::{ApprovalToken, EditedFrom, Hold, HoldStatus, TokenRecord};
use crate::permit::Permit;
use crate::plan::{self, Plan};
use crate::refusal::{About, Recovery, Refusal};
use crate::repetition::Fate;
use crate::rule::Rule;
use crate::sabotage::Sabotage;
use crate::session::{FourEyes, Session};
use crate::state::State;
use crate::world::World;

/// What someone who approves brings.
#[derive(Debug)]
pub struct Approval<'a> {
    /// Who approves.
    pub by: &'a UserId,
    /// The token that was made for them.
    pub token: &'a ApprovalToken,
    /// What is stored of it.
    pub record: &'a mut TokenRecord,
}

impl Gate {
    /// Turns an approved hold into the permit for its plan and no other: [`Gate::accept`] and [`Gate::redeem`] in one.
    pub fn approve(
        &self,
        world: &mut World,
        session: &mut Session,
        hold: &mut Hold,
        approval: &mut Approval<'_>,
        situation: Situation<'_>,
    ) -> Result<Permit, Box<Refusal>> {
        self.check_decidable(session, hold, situation.now)?;
        let before = hold.status.clone();
        self.accept(hold, approval, situation.now)?;
        let redeemed = self.redeem(world, session, hold, approval.record, situation);
        if redeemed.is_err() {
            // The token is spent; the hold waits for another decision, as if nobody had spoken.
            hold.status = before;
        }
        redeemed
    }

    /// Takes a human's yes. What comes of it is decided when the plan is to run: see [`Gate::redeem`]. Needs nothing
    /// but the hold and the token, so that an approval outlives the process in which it was given.
    pub fn accept(
        &self,
        hold: &mut Hold,
        approval: &mut Approval<'_>,
        now: Timestamp,
    ) -> Result<(), Box<Refusal>> {
        self.check_open(hold, now)?;
        if !self.broken(Sabotage::AnyTokenApproves) {
            check_token(hold, approval, now)?;
        }
        self.check_four_eyes(hold, FourEyes::Off, approval.by)?;
        approval.record.used_at = Some(now);
        hold.status = HoldStatus::Approved {
            by: approval.by.clone(),
            at: now,
        };
        Ok(())
    }

    /// Takes a human's no. Needs nothing but the hold; [`Gate::denied`] tells the session.
    pub fn reject(
        &self,
        hold: &mut Hold,
        by: &UserId,
        reason: &str,
        now: Timestamp,
    ) -> Result<(), Box<Refusal>> {
        self.check_open(hold, now)?;
        hold.status = HoldStatus::Denied {
            by: by.clone(),
            at: now,
            reason: reason.to_owned(),
        };
        Ok(())
    }

    /// Turns a hold that was accepted into the permit for its plan and no other, once per session value. `record` is
    /// what is stored of the token with which it was accepted.
    ///
    /// Asks every rule again, against what is known now: an approval does not make a resource exist, a state
    /// pass or a policy silent. After a restart the caller first resolves [`Hold::resources`] again.
    pub fn redeem(
        &self,
        world: &mut World,
        session: &mut Session,
        hold: &Hold,
        record: &TokenRecord,
        situation: Situation<'_>,
    ) -> Result<Permit, Box<Refusal>> {
        let now = situation.now;
        let redeemed = self.redeem_accepted(world, session, hold, record, situation);
        if let Err(refusal) = &redeemed {
            session.note_refused(&hold.plan.execution, &hold.call, refusal, now);
        }
        redeemed
    }

    fn redeem_accepted(
        &self,
        world: &mut World,
        session: &mut Session,
        hold: &Hold,
        record: &TokenRecord,
        situation: Situation<'_>,
    ) -> Result<Permit, Box<Refusal>> {
        let now = situation.now;
        let by = self.check_accepted(session, hold, record, now)?.clone();
        let call = hold.plan.to_call();
        let origin = Origin::Approved { hold: &hold.id };
        let mut assessed = self
            .assess(world, session, &hold.plan.execution, call, origin, situation)
            .map_err(|refusal| self.note_refusal(session, &hold.plan.execution, refusal, now))?;
        let mut compared = assessed.plan.clone();
        if self.broken(Sabotage::AnotherMachineRuns)
            && let (Some(now), Some(was)) = (&mut compared.target, &hold.plan.target)
        {
            now.identity.clone_from(&was.identity);
        }
        let unchanged = plan::hash(&compared, assessed.fingerprint) == hold.plan_hash
            && compared.target == hold.plan.target;
        if !unchanged {
            if self.broken(Sabotage::ApprovesAnotherPlan) {
                assessed.plan.arguments.insert("swapped".to_owned(), json!(true));
            } else {
                return Err(changed(session, hold, &assessed.plan));
            }
        }
        Self::close(session, hold, Fate::Running);
        Ok(self.permit(world, session, assessed, Some(by), now))
    }

    /// What the proposer of a hold that was denied is told. Closes it in the session.
    pub fn denied(&self, session: &mut Session, hold: &Hold) -> Box<Refusal> {
        Self::close(session, hold, Fate::Denied);
        note_closed(session, hold);
        let reason = match &hold.status {
            HoldStatus::Denied { reason, .. } => reason.as_str(),
            HoldStatus::Pending
            | HoldStatus::Approved { .. }
            | HoldStatus::Edited { .. }
            | HoldStatus::Expired { .. }
            | HoldStatus::Withdrawn { .. } => "",
        };
        Refusal::new(
            Rule::Approval,
            ErrorCode::ActionNotAllowed,
            about(session, &hold.plan),
            "A human denied the call.",
        )
        .detail("hold", hold.id.as_str())
        .detail("reason", reason)
    }

    /// What the proposer of a hold that nobody decided in time is told. Closes it in the session.
    pub fn expired(&self, session: &mut Session, hold: &Hold) -> Box<Refusal> {
        Self::close(session, hold, Fate::Failed);
        note_closed(session, hold);
        Refusal::new(
            Rule::Approval,
            ErrorCode::Timeout,
            about(session, &hold.plan),
            "Nobody decided on the call in time.",
        )
        .detail("hold", hold.id.as_str())
    }

    /// Refuses a hold. What comes back is what the proposer is told.
    pub fn deny(
        &self,
        session: &mut Session,
        hold: &mut Hold,
        by: &UserId,
        reason: &str,
        now: Timestamp,
    ) -> Result<Box<Refusal>, Box<Refusal>> {
        self.check_decidable(session, hold, now)?;
        self.reject(hold, by, reason, now)?;
        Ok(self.denied(session, hold))
    }

    /// Replaces the arguments of a held plan. The new plan passes the whole gate and waits in a hold of its own,
    /// whatever the control level, recorded as edited. If the gate refuses it, the old hold stays open.
    pub fn edit(
        &self,
        world: &World,
        session: &mut Session,
        hold: &mut Hold,
        by: &UserId,
        arguments: Arguments,
        situation: Situation<'_>,
    ) -> Result<Hold, Box<Refusal>> {
        let now = situation.now;
        self.check_decidable(session, hold, now)?;
        let call = ToolCall {
            id: hold.call.clone(),
            tool: hold.plan.tool.clone(),
            arguments,
        };
        let origin = Origin::Edited { hold: &hold.id };
        let mut assessed: Assessed =
            self.assess(world, session, &hold.plan.execution, call, origin, situation)?;
        assessed.reasons.push(format!("edited by {by}"));
        Self::close(session, hold, Fate::Failed);
        let mut edited = self.hold(session, assessed, now);
        edited.edited_from = Some(EditedFrom {
            hold: hold.id.clone(),
            plan_hash: hold.plan_hash,
            by: by.clone(),
        });
        hold.status = HoldStatus::Edited {
            by: by.clone(),
            at: now,
            into: Some(edited.id.clone()),
        };
        Ok(edited)
    }

    /// Closes a hold that nobody decided in time. Says whether it was one.
    pub fn expire(&self, session: &mut Session, hold: &mut Hold, now: Timestamp) -> bool {
        if hold.status != HoldStatus::Pending || now < hold.expires_at {
            return false;
        }
        hold.status = HoldStatus::Expired { at: now };
        Self::close(session, hold, Fate::Failed);
        note_closed(session, hold);
        true
    }

    /// Closes a hold whose execution concludes without it. Says whether it was open.
    pub fn withdraw(&self, session: &mut Session, hold: &mut Hold, now: Timestamp) -> bool {
        if hold.status != HoldStatus::Pending {
            return false;
        }
        hold.status = HoldStatus::Withdrawn { at: now };
        Self::close(session, hold, Fate::Failed);
        note_closed(session, hold);
        true
    }

    /// Where four eyes are wanted, by the hold or by now, neither the owner of the session nor whoever edited the plan
    /// approves it.
    fn check_four_eyes(&self, hold: &Hold, now: FourEyes, by: &UserId) -> Result<(), Box<Refusal>> {
        if hold.four_eyes.or(now) == FourEyes::Off {
            return Ok(());
        }
        let editor = hold.edited_from.as_ref().map(|edited| &edited.by);
        let why = if hold.owner.as_ref() == Some(by) && !self.broken(Sabotage::OwnerApproves) {
            "The owner of a session may not approve it."
        } else if editor == Some(by) && !self.broken(Sabotage::EditorApproves) {
            "The person who edited a plan may not approve it."
        } else {
            return Ok(());
        };
        Err(refuse(hold, ErrorCode::ActionNotAllowed, why))
    }

    /// A hold can be decided once, in its time, for its plan.
    fn check_open(&self, hold: &mut Hold, now: Timestamp) -> Result<(), Box<Refusal>> {
        if hold.status != HoldStatus::Pending && !self.broken(Sabotage::HoldApprovesTwice) {
            return Err(refuse(
                hold,
                ErrorCode::ActionNotAllowed,
                "The hold was decided already.",
            ));
        }
        if now >= hold.expires_at && !self.broken(Sabotage::ExpiredHoldApproves) {
            hold.status = HoldStatus::Expired { at: now };
            return Err(refuse(hold, ErrorCode::Timeout, "The hold expired."));
        }
        if hold.plan.hash() != hold.plan_hash && !self.broken(Sabotage::ApprovesAnotherPlan) {
            return Err(refuse(
                hold,
                ErrorCode::PolicyBlocked,
                "The plan is not the one that was held.",
            ));
        }
        Ok(())
    }

    /// A hold is redeemed once, in its session, by whoever accepted it with a token, and not too late.
    fn check_accepted<'h>(
        &self,
        session: &Session,
        hold: &'h Hold,
        record: &TokenRecord,
        now: Timestamp,
    ) -> Result<&'h UserId, Box<Refusal>> {
        let HoldStatus::Approved { by, at } = &hold.status else {
            return Err(refuse(
                hold,
                ErrorCode::ActionNotAllowed,
                "Nobody approved the hold.",
            ));
        };
        if session.decided_holds.contains(&hold.id) && !self.broken(Sabotage::HoldApprovesTwice) {
            return Err(refuse(
                hold,
                ErrorCode::ActionNotAllowed,
                "The hold was decided already.",
            ));
        }
        let proven = record.hold == hold.id
            && record.plan_hash == hold.plan_hash
            && record.approver == *by
            && record.used_at == Some(*at);
        if !proven && !self.broken(Sabotage::AnyTokenApproves) {
            return Err(refuse(
                hold,
                ErrorCode::ActionNotAllowed,
                "No approval token of this approver was used for the hold.",
            ));
        }
        if hold.plan.session != session.id || hold.plan.hash() != hold.plan_hash {
            if self.broken(Sabotage::ApprovesAnotherPlan) {
                return Ok(by);
            }
            return Err(refuse(
                hold,
                ErrorCode::PolicyBlocked,
                "The plan is not the one that was held.",
            ));
        }
        // Four eyes may have become required since it was approved.
        self.check_four_eyes(hold, session.options.four_eyes, by)?;
        let until = at
            .saturating_add(self.options.redeem_within)
            .unwrap_or(Timestamp::MAX);
        if now > until {
            return Err(refuse(
                hold,
                ErrorCode::Timeout,
                "The approval was given too long ago.",
            ));
        }
        Ok(by)
    }

    /// A hold can be decided once, in its time, in its session, for its plan.
    fn check_decidable(
        &self,
        session: &mut Session,
        hold: &mut Hold,
        now: Timestamp,
    ) -> Result<(), Box<Refusal>> {
        let decided = hold.status != HoldStatus::Pending || session.decided_holds.contains(&hold.id);
        if decided && !self.broken(Sabotage::HoldApprovesTwice) {
            return Err(refuse(
                hold,
                ErrorCode::ActionNotAllowed,
                "The hold was decided already.",
            ));
        }
        if now >= hold.expires_at && !self.broken(Sabotage::ExpiredHoldApproves) {
            self.expire(session, hold, now);
            return Err(refuse(hold, ErrorCode::Timeout, "The hold expired."));
        }
        let waits = session
            .executions
            .get(&hold.plan.execution)
            .and_then(|execution| execution.hold.as_ref());
        let other = waits.is_some_and(|open| open.id != hold.id || open.plan_hash != hold.plan_hash);
        if hold.plan.session != session.id || hold.plan.hash() != hold.plan_hash || other {
            if self.broken(Sabotage::ApprovesAnotherPlan) {
                return Ok(());
            }
            return Err(refuse(
                hold,
                ErrorCode::PolicyBlocked,
                "The plan is not the one that was held.",
            ));
        }
        Ok(())
    }

    fn close(session: &mut Session, hold: &Hold, fate: Fate) {
        session.decided_holds.insert(hold.id.clone());
        if let Some(execution) = session.executions.get_mut(&hold.plan.execution)
            && let Some(open) = execution.hold.take_if(|open| open.id == hold.id)
            && let Some(last) = &mut execution.last
            && last.permit.is_none()
            && last.fingerprint == open.fingerprint
        {
            last.fate = fate;
        }
    }
}

/// Remembers a write that ended without being approved.
fn note_closed(session: &mut Session, hold: &Hold) {
    if let Some(call) = NotRunCall::of_hold(hold) {
        session.note_not_run(call);
    }
}

fn check_token(hold: &Hold, approval: &Approval<'_>, now: Timestamp) -> Result<(), Box<Refusal>> {
    let record = &*approval.record;
    // Compared first and always, so that the time taken says nothing about the rest.
    let matches = record.matches(approval.token);
    let valid = matches
        && record.hold == hold.id
        && record.plan_hash == hold.plan_hash
        && record.approver == *approval.by
        && record.used_at.is_none()
        && now < record.expires_at;
    if valid {
        return Ok(());
    }
    Err(Refusal::new(
        Rule::Hold,
        ErrorCode::ActionNotAllowed,
        about_plan(&hold.plan, State::Reading),
        "The approval token is not valid for this hold and approver, or was used.",
    )
    .detail("hold", hold.id.as_str()))
}

fn refuse(hold: &Hold, code: ErrorCode, message: &str) -> Box<Refusal> {
    Refusal::new(Rule::Hold, code, about_plan(&hold.plan, State::Reading), message)
        .detail("hold", hold.id.as_str())
        .recovery(Recovery::Outside)
}

fn changed(session: &Session, hold: &Hold, now: &Plan) -> Box<Refusal> {
    let was = &hold.plan;
    let mut changes = Vec::new();
    let mut note = |field: &str, was: serde_json::Value, is: serde_json::Value| {
        if was != is {
            changes.push(json!({ "field": field, "was": was, "now": is }));
        }
    };
    let id = |plan: &Plan| plan.resource().map(ToString::to_string);
    let identity = |plan: &Plan| {
        let target = plan.target.as_ref();
        target.map_or_else(Identity::default, |target| target.identity.clone())
    };
    let moved = identity(was).changes(&identity(now));
    note("resource_id", json!(id(was)), json!(id(now)));
    note(
        "name",
        json!(was.target.as_ref().map(|t| &t.name)),
        json!(now.target.as_ref().map(|t| &t.name)),
    );
    note(
        "state",
        json!(was.target.as_ref().map(|t| &t.state)),
        json!(now.target.as_ref().map(|t| &t.state)),
    );
    note("kind", json!(was.kind), json!(now.kind));
    note("risk", json!(was.risk), json!(now.risk));
    note("expectation", json!(was.expectation), json!(now.expectation));
    note(
        "timeout_seconds",
        json!(was.timeout_seconds),
        json!(now.timeout_seconds),
    );
    note("file_before", json!(was.before), json!(now.before));
    for change in &moved {
        note(change.fact.as_str(), json!(change.was), json!(change.now));
    }
    let message = match (was.resource(), moved.is_empty()) {
        (Some(id), false) => {
            let moved: Vec<String> = moved.iter().map(ToString::to_string).collect();
            format!(
                "`{id}` is not the machine that the plan was made for: {}.",
                moved.join("; ")
            )
        }
        (_, true) if was.before != now.before => {
            let path = was
                .expectation
                .as_ref()
                .and_then(crate::file::replaced)
                .unwrap_or("");
            let said = |before: Option<FileBefore>| {
                before.map_or_else(|| "could not be read".to_owned(), |before| before.to_string())
            };
            format!(
                "`{path}` is not as it was when the plan was made. Then: the file {}. Now: the file {}.",
                said(was.before),
                said(now.before)
            )
        }
        (None, _) | (_, true) => "What the plan was made for has changed since.".to_owned(),
    };
    Refusal::new(
        Rule::LiveState,
        ErrorCode::StrictResolution,
        about(session, was),
        message,
    )
    .detail("changes", changes)
    .hint("A new proposal is planned against the present state.")
}

fn about(session: &Session, plan: &Plan) -> About {
    about_plan(plan, session.state(&plan.execution))
}

fn about_plan(plan: &Plan, state: State) -> About {
    About {
        tool: Some(plan.tool.clone()),
        action: plan.action.clone(),
        kind: Some(plan.kind),
        state,
    }
}
