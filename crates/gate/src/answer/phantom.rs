//! Phantom detection: claims that only a tool's result could make true.
//!
//! Four categories, as tables. A claim is found here and weighed in [`super::grounding`] against receipts and
//! evidence: finding is about words, weighing about what happened.

use std::ops::Range;

use super::text::{Sentence, flattened, sentences};

/// What kind of claim it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Category {
    /// A measured value.
    Metric,
    /// A state of the infrastructure, or what an output said.
    State,
    /// A tool call written as text.
    FakeToolCall,
    /// An action said to be done.
    Action,
}

impl Category {
    /// The stable word, as it appears in JSON and in labels.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Metric => "metric",
            Self::State => "state",
            Self::FakeToolCall => "fake_tool_call",
            Self::Action => "action",
        }
    }
}

/// A claim found in an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// What kind.
    pub category: Category,
    /// Where its sentence stands in the answer.
    pub span: Range<usize>,
    /// The words that gave it away.
    pub phrase: String,
    /// For an action: what was done, as the past participle.
    pub verb: Option<&'static str>,
}

/// Category 1: values that must come from tools.
const METRICS: &[&[&str]] = &[
    &["cpu", "usage", "is"],
    &["memory", "usage", "is"],
    &["disk", "usage", "is"],
    &["ram", "usage", "is"],
    &["swap", "usage", "is"],
    &["network", "usage", "is"],
    &["cpu", "usage", "of"],
    &["memory", "usage", "of"],
    &["disk", "usage", "of"],
    &["cpu", "is", "at"],
    &["memory", "is", "at"],
    &["disk", "is", "at"],
    &["load", "average", "is"],
    &["temperature", "is"],
    &["uptime", "is"],
    &["latency", "is"],
    &["is", "currently", "using"],
];

/// Category 2: states of the infrastructure, and what an output is said to show.
const STATES: &[&[&str]] = &[
    &["is", "currently", "running"],
    &["is", "currently", "stopped"],
    &["is", "currently", "down"],
    &["is", "currently", "offline"],
    &["is", "currently", "online"],
    &["are", "currently", "running"],
    &["are", "currently", "stopped"],
    &["is", "now", "running"],
    &["is", "now", "stopped"],
    &["is", "now", "online"],
    &["is", "up", "and", "running"],
    &["the", "logs", "show"],
    &["logs", "show", "that"],
    &["the", "logs", "indicate"],
    &["the", "log", "shows"],
    &["according", "to", "the", "output"],
    &["according", "to", "the", "logs"],
    &["the", "output", "shows"],
    &["the", "output", "indicates"],
    &["the", "command", "returned"],
    &["the", "results", "show"],
];

/// Category 3: tool calls written as text, in flattened form. Every tool name followed by `(` joins them.
const FAKE_TOOL_CALLS: &[&str] = &[
    "```tool",
    "``` tool",
    "~~~tool",
    "<tool_call",
    "</tool_call",
    "<function_call",
    "<function=",
    "<tool_use",
    "<invoke ",
    "[tool_call",
    "[tool_calls",
    "\"tool_call\"",
    "\"tool_name\"",
    "\"function_call\"",
    "<|tool",
];

/// Category 4: what an action is called when it is said to be done, and the words by which the action or command
/// of a receipt shows that it was. No words: any write fits.
const DONE: &[(&str, &[&str])] = &[
    ("restarted", &["restart", "reboot"]),
    ("rebooted", &["restart", "reboot"]),
    ("reloaded", &["reload", "restart"]),
    ("started", &["start"]),
    ("stopped", &["stop", "shutdown"]),
    ("killed", &["kill", "stop"]),
    ("terminated", &["kill", "stop", "delete"]),
    ("deleted", &["delete", "rm", "remove", "destroy", "prune"]),
    ("removed", &["delete", "rm", "remove", "destroy", "prune"]),
    ("destroyed", &["delete", "destroy"]),
    ("pruned", &["prune", "rm"]),
    ("purged", &["purge", "prune", "rm"]),
    ("cleared", &[]),
    ("cleaned", &[]),
    ("updated", &["update", "upgrade", "write", "append"]),
    ("upgraded", &["update", "upgrade"]),
    ("installed", &["install"]),
    ("uninstalled", &["remove", "uninstall", "purge"]),
    ("edited", &["write", "append", "sed"]),
    ("modified", &[]),
    ("changed", &[]),
    ("wrote", &["write", "append", "tee"]),
    ("written", &["write", "append", "tee"]),
    ("appended", &["append", "write", "tee"]),
    ("added", &["append", "write", "add", "create"]),
    (
        "created",
        &["create", "write", "mkdir", "touch", "remember", "note", "save"],
    ),
    ("configured", &[]),
    ("reconfigured", &[]),
    ("applied", &[]),
    ("deployed", &[]),
    ("scaled", &["scale"]),
    ("migrated", &["migrate"]),
    ("moved", &["mv", "migrate", "move"]),
    ("resized", &["resize"]),
    ("extended", &["extend", "resize"]),
    ("enabled", &["enable"]),
    ("disabled", &["disable"]),
    ("fixed", &[]),
    ("repaired", &[]),
    ("resolved", &["resolve"]),
    ("dismissed", &["dismiss"]),
    ("silenced", &["silence", "dismiss"]),
    ("acknowledged", &["acknowledge", "dismiss", "resolve"]),
    ("saved", &["save", "write", "remember", "note"]),
    ("executed", &[]),
    ("ran", &[]),
    ("performed", &[]),
    ("triggered", &[]),
    ("mounted", &["mount"]),
    ("unmounted", &["umount"]),
    ("renewed", &["renew"]),
    ("rotated", &["rotate"]),
    ("restored", &["restore", "rollback"]),
    ("drained", &["drain"]),
    ("cordoned", &["cordon"]),
    ("shutdown", &["shutdown", "stop"]),
    ("paused", &["pause", "suspend"]),
    ("resumed", &["resume"]),
    ("patched", &["patch", "update", "upgrade"]),
];

