//! What must hold, whatever a proposer does. Written once; the model check, the hostile proposer and the tests of a
//! broken gate all ask the same list.
//!
//! The invariants do not ask the gate what it believes. They keep a ledger of their own, from what went in and what
//! came out, and compare.

mod ledger;

use interlock_protocol::{ControlLevel, Mode, PermitId, ResourceKind, RiskLevel, ToolKind, Verification};

pub(crate) use ledger::{Actor, Ledger, Occurrence, View};

use crate::catalogue::Placement;
use crate::governance::{ApprovalNeed, Governance, GovernanceInput, PolicyVerdict};
use crate::hold::HoldStatus;
use crate::permit::Permit;
use crate::repetition::Fate;
use crate::rule::Rule;
use crate::sandbox::{RequireSandbox, Where};
use crate::session::FourEyes;
use crate::state::State;
use crate::verification::VerificationEnd;
use crate::world::KillSwitch;

/// An invariant, by name.
pub(crate) struct Invariant {
    /// Its name.
    pub(crate) name: &'static str,
    /// What it says.
    pub(crate) says: &'static str,
    /// Whether it holds for what just happened, given what happened before.
    holds: fn(&Ledger, &Occurrence<'_>, View<'_>) -> bool,
}

/// Every invariant.
pub(crate) const INVARIANTS: &[Invariant] = &[
    Invariant {
        name: "discovery_before_action",
        says: "a write is permitted only on a resource that was discovered in its session",
        holds: discovery_before_action,
    },
    Invariant {
        name: "one_write_at_a_time",
        says: "no execution gets a write while its last one is under way or was not looked at",
        holds: one_write_at_a_time,
    },
    Invariant {
        name: "answer_waits",
        says: "no final answer is given while a write is under way or was not looked at",
        holds: answer_waits,
    },
    Invariant {
        name: "every_write_is_looked_at",
        says: "a write that began, whatever became of it, stays due until it is looked at",
        holds: every_write_is_looked_at,
    },
    Invariant {
        name: "only_its_own_resource_verifies",
        says: "only a reading of the written resource, permitted after the write ended, ends its verification",
        holds: only_its_own_resource_verifies,
    },
    Invariant {
        name: "only_its_own_machine_verifies",
        says: "no reading of another machine under the same name says what became of a write",
        holds: only_its_own_machine_verifies,
    },
    Invariant {
        name: "an_approval_is_for_one_machine",
        says: "an approved plan is permitted only on the machine that it was made for",
        holds: an_approval_is_for_one_machine,
    },
    Invariant {
        name: "history_is_no_state",
        says: "a log, a list of events or a list of other things does not end the verification of a free-form write",
        holds: history_is_no_state,
    },
    Invariant {
        name: "nothing_is_waived",
        says: "a write is given up as unobservable only at its deadline, or while its execution is concluded",
        holds: nothing_is_waived,
    },
    Invariant {
        name: "reads_do_not_write",
        says: "what runs as a read is a bounded read, and what the tables call a write is not run as a read",
        holds: reads_do_not_write,
    },
    Invariant {
        name: "reads_do_not_go_through_write_tools",
        says: "no command that only reads is permitted as a write",
        holds: reads_do_not_go_through_write_tools,
    },
    Invariant {
        name: "sandboxes_where_they_are_required",
        says: "no command that reads is permitted where a sandbox is required and not offered, and its plan says that it is",
        holds: sandboxes_where_they_are_required,
    },
    Invariant {
        name: "unknown_tools_never_run",
        says: "no tool outside the catalogue or the session's scope is permitted",
        holds: unknown_tools_never_run,
    },
    Invariant {
        name: "arguments_fit",
        says: "what is permitted fits its tool's schema",
        holds: arguments_fit,
    },
    Invariant {
        name: "inside_the_right_resource",
        says: "no call that runs inside its target is permitted on the host of something that was asked for by itself",
        holds: inside_the_right_resource,
    },
    Invariant {
        name: "bulk_is_not_intent",
        says: "routing refuses only where something was asked for by itself",
        holds: bulk_is_not_intent,
    },
    Invariant {
        name: "one_writer",
        says: "a resource has one writer at a time, and none whose permit is over",
        holds: one_writer,
    },
    Invariant {
        name: "kill_switch_stops_writes",
        says: "no write begins while the kill switch is engaged",
        holds: kill_switch_stops_writes,
    },
    Invariant {
        name: "a_permit_runs_once",
        says: "a permit is new, begins once, and ends only after it began",
        holds: a_permit_runs_once,
    },
    Invariant {
        name: "a_hold_permits_its_plan_once",
        says: "an approved hold gives one permit, in its time, for exactly the plan that was held",
        holds: a_hold_permits_its_plan_once,
    },
    Invariant {
        name: "the_level_is_kept",
        says: "no write is permitted at `read_only`, and none at `controlled` that no human approved",
        holds: the_level_is_kept,
    },
    Invariant {
        name: "governance_is_kept",
        says: "nothing is permitted that a policy denies, and nothing unseen that governance wants approved",
        holds: governance_is_kept,
    },
    Invariant {
        name: "modes_are_kept",
        says: "nothing is permitted outside the modes of its tool, and no write in `lockdown`",
        holds: modes_are_kept,
    },
    Invariant {
        name: "categories_are_kept",
        says: "nothing of a forbidden category is permitted",
        holds: categories_are_kept,
    },
    Invariant {
        name: "argument_rules_are_kept",
        says: "no argument outside its bound is permitted",
        holds: argument_rules_are_kept,
    },
    Invariant {
        name: "rates_are_kept",
        says: "no tool is permitted more often than it may run",
        holds: rates_are_kept,
    },
    Invariant {
        name: "blast_radius_is_kept",
        says: "nothing is permitted that touches more than it may",
        holds: blast_radius_is_kept,
    },
    Invariant {
        name: "budgets_are_kept",
        says: "nothing is permitted whose budget is spent",
        holds: budgets_are_kept,
    },
    Invariant {
        name: "permits_go_stale",
        says: "no permit begins after its time",
        holds: permits_go_stale,
    },
    Invariant {
        name: "only_its_token_approves",
        says: "no hold is approved with another token, or with someone else's, a used or an old one",
        holds: only_its_token_approves,
    },
    Invariant {
        name: "four_eyes",
        says: "where four eyes are wanted, neither the owner nor the editor of a plan approves it",
        holds: four_eyes,
    },
    Invariant {
        name: "secrets_need_a_human",
        says: "no command that prints secrets or reaches unlisted hosts is permitted that no human approved",
        holds: secrets_need_a_human,
    },
    Invariant {
        name: "tools_that_need_a_human",
        says: "no tool that requires approval is permitted without one",
        holds: tools_that_need_a_human,
    },
    Invariant {
        name: "no_masked_content",
        says: "no write is permitted or held that would put the placeholder of a masked secret in its place",
        holds: no_masked_content,
    },
    Invariant {
        name: "harm_needs_a_human",
        says: "no file that runs code is written, and no node or host restarted, that no human approved",
        holds: harm_needs_a_human,
    },
    Invariant {
        name: "no_repetition",
        says: "a call is not permitted at once after itself unless the first one failed or its resource is being verified",
        holds: no_repetition,
    },
    Invariant {
        name: "no_phantoms",
        says: "no answer claims an action that no receipt shows",
        holds: no_phantoms,
    },
    Invariant {
        name: "refusals_are_facts",
        says: "every refusal is a blocked or failed envelope with its rule, and has a metric",
        holds: refusals_are_facts,
    },
];

