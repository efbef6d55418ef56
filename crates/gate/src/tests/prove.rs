//! The proof runs, and each of its invariants can fail.

use std::collections::BTreeSet;

use crate::invariants::INVARIANTS;
use crate::prove::{GateOptions, HostileOptions};
use crate::rule::Rule;
use crate::sabotage::Sabotage;

const SEED: u64 = 0x1a7e_710c;

#[test]
fn one_execution_meets_no_violation_and_no_dead_end() {
    let report = crate::prove::gate(GateOptions {
        executions: 1,
        ..GateOptions::default()
    });
    eprintln!("{} states, {} transitions", report.states, report.transitions);
    assert_eq!(
        (report.violations, report.dead_ends, report.complete),
        (vec![], vec![], true)
    );
}

#[test]
fn a_hostile_proposer_gets_nothing_unpermitted() {
    let report = crate::prove::hostile(HostileOptions {
        steps: 40_000,
        seed: SEED,
        progress: None,
    });
    assert_eq!(report.violations, []);
    let asked: BTreeSet<&str> = report.refused.keys().copied().collect();
    for rule in [
        Rule::ToolKnown,
        Rule::ToolAllowed,
        Rule::Arguments,
        Rule::StateMachine,
        Rule::Repetition,
        Rule::StrictResolution,
        Rule::OneWriter,
        Rule::Routing,
        Rule::CommandIntent,
        Rule::ReadSandbox,
        Rule::Mode,
        Rule::Category,
        Rule::ArgumentRule,
        Rule::RateLimit,
        Rule::BlastRadius,
        Rule::Budget,
        Rule::Policy,
        Rule::KillSwitch,
        Rule::ControlLevel,
        Rule::Approval,
    ] {
        assert!(
            asked.contains(rule.as_str()),
            "{rule} was never reached: {asked:?}"
        );
    }
    assert!(
        report.allowed > 1_000 && report.held > 50 && report.answered > 50,
        "{report:?}"
    );
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let run = || {
        crate::prove::hostile(HostileOptions {
            steps: 3_000,
            seed: 7,
            progress: None,
        })
    };
    assert_eq!(run(), run());
}

