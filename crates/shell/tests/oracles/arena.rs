//! Runs generated commands and says which of them changed anything.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use interlock_shell::classify;

use crate::random::Random;
use crate::sandbox;

/// How many refused cases of a family, of those that the former analysis let pass, and of those that only one rule refuses
/// are run.
const SAMPLE: usize = 40;

/// How many cases one worker job holds.
const BATCH: usize = 40;

/// Runs each case of a job with each implementation, in a folder whose files are known, and notes what changed.
const WORKER: &str = r#"
shopt -s nullglob dotglob
PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin
export PATH HOME LC_ALL=C
limit() { timeout -k 1 1 "$@"; }
changed() {
  set -- *
  [ "$*" = "$files" ] || return 0
  IFS= read -r -d '' now < f
  [ "$now" = "$content" ] || return 0
  return 1
}
fresh() { cd "$job" && rm -rf work && cp -R base work && cd work || exit 1; }
while IFS= read -r job; do
  HOME=$job
  fresh
  set -- *
  files="$*"
  IFS= read -r -d '' content < f
  number=0
  while IFS= read -r -d '' text; do
    for how in $hows; do
      run
      if changed; then
        echo "$number $how" >> ../hits
        fresh
      fi
    done
    number=$((number + 1))
  done < ../cases
done
true
"#;

/// A generated command and which kind of trap it is.
pub(crate) struct Case {
    pub(crate) text: String,
    pub(crate) family: &'static str,
}

/// A language: how its cases are made, and how they are run.
pub(crate) struct Language {
    pub(crate) name: &'static str,
    pub(crate) generate: fn(&mut Random) -> Case,
    /// Implementations: the name, and the program that must be there.
    pub(crate) implementations: &'static [(&'static str, &'static str)],
    /// Defines `run`, which runs `$text` with the implementation `$how`.
    pub(crate) run: &'static str,
    /// The files that each case finds, besides `f`.
    pub(crate) prepare: fn(&Path),
    /// Whether the read tool would run it.
    pub(crate) reads: fn(&str) -> bool,
    /// How many cases are made, and how many reads of a family are run at most.
    pub(crate) cases: usize,
    pub(crate) most: usize,
    /// Families of which at least one case must reach the payload.
    pub(crate) families: &'static [&'static str],
    /// An earlier analysis, which the generator must find a hole in.
    pub(crate) former: Option<fn(&str) -> bool>,
    /// Rules, by a part of their reason, that nothing else stands in for: without one of them the generator must find a hole.
    pub(crate) rules: &'static [&'static str],
}

/// One round with the fixed seed; or, for `make fuzz`, rounds with new seeds until the time is up. The round is told which.
pub(crate) fn fixed_or_new_seeds(mut round: impl FnMut(u64, bool)) {
    let number = |name: &str| {
        std::env::var(name)
            .ok()
            .and_then(|value| value.parse::<u64>().ok())
    };
    let Some(seconds) = number("ORACLE_SECONDS") else {
        round(20_260_101, true);
        return;
    };
    let mut seed = number("ORACLE_SEED").unwrap_or(1);
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(seconds) {
        round(seed, false);
        seed = seed.wrapping_add(1);
    }
}

/// Whether the read tool would run it.
pub(crate) fn called_a_read(text: &str) -> bool {
    classify(text).is_bounded_read()
}

/// What a reason begins with that refuses nothing.
const READING: &[&str] = &[
    "reads",
    "compares",
    "nothing",
    "runs no program",
    "was judged",
    "its ",
    "prints",
    "is SQL that",
];

type Counts = BTreeMap<&'static str, Count>;

#[derive(Default)]
struct Count {
    made: usize,
    reads: usize,
    run: usize,
    reached: usize,
    former: usize,
}

impl Language {
    /// A run with a fixed seed; or, for `make fuzz`, runs with new seeds until the time is up.
    pub(crate) fn check(&self) {
        let hows: Vec<&str> = self
            .implementations
            .iter()
            .filter(|(how, program)| {
                let there = sandbox::has(program);
                if !there {
                    println!("skipped: {} {how} ({program} is not installed)", self.name);
                }
                there
            })
            .map(|(how, _)| *how)
            .collect();
        let probe = tempfile::tempdir().unwrap();
        if hows.is_empty() || !sandbox::confines(probe.path()).expect("a worker") {
            println!(
                "skipped: {} (nothing runs generated scripts here without confinement)",
                self.name
            );
            return;
        }
        fixed_or_new_seeds(|seed, fixed| {
            let (counts, by_rule) = self.round(seed, &hows);
            if fixed {
                self.shows_something(&counts, &by_rule, hows.len());
            }
        });
    }