fn discovery_before_action(ledger: &Ledger, happened: &Occurrence<'_>, _: View<'_>) -> bool {
    match happened {
        Occurrence::Permitted { actor, permit, .. } if permit.kind() == ToolKind::Write => permit
            .plan()
            .resource()
            .is_some_and(|resource| ledger.discovered.contains(&(actor.0, resource.clone()))),
        _ => true,
    }
}

fn one_write_at_a_time(ledger: &Ledger, happened: &Occurrence<'_>, _: View<'_>) -> bool {
    match happened {
        Occurrence::Permitted { actor, permit, .. } if permit.kind() == ToolKind::Write => {
            !ledger.is_busy(actor)
        }
        _ => true,
    }
}

fn answer_waits(ledger: &Ledger, happened: &Occurrence<'_>, _: View<'_>) -> bool {
    match happened {
        Occurrence::Answered { actor, .. } => !ledger.is_busy(actor),
        _ => true,
    }
}

fn every_write_is_looked_at(ledger: &Ledger, happened: &Occurrence<'_>, view: View<'_>) -> bool {
    let pending = |actor: &Actor, permit: &PermitId| {
        view.sessions[actor.0]
            .pending(&actor.1)
            .iter()
            .any(|pending| pending.permit == *permit)
    };
    let ends: &[VerificationEnd] = match happened {
        Occurrence::Ended { ends, .. } => ends,
        _ => &[],
    };
    match happened {
        Occurrence::Ended { permit, .. } | Occurrence::Lost { permit } => match ledger.under_way.get(*permit)
        {
            Some(run) if run.kind == ToolKind::Write => {
                pending(&run.actor, permit)
                    && view.sessions[run.actor.0].state(&run.actor.1) == State::Verifying
            }
            _ => ledger.unseen.iter().all(|(permit, unseen)| {
                ends.iter().any(|end| end.permit == *permit) || pending(&unseen.actor, permit)
            }),
        },
        Occurrence::Observed { ends, .. } => ledger.unseen.iter().all(|(permit, unseen)| {
            ends.iter().any(|end| end.permit == *permit) || pending(&unseen.actor, permit)
        }),
        _ => ledger
            .unseen
            .iter()
            .all(|(permit, unseen)| pending(&unseen.actor, permit)),
    }
}

