//! Answers: bindings for programs, a sentence for people, and what an answer rests on.

use std::fmt::Write as _;

use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::check::Goal;
use crate::engine::{Ground, Limits, Machine, Proof, Solution, Stop};
use crate::facts::Id;
use crate::knowledge::{Knowledge, SnapshotInfo};
use crate::term::Term;
use crate::write::{write_atom, write_term};

/// How many answers a sentence lists, and how long it may get.
const LISTED: usize = 5;
const LONGEST_SENTENCE: usize = 600;

/// Why the answers are not all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Stopped {
    /// Why, for programs: `answers`, `steps`, `memory`, `time`, `answer_size` or `error`.
    pub code: &'static str,
    /// Why, and what to do.
    pub message: String,
}

impl From<Stop> for Stopped {
    fn from(stop: Stop) -> Self {
        let code = match stop {
            Stop::Steps => "steps",
            Stop::Memory => "memory",
            Stop::Time => "time",
            Stop::AnswerSize => "answer_size",
            Stop::Error(_) => "error",
        };
        Self {
            code,
            message: stop.to_string(),
        }
    }
}

/// What came of a question.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Answer {
    /// The goal that ran, as the writer prints it.
    pub goal: String,
    /// Whether it has an answer.
    pub holds: bool,
    /// The values of the variables, one object for each answer. A goal without variables has one empty object if it holds.
    pub answers: Vec<Map<String, Value>>,
    /// Whether these are all answers.
    pub complete: bool,
    /// Why they are not all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped: Option<Stopped>,
    /// The answer in words.
    pub sentence: String,
    /// Things that the goal mentions and the snapshot does not have.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Which facts it rests on.
    pub snapshot: SnapshotInfo,
    /// How old the facts are.
    pub age_seconds: i64,
    /// How many goals were called.
    pub inferences: u64,
    /// The answers as Prolog text.
    #[serde(skip)]
    pub lines: Vec<String>,
}

/// An answer and what it rests on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explanation {
    /// The answer.
    #[serde(flatten)]
    pub answer: Answer,
    /// What the first answer rests on.
    pub because: Vec<Because>,
    /// Whether parts were left out, because there are too many.
    pub shortened: bool,
}

/// A goal that holds, and what it rests on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Because {
    /// The goal, as the writer prints it.
    pub goal: String,
    /// Why it holds: `fact`, `library`, `rule`, `computed`, `absent` or `collected`, with file and line of a rule.
    #[serde(flatten)]
    pub ground: Value,
    /// What it rests on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub because: Vec<Because>,
}

struct Found {
    solutions: Vec<Solution>,
    stopped: Option<Stopped>,
    inferences: u64,
    proof_cut: bool,
}

fn find(knowledge: &Knowledge, goal: &Goal, now: Timestamp, limits: Limits, record: bool) -> Found {
    let mut machine = Machine::new(&knowledge.base, goal, now.as_second(), limits, record);
    let mut solutions = Vec::new();
    let stopped = loop {
        if solutions.len() >= limits.answers {
            // One more is looked for, to know whether these are all.
            break match machine.solve() {
                Ok(None) => None,
                Ok(Some(_)) | Err(_) => Some(Stopped {
                    code: "answers",
                    message: format!(
                        "only the first {} answers are shown; count them with aggregate_all(count, Goal, N), or bind \
                         more arguments",
                        limits.answers
                    ),
                }),
            };
        }
        match machine.solve() {
            Ok(Some(solution)) => solutions.push(solution),
            Ok(None) => break None,
            Err(stop) => break Some(stop.into()),
        }
    };
    Found {
        solutions,
        stopped,
        inferences: machine.inferences,
        proof_cut: machine.proof_cut,
    }
}

impl Answer {
    pub(crate) fn find(knowledge: &Knowledge, goal: &Goal, now: Timestamp, limits: Limits) -> Self {
        let found = find(knowledge, goal, now, limits, false);
        Self::of(knowledge, goal, now, &found)
    }

    fn of(knowledge: &Knowledge, goal: &Goal, now: Timestamp, found: &Found) -> Self {
        // Variables that begin with `_` are there to be ignored.
        let named: Vec<(usize, &str)> = goal
            .variables()
            .iter()
            .enumerate()
            .filter_map(|(number, name)| name.as_deref().map(|name| (number, name)))
            .filter(|(_, name)| !name.starts_with('_'))
            .collect();
        let answers: Vec<Map<String, Value>> = found
            .solutions
            .iter()
            .map(|solution| {
                named
                    .iter()
                    .map(|(number, name)| ((*name).to_owned(), json_of(&solution.values[*number])))
                    .collect()
            })
            .collect();
        let lines: Vec<String> = found
            .solutions
            .iter()
            .map(|solution| {
                let values: Vec<String> = named
                    .iter()
                    .filter(|(number, _)| !is_free(*number, &named, solution))
                    .map(|(number, name)| format!("{name} = {}", write_term(&solution.values[*number], &[])))
                    .collect();
                if values.is_empty() {
                    "yes".to_owned()
                } else {
                    values.join(", ")
                }
            })
            .collect();
        let age_seconds = now.as_second() - knowledge.info.taken_at.as_second();
        let mut answer = Self {
            goal: goal.text().to_owned(),
            holds: !answers.is_empty(),
            complete: found.stopped.is_none(),
            answers,
            stopped: found.stopped.clone(),
            sentence: String::new(),
            notes: notes(knowledge, goal.term()),
            snapshot: knowledge.info.clone(),
            age_seconds,
            inferences: found.inferences,
            lines,
        };
        answer.sentence = answer.in_words();
        answer
    }