/// Whether a write with this action and command is what `verb` says was done.
pub(crate) fn verb_fits(verb: &str, action: &str, command: &str) -> bool {
    let Some((_, stems)) = DONE.iter().find(|(done, _)| *done == verb) else {
        return false;
    };
    let names = |text: &str, stem: &str| {
        text.split(|c: char| !c.is_ascii_alphanumeric())
            .any(|word| word.eq_ignore_ascii_case(stem))
    };
    stems.is_empty()
        || stems
            .iter()
            .any(|stem| names(action, stem) || names(command, stem))
}

/// Words that say nothing about which thing was acted on.
const GENERIC: &[&str] = &[
    "the",
    "a",
    "an",
    "it",
    "them",
    "this",
    "that",
    "these",
    "your",
    "its",
    "all",
    "both",
    "container",
    "containers",
    "service",
    "services",
    "unit",
    "vm",
    "guest",
    "lxc",
    "node",
    "host",
    "server",
    "machine",
    "system",
    "file",
    "config",
    "configuration",
    "command",
    "alert",
    "alerts",
    "process",
    "note",
    "successfully",
    "resource",
    "workload",
    "deployment",
    "pod",
    "stack",
    "app",
    "application",
    "affected",
    "failing",
    "failed",
    "following",
];

/// Words with which something other than the object begins.
const BOUNDARIES: &[&str] = &[
    "because",
    "since",
    "after",
    "before",
    "to",
    "on",
    "in",
    "at",
    "with",
    "and",
    "so",
    "due",
    "for",
    "as",
    "from",
    "via",
    "using",
    "by",
    "which",
    "while",
    "when",
    "then",
    "but",
    "again",
    "now",
    "once",
    "twice",
    "successfully",
];

/// What a claimed action was done to, as the sentence names it right behind the verb. None: it does not say.
pub(crate) fn object_of(sentence: &Sentence, verb: &str) -> Option<String> {
    let at = sentence.words.iter().position(|word| word.text == verb)?;
    sentence.words[at + 1..]
        .iter()
        .map(|word| word.text.as_str())
        .take_while(|word| !BOUNDARIES.contains(word))
        .find(|word| !GENERIC.contains(word))
        .map(str::to_owned)
}

/// Words that may stand between the subject and what was done.
const FILLERS: &[&str] = &[
    "have",
    "just",
    "then",
    "now",
    "also",
    "successfully",
    "already",
    "gracefully",
    "safely",
    "manually",
    "and",
    "gone",
    "ahead",
];

/// Words that say that it was not done, or not yet.
const DENIALS: &[&str] = &[
    "not", "never", "no", "cannot", "can't", "couldn't", "didn't", "haven't", "hasn't", "wasn't", "weren't",
    "isn't", "won't", "unable", "without", "if", "unless", "until", "once", "should", "would", "could", "be",
    "whether",
];