fn only_its_own_resource_verifies(ledger: &Ledger, happened: &Occurrence<'_>, _: View<'_>) -> bool {
    let (ends, resource, taken) = match happened {
        Occurrence::Ended { permit, ends, .. } => match ledger.under_way.get(*permit) {
            Some(run) => (*ends, run.resource.as_ref(), run.issued_at),
            None => return ends.is_empty(),
        },
        Occurrence::Observed { resource, ends, .. } => (*ends, Some(*resource), ledger.clock + 1),
        _ => return true,
    };
    ends.iter().all(|end| {
        ledger
            .unseen
            .get(&end.permit)
            .is_some_and(|unseen| resource == Some(&unseen.resource) && taken > unseen.ended_at)
    })
}

fn only_its_own_machine_verifies(ledger: &Ledger, happened: &Occurrence<'_>, _: View<'_>) -> bool {
    let ends: &[VerificationEnd] = match happened {
        Occurrence::Ended { ends, .. } | Occurrence::Observed { ends, .. } => ends,
        _ => return true,
    };
    ends.iter()
        .filter(|end| end.outcome != Verification::Inconclusive)
        .all(|end| {
            ledger
                .unseen
                .get(&end.permit)
                .is_some_and(|unseen| unseen.machine == ledger.machine(&unseen.resource))
        })
}

fn an_approval_is_for_one_machine(ledger: &Ledger, happened: &Occurrence<'_>, _: View<'_>) -> bool {
    let Occurrence::Permitted {
        permit,
        approved: Some(hold),
        ..
    } = happened
    else {
        return true;
    };
    match (&permit.plan().target, &hold.plan.target) {
        (Some(runs), Some(shown)) => {
            runs.identity == shown.identity && runs.identity == Ledger::identity(ledger.machine(&runs.id))
        }
        (runs, shown) => runs == shown,
    }
}

fn no_masked_content(_: &Ledger, happened: &Occurrence<'_>, _: View<'_>) -> bool {
    let plan = match happened {
        Occurrence::Permitted { permit, .. } => permit.plan(),
        Occurrence::Held { hold, .. } => &hold.plan,
        _ => return true,
    };
    let text = serde_json::Value::Object(plan.arguments.clone()).to_string();
    plan.kind != ToolKind::Write || !text.contains("[masked:")
}

