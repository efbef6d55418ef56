//! A small world for tests: a gate, one session, a clock that moves only when told.

use std::sync::Arc;

use interlock_protocol::{
    CallId, ContentHash, ControlLevel, Evidence, EvidenceId, ExecutionId, Identity, Observation, Outcome,
    Receipt, ResourceId, RunIdentity, RunState, SessionId, Source, ToolCall, ToolName, UserId,
};
use interlock_shell::{Category, Intent, Needs, Reason, Risk, Verdict};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::*;

pub(crate) fn id(text: &str) -> ResourceId {
    text.parse().unwrap()
}

pub(crate) fn execution(name: &str) -> ExecutionId {
    ExecutionId::new(name).unwrap()
}

pub(crate) fn user(name: &str) -> UserId {
    UserId::new(name).unwrap()
}

pub(crate) fn call(tool: &str, arguments: Value) -> ToolCall {
    let Value::Object(arguments) = arguments else {
        panic!("arguments are an object")
    };
    ToolCall {
        id: CallId::new("call_1").unwrap(),
        tool: ToolName::new(tool).unwrap(),
        arguments,
    }
}

/// A stand-in for the shell analysis with a handful of commands, so that gate tests fail for gate reasons.
pub(crate) fn analyse(command: &str) -> Verdict {
    let read = Verdict {
        intent: Intent::ReadOnlyCertain,
        risk: Risk::ReadOnly,
        bounded: true,
        category: None,
        sensitive: false,
        network: false,
        needs_sandbox: false,
        hands_over: false,
        needs: Needs::NONE,
        shared_needs: Needs::NONE,
        hosts: Vec::new(),
        reasons: Vec::new(),
        rewrite: None,
    };
    let first = command.split(' ').next().unwrap_or("");
    match (first, command) {
        (_, "cat /etc/shadow") => Verdict {
            sensitive: true,
            ..read
        },
        (_, "curl -s https://status.example.org") => Verdict {
            network: true,
            hosts: vec!["status.example.org".to_owned()],
            ..read
        },
        (_, "ping -c 1 $HOST") => Verdict {
            network: true,
            ..read
        },
        (_, "journalctl -f") => Verdict {
            bounded: false,
            category: Some(Category::UnboundedStream),
            rewrite: Some("journalctl -n 200 --since \"10 min ago\"".to_owned()),
            reasons: vec![Reason {
                part: "-f".to_owned(),
                why: "follows without end".to_owned(),
            }],
            ..read
        },
        (_, "psql") => Verdict {
            bounded: false,
            category: Some(Category::InteractiveRepl),
            ..read
        },
        ("git", _) => Verdict {
            needs_sandbox: true,
            ..read
        },
        ("docker", _) => Verdict {
            hands_over: true,
            ..read
        },
        ("cat" | "grep" | "ls" | "journalctl" | "uptime" | "tail", _) => read,
        ("rm" | "systemctl", _) => Verdict {
            intent: Intent::WriteOrUnknown,
            risk: Risk::HighWrite,
            ..read
        },
        _ => Verdict {
            intent: Intent::WriteOrUnknown,
            risk: Risk::MediumWrite,
            reasons: vec![Reason {
                part: first.to_owned(),
                why: "is not known".to_owned(),
            }],
            ..read
        },
    }
}

pub(crate) fn jellyfin() -> ResolvedResource {
    ResolvedResource::new(id("lxc:delly:105"), "jellyfin")
        .alias("media")
        .in_state("running")
}

pub(crate) fn homepage() -> ResolvedResource {
    ResolvedResource::new(id("lxc:delly:141"), "homepage-docker").in_state("running")
}

pub(crate) fn delly() -> ResolvedResource {
    ResolvedResource::new(id("node:delly"), "delly")
}

pub(crate) fn minipc() -> ResolvedResource {
    ResolvedResource::new(id("node:minipc"), "minipc")
}

