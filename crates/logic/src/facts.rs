//! Facts: typed input, checked once, turned into clauses. No text of a fact is ever parsed as Prolog.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::term::Term;
use crate::write::write_term;

/// The most facts of a snapshot.
pub const MAX_FACTS: usize = 1_000_000;
/// The longest name, in bytes.
pub const MAX_NAME_BYTES: usize = 1000;
/// How many problems are listed.
const LISTED_PROBLEMS: usize = 20;

/// The state of a cluster at one moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Facts {
    /// When this was so. The time of loading, if it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taken_at: Option<Timestamp>,
    /// Nodes.
    #[serde(default)]
    pub nodes: Vec<NodeFact>,
    /// Links between nodes.
    #[serde(default)]
    pub links: Vec<LinkFact>,
    /// Virtual machines and containers.
    #[serde(default)]
    pub guests: Vec<GuestFact>,
    /// Which things need which.
    #[serde(default)]
    pub dependencies: Vec<DependencyFact>,
    /// Alerts, with the time at which they were last seen.
    #[serde(default)]
    pub alerts: Vec<AlertFact>,
}

/// How a node is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Health {
    /// Everything is as it should be.
    Nominal,
    /// In service, with a problem.
    Degraded,
    /// Not in service.
    Critical,
    /// Not known.
    #[default]
    Unknown,
}

impl Health {
    fn name(self) -> &'static str {
        match self {
            Self::Nominal => "nominal",
            Self::Degraded => "degraded",
            Self::Critical => "critical",
            Self::Unknown => "unknown",
        }
    }
}

/// The id of a resource: a number (the id of a guest) or a name.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Id {
    /// A number.
    Number(i64),
    /// A name.
    Name(String),
}

impl Id {
    fn term(&self) -> Term {
        match self {
            Self::Number(number) => Term::Int(*number),
            Self::Name(name) => Term::atom(name),
        }
    }
}

impl From<&str> for Id {
    fn from(name: &str) -> Self {
        Self::Name(name.to_owned())
    }
}

impl From<i64> for Id {
    fn from(number: i64) -> Self {
        Self::Number(number)
    }
}

/// A node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodeFact {
    /// Its name.
    pub name: String,
    /// How it is.
    #[serde(default)]
    pub health: Health,
    /// Its metrics.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metrics: BTreeMap<String, serde_json::Number>,
}

/// A link. It holds in both directions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkFact {
    /// One end.
    pub a: String,
    /// The other end.
    pub b: String,
    /// What it costs to go over it: not negative.
    #[serde(default = "one")]
    pub cost: serde_json::Number,
    /// Whether it is up.
    #[serde(default = "yes")]
    pub up: bool,
}

fn one() -> serde_json::Number {
    1.into()
}

fn yes() -> bool {
    true
}

/// A virtual machine or a container.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GuestFact {
    /// Its id.
    pub id: Id,
    /// Its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The node on which it is.
    pub node: String,
}

/// One thing needs another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DependencyFact {
    /// What needs something.
    pub resource: Id,
    /// What it needs.
    pub needs: Id,
}

/// An alert.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AlertFact {
    /// What it is about.
    pub resource: Id,
    /// What it says, as a short name.
    pub condition: String,
    /// When it was last seen.
    pub at: Timestamp,
}

/// Why facts cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FactsError {
    /// The text is not YAML or JSON of this form.
    #[error("the facts cannot be read: {0}")]
    Form(String),
    /// The facts contradict each other.
    #[error("the facts cannot be used: {}", .0.join("; "))]
    Problems(Vec<String>),
}

impl Facts {
    /// Reads facts from YAML or JSON.
    pub fn from_yaml(text: &str) -> Result<Self, FactsError> {
        serde_saphyr::from_str(text).map_err(|error| FactsError::Form(error.to_string()))
    }
}

/// Checked facts as clauses, in a fixed order.
#[derive(Debug)]
pub(crate) struct FactClauses {
    pub(crate) terms: Vec<Term>,
    pub(crate) hash: String,
    pub(crate) resources: BTreeSet<Id>,
    pub(crate) names: HashMap<String, Vec<Id>>,
}