fn harm_needs_a_human(_: &Ledger, happened: &Occurrence<'_>, _: View<'_>) -> bool {
    let Occurrence::Permitted {
        permit,
        approved: None,
        ..
    } = happened
    else {
        return true;
    };
    let plan = permit.plan();
    if plan.kind != ToolKind::Write {
        return true;
    }
    let path = plan.arguments.get("path").and_then(serde_json::Value::as_str);
    let power = matches!(plan.action.as_deref(), Some("restart" | "shutdown"))
        && plan
            .resource()
            .is_some_and(|id| matches!(id.kind(), ResourceKind::Node | ResourceKind::Host));
    // A file that runs code, one that is not known to be data, and a folder whose content is not known.
    let harmful = |text: &str| {
        ["/etc/cron.d/", "/srv/app.conf", "cp -r "]
            .iter()
            .any(|mark| text.contains(mark))
    };
    !path.is_some_and(harmful) && !plan.command.as_deref().is_some_and(harmful) && !power
}

fn history_is_no_state(_: &Ledger, happened: &Occurrence<'_>, _: View<'_>) -> bool {
    let Occurrence::Ended {
        ends, tells_history, ..
    } = happened
    else {
        return true;
    };
    !*tells_history || ends.iter().all(|end| end.outcome != Verification::Observed)
}

fn nothing_is_waived(ledger: &Ledger, happened: &Occurrence<'_>, view: View<'_>) -> bool {
    let (ends, concluding) = match happened {
        Occurrence::Ended { ends, .. } => (*ends, false),
        Occurrence::Observed { ends, concluding, .. } => (*ends, *concluding),
        _ => return true,
    };
    concluding
        || ends.iter().all(|end| {
            end.outcome != Verification::Inconclusive
                || ledger.unseen.get(&end.permit).is_some_and(|unseen| {
                    view.now.duration_since(unseen.since) >= view.gate.options.verify_within
                })
        })
}

fn reads_do_not_write(_: &Ledger, happened: &Occurrence<'_>, view: View<'_>) -> bool {
    let Occurrence::Permitted { permit, .. } = happened else {
        return true;
    };
    let plan = permit.plan();
    if plan.kind == ToolKind::Write {
        return true;
    }
    let table = view
        .gate
        .catalogue()
        .classify(plan.tool.as_str(), &plan.arguments);
    let bounded = plan
        .command
        .as_deref()
        .is_none_or(|command| (view.gate.analyse)(command).is_bounded_read());
    table != ToolKind::Write && bounded
}

fn reads_do_not_go_through_write_tools(_: &Ledger, happened: &Occurrence<'_>, view: View<'_>) -> bool {
    let Occurrence::Permitted { permit, .. } = happened else {
        return true;
    };
    let plan = permit.plan();
    plan.kind != ToolKind::Write
        || plan.command.as_deref().is_none_or(|command| {
            let verdict = (view.gate.analyse)(command);
            verdict.intent == interlock_shell::Intent::WriteOrUnknown || verdict.needs_sandbox
        })
}

fn sandboxes_where_they_are_required(_: &Ledger, happened: &Occurrence<'_>, view: View<'_>) -> bool {
    let Occurrence::Permitted { actor, permit, .. } = happened else {
        return true;
    };
    let plan = permit.plan();
    let Some(command) = plan.command.as_deref().filter(|_| plan.kind != ToolKind::Write) else {
        return true;
    };
    let verdict = (view.gate.analyse)(command);
    let place = plan.resource().map_or(Where::Here, |id| Where::In(id.clone()));
    let known = view.sessions[actor.0].read_targets.get(&place);
    let required = match &view.gate.options().read_sandbox {
        RequireSandbox::Never => false,
        RequireSandbox::Always => true,
        RequireSandbox::Tagged(tags) => known.is_none_or(|known| !known.tags.is_disjoint(tags)),
    };
    let offered = known.is_some_and(|known| known.sandbox.is_enforced());
    let held = offered && plan.sandbox_required;
    (!verdict.needs_sandbox || held) && (!required || held && !verdict.hands_over)
}

fn unknown_tools_never_run(_: &Ledger, happened: &Occurrence<'_>, view: View<'_>) -> bool {
    let Occurrence::Permitted { actor, permit, .. } = happened else {
        return true;
    };
    let tool = &permit.plan().tool;
    view.gate.catalogue().get(tool.as_str()).is_some()
        && view.sessions[actor.0].options().tools.contains(tool)
}