/// What is broken, and the invariants that notice.
const BROKEN: &[(Sabotage, &[&str])] = &[
    (Sabotage::Skip(Rule::ToolAllowed), &["unknown_tools_never_run"]),
    (Sabotage::Skip(Rule::Arguments), &["arguments_fit"]),
    (Sabotage::Skip(Rule::StateMachine), &["one_write_at_a_time"]),
    (Sabotage::Skip(Rule::Repetition), &["no_repetition"]),
    (
        Sabotage::Skip(Rule::StrictResolution),
        &["discovery_before_action"],
    ),
    (Sabotage::Skip(Rule::OneWriter), &["one_writer"]),
    (Sabotage::Skip(Rule::Routing), &["inside_the_right_resource"]),
    (
        Sabotage::Skip(Rule::CommandIntent),
        &["reads_do_not_write", "reads_do_not_go_through_write_tools"],
    ),
    (
        Sabotage::Skip(Rule::ReadSandbox),
        &["sandboxes_where_they_are_required"],
    ),
    (Sabotage::Skip(Rule::Policy), &["governance_is_kept"]),
    (Sabotage::GovernanceNeedsNobody, &["governance_is_kept"]),
    (Sabotage::Skip(Rule::Mode), &["modes_are_kept"]),
    (Sabotage::Skip(Rule::Category), &["categories_are_kept"]),
    (Sabotage::Skip(Rule::ArgumentRule), &["argument_rules_are_kept"]),
    (Sabotage::Skip(Rule::RateLimit), &["rates_are_kept"]),
    (Sabotage::Skip(Rule::BlastRadius), &["blast_radius_is_kept"]),
    (Sabotage::Skip(Rule::Budget), &["budgets_are_kept"]),
    (Sabotage::Skip(Rule::KillSwitch), &["kill_switch_stops_writes"]),
    (Sabotage::Skip(Rule::PermitExpiry), &["permits_go_stale"]),
    (Sabotage::AnyTokenApproves, &["only_its_token_approves"]),
    (Sabotage::OwnerApproves, &["four_eyes"]),
    (Sabotage::EditorApproves, &["four_eyes"]),
    (Sabotage::SecretsNeedNobody, &["secrets_need_a_human"]),
    (Sabotage::ToolsNeedNobody, &["tools_that_need_a_human"]),
    (Sabotage::Skip(Rule::ControlLevel), &["the_level_is_kept"]),
    (Sabotage::Skip(Rule::FinalAnswer), &["answer_waits"]),
    (Sabotage::WriteIsRead, &["reads_do_not_write"]),
    (Sabotage::AnyResourceVerifies, &["only_its_own_resource_verifies"]),
    (Sabotage::MaskedContentPasses, &["no_masked_content"]),
    (Sabotage::HarmIsIgnored, &["harm_needs_a_human"]),
    (
        Sabotage::AnotherMachineVerifies,
        &["only_its_own_machine_verifies"],
    ),
    (Sabotage::AnotherMachineRuns, &["an_approval_is_for_one_machine"]),
    (Sabotage::AnyReadingObserves, &["history_is_no_state"]),
    (Sabotage::NamesAreNotResolved, &["inside_the_right_resource"]),
    (
        Sabotage::EarlierReadingVerifies,
        &["only_its_own_resource_verifies"],
    ),
    (Sabotage::FailedWriteNeedsNoReading, &["every_write_is_looked_at"]),
    (Sabotage::ResetDropsVerification, &["every_write_is_looked_at"]),
    (Sabotage::BeginIgnoresKillSwitch, &["kill_switch_stops_writes"]),
    (Sabotage::BulkIsExplicit, &["bulk_is_not_intent"]),
    (Sabotage::HoldApprovesTwice, &["a_hold_permits_its_plan_once"]),
    (Sabotage::ExpiredHoldApproves, &["a_hold_permits_its_plan_once"]),
    (Sabotage::ApprovesAnotherPlan, &["a_hold_permits_its_plan_once"]),
    (
        Sabotage::LostIsForgotten,
        &["every_write_is_looked_at", "one_writer"],
    ),
    (Sabotage::AnyTimeIsConclusion, &["nothing_is_waived"]),
    (Sabotage::PhantomsPass, &["no_phantoms"]),
    (Sabotage::PermitIdsRepeat, &["a_permit_runs_once"]),
    (Sabotage::RefusalsTellStories, &["refusals_are_facts"]),
];

#[test]
fn each_broken_rule_is_noticed_by_its_invariant() {
    for (sabotage, expected) in BROKEN {
        let mut gate = crate::prove::guarded_gate().unwrap();
        gate.analyse = super::fixture::analyse;
        gate.sabotage = Some(*sabotage);
        let mut found: BTreeSet<&str> = BTreeSet::new();
        for round in 0..80 {
            let options = HostileOptions {
                steps: 4_000,
                seed: SEED + round,
                progress: None,
            };
            let violations = crate::prove::attack(&gate, options).violations;
            found.extend(violations.iter().map(|violation| violation.invariant));
            if expected.iter().all(|name| found.contains(name)) {
                break;
            }
        }
        for name in *expected {
            assert!(
                found.contains(name),
                "{sabotage:?} went unnoticed by {name}: {found:?}"
            );
        }
    }
}

#[test]
fn a_permit_that_is_lost_and_forgotten_is_a_dead_end() {
    let mut gate = crate::prove::real_gate().unwrap();
    gate.sabotage = Some(Sabotage::LostIsForgotten);
    let options = GateOptions {
        executions: 1,
        max_states: 1_500,
        progress: None,
    };
    assert_ne!(crate::prove::explore(&gate, options).dead_ends, [] as [String; 0]);
}

#[test]
fn every_invariant_has_a_broken_gate_that_it_notices() {
    let noticed: BTreeSet<&str> = BROKEN
        .iter()
        .flat_map(|(_, names)| names.iter().copied())
        .collect();
    let all: BTreeSet<&str> = INVARIANTS.iter().map(|invariant| invariant.name).collect();
    assert_eq!(noticed, all);
}