/// Finds every claim in an answer.
pub(crate) fn claims<'a>(answer: &str, tools: impl Iterator<Item = &'a str>) -> Vec<Claim> {
    let mut found = Vec::new();
    let flat = flattened(answer);
    let calls_tool = |name: &str| {
        flat.match_indices(name).any(|(at, _)| {
            let before = flat[..at].chars().next_back();
            let rest = flat[at + name.len()..].trim_start_matches(' ');
            rest.starts_with('(') && before.is_none_or(|c| !c.is_alphanumeric() && c != '_')
        })
    };
    let fake = FAKE_TOOL_CALLS
        .iter()
        .find(|pattern| flat.contains(**pattern))
        .map(|pattern| (*pattern).to_owned())
        .or_else(|| {
            tools
                .into_iter()
                .find(|name| calls_tool(name))
                .map(|name| format!("{name}("))
        });
    if let Some(phrase) = fake {
        found.push(Claim {
            category: Category::FakeToolCall,
            span: 0..answer.len(),
            phrase,
            verb: None,
        });
    }
    for sentence in sentences(answer) {
        let phrases = [(Category::Metric, METRICS), (Category::State, STATES)];
        for (category, table) in phrases {
            if let Some(phrase) = table.iter().find(|phrase| sentence.find(phrase).is_some()) {
                found.push(Claim {
                    category,
                    span: sentence.span.clone(),
                    phrase: phrase.join(" "),
                    verb: None,
                });
            }
        }
        found.extend(actions(&sentence));
    }
    found
}

fn actions(sentence: &Sentence) -> impl Iterator<Item = Claim> + '_ {
    sentence.words.iter().enumerate().filter_map(|(at, word)| {
        let (verb, _) = *DONE.iter().find(|(verb, _)| *verb == word.text)?;
        let trigger = claimed_by(sentence, at)?;
        Some(Claim {
            category: Category::Action,
            span: sentence.span.clone(),
            phrase: format!("{trigger} {verb}"),
            verb: Some(verb),
        })
    })
}

/// Who is said to have done what stands at `at`: the speaker, or success itself.
fn claimed_by(sentence: &Sentence, at: usize) -> Option<&'static str> {
    let word = |at: usize| sentence.words[at].text.as_str();
    if (at.saturating_sub(6)..at).any(|at| DENIALS.contains(&word(at))) {
        return None;
    }
    if at == 0 {
        // "Restarted the container." reports; "Stopped containers: 3" counts.
        return sentence
            .words
            .get(1)
            .is_some_and(|next| matches!(next.text.as_str(), "the" | "it" | "your" | "all" | "both"))
            .then_some("(leading)");
    }
    let mut back = at;
    while back > 0 {
        back -= 1;
        match word(back) {
            "i" | "we" => return Some("i"),
            "i've" | "we've" => return Some("i've"),
            "successfully" => return Some("successfully"),
            "been" if back > 0 && matches!(word(back - 1), "has" | "have" | "it's") => {
                return Some("has been");
            }
            "now" if back > 0 && matches!(word(back - 1), "is" | "are" | "was") => return Some("is now"),
            "was" | "were" if back + 1 == at => return None,
            // A second verb of the same subject: "I stopped and restarted it".
            other if FILLERS.contains(&other) || DONE.iter().any(|(done, _)| *done == other) => {}
            _ => return None,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn categories(answer: &str) -> Vec<Category> {
        claims(answer, ["infra_query", "infra_read"].into_iter())
            .into_iter()
            .map(|claim| claim.category)
            .collect()
    }

    #[test]
    fn each_category_is_found() {
        use Category::{Action, FakeToolCall, Metric, State};
        let cases: &[(&str, &[Category])] = &[
            ("CPU usage is 45%.", &[Metric]),
            ("The memory usage is 3 GiB", &[Metric]),
            ("Disk\u{a0}usage  is at 90 %", &[Metric]),
            ("jellyfin is currently running", &[State]),
            ("It is now restarted", &[Action]),
            ("The logs show no errors.", &[State]),
            ("According to the output, all is well", &[State]),
            ("```tool\n{}\n```", &[FakeToolCall]),
            ("infra_query(action=list)", &[FakeToolCall]),
            ("Infra_Query (action=list)", &[FakeToolCall]),
            ("<tool_call>{}</tool_call>", &[FakeToolCall]),
            ("I restarted the container.", &[Action]),
            ("I\u{2019}ve **restarted** the container.", &[Action]),
            ("I have successfully restarted it", &[Action]),
            ("The VM was successfully stopped.", &[Action]),
            ("Successfully stopped vm 203", &[Action]),
            ("The service has been restarted.", &[Action]),
            ("Restarted the jellyfin container.", &[Action]),
            ("I went in, stopped it. Then I STOPPED it", &[Action]),
        ];
        for (answer, expected) in cases {
            assert_eq!(categories(answer), *expected, "{answer}");
        }
    }

    #[test]
    fn talk_about_actions_is_no_claim() {
        for answer in [
            "I have not restarted the container.",
            "I didn't restart anything; nothing was restarted.",
            "The service should be restarted.",
            "Once the container has been restarted, check the logs.",
            "Shall I restart it?",
            "Stopped containers: 3",
            "You can call the query tool to list resources.",
            "systemd restarted the unit at 03:12",
        ] {
            assert_eq!(categories(answer), [], "{answer}");
        }
    }
}