pub(crate) struct Stage {
    pub(crate) gate: Gate,
    pub(crate) world: World,
    pub(crate) session: Session,
    pub(crate) now: Timestamp,
    pub(crate) agent: ExecutionId,
    readings: u64,
}

impl Stage {
    pub(crate) fn new() -> Self {
        Self::at_level(ControlLevel::Autonomous)
    }

    pub(crate) fn at_level(level: ControlLevel) -> Self {
        Self::with(SessionOptions {
            level,
            owner: Some(user("olga")),
            ..SessionOptions::default()
        })
    }

    pub(crate) fn with(options: SessionOptions) -> Self {
        let mut gate = Gate::new(
            Arc::new(Catalogue::built_in().unwrap()),
            Options {
                data_files: ["/opt", "/srv/x", "/etc/x", "/x"].map(str::to_owned).into(),
                ..Options::default()
            },
        );
        gate.analyse = analyse;
        Self {
            gate,
            world: World::default(),
            session: Session::new(SessionId::new("ses_1").unwrap(), options),
            now: start(),
            agent: execution("exe_1"),
            readings: 0,
        }
    }

    /// A stage on which everything was found by a search.
    pub(crate) fn discovered() -> Self {
        Self::new().discover(vec![delly(), minipc(), jellyfin(), homepage()])
    }

    pub(crate) fn discover(mut self, resources: Vec<ResolvedResource>) -> Self {
        self.search(resources);
        self
    }

    pub(crate) fn wait(&mut self, duration: SignedDuration) {
        self.now += duration;
    }

    pub(crate) fn state(&self) -> State {
        self.session.state(&self.agent)
    }

