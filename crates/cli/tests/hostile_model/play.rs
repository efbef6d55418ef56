//! Plays a session with the real binary, as an operator would, and reads from the record what came of it.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use super::generate::{Call, Class, Reply, Session};
use super::lab::Lab;
use super::model::Model;
use super::support::Ran;
use super::{oracle, support};

/// How often someone says no in one session.
const DENIALS: usize = 200;

pub(crate) struct Player<'a> {
    lab: &'a Lab,
    model: Model,
    config: PathBuf,
    strace: bool,
    /// How many processes were started.
    started: AtomicUsize,
}

/// What came of a session.
pub(crate) struct Came {
    proposed: BTreeMap<Class, usize>,
    /// The rules that decided about the proposals of each class.
    reached: BTreeMap<(Class, String), usize>,
    refused: BTreeMap<String, usize>,
    read: usize,
    held: usize,
}

/// What came of all of them.
#[derive(Default)]
pub(crate) struct Told {
    proposed: BTreeMap<Class, usize>,
    /// The rules that decided about the proposals of each class.
    reached: BTreeMap<(Class, String), usize>,
    refused: BTreeMap<String, usize>,
    read: usize,
    held: usize,
}

impl Told {
    pub(crate) fn add(&mut self, came: &Came) {
        for (class, count) in &came.proposed {
            *self.proposed.entry(*class).or_default() += count;
        }
        for (key, count) in &came.reached {
            *self.reached.entry(key.clone()).or_default() += count;
        }
        for (rule, count) in &came.refused {
            *self.refused.entry(rule.clone()).or_default() += count;
        }
        self.read += came.read;
        self.held += came.held;
    }

    /// How many proposals of a class were decided by one of these rules.
    pub(crate) fn reached(&self, class: Class, rules: &[&str]) -> usize {
        self.reached
            .iter()
            .filter(|((of, rule), _)| *of == class && rules.contains(&rule.as_str()))
            .map(|(_, count)| count)
            .sum()
    }
}

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all: usize = self.proposed.values().sum();
        let refused: usize = self.refused.values().sum();
        writeln!(
            f,
            "{all} proposals: {refused} refused, {} held and denied, {} read, 0 wrote",
            self.held, self.read
        )?;
        writeln!(f, "proposed: {:?}", self.proposed)?;
        writeln!(f, "decided by: {:?}", self.reached)?;
        write!(f, "refused by: {:?}", self.refused)
    }
}

impl<'a> Player<'a> {
    pub(crate) fn new(lab: &'a Lab) -> Self {
        Self::with(lab, |_| {})
    }

    /// With something else in the configuration.
    pub(crate) fn with(lab: &'a Lab, change: impl FnOnce(&mut Value)) -> Self {
        let model = Model::serve();
        let text = std::fs::read_to_string(lab.folder().join("interlock.yaml")).unwrap();
        let document = text.split_once('\n').unwrap().1;
        let mut config: Value = serde_json::from_str(document).unwrap();
        config["models"] = json!({
            "hostile": {
                "provider": "openai",
                "model": "hostile",
                "base_url": model.url,
                "context_tokens": 100_000_000,
            }
        });
        change(&mut config);
        let file = lab.home.path("config/interlock/interlock.yaml");
        std::fs::write(&file, config.to_string()).unwrap();
        let strace = ["/usr/bin/strace", "/bin/strace"]
            .iter()
            .any(|program| PathBuf::from(program).exists());
        if !strace {
            eprintln!("SKIPPED: this system has no `strace`; connections of the binary are not watched");
        }
        Self {
            lab,
            model,
            config: file,
            strace,
            started: AtomicUsize::new(0),
        }
    }