    /// Makes cases from a seed and runs them. Panics with what was called a read and changed something.
    fn round(&self, seed: u64, hows: &[&str]) -> (Counts, BTreeMap<&'static str, usize>) {
        let mut random = Random::new(seed);
        let mut counts: BTreeMap<&'static str, Count> = BTreeMap::new();
        let mut alone: BTreeMap<&'static str, usize> = BTreeMap::new();
        let (mut reads, mut refused) = (Vec::new(), Vec::new());
        let mut texts = HashSet::new();
        let mut formerly = 0;
        for _ in 0..self.cases {
            let case = (self.generate)(&mut random);
            let count = counts.entry(case.family).or_default();
            count.made += 1;
            if case.text.contains('\0') || !texts.insert(case.text.clone()) {
                continue;
            }
            if (self.reads)(&case.text) {
                count.reads += 1;
                if count.reads <= self.most {
                    reads.push(case);
                }
                continue;
            }
            let former = formerly < SAMPLE && self.former.is_some_and(|former| former(&case.text));
            formerly += usize::from(former);
            let rule = self.only_rule(&case.text);
            if let Some(rule) = rule {
                *alone.entry(rule).or_default() += 1;
            }
            if count.run < SAMPLE || former || rule.is_some_and(|rule| alone[rule] <= SAMPLE) {
                count.run += 1;
                refused.push(case);
            }
        }
        let folder = tempfile::Builder::new().prefix("oracle").tempdir().unwrap();
        // Apart, so that what a refused case leaves running does not count against a read.
        let hits = self.run(&folder.path().join("reads"), &reads, hows);
        let sampled = self.run(&folder.path().join("refused"), &refused, hows);
        let mut by_rule: BTreeMap<&'static str, usize> = self.rules.iter().map(|rule| (*rule, 0)).collect();
        let reached: BTreeSet<usize> = sampled.iter().map(|(index, _)| *index).collect();
        for case in reached.iter().map(|index| &refused[*index]) {
            let count = counts.get_mut(case.family).expect("a family");
            count.reached += 1;
            count.former += usize::from(self.former.is_some_and(|former| former(&case.text)));
            if let Some(rule) = self.only_rule(&case.text) {
                *by_rule.entry(rule).or_default() += 1;
            }
        }
        let mut table = String::new();
        for (family, count) in &counts {
            write!(
                table,
                "\n  {family}: {} made, {} called reads; of {} others {} reach the payload, {} past the former analysis",
                count.made, count.reads, count.run, count.reached, count.former
            )
            .unwrap();
        }
        for (rule, reached) in &by_rule {
            write!(
                table,
                "\n  only refused by \"{rule}\": {reached} reach the payload"
            )
            .unwrap();
        }
        println!(
            "{} (seed {seed}): {} cases, {} reads run by {}{table}",
            self.name,
            self.cases,
            reads.len(),
            hows.join(", "),
        );
        let mut holes = String::new();
        for (index, how) in hits.iter().take(40) {
            writeln!(holes, "{how}: {:?}", reads[*index].text).unwrap();
        }
        assert!(
            hits.is_empty(),
            "{} (seed {seed}): {} called a read, and changed something:\n{holes}",
            self.name,
            hits.len()
        );
        (counts, by_rule)
    }

    /// The rule that alone refuses this, if there is one.
    fn only_rule(&self, text: &str) -> Option<&'static str> {
        if self.rules.is_empty() {
            return None;
        }
        let verdict = classify(text);
        let mut found = None;
        for reason in &verdict.reasons {
            match self.rules.iter().find(|rule| reason.why.contains(**rule)) {
                Some(rule) if found.is_none_or(|found| found == *rule) => found = Some(*rule),
                None if READING.iter().any(|reading| reason.why.starts_with(reading)) => {}
                Some(_) | None => return None,
            }
        }
        found
    }

    /// The index and the implementation of each case that changed something.
    fn run(&self, arena: &Path, cases: &[Case], hows: &[&str]) -> Vec<(usize, String)> {
        let jobs: Vec<PathBuf> = cases
            .chunks(BATCH)
            .enumerate()
            .map(|(number, batch)| {
                let job = arena.join(number.to_string());
                let base = job.join("base");
                fs::create_dir_all(&base).unwrap();
                fs::write(base.join("f"), "a/b]c\n[x] 1 2\n").unwrap();
                (self.prepare)(&base);
                let texts: String = batch.iter().flat_map(|case| [case.text.as_str(), "\0"]).collect();
                fs::write(job.join("cases"), texts).unwrap();
                job
            })
            .collect();
        if jobs.is_empty() {
            return Vec::new();
        }
        let script = format!("hows='{}'\n{}\n{WORKER}", hows.join(" "), self.run);
        sandbox::each(arena, true, &script, &jobs).expect("workers");
        let mut hits = Vec::new();
        for (number, job) in jobs.iter().enumerate() {
            for line in fs::read_to_string(job.join("hits")).unwrap_or_default().lines() {
                let (index, how) = line.split_once(' ').expect("a number and a name");
                hits.push((number * BATCH + index.parse::<usize>().unwrap(), how.to_owned()));
            }
        }
        hits
    }

    /// Fails if the generator does not reach what it is there for.
    fn shows_something(&self, counts: &Counts, by_rule: &BTreeMap<&'static str, usize>, installed: usize) {
        if installed < self.implementations.len() {
            println!(
                "skipped: whether every trap of {} works (not every program is installed)",
                self.name
            );
            return;
        }
        for family in self.families {
            let reached = counts.get(family).map_or(0, |count| count.reached);
            assert!(
                reached > 0,
                "{}: no case of {family} reaches the payload",
                self.name
            );
        }
        for (rule, reached) in by_rule {
            assert!(
                *reached > 0,
                "{}: without the rule \"{rule}\" no hole is found",
                self.name
            );
        }
        let reads: usize = counts.values().map(|count| count.reads).sum();
        assert!(
            reads * 100 >= self.cases,
            "{}: only {reads} of {} are called reads: the test shows little",
            self.name,
            self.cases
        );
        if self.former.is_some() {
            let found: usize = counts.values().map(|count| count.former).sum();
            assert!(
                found > 0,
                "{}: the holes of the former analysis are not found",
                self.name
            );
        }
    }
}

/// Nothing besides `f`.
pub(crate) fn nothing(_base: &Path) {}