    pub(crate) fn situation(&self) -> Situation<'static> {
        Situation::at(self.now)
    }

    pub(crate) fn propose(&mut self, tool: &str, arguments: Value) -> Decision {
        let agent = self.agent.clone();
        self.propose_as(&agent, tool, arguments)
    }

    pub(crate) fn propose_as(&mut self, agent: &ExecutionId, tool: &str, arguments: Value) -> Decision {
        let situation = Situation::at(self.now);
        self.gate.decide(
            &mut self.world,
            &mut self.session,
            agent,
            call(tool, arguments),
            situation,
        )
    }

    pub(crate) fn allowed(&mut self, tool: &str, arguments: Value) -> Permit {
        match self.propose(tool, arguments.clone()) {
            Decision::Allow(permit) => permit,
            other => panic!("{tool} {arguments}: {other:?}"),
        }
    }

    pub(crate) fn refused(&mut self, tool: &str, arguments: Value) -> Refusal {
        match self.propose(tool, arguments.clone()) {
            Decision::Block(refusal) => *refusal,
            other => panic!("{tool} {arguments}: {other:?}"),
        }
    }

    pub(crate) fn held(&mut self, tool: &str, arguments: Value) -> Hold {
        match self.propose(tool, arguments.clone()) {
            Decision::Hold(hold) => *hold,
            other => panic!("{tool} {arguments}: {other:?}"),
        }
    }

    /// Begins a permit, with what code would have observed before: it runs since long ago.
    pub(crate) fn begin(&mut self, permit: Permit) -> Started {
        let before = guest(RunState::Running, Timestamp::UNIX_EPOCH);
        self.gate.baseline(&mut self.session, permit.id(), before);
        permit.begin(self.world.kill_switch, self.now).unwrap()
    }

    pub(crate) fn finish(&mut self, started: Started, outcome: Outcome) -> Receipt {
        started.finish(Ended {
            outcome,
            finished_at: Some(self.now),
            exit_code: None,
            output_hash: None,
            summary: "done".to_owned(),
        })
    }

    pub(crate) fn settle(
        &mut self,
        receipt: &Receipt,
        evidence: Option<&Evidence>,
        discovered: Vec<ResolvedResource>,
    ) -> Settled {
        let report = Report {
            receipt,
            evidence,
            discovered,
        };
        self.gate
            .settle(&mut self.world, &mut self.session, report, self.now)
            .unwrap()
    }

    /// Runs a permit to its receipt, with nothing read.
    pub(crate) fn run(&mut self, permit: Permit, outcome: Outcome) -> Settled {
        let started = self.begin(permit);
        self.wait(SignedDuration::from_secs(1));
        let receipt = self.finish(started, outcome);
        self.settle(&receipt, None, Vec::new())
    }

    /// Runs a permitted read that sees this.
    pub(crate) fn run_read(
        &mut self,
        permit: Permit,
        observations: Vec<Observation>,
        data: Value,
    ) -> Settled {
        let started = self.begin(permit);
        let evidence = self.evidence(started.plan().resource().cloned(), observations, data);
        let receipt = self.finish(started, Outcome::Succeeded);
        self.settle(&receipt, Some(&evidence), Vec::new())
    }

    pub(crate) fn evidence(
        &mut self,
        resource: Option<ResourceId>,
        observations: Vec<Observation>,
        data: Value,
    ) -> Evidence {
        self.readings += 1;
        Evidence {
            id: EvidenceId::new(format!("evd_{}", self.readings)).unwrap(),
            session: self.session.id().clone(),
            execution: self.agent.clone(),
            call: CallId::new("call_1").unwrap(),
            tool: ToolName::new("infra_read").unwrap(),
            resource,
            identity: Identity::default(),
            taken_at: self.now,
            hash: ContentHash::of_json(&data),
            data,
            observations,
            source: Some(Source::Code),
            walls: None,
        }
    }

    /// A search that finds these.
    pub(crate) fn search(&mut self, resources: Vec<ResolvedResource>) -> Settled {
        let query = format!("q{}", self.readings);
        self.readings += 1;
        let permit = self.allowed("infra_query", json!({"action": "search", "query": query}));
        let started = self.begin(permit);
        let receipt = self.finish(started, Outcome::Succeeded);
        self.settle(&receipt, None, resources)
    }

    /// A `get` that returns this one.
    pub(crate) fn get(&mut self, resource: ResolvedResource) -> Settled {
        let permit = self.allowed(
            "infra_query",
            json!({"action": "get", "resource_id": resource.id.to_string()}),
        );
        let started = self.begin(permit);
        let receipt = self.finish(started, Outcome::Succeeded);
        self.settle(&receipt, None, vec![resource])
    }

    pub(crate) fn answer(&mut self, text: &str, evidence: &[&Evidence]) -> AnswerDecision {
        let agent = self.agent.clone();
        self.gate.decide_final_answer(
            &mut self.session,
            &agent,
            text,
            evidence,
            &Question::default(),
            Conclusion::Offered,
            self.now,
        )
    }

    /// Takes every due reading as code does, and finds the resource unobservable.
    pub(crate) fn nothing_observable(&mut self, moment: Moment) -> Vec<VerificationEnd> {
        let agent = self.agent.clone();
        let due = match moment {
            Moment::Deadline => self.gate.due_readings(&self.session, self.now),
            Moment::ForcedConclusion => self.gate.begin_conclusion(&mut self.session, &agent),
        };
        due.iter()
            .flat_map(|due| {
                self.gate
                    .observe(&mut self.session, due, None, moment, self.now)
                    .unwrap()
            })
            .collect()
    }
}

pub(crate) fn restart(target: &str) -> Value {
    json!({"action": "restart", "target_resource_id": target})
}

pub(crate) fn exec(target: &str, command: &str) -> Value {
    json!({"action": "exec", "target_resource_id": target, "command": command})
}

pub(crate) fn guest(state: RunState, started_at: Timestamp) -> Vec<Observation> {
    vec![Observation::Guest {
        state,
        started_at: Some(started_at),
        run: run(started_at),
    }]
}

/// The run of what started then: one that began before every test is the run from before.
pub(crate) fn run(started_at: Timestamp) -> RunIdentity {
    RunIdentity::named(if started_at < start() { "before" } else { "after" })
}

/// When every test begins.
pub(crate) fn start() -> Timestamp {
    "2026-01-28T12:00:00Z".parse().unwrap()
}