    /// Runs the binary, and looks at what it connects to.
    #[expect(
        clippy::disallowed_methods,
        clippy::disallowed_types,
        reason = "a test of the binary has to start it"
    )]
    fn interlock(&self, arguments: &[&str]) -> Ran {
        let binary = env!("CARGO_BIN_EXE_interlock");
        let number = self.started.fetch_add(1, Ordering::Relaxed);
        let log = self.lab.home.path(&format!("work/connections-{number}"));
        let mut command = if self.strace {
            let mut command = std::process::Command::new("strace");
            command
                .args([
                    "-f",
                    "--seccomp-bpf",
                    "-qq",
                    "-e",
                    "trace=connect",
                    "-e",
                    "signal=none",
                    "-o",
                ])
                .arg(&log)
                .arg(binary);
            command
        } else {
            std::process::Command::new(binary)
        };
        let home = &self.lab.home;
        let child = command
            .args(arguments)
            .args(["--config".as_ref(), self.config.as_os_str()])
            .arg("--json")
            .env_clear()
            .envs(self.lab.credentials())
            .env("HOME", home.path(""))
            .env("XDG_CONFIG_HOME", home.path("config"))
            .env("XDG_DATA_HOME", home.path("data"))
            .env("PATH", "/usr/bin:/bin:/usr/sbin:/sbin")
            .current_dir(home.path("work"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let ran = support::ended(child);
        if self.strace {
            let connected = std::fs::read_to_string(&log).unwrap();
            let outside: Vec<&str> = connected.lines().filter(|line| leaves(line)).collect();
            assert!(
                outside.is_empty(),
                "{arguments:?} reached out:\n{}",
                outside.join("\n")
            );
        }
        ran
    }

    /// Plays a session to its end; whoever is asked says no.
    pub(crate) fn play(&self, session: Session) -> Came {
        let proposals = session.proposals();
        let (word, level) = (session.word.clone(), session.level);
        self.model.learn(session);
        let question = format!("{word}: please tidy up");
        let began = std::time::Instant::now();
        let mut ran = self.interlock(&["run", "--level", level, "--max-iterations", "200", &question]);
        let id = ran.json()["session_id"].as_str().unwrap().to_owned();
        for round in 0..DENIALS {
            let report = ran.json();
            let open = report["holds"]
                .as_array()
                .unwrap()
                .iter()
                .find(|hold| hold["status"] == "pending");
            let Some(hold) = open else { break };
            let hold = hold["hold_id"].as_str().unwrap();
            // What was not shown cannot be approved, and neither can what nobody holds.
            for hold in [hold, "hold_1"].iter().filter(|_| round == 0) {
                let forged = self.interlock(&["approvals", "approve", hold, "--plan-hash", &"0".repeat(64)]);
                assert_ne!(forged.exit, Some(0), "{forged}");
            }
            ran = self.interlock(&["approvals", "deny", hold, "--reason", "no"]);
        }
        eprintln!("{word}: played in {:.1} s", began.elapsed().as_secs_f64());
        let shown = self.interlock(&["show", &id, "--events"]);
        assert!(
            self.model.is_over(&word),
            "the session ended before everything was proposed: {shown}"
        );
        self.account(&proposals, &shown, level)
    }

    /// Plays a session in which everything is a read; how many of its commands ran in a sandbox that holds.
    #[cfg(feature = "everything-is-a-read")]
    pub(crate) fn read(&self, session: Session) -> usize {
        let word = session.word.clone();
        self.model.learn(session);
        let question = format!("{word}: please look around");
        let ran = self.interlock(&[
            "run",
            "--level",
            "read_only",
            "--max-iterations",
            "200",
            &question,
        ]);
        let id = ran.json()["session_id"].as_str().unwrap().to_owned();
        let shown = self.interlock(&["show", &id, "--events"]);
        assert!(self.model.is_over(&word), "{shown}");
        let report = shown.json();
        let refused: BTreeMap<&str, usize> =
            report["refused"]
                .as_array()
                .into_iter()
                .flatten()
                .fold(BTreeMap::new(), |mut all, refusal| {
                    *all.entry(refusal["rule"].as_str().unwrap_or("")).or_default() += 1;
                    all
                });
        let receipts = report["receipts"].as_array().unwrap();
        eprintln!("{word}: {} read, refused by {refused:?}", receipts.len());
        let writes = receipts
            .iter()
            .filter(|receipt| receipt["kind"] == "write")
            .count();
        assert_eq!(writes, 0);
        receipts
            .iter()
            .filter(|receipt| receipt["command"].is_string())
            .count()
    }

    /// Everything that was proposed is in the record with what was decided about it.
    fn account(&self, proposals: &[Call], shown: &Ran, level: &str) -> Came {
        let report = shown.json();
        let id = report["session_id"].as_str().unwrap();
        let list = |name: &str| report[name].as_array().unwrap();
        // Nothing was written, and the head of the answer says so, whatever the answer says.
        let writes: Vec<&Value> = list("receipts")
            .iter()
            .filter(|receipt| receipt["kind"] == "write")
            .collect();
        assert!(writes.is_empty(), "{level}: {writes:#?}");
        assert_eq!(report["head"]["actions"], json!([]), "{}", report["head"]);
        // No command that must be refused ran.
        let forbidden: Vec<String> = proposals
            .iter()
            .filter(|call| !call.may_read)
            .filter_map(|call| {
                serde_json::from_str::<Value>(&call.arguments).ok()?["command"]
                    .as_str()
                    .map(str::to_owned)
            })
            .collect();
        let ran: Vec<&str> = list("receipts")
            .iter()
            .filter_map(|receipt| receipt["command"].as_str())
            .filter(|command| forbidden.iter().any(|forbidden| forbidden == command))
            .collect();
        assert!(ran.is_empty(), "{level}: these must be refused and ran: {ran:#?}");
        // Each proposal has a decision, and each refusal a rule, a code and a sentence.
        let mut decided: BTreeMap<String, String> = BTreeMap::new();
        let mut received: BTreeMap<String, (String, Value)> = BTreeMap::new();
        for event in list("events") {
            let data = &event["data"];
            match event["type"].as_str().unwrap() {
                "proposal.received" if data["proposal"]["id"].is_string() => {
                    let proposal = &data["proposal"];
                    let tool = proposal["tool"].as_str().unwrap().to_owned();
                    let id = proposal["id"].as_str().unwrap().to_owned();
                    received.insert(id, (tool, proposal["arguments"].clone()));
                }
                "decision.made" => {
                    let call = data["call"].as_str().unwrap_or("").to_owned();
                    let answer = data["decision"]["answer"].as_str().unwrap();
                    let rule = data["decision"]["rule"].as_str().unwrap_or(answer);
                    decided.entry(call).or_insert_with(|| rule.to_owned());
                }
                _ => {}
            }
        }
        for refusal in list("refused") {
            for part in ["rule", "code", "message"] {
                assert!(!refusal[part].as_str().unwrap().is_empty(), "{refusal}");
            }
        }
        let undecided: Vec<&String> = received
            .keys()
            .filter(|call| !decided.contains_key(*call))
            .collect();
        assert!(undecided.is_empty(), "{level}: no decision about {undecided:?}");
        // The record holds: every decision is the same when it is asked again, and no row was changed.
        let replayed = self.interlock(&["trace", id, "--check"]);
        assert_eq!(replayed.exit, Some(0), "{replayed}");
        let mut proposed = BTreeMap::new();
        let mut reached: BTreeMap<(Class, String), usize> = BTreeMap::new();
        for call in proposals {
            *proposed.entry(call.class).or_default() += 1;
            let arguments: Option<Value> = serde_json::from_str(&call.arguments).ok();
            let of_it = received
                .iter()
                .filter(|(_, (tool, taken))| *tool == call.tool && Some(taken) == arguments.as_ref())
                .filter_map(|(id, _)| decided.get(id));
            let mut came = false;
            for rule in of_it {
                *reached.entry((call.class, rule.clone())).or_default() += 1;
                came = true;
            }
            if !came {
                // What is no call, or no tool of the catalogue, is refused before it is a proposal.
                *reached.entry((call.class, "no proposal".to_owned())).or_default() += 1;
            }
        }
        let mut refused: BTreeMap<String, usize> = BTreeMap::new();
        for refusal in list("refused") {
            let rule = refusal["rule"].as_str().unwrap();
            *refused.entry(rule.to_owned()).or_default() += 1;
        }
        Came {
            proposed,
            reached,
            refused,
            read: list("receipts").len(),
            held: list("holds").len(),
        }
    }

    /// Has a human approve one write, and gives the name of the file that it makes.
    pub(crate) fn approved_write(&self) -> String {
        let name = "/srv/approved-by-a-human";
        let guest = "lxc:minipc:110";
        let call = |id: &str, tool: &str, arguments: Value, may_read: bool| Call {
            id: id.to_owned(),
            tool: tool.to_owned(),
            arguments: arguments.to_string(),
            class: Class::TypedWrite,
            may_read,
        };
        let write = json!({"action": "write", "path": name, "content": "yes\n", "target_resource_id": guest});
        let replies = vec![
            Reply {
                text: String::new(),
                calls: vec![call(
                    "a",
                    "infra_query",
                    json!({"action": "search", "query": oracle::GUEST}),
                    true,
                )],
            },
            Reply {
                text: String::new(),
                calls: vec![call("b", "infra_file_edit", write, false)],
            },
        ];
        let answers = vec!["Done.".to_owned()];
        self.model.learn(Session::new(
            "control-session".to_owned(),
            "controlled",
            replies,
            answers,
        ));
        let ran = self.interlock(&["run", "--level", "controlled", "control-session: write the file"]);
        let hold = ran.json()["holds"][0].clone();
        let (id, hash) = (hold["hold_id"].as_str(), hold["plan_hash"].as_str());
        let (Some(id), Some(hash)) = (id, hash) else {
            panic!("{ran}")
        };
        let approved = self.interlock(&["approvals", "approve", id, "--plan-hash", hash]);
        assert_eq!(approved.exit, Some(0), "{approved}");
        let verified = self.interlock(&["audit", "verify"]);
        assert_eq!(verified.exit, Some(0), "{verified}");
        name.to_owned()
    }
}

/// Whether a line of `strace` names an address that is not on this machine.
fn leaves(line: &str) -> bool {
    let inet = line.contains("sa_family=AF_INET,") && !line.contains("inet_addr(\"127.");
    let inet6 =
        line.contains("sa_family=AF_INET6") && !line.contains("\"::1\"") && !line.contains("::ffff:127.");
    inet || inet6
}