/// Checks facts and turns them into clauses. Equal facts in another order give the same clauses and the same hash.
pub(crate) fn clauses(facts: &Facts) -> Result<FactClauses, FactsError> {
    let mut problems = Problems(Vec::new());
    let mut terms = Vec::new();
    let mut fact = |name: &str, arguments: Vec<Term>| terms.push(Term::compound(name, arguments));
    let mut resources: BTreeSet<Id> = BTreeSet::new();
    let mut nodes: BTreeSet<&str> = BTreeSet::new();

    for node in &facts.nodes {
        problems.name("node", &node.name);
        if !nodes.insert(&node.name) {
            problems.add(format!("node {:?} is there twice", node.name));
        }
        resources.insert(Id::from(node.name.as_str()));
        let name = Term::atom(&node.name);
        fact("known_node", vec![name.clone()]);
        fact("node_health", vec![name.clone(), Term::atom(node.health.name())]);
        for (metric, value) in &node.metrics {
            problems.name("metric", metric);
            match number(value) {
                Some(value) => fact("node_metric", vec![name.clone(), Term::atom(metric), value]),
                None => problems.add(format!(
                    "metric {metric:?} of node {:?} is not a number that fits",
                    node.name
                )),
            }
        }
    }
    for (ends, link) in links(facts, &nodes, &mut problems) {
        let state = Term::atom(if link.0 { "up" } else { "down" });
        let (a, b) = (Term::atom(ends.0), Term::atom(ends.1));
        fact("link", vec![a.clone(), b.clone(), link.1.clone(), state.clone()]);
        fact("link", vec![b, a, link.1, state]);
    }
    let mut names: HashMap<String, Vec<Id>> = HashMap::new();
    let mut guests: BTreeSet<&Id> = BTreeSet::new();
    for guest in &facts.guests {
        problems.id("guest", &guest.id);
        if !guests.insert(&guest.id) || matches!(&guest.id, Id::Name(name) if nodes.contains(name.as_str())) {
            problems.add(format!("guest {} is there twice", shown(&guest.id)));
        }
        if !nodes.contains(guest.node.as_str()) {
            problems.add(format!(
                "guest {} is on node {:?}, which is not in `nodes`",
                shown(&guest.id),
                guest.node
            ));
        }
        resources.insert(guest.id.clone());
        fact("current_vm_host", vec![guest.id.term(), Term::atom(&guest.node)]);
        if let Some(name) = &guest.name {
            problems.name("guest", name);
            fact("guest_name", vec![guest.id.term(), Term::atom(name)]);
            names.entry(name.clone()).or_default().push(guest.id.clone());
        }
    }
    for dependency in &facts.dependencies {
        for end in [&dependency.resource, &dependency.needs] {
            problems.id("dependency", end);
            if let (Id::Name(name), false) = (end, resources.contains(end))
                && let Some(ids) = names.get(name)
            {
                let ids: Vec<String> = ids.iter().map(shown).collect();
                problems.add(format!(
                    "a dependency mentions {name:?}, which is the name of guest {}; write the id",
                    ids.join(" and ")
                ));
            }
        }
        fact(
            "dependency",
            vec![dependency.resource.term(), dependency.needs.term()],
        );
    }
    resources.extend(
        facts
            .dependencies
            .iter()
            .flat_map(|d| [d.resource.clone(), d.needs.clone()]),
    );
    let mut alerts: BTreeMap<(&Id, &str), i64> = BTreeMap::new();
    for alert in &facts.alerts {
        problems.id("alert", &alert.resource);
        problems.name("condition", &alert.condition);
        // The last time counts.
        let last = alerts
            .entry((&alert.resource, &alert.condition))
            .or_insert(i64::MIN);
        *last = (*last).max(alert.at.as_second());
        resources.insert(alert.resource.clone());
    }
    for ((resource, condition), at) in alerts {
        fact(
            "alert",
            vec![resource.term(), Term::atom(condition), Term::Int(at)],
        );
    }
    for resource in &resources {
        fact("resource", vec![resource.term()]);
    }
    if terms.len() > MAX_FACTS {
        problems.add(format!("{} facts are more than {MAX_FACTS}", terms.len()));
    }
    problems.finish()?;

    let mut written: Vec<(String, Term)> = terms
        .into_iter()
        .map(|term| (write_term(&term, &[]), term))
        .collect();
    written.sort_by(|(a, _), (b, _)| a.cmp(b));
    written.dedup_by(|(a, _), (b, _)| a == b);
    let mut hasher = Sha256::new();
    for (text, _) in &written {
        hasher.update(text.as_bytes());
        hasher.update(b".\n");
    }
    let hash = hasher.finalize().iter().fold(String::new(), |mut hex, byte| {
        use std::fmt::Write as _;
        let _ = write!(hex, "{byte:02x}");
        hex
    });
    Ok(FactClauses {
        terms: written.into_iter().map(|(_, term)| term).collect(),
        hash,
        resources,
        names,
    })
}