    fn in_words(&self) -> String {
        let without_values = self.lines.iter().all(|line| line == "yes");
        let count = self.lines.len();
        let mut text = match (&self.stopped, count) {
            (Some(stopped), 0) => format!("No answer: {}.", stopped.message),
            (None, 0) => format!("No: nothing makes `{}` true.", shorten(&self.goal, 200)),
            (_, _) if without_values => format!("Yes: `{}` holds.", shorten(&self.goal, 200)),
            (stopped, _) => {
                let shown: Vec<&str> = self.lines.iter().take(LISTED).map(String::as_str).collect();
                let more = count - shown.len();
                let head = match (stopped, count) {
                    (None, 1) => "1 answer: ".to_owned(),
                    (None, count) => format!("{count} answers: "),
                    (Some(_), 1) => "At least 1 answer: ".to_owned(),
                    (Some(_), count) => format!("At least {count} answers: "),
                };
                let tail = if more > 0 {
                    format!("; and {more} more.")
                } else {
                    ".".to_owned()
                };
                format!("{head}{}{tail}", shorten(&shown.join("; "), LONGEST_SENTENCE))
            }
        };
        if let (Some(stopped), true) = (&self.stopped, count > 0) {
            // Writing into a String cannot fail.
            let _ = write!(text, " Not complete: {}.", stopped.message);
        }
        for note in &self.notes {
            let _ = write!(text, " {note}");
        }
        let _ = write!(
            text,
            " Facts: snapshot {}, {}.",
            self.snapshot.version,
            age(self.age_seconds)
        );
        text
    }
}

/// Whether a variable got no value and has nothing to do with the other ones.
fn is_free(number: usize, named: &[(usize, &str)], solution: &Solution) -> bool {
    fn mentions(term: &Term, variable: u32) -> bool {
        match term {
            Term::Var(other) => *other == variable,
            Term::Compound(_, arguments) => arguments.iter().any(|argument| mentions(argument, variable)),
            Term::List(items, tail) => {
                items.iter().any(|item| mentions(item, variable))
                    || tail.as_ref().is_some_and(|tail| mentions(tail, variable))
            }
            Term::Atom(_) | Term::Int(_) | Term::Float(_) => false,
        }
    }
    let Term::Var(variable) = solution.values[number] else {
        return false;
    };
    !named
        .iter()
        .any(|(other, _)| *other != number && mentions(&solution.values[*other], variable))
}

fn shorten(text: &str, longest: usize) -> String {
    match text.char_indices().nth(longest) {
        Some((cut, _)) => format!("{}…", &text[..cut]),
        None => text.to_owned(),
    }
}

/// How old facts are, in words.
fn age(seconds: i64) -> String {
    match seconds {
        ..0 => "dated in the future; check the clocks".to_owned(),
        0..120 => format!("{seconds} s old"),
        120..7200 => format!("{} min old", seconds / 60),
        7200..172_800 => format!("{} h old", seconds / 3600),
        _ => format!("{} days old", seconds / 86_400),
    }
}

impl Explanation {
    pub(crate) fn find(knowledge: &Knowledge, goal: &Goal, now: Timestamp, limits: Limits) -> Self {
        // Only the first answer is explained, so the others are found without a record.
        let found = find(knowledge, goal, now, Limits { answers: 1, ..limits }, true);
        let because = found
            .solutions
            .first()
            .map(|solution| solution.proof.iter().map(because).collect())
            .unwrap_or_default();
        Self {
            because,
            shortened: found.proof_cut,
            answer: Answer::find(knowledge, goal, now, limits),
        }
    }

    /// The explanation as an indented text.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for part in &self.because {
            part.write(&mut text, 0);
        }
        if self.shortened {
            text.push_str("(parts are left out, because there are too many)\n");
        }
        text
    }
}

