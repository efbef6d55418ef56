//! Phantom detection: claims that only a tool's result could make true.
//!
//! Four categories, as tables. A claim is found here and weighed in [`super::grounding`] against receipts and
//! evidence: finding is about words, weighing about what happened.

use std::ops::Range;

use super::foreign;
use super::text::{Parting, Sentence, flattened};
use super::words::{
    BENIGN, BOUNDARIES, CHANGES, COMPLETE, DENIALS, DONE, EVERYDAY, FAKE_TOOL_CALLS, FILLERS, FINISHED,
    GENERIC, HEADINGS, IRREGULAR, LINKS, LOOKED, MEASURED, METRICS, NOTHINGS, NOUNS, POINTED, POINTERS,
    STATES, STRONG, TALK, THINGS, UNITS, WRAPPING,
};

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

/// Whether a write with this action and command is what `verb` says was done. A verb of another language says only that
/// something was.
pub(crate) fn verb_fits(verb: &str, action: &str, command: &str) -> bool {
    let Some((_, stems)) = DONE.iter().find(|(done, _)| *done == verb) else {
        return true;
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

/// How far a look around a word goes, so that looking costs the same everywhere.
const REACH: usize = 16;

/// A claim, and where it was found.
#[derive(Debug, Clone)]
pub(crate) struct Found {
    pub(crate) claim: Claim,
    /// Which sentence; nothing for a claim about the whole answer.
    pub(crate) sentence: Option<usize>,
    /// For an action: what it was done to, as the sentence names it, from the most to the least telling.
    pub(crate) objects: Vec<String>,
    /// For an action: whether it is only told, and not claimed as the speaker's own.
    pub(crate) told: bool,
    /// For an action: whether success is part of the claim.
    pub(crate) success: bool,
}

/// Finds every claim in an answer.
pub(crate) fn claims<'a>(
    answer: &str,
    sentences: &[Sentence],
    tools: impl Iterator<Item = &'a str>,
    is_resource: &dyn Fn(&str) -> bool,
) -> Vec<Found> {
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
    let plain = |category, span, phrase, sentence| Found {
        claim: Claim {
            category,
            span,
            phrase,
            verb: None,
        },
        sentence,
        objects: Vec::new(),
        told: false,
        success: false,
    };
    if let Some(phrase) = fake {
        found.push(plain(Category::FakeToolCall, 0..answer.len(), phrase, None));
    }
    for (index, sentence) in sentences.iter().enumerate() {
        let phrases = [(Category::Metric, METRICS), (Category::State, STATES)];
        for (category, table) in phrases {
            if let Some(phrase) = table.iter().find(|phrase| sentence.find(phrase).is_some()) {
                let span = sentence.span.clone();
                found.push(plain(category, span, phrase.join(" "), Some(index)));
            }
        }
        let clauses = Clauses {
            sentence,
            is_resource,
        };
        let known = found
            .iter()
            .any(|found| found.sentence == Some(index) && found.claim.category == Category::Metric);
        if let Some(measured) = clauses.measured()
            && !known
        {
            let span = sentence.span.clone();
            found.push(plain(Category::Metric, span, measured, Some(index)));
        }
        let whole = |verb, told| Found {
            claim: Claim {
                category: Category::Action,
                span: sentence.span.clone(),
                phrase: format!("was {verb}"),
                verb: Some(verb),
            },
            sentence: Some(index),
            objects: clauses.resources(0..sentence.words.len()),
            told,
            success: false,
        };
        if clauses.is_over() {
            found.push(whole("performed", true));
        }
        if let Some(verb) = foreign::done_in(sentence, &answer[sentence.span.clone()]) {
            found.push(whole(verb, true));
        }
        found.extend((0..sentence.words.len()).filter_map(|at| {
            let act = clauses.act(at)?;
            Some(Found {
                claim: Claim {
                    category: Category::Action,
                    span: sentence.span.clone(),
                    phrase: format!("{} {}", act.trigger, act.verb),
                    verb: Some(act.verb),
                },
                sentence: Some(index),
                objects: act.objects,
                told: act.told,
                success: clauses.says_success(at),
            })
        }));
    }
    found
}

/// An action that a sentence says was done.
struct Act {
    verb: &'static str,
    trigger: &'static str,
    objects: Vec<String>,
    told: bool,
}

struct Clauses<'a> {
    sentence: &'a Sentence,
    is_resource: &'a dyn Fn(&str) -> bool,
}