type Ends<'f> = (&'f str, &'f str);

/// One link for each pair of nodes: of several, the cheapest that is up.
fn links<'f>(
    facts: &'f Facts,
    nodes: &BTreeSet<&str>,
    problems: &mut Problems,
) -> BTreeMap<Ends<'f>, (bool, Term)> {
    let mut links: BTreeMap<Ends<'f>, (bool, Term)> = BTreeMap::new();
    for link in &facts.links {
        let ends: Ends<'f> = if link.a <= link.b {
            (&link.a, &link.b)
        } else {
            (&link.b, &link.a)
        };
        if ends.0 == ends.1 {
            problems.add(format!("a link of node {:?} to itself", link.a));
        }
        for end in [ends.0, ends.1] {
            if !nodes.contains(end) {
                problems.add(format!("a link mentions node {end:?}, which is not in `nodes`"));
            }
        }
        let Some(cost) = number(&link.cost).filter(|cost| value(cost) >= 0.0) else {
            problems.add(format!(
                "the cost of the link between {:?} and {:?} must not be negative",
                link.a, link.b
            ));
            continue;
        };
        let better = links
            .get(&ends)
            .is_none_or(|(up, known)| (link.up, -value(&cost)) > (*up, -value(known)));
        if better {
            links.insert(ends, (link.up, cost));
        }
    }
    links
}

/// A number of JSON as a term, if it fits.
fn number(number: &serde_json::Number) -> Option<Term> {
    number
        .as_i64()
        .map(Term::Int)
        .or_else(|| number.as_f64().filter(|value| value.is_finite()).map(Term::Float))
}

#[expect(
    clippy::cast_precision_loss,
    reason = "only the sign and the order of costs matter here"
)]
fn value(term: &Term) -> f64 {
    match term {
        Term::Int(value) => *value as f64,
        Term::Float(value) => *value,
        _ => 0.0,
    }
}

fn shown(id: &Id) -> String {
    match id {
        Id::Number(number) => number.to_string(),
        Id::Name(name) => format!("{name:?}"),
    }
}

struct Problems(Vec<String>);

impl Problems {
    fn add(&mut self, problem: String) {
        self.0.push(problem);
    }

    fn id(&mut self, what: &str, id: &Id) {
        if let Id::Name(name) = id {
            self.name(what, name);
        }
    }

    fn name(&mut self, what: &str, name: &str) {
        if name.is_empty() {
            self.add(format!("the name of a {what} is empty"));
        }
        if name.len() > MAX_NAME_BYTES {
            self.add(format!(
                "the name of a {what} has more than {MAX_NAME_BYTES} bytes"
            ));
        }
    }

    fn finish(self) -> Result<(), FactsError> {
        let Self(mut problems) = self;
        if problems.is_empty() {
            return Ok(());
        }
        let more = problems.len().saturating_sub(LISTED_PROBLEMS);
        problems.truncate(LISTED_PROBLEMS);
        if more > 0 {
            problems.push(format!("and {more} more"));
        }
        Err(FactsError::Problems(problems))
    }
}