fn arguments_fit(_: &Ledger, happened: &Occurrence<'_>, view: View<'_>) -> bool {
    let Occurrence::Permitted { permit, .. } = happened else {
        return true;
    };
    let plan = permit.plan();
    let arguments = serde_json::Value::Object(plan.arguments.clone());
    view.gate
        .catalogue()
        .get(plan.tool.as_str())
        .is_some_and(|tool| tool.validate(&arguments).is_ok())
}

fn inside_the_right_resource(ledger: &Ledger, happened: &Occurrence<'_>, view: View<'_>) -> bool {
    let Occurrence::Permitted {
        actor,
        permit,
        meant,
        placement: Placement::Inside,
        ..
    } = happened
    else {
        return true;
    };
    let mut targets = permit.plan().resource().into_iter().chain(*meant);
    !targets.any(|target| ledger.has_explicit_child(actor.0, target, view))
}

fn bulk_is_not_intent(ledger: &Ledger, happened: &Occurrence<'_>, view: View<'_>) -> bool {
    let Occurrence::Refused { actor, refusal } = happened else {
        return true;
    };
    refusal.rule != Rule::Routing
        || ledger.explicit.iter().any(|((session, id), at)| {
            *session == actor.0 && id.host().is_some() && Ledger::is_recent(*at, *session, view)
        })
}

fn one_writer(ledger: &Ledger, happened: &Occurrence<'_>, view: View<'_>) -> bool {
    let fresh = match happened {
        Occurrence::Permitted { permit, .. } if permit.kind() == ToolKind::Write => !ledger
            .under_way
            .values()
            .any(|run| run.kind == ToolKind::Write && run.resource.as_ref() == permit.plan().resource()),
        _ => true,
    };
    // Whoever writes has a permit that is under way: no writer stays behind.
    let present = view.world.writers().all(|(_, writer)| match happened {
        Occurrence::Permitted { permit, .. } if *permit.id() == writer.permit => true,
        Occurrence::Ended { permit, .. } | Occurrence::NotBegun { permit } | Occurrence::Lost { permit }
            if **permit == writer.permit =>
        {
            false
        }
        _ => ledger.under_way.contains_key(&writer.permit),
    });
    fresh && present
}

fn kill_switch_stops_writes(ledger: &Ledger, happened: &Occurrence<'_>, view: View<'_>) -> bool {
    match happened {
        Occurrence::Begun { permit } => {
            view.world.kill_switch == KillSwitch::Released
                || ledger
                    .under_way
                    .get(*permit)
                    .is_some_and(|run| run.kind != ToolKind::Write)
        }
        Occurrence::Permitted { permit, .. } => {
            view.world.kill_switch == KillSwitch::Released || permit.kind() != ToolKind::Write
        }
        _ => true,
    }
}

fn a_permit_runs_once(ledger: &Ledger, happened: &Occurrence<'_>, _: View<'_>) -> bool {
    match happened {
        Occurrence::Permitted { permit, .. } => !ledger.issued.contains(permit.id()),
        Occurrence::Begun { permit } => ledger.under_way.get(*permit).is_some_and(|run| !run.begun),
        Occurrence::NotBegun { permit } => ledger.under_way.get(*permit).is_some_and(|run| !run.begun),
        Occurrence::Ended { permit, .. } | Occurrence::Lost { permit } => {
            ledger.under_way.contains_key(*permit)
        }
        _ => true,
    }
}

fn a_hold_permits_its_plan_once(ledger: &Ledger, happened: &Occurrence<'_>, view: View<'_>) -> bool {
    match happened {
        Occurrence::Permitted {
            permit,
            approved: Some(hold),
            ..
        } => {
            permit.plan_hash() == hold.plan_hash
                && permit.plan().hash() == hold.plan_hash
                && view.now < hold.expires_at
                && !ledger.approved.contains(&hold.id)
        }
        Occurrence::Held { hold, .. } => {
            hold.plan.hash() == hold.plan_hash
                && hold.status == HoldStatus::Pending
                && !hold.reasons.is_empty()
        }
        _ => true,
    }
}

fn the_level_is_kept(_: &Ledger, happened: &Occurrence<'_>, view: View<'_>) -> bool {
    match happened {
        Occurrence::Permitted {
            actor,
            permit,
            approved,
            ..
        } if permit.kind() == ToolKind::Write => match view.sessions[actor.0].options().level {
            ControlLevel::ReadOnly => false,
            ControlLevel::Controlled => approved.is_some() && permit.approved_by().is_some(),
            ControlLevel::Autonomous => approved.is_some() || permit.plan().risk != RiskLevel::High,
        },
        _ => true,
    }
}