impl Clauses<'_> {
    fn word(&self, at: usize) -> &str {
        self.sentence.words.get(at).map_or("", |word| word.text.as_str())
    }

    fn parted(&self, at: usize) -> Parting {
        self.sentence
            .words
            .get(at)
            .map_or(Parting::Strong, |word| word.parted)
    }

    /// Where the clause around `at` begins, as far as one looks.
    fn clause_start(&self, at: usize) -> usize {
        let mut start = at;
        while start > at.saturating_sub(REACH) {
            if self.parted(start) != Parting::Space
                || matches!(self.word(start - 1), "and" | "but" | "so" | "because" | "then")
            {
                break;
            }
            start -= 1;
        }
        start
    }

    fn denied(&self, range: Range<usize>) -> bool {
        range.into_iter().any(|at| DENIALS.contains(&self.word(at)))
    }

    fn says_success(&self, at: usize) -> bool {
        (at.saturating_sub(4)..at + REACH)
            .take_while(|&at| at < self.sentence.words.len())
            .any(|at| matches!(self.word(at), "successfully" | "successful" | "succeeded"))
    }

    fn act(&self, at: usize) -> Option<Act> {
        if let Some((verb, _)) = DONE.iter().find(|(verb, _)| *verb == self.word(at)) {
            return self.participle(at, verb);
        }
        self.managed(at)
            .or_else(|| self.noun(at))
            .or_else(|| self.other(at))
    }

    /// "I hardened the host", "I looked at the logs": any past tense with the speaker as its subject, whatever the verb.
    fn other(&self, at: usize) -> Option<Act> {
        let word = self.word(at);
        let looked = LOOKED.contains(&word);
        let past = (word.len() > 4 && word.ends_with("ed")) || IRREGULAR.contains(&word);
        if !(looked || past) || BENIGN.contains(&word) || self.sentence.asks {
            return None;
        }
        let trigger = self.speaker(at)?;
        let next = self.word(at + 1);
        let talk = (at + 1..at + 5).any(|at| TALK.contains(&self.word(at)));
        if talk || NOTHINGS.contains(&next) {
            return None;
        }
        Some(Act {
            verb: if looked { "checked" } else { "did" },
            trigger,
            objects: self.resources(at + 1..(at + REACH).min(self.sentence.words.len())),
            told: false,
        })
    }

    /// The resources that a part of the sentence names.
    fn resources(&self, range: Range<usize>) -> Vec<String> {
        range
            .map(|at| self.word(at))
            .filter(|word| (self.is_resource)(word))
            .map(str::to_owned)
            .collect()
    }

    /// "All done.", "Restarting nginx: success".
    fn is_over(&self) -> bool {
        let words = &self.sentence.words;
        let Some(last) = words.last() else { return false };
        if self.sentence.asks || self.denied(0..words.len()) {
            return false;
        }
        let finished = |word: &str| FINISHED.contains(&word);
        let only = words.iter().any(|word| finished(&word.text))
            && words
                .iter()
                .all(|word| finished(&word.text) || WRAPPING.contains(&word.text.as_str()));
        let mark = words.len() > 1 && last.parted != Parting::Space && finished(&last.text);
        only || mark
    }

    /// "The disk is 91% full", "CPU at 45 %": a measured thing, a link and a number.
    fn measured(&self) -> Option<String> {
        let words = &self.sentence.words;
        let is_number = |at: usize| {
            let word = self.word(at);
            let unit = word.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | ','));
            let unit = if unit.is_empty() { self.word(at + 1) } else { unit };
            word.starts_with(|c: char| c.is_ascii_digit()) && (unit.starts_with('%') || UNITS.contains(&unit))
        };
        let thing = (0..words.len()).find(|&at| MEASURED.contains(&self.word(at)))?;
        let end = (thing + 7).min(words.len());
        let link = (thing + 1..end).find(|&at| LINKS.contains(&self.word(at)))?;
        let value = (link + 1..(link + 4).min(words.len())).find(|&at| is_number(at))?;
        let general = |at: usize| {
            let word = self.word(at);
            DENIALS.contains(&word)
                || matches!(
                    word,
                    "set" | "default" | "typical" | "recommended" | "least" | "above"
                )
        };
        (!self.sentence.asks && !(self.clause_start(thing)..value).any(general))
            .then(|| format!("{} {}", self.word(thing), self.word(link)))
    }

    /// "I was able to restart", "I managed to restart", "I did restart".
    fn managed(&self, at: usize) -> Option<Act> {
        let skip = |mut at: usize| {
            while at > 0 && is_filler(self.word(at - 1)) {
                at -= 1;
            }
            at.checked_sub(1)
        };
        let verb = done_of(self.word(at))?;
        let before = skip(at)?;
        let speaks = |at: usize| matches!(self.word(at), "i" | "we" | "i've" | "we've");
        let claimed = match self.word(before) {
            "did" => speaks(skip(before)?),
            "to" => {
                let by = skip(before)?;
                match self.word(by) {
                    "managed" | "proceeded" => speaks(skip(by)?),
                    "able" => matches!(self.word(skip(by)?), "was" | "were" | "been"),
                    _ => false,
                }
            }
            _ => false,
        };
        (claimed && !self.sentence.asks).then(|| Act {
            verb,
            trigger: "i managed to have",
            objects: self.objects_behind(at),
            told: false,
        })
    }

    /// "The restart of jellyfin is complete."
    fn noun(&self, at: usize) -> Option<Act> {
        let (_, verb) = NOUNS.iter().find(|(noun, _)| *noun == self.word(at))?;
        if self.sentence.asks {
            return None;
        }
        let end = (at + 1..(at + 9).min(self.sentence.words.len()))
            .find(|&at| COMPLETE.contains(&self.word(at)))?;
        // A second subject in between has its own verb.
        if self.denied(self.clause_start(at)..end) || (at + 1..end).any(|at| self.word(at) == "to") {
            return None;
        }
        let mut objects: Vec<String> = Vec::new();
        if self.word(at + 1) == "of" {
            objects = self.telling(at + 2..end);
        }
        if objects.is_empty() {
            objects = self.telling(self.clause_start(at)..at);
        }
        Some(Act {
            verb,
            trigger: "complete:",
            objects,
            told: true,
        })
    }

    fn participle(&self, at: usize, verb: &'static str) -> Option<Act> {
        let next = self.word(at + 1);
        if NOTHINGS.contains(&next) || (next == "and" && NOTHINGS.contains(&self.word(at + 2))) {
            return None;
        }
        let act = |trigger, objects, told| {
            Some(Act {
                verb,
                trigger,
                objects,
                told,
            })
        };
        if let Some(trigger) = self.speaker(at) {
            // "I started by reading", "I resolved jellyfin to lxc:delly:105".
            let figure = match verb {
                "started" | "stopped" => matches!(next, "by" | "with" | "from" | "at" | "to"),
                "resolved" => (at + 1..at + 6).any(|at| self.word(at) == "to"),
                _ => false,
            };
            if figure || (EVERYDAY.contains(&verb) && !self.has_thing_behind(at)) {
                return None;
            }
            return act(trigger, self.objects_behind(at), false);
        }
        let leads = at == 0 || self.parted(at) == Parting::Strong;
        if leads {
            return self
                .leads_with_object(at)
                .then(|| act("(leading)", self.objects_behind(at), false))?;
        }
        if self.sentence.asks {
            return None;
        }
        let start = self.clause_start(at);
        let mut back = at;
        let (mut now, mut well) = (false, false);
        while back > start && (is_filler(self.word(back - 1)) || self.word(back - 1) == "been") {
            back -= 1;
            now |= self.word(back) == "now" || self.word(back) == "been";
            well |= self.word(back) == "successfully";
        }
        well |= (at + 1..at + 4).any(|at| self.word(at) == "successfully");
        if back == start && well {
            return (!self.denied(start.saturating_sub(4)..at))
                .then(|| act("successfully", self.objects_behind(at), false))?;
        }
        if back == start || self.denied(start..at) {
            return None;
        }
        let subject = self.telling(start..back - 1);
        match self.word(back - 1) {
            "is" | "are" | "was" | "were" | "has" | "it's" | "got" | "gets" => {
                let behind = self.word(at + 2);
                let place = matches!(next, "on" | "at")
                    && !behind.starts_with(|c: char| c.is_ascii_digit())
                    && ((self.is_resource)(behind) || looks_named(behind));
                let habit = !place
                    && matches!(
                        next,
                        "by" | "when" | "if" | "whenever" | "every" | "each" | "automatically" | "on" | "at"
                    );
                if now || well {
                    act(if now { "has been" } else { "successfully" }, subject, true)
                } else {
                    let pointed = !POINTED.contains(&verb) || self.points(start..back - 1);
                    (STRONG.contains(&verb) && !habit && pointed).then(|| act("was", subject, true))?
                }
            }
            // Somebody or something did it, or it did so by itself.
            _ => {
                let bare = at + 1 >= self.sentence.words.len() || self.parted(at + 1) != Parting::Space;
                let subject = self.telling(start..back);
                let thing = (self.is_resource)(self.word(back - 1)) || is_thing(self.word(back - 1));
                if well {
                    act("successfully", subject, true)
                } else {
                    (bare && thing && STRONG.contains(&verb)).then(|| act("was", subject, true))?
                }
            }
        }
    }

    /// Whether a subject is a certain thing: "the marker", "your config", "it", a resource.
    fn points(&self, range: Range<usize>) -> bool {
        range.into_iter().any(|at| {
            let word = self.word(at);
            matches!(
                word,
                "the" | "your" | "this" | "these" | "all" | "both" | "it" | "everything"
            ) || (self.is_resource)(word)
                || looks_named(word)
        })
    }

    /// Whether the speaker is said to have done what stands at `at`. Denials count only in between.
    fn speaker(&self, at: usize) -> Option<&'static str> {
        let mut back = at;
        while back > at.saturating_sub(REACH) {
            back -= 1;
            let word = self.word(back);
            let trigger = match word {
                "i" | "we" => "i",
                "i've" | "we've" => "i've",
                other if is_filler(other) || DONE.iter().any(|(done, _)| *done == other) => {
                    if other == "and" && self.shares_subject(back) {
                        return Some("i");
                    }
                    continue;
                }
                _ => return None,
            };
            let perfect = trigger == "i've" || (back + 1..at).any(|at| self.word(at) == "have");
            let supposed = back > 0
                && self.parted(back) == Parting::Space
                && match self.word(back - 1) {
                    "if" | "unless" | "until" | "whether" | "should" | "could" | "would" | "had" => true,
                    "once" | "after" | "when" => perfect,
                    _ => false,
                };
            return (!supposed).then_some(trigger);
        }
        None
    }

    /// "I checked the logs and restarted it": whether the verb behind the "and" at `at` has the speaker as its
    /// subject.
    fn shares_subject(&self, at: usize) -> bool {
        let mut back = at;
        while back > at.saturating_sub(REACH) {
            back -= 1;
            let word = self.word(back);
            if matches!(word, "i" | "we" | "i've" | "we've") {
                return true;
            }
            if DENIALS.contains(&word)
                || matches!(
                    word,
                    "that" | "which" | "it" | "was" | "is" | "has" | "to" | "see" | "saw"
                )
            {
                return false;
            }
        }
        false
    }

    /// "Restarted jellyfin." reports; "Stopped containers: 3" counts.
    fn leads_with_object(&self, at: usize) -> bool {
        let next = self.word(at + 1);
        !next.is_empty()
            && !BOUNDARIES.contains(&next)
            && !HEADINGS.contains(&next)
            && !next.starts_with(|c: char| c.is_ascii_digit())
            && !matches!(next, "is" | "are" | "was" | "were" | "has" | "or")
            && (!EVERYDAY.contains(&self.word(at))
                || self.has_thing_behind(at)
                || STRONG.contains(&self.word(at)))
    }

    fn behind(&self, at: usize) -> impl Iterator<Item = &str> {
        (at + 1..(at + 1 + REACH).min(self.sentence.words.len()))
            .map(|at| self.word(at))
            .take_while(|word| !BOUNDARIES.contains(word))
    }

    fn has_thing_behind(&self, at: usize) -> bool {
        self.behind(at)
            .any(|word| (self.is_resource)(word) || is_thing(word) || looks_named(word))
            || (STRONG.contains(&self.word(at))
                && self
                    .behind(at)
                    .next()
                    .is_some_and(|word| !POINTERS.contains(&word)))
    }

    /// What stands right behind the verb and is no generic word; and the resources that an "and" joins to it.
    fn objects_behind(&self, at: usize) -> Vec<String> {
        let mut objects = Vec::new();
        let end = (at + 1 + REACH).min(self.sentence.words.len());
        for at in at + 1..end {
            let word = self.word(at);
            if (self.is_resource)(word) {
                objects.push(word.to_owned());
            } else if word != "and"
                && (BOUNDARIES.contains(&word) || DONE.iter().any(|(done, _)| *done == word))
            {
                break;
            } else if objects.is_empty() && word != "and" && !GENERIC.contains(&word) {
                objects.push(word.to_owned());
            }
        }
        objects
    }

    /// The words of a subject that say what it is: resources, or else the last that is no generic word.
    fn telling(&self, range: Range<usize>) -> Vec<String> {
        let words = || range.clone().map(|at| self.word(at));
        let resources: Vec<String> = words()
            .filter(|word| (self.is_resource)(word))
            .map(str::to_owned)
            .collect();
        if !resources.is_empty() {
            return resources;
        }
        words()
            .rfind(|word| {
                !GENERIC.contains(word)
                    && !BOUNDARIES.contains(word)
                    && !is_filler(word)
                    && !matches!(*word, "is" | "was" | "has" | "of")
            })
            .map(str::to_owned)
            .into_iter()
            .collect()
    }
}