impl Because {
    fn write(&self, text: &mut String, depth: usize) {
        let field = |name: &str| {
            self.ground
                .get(name)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        let why = match field("ground").as_str() {
            "fact" => "fact".to_owned(),
            "library" => "rule of Interlock".to_owned(),
            "rule" => format!(
                "{}:{}",
                field("file"),
                self.ground.get("line").and_then(Value::as_u64).unwrap_or(0)
            ),
            "computed" => "computed".to_owned(),
            "absent" => "does not hold".to_owned(),
            _ => "collected".to_owned(),
        };
        let _ = writeln!(text, "{:indent$}{}  [{why}]", "", self.goal, indent = 2 * depth);
        for part in &self.because {
            part.write(text, depth + 1);
        }
    }
}

fn because(proof: &Proof) -> Because {
    Because {
        goal: write_term(&proof.goal, &[]),
        ground: ground(&proof.ground),
        because: proof.because.iter().map(because).collect(),
    }
}

/// What programs get of a ground.
fn ground(ground: &Ground) -> Value {
    match ground {
        Ground::Fact => json!({ "ground": "fact" }),
        Ground::Library => json!({ "ground": "library" }),
        Ground::Rule { file, line } => json!({ "ground": "rule", "file": file, "line": line }),
        Ground::Computed => json!({ "ground": "computed" }),
        Ground::Absent => json!({ "ground": "absent" }),
        Ground::Collected => json!({ "ground": "collected" }),
    }
}

/// A term for programs: atoms as strings, numbers as numbers, lists as arrays, the rest as objects.
pub(crate) fn json_of(term: &Term) -> Value {
    match term {
        Term::Atom(_) if term.is_nil() => json!([]),
        Term::Atom(name) => json!(&**name),
        Term::Int(value) => json!(value),
        Term::Float(value) => json!(value),
        Term::Var(number) => json!({ "variable": format!("_{}", number + 1) }),
        Term::Compound(name, arguments) => {
            json!({ "functor": &**name, "arguments": arguments.iter().map(json_of).collect::<Vec<_>>() })
        }
        Term::List(items, None) => Value::Array(items.iter().map(json_of).collect()),
        Term::List(items, Some(tail)) => {
            json!({ "items": items.iter().map(json_of).collect::<Vec<_>>(), "tail": json_of(tail) })
        }
    }
}

/// Which arguments of a predicate name a resource.
fn resource_arguments(name: &str, arity: usize) -> &'static [usize] {
    match (name, arity) {
        ("known_node" | "in_service" | "resource", 1)
        | ("node_health" | "active_alerts" | "guest_name" | "blast_radius", 2)
        | ("node_metric" | "alert", 3) => &[0],
        ("link" | "shortest_path", 4)
        | ("live_link", 3)
        | ("can_reach" | "current_vm_host" | "dependency" | "depends_on", 2) => &[0, 1],
        _ => &[],
    }
}

/// What a goal mentions and the snapshot does not have. The recursion is bounded by the nesting of the goal.
fn notes(knowledge: &Knowledge, goal: &Term) -> Vec<String> {
    const MOST_NOTES: usize = 3;
    let mut notes = Vec::new();
    let mut todo = vec![goal];
    while let Some(term) = todo.pop() {
        let Some((name, arguments)) = term.callable() else {
            continue;
        };
        for number in resource_arguments(name, arguments.len()) {
            let id = match &arguments[*number] {
                Term::Atom(name) => Id::Name(name.to_string()),
                Term::Int(number) => Id::Number(*number),
                _ => continue,
            };
            if knowledge.resources.contains(&id) {
                continue;
            }
            let note = unknown_resource(knowledge, &id);
            if notes.len() < MOST_NOTES && !notes.contains(&note) {
                notes.push(note);
            }
        }
        todo.extend(arguments.iter().rev());
    }
    notes
}

fn unknown_resource(knowledge: &Knowledge, id: &Id) -> String {
    let name = match id {
        Id::Number(number) => return format!("The snapshot has no resource {number}."),
        Id::Name(name) => name,
    };
    if let Some(ids) = knowledge.names.get(name) {
        let ids: Vec<String> = ids
            .iter()
            .map(|id| match id {
                Id::Number(number) => number.to_string(),
                Id::Name(name) => write_atom(name),
            })
            .collect();
        return format!(
            "{} is the name of guest {}; ask with the id.",
            write_atom(name),
            ids.join(" and ")
        );
    }
    let near = knowledge
        .resources
        .iter()
        .filter_map(|known| match known {
            Id::Name(known) => Some((strsim::jaro_winkler(name, known), known)),
            Id::Number(_) => None,
        })
        .filter(|(likeness, _)| *likeness > 0.85)
        .max_by(|(a, _), (b, _)| a.total_cmp(b));
    match near {
        Some((_, known)) => {
            format!(
                "The snapshot has no resource {}; did you mean {}?",
                write_atom(name),
                write_atom(known)
            )
        }
        None => format!("The snapshot has no resource {}.", write_atom(name)),
    }
}