/// What governance said about a call that was permitted.
const fn governed<'a>(happened: &Occurrence<'a>) -> Option<(&'a GovernanceInput, &'a Permit, bool)> {
    match happened {
        Occurrence::Permitted {
            governance: Governance::Given(input),
            permit,
            approved,
            ..
        } => Some((input, permit, approved.is_some())),
        _ => None,
    }
}

fn governance_is_kept(_: &Ledger, happened: &Occurrence<'_>, _: View<'_>) -> bool {
    governed(happened).is_none_or(|(input, _, approved)| {
        let by_policy = match &input.policy {
            PolicyVerdict::Forbid { .. } | PolicyVerdict::DefaultDeny => false,
            PolicyVerdict::PermitWithApproval { .. } => approved,
            PolicyVerdict::NotConsulted | PolicyVerdict::Permit { .. } => true,
        };
        by_policy && (approved || input.approval == ApprovalNeed::NotRequired)
    })
}

fn modes_are_kept(_: &Ledger, happened: &Occurrence<'_>, view: View<'_>) -> bool {
    governed(happened).is_none_or(|(input, permit, _)| {
        let plan = permit.plan();
        let tool = view.gate.catalogue().get(plan.tool.as_str());
        tool.is_some_and(|tool| tool.definition().modes.contains(&input.mode))
            && (input.mode != Mode::Lockdown || plan.kind != ToolKind::Write)
    })
}

fn categories_are_kept(_: &Ledger, happened: &Occurrence<'_>, view: View<'_>) -> bool {
    governed(happened).is_none_or(|(input, permit, _)| {
        let tool = view.gate.catalogue().get(permit.plan().tool.as_str());
        tool.is_some_and(|tool| !input.forbidden_categories.contains(&tool.definition().category))
    })
}

fn argument_rules_are_kept(_: &Ledger, happened: &Occurrence<'_>, _: View<'_>) -> bool {
    governed(happened).is_none_or(|(input, permit, _)| {
        let plan = permit.plan();
        let rules = input.argument_rules.iter().filter(|rule| rule.tool == plan.tool);
        rules
            .filter_map(|rule| Some((rule, plan.arguments.get(&rule.argument)?)))
            .all(|(rule, value)| rule.bound.admits(value).is_ok())
    })
}

fn rates_are_kept(_: &Ledger, happened: &Occurrence<'_>, view: View<'_>) -> bool {
    governed(happened).is_none_or(|(input, permit, _)| {
        let tool = view.gate.catalogue().get(permit.plan().tool.as_str());
        let own = tool.and_then(|tool| tool.definition().rate_limit_per_hour);
        let within = |limit: u32| input.calls_in_last_hour < limit;
        own.is_none_or(|limit| within(limit.get())) && input.rate_limit_per_hour.is_none_or(within)
    })
}

fn blast_radius_is_kept(_: &Ledger, happened: &Occurrence<'_>, _: View<'_>) -> bool {
    governed(happened).is_none_or(|(input, ..)| {
        input
            .blast_radius
            .is_none_or(|radius| radius.affected <= radius.most)
    })
}

fn budgets_are_kept(_: &Ledger, happened: &Occurrence<'_>, _: View<'_>) -> bool {
    governed(happened)
        .is_none_or(|(input, ..)| input.budgets.iter().all(|budget| budget.spent < budget.limit))
}

fn permits_go_stale(ledger: &Ledger, happened: &Occurrence<'_>, view: View<'_>) -> bool {
    match happened {
        Occurrence::Begun { permit } => ledger
            .under_way
            .get(*permit)
            .is_some_and(|run| view.now.duration_since(run.since) <= view.gate.options.permit_ttl),
        _ => true,
    }
}

const fn only_its_token_approves(_: &Ledger, happened: &Occurrence<'_>, _: View<'_>) -> bool {
    !matches!(happened, Occurrence::WrongTokenTaken)
}