/// Whether what a sentence says was run or performed changes something: the word that says so.
pub(crate) fn change_in(sentence: &Sentence, verb: &str) -> Option<&'static str> {
    let mut ran = false;
    sentence.words.iter().find_map(|word| {
        let word = word.text.as_str();
        ran = word == verb || (ran && !BOUNDARIES.contains(&word));
        CHANGES.iter().find(|change| ran && **change == word).copied()
    })
}

fn is_filler(word: &str) -> bool {
    FILLERS.contains(&word) || (word.len() > 3 && word.ends_with("ly"))
}

fn is_thing(word: &str) -> bool {
    THINGS.contains(&word) || (GENERIC.contains(&word) && !POINTERS.contains(&word))
}

/// A path, an id, a file name or a host name.
fn looks_named(word: &str) -> bool {
    word.contains(['/', ':', '_'])
        || word
            .trim_matches(|c: char| c.is_ascii_digit() || c == '.')
            .contains(['.', '-'])
}

/// What was done, from the plain form of the verb: "restart", "delete", "stop".
fn done_of(word: &str) -> Option<&'static str> {
    let irregular = match word {
        "run" => "ran",
        "write" => "wrote",
        "apply" => "applied",
        _ => "",
    };
    DONE.iter().map(|(done, _)| *done).find(|done| {
        *done == irregular
            || done.strip_suffix("ed").is_some_and(|stem| {
                stem == word || word.strip_suffix('e') == Some(stem) || {
                    let mut chars = stem.chars();
                    let last = chars.next_back();
                    chars.as_str() == word && word.ends_with(|c| Some(c) == last)
                }
            })
    })
}

#[cfg(test)]
mod tests {
    use super::super::text::sentences;
    use super::*;

    fn categories(answer: &str) -> Vec<Category> {
        let tools = ["infra_query", "infra_read"].into_iter();
        claims(answer, &sentences(answer), tools, &|word| word == "jellyfin")
            .into_iter()
            .map(|found| found.claim.category)
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
