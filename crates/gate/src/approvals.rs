//! A human decides. Approving, denying, editing and expiring holds, as functions of values.

use interlock_protocol::{Arguments, ErrorCode, ToolCall, UserId};
use jiff::Timestamp;
use serde_json::json;

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
    /// Turns an approved hold into the permit for its plan and no other.
    ///
    /// Asks every rule again, against what is known now: an approval does not make a resource exist, a state
    /// pass or a policy silent. After a restart the caller first resolves [`Hold::resources`] anew.
    pub fn approve(
        &self,
        world: &mut World,
        session: &mut Session,
        hold: &mut Hold,
        approval: &mut Approval<'_>,
        situation: Situation<'_>,
    ) -> Result<Permit, Box<Refusal>> {
        let now = situation.now;
        self.check_decidable(session, hold, now)?;
        if !self.broken(Sabotage::AnyTokenApproves) {
            check_token(hold, approval, now)?;
        }
        self.check_four_eyes(session, hold, approval.by)?;
        approval.record.used_at = Some(now);
        let call = ToolCall {
            id: hold.call.clone(),
            tool: hold.plan.tool.clone(),
            arguments: hold.plan.arguments.clone(),
        };
        let origin = Origin::Approved { hold: &hold.id };
        let mut assessed = self
            .assess(world, session, &hold.plan.execution, call, origin, situation)
            .map_err(|refusal| self.note_refusal(session, &hold.plan.execution, refusal, now))?;
        let unchanged = plan::hash(&assessed.plan, assessed.fingerprint) == hold.plan_hash
            && assessed.plan.target == hold.plan.target;
        if !unchanged {
            if self.broken(Sabotage::ApprovesAnotherPlan) {
                assessed.plan.arguments.insert("swapped".to_owned(), json!(true));
            } else {
                return Err(changed(session, hold, &assessed.plan));
            }
        }
        hold.status = HoldStatus::Approved {
            by: approval.by.clone(),
            at: now,
        };
        Self::close(session, hold, Fate::Running);
        Ok(self.permit(world, session, assessed, Some(approval.by.clone()), now))
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
        hold.status = HoldStatus::Denied {
            by: by.clone(),
            at: now,
            reason: reason.to_owned(),
        };
        Self::close(session, hold, Fate::Denied);
        Ok(Refusal::new(
            Rule::Approval,
            ErrorCode::ActionNotAllowed,
            about(session, &hold.plan),
            "A human denied the call.",
        )
        .detail("hold", hold.id.as_str())
        .detail("reason", reason))
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
        true
    }

    /// Closes a hold whose execution concludes without it. Says whether it was open.
    pub fn withdraw(&self, session: &mut Session, hold: &mut Hold, now: Timestamp) -> bool {
        if hold.status != HoldStatus::Pending {
            return false;
        }
        hold.status = HoldStatus::Withdrawn { at: now };
        Self::close(session, hold, Fate::Failed);
        true
    }

    /// Where four eyes are wanted, neither the owner of the session nor whoever edited the plan approves it.
    fn check_four_eyes(&self, session: &Session, hold: &Hold, by: &UserId) -> Result<(), Box<Refusal>> {
        if hold.four_eyes == FourEyes::Off {
            return Ok(());
        }
        let editor = hold.edited_from.as_ref().map(|edited| &edited.by);
        let why = if hold.owner.as_ref() == Some(by) && !self.broken(Sabotage::OwnerApproves) {
            "The owner of a session may not approve it."
        } else if editor == Some(by) && !self.broken(Sabotage::EditorApproves) {
            "Whoever edited a plan may not approve it."
        } else {
            return Ok(());
        };
        Err(refuse(session, hold, ErrorCode::ActionNotAllowed, why))
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
                session,
                hold,
                ErrorCode::ActionNotAllowed,
                "The hold was decided already.",
            ));
        }
        if now >= hold.expires_at && !self.broken(Sabotage::ExpiredHoldApproves) {
            self.expire(session, hold, now);
            return Err(refuse(session, hold, ErrorCode::Timeout, "The hold expired."));
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
                session,
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

fn refuse(session: &Session, hold: &Hold, code: ErrorCode, message: &str) -> Box<Refusal> {
    Refusal::new(Rule::Hold, code, about(session, &hold.plan), message)
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
    Refusal::new(
        Rule::LiveState,
        ErrorCode::StrictResolution,
        about(session, was),
        "What the plan was made for has changed since.",
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