fn four_eyes(_: &Ledger, happened: &Occurrence<'_>, view: View<'_>) -> bool {
    let Occurrence::Permitted {
        actor,
        permit,
        approved: Some(hold),
        ..
    } = happened
    else {
        return true;
    };
    let options = view.sessions[actor.0].options();
    let editor = hold.edited_from.as_ref().map(|edited| &edited.by);
    let by = permit.approved_by();
    options.four_eyes == FourEyes::Off || (by.is_some() && by != options.owner.as_ref() && by != editor)
}

fn secrets_need_a_human(_: &Ledger, happened: &Occurrence<'_>, view: View<'_>) -> bool {
    let Occurrence::Permitted {
        permit,
        approved: None,
        ..
    } = happened
    else {
        return true;
    };
    permit.plan().command.as_deref().is_none_or(|command| {
        let verdict = (view.gate.analyse)(command);
        let listed = |host: &String| view.gate.options.egress.contains(host);
        let reaches = verdict.network && (verdict.hosts.is_empty() || !verdict.hosts.iter().all(listed));
        !verdict.sensitive && !reaches
    })
}

fn tools_that_need_a_human(_: &Ledger, happened: &Occurrence<'_>, view: View<'_>) -> bool {
    let Occurrence::Permitted {
        permit,
        approved: None,
        ..
    } = happened
    else {
        return true;
    };
    let tool = view.gate.catalogue().get(permit.plan().tool.as_str());
    tool.is_some_and(|tool| !tool.definition().requires_approval)
}

fn no_repetition(ledger: &Ledger, happened: &Occurrence<'_>, _: View<'_>) -> bool {
    let Occurrence::Permitted {
        actor,
        permit,
        call,
        approved: None,
        ..
    } = happened
    else {
        return true;
    };
    match ledger.last.get(*actor) {
        Some(last) if last.call == *call && last.fate != Fate::Failed => {
            permit.kind() != ToolKind::Write
                && ledger.unseen.values().any(|unseen| {
                    unseen.actor == **actor && Some(&unseen.resource) == permit.plan().resource()
                })
        }
        _ => true,
    }
}

fn no_phantoms(ledger: &Ledger, happened: &Occurrence<'_>, _: View<'_>) -> bool {
    match happened {
        Occurrence::Answered {
            actor,
            answer,
            claims: Some(resource),
        } => {
            answer.replaced.is_some()
                || ledger.done.contains(&(actor.0, (*resource).clone()))
                // Another execution of the session did it, and it was not looked at yet: marked, not replaced.
                || ledger
                    .unseen
                    .values()
                    .any(|unseen| unseen.actor.0 == actor.0 && unseen.resource == **resource)
        }
        _ => true,
    }
}

fn refusals_are_facts(_: &Ledger, happened: &Occurrence<'_>, view: View<'_>) -> bool {
    let Occurrence::Refused { refusal, .. } = happened else {
        return true;
    };
    let response = refusal.to_response();
    let Some(error) = response.error() else {
        return false;
    };
    let addresses_the_model = |text: &str| {
        text.split(|c: char| !c.is_ascii_alphabetic()).any(|word| {
            ["you", "your", "please", "let", "i"]
                .iter()
                .any(|address| word.eq_ignore_ascii_case(address))
        })
    };
    error.code == refusal.code
        && error.details.contains_key("rule")
        && error.details.contains_key("auto_recoverable")
        && !refusal.recovery_hint.as_deref().is_some_and(addresses_the_model)
        && view.gate.metric(refusal).name.starts_with("interlock_")
}

/// An invariant that did not hold.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub struct Violation {
    /// The invariant.
    pub invariant: &'static str,
    /// What it says.
    pub says: &'static str,
    /// What happened.
    pub happened: String,
}

/// Asks every invariant about one occurrence, then writes it into the ledger.
pub(crate) fn check(
    ledger: &mut Ledger,
    happened: &Occurrence<'_>,
    view: View<'_>,
    found: &mut Vec<Violation>,
) {
    for invariant in INVARIANTS {
        if !(invariant.holds)(ledger, happened, view) {
            found.push(Violation {
                invariant: invariant.name,
                says: invariant.says,
                happened: format!("{happened:?}").chars().take(600).collect(),
            });
        }
    }
    ledger.record(happened, view.now);
}
