//! Whatever is called a read, run and watched by `strace`: no attempt to write, to connect or to open a secret.
//!
//! The generators of the other modules look whether a file changed. A command that tries to write and fails, that undoes its
//! write, or that connects somewhere changes none: here the attempt itself is seen. To the generated scripts come commands
//! that are put together from the flags of the table, which says of each flag that it is harmless.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use crate::arena::{Language, called_a_read, fixed_or_new_seeds};
use crate::random::Random;
use crate::root::Root;
use crate::{awk, find, jq, sed, shell, sql};

/// How many reads of each language, and of the table's flags, a round runs.
const READS: usize = 70;
const FLAGS: usize = 400;

const LANGUAGES: &[&Language] = &[
    &sed::SED,
    &awk::AWK,
    &shell::SHELL,
    &find::FIND,
    &jq::JQ,
    &sql::SQL,
];

/// A program of the table, with the flags that it calls harmless and the sub-commands that read.
struct Program {
    names: Vec<String>,
    flags: Vec<String>,
    subs: Vec<String>,
}

fn words(entry: &toml::Table, key: &str) -> Vec<String> {
    let text = entry.get(key).and_then(toml::Value::as_str).unwrap_or_default();
    text.split_whitespace().map(str::to_owned).collect()
}

/// The programs of the table that the root has.
fn programs(root: &Root) -> Vec<Program> {
    let mut files: Vec<_> = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("programs"))
        .unwrap()
        .map(|file| file.unwrap().path())
        .filter(|file| file.extension().is_some_and(|extension| extension == "toml"))
        .collect();
    files.sort();
    let mut programs = Vec::new();
    for file in files {
        let family: toml::Table = fs::read_to_string(&file)
            .unwrap()
            .parse()
            .expect("the table is TOML");
        for entry in family["program"].as_array().expect("programs") {
            let entry = entry.as_table().expect("a program");
            let names: Vec<String> = words(entry, "names")
                .into_iter()
                .filter(|name| root.has(name))
                .collect();
            if names.is_empty() {
                continue;
            }
            let mut flags = words(entry, "flags");
            flags.extend(words(entry, "bound"));
            flags.extend(words(entry, "needs"));
            let mut subs = words(entry, "reads");
            if let Some(sub) = entry.get("sub").and_then(toml::Value::as_table) {
                for (name, sub) in sub {
                    subs.extend(name.split_whitespace().map(str::to_owned));
                    flags.extend(words(sub.as_table().expect("a sub-command"), "flags"));
                }
            }
            programs.push(Program { names, flags, subs });
        }
    }
    programs
}

const OPERANDS: &[&str] = &[
    "f",
    "f",
    "/etc/hosts",
    "/etc/hosts",
    "/etc",
    "d",
    ".",
    "",
    "",
    "f hosts",
    "x",
    "1",
    "M",
    "/tmp/x",
    "/srv/x.gz",
    "/srv/b.tar",
    "f M",
    "*",
    "a=b",
    "--",
    "+1",
    "t.db",
    "f.json",
    "/srv/x.xz",
    "1 2",
];

/// A command of a program with some of its harmless flags.
fn command(random: &mut Random, program: &Program) -> String {
    let pick = |random: &mut Random, from: &[String]| from[random.below(from.len())].clone();
    let mut text = pick(random, &program.names);
    if !program.subs.is_empty() {
        text.push(' ');
        text.push_str(&pick(random, &program.subs));
    }
    for _ in 0..random.below(4) {
        if program.flags.is_empty() {
            break;
        }
        text.push(' ');
        let flag = pick(random, &program.flags);
        let (name, value) = flag
            .split_once('=')
            .map_or((flag.as_str(), None), |(name, value)| (name, Some(value)));
        text.push_str(name);
        if let Some(kinds) = value {
            let alternatives: Vec<&str> = kinds.split('|').collect();
            let value = if kinds.contains('|') {
                alternatives[random.below(alternatives.len())].trim_end_matches('*')
            } else if kinds == "?" {
                random.pick(&["", "", "M", "1", "always"])
            } else {
                random.pick(&["1", "f", "x", "M", "/etc/hosts", "d", "a,b", "%s", "1k", "/tmp/x"])
            };
            let joint = match name.starts_with("--") {
                true if kinds == "?" && value.is_empty() => "",
                true => random.pick(&["=", if kinds == "?" { "=" } else { " " }]),
                false => random.pick(&["", if kinds == "?" { "" } else { " " }]),
            };
            text.push_str(joint);
            text.push_str(value);
        }
    }
    text.push(' ');
    text.push_str(random.pick(OPERANDS));
    let feed = random.pick(&["", "", "", "cat f | ", "echo x | "]);
    format!("{feed}{}", text.trim_end())
}

/// Makes commands from a seed, and runs and watches what is called a read.
fn round(root: &Root, programs: &[Program], shells: &[&'static str], seed: u64) {
    let mut random = Random::new(seed);
    let mut texts = HashSet::new();
    let mut commands = Vec::new();
    let mut add = |text: String, random: &mut Random| {
        let new = !text.contains('\0') && texts.insert(text.clone());
        if new {
            commands.push((text, shells[random.below(shells.len())]));
        }
        new
    };
    for language in LANGUAGES {
        let mut reads = 0;
        for _ in 0..language.cases {
            let case = (language.generate)(&mut random);
            if (language.reads)(&case.text) && add(case.text, &mut random) {
                reads += 1;
            }
            if reads == READS {
                break;
            }
        }
    }
    let mut reads = 0;
    for _ in 0..FLAGS * 100 {
        let program = &programs[random.below(programs.len())];
        let text = command(&mut random, program);
        if called_a_read(&text) && add(text, &mut random) {
            reads += 1;
        }
        if reads == FLAGS {
            break;
        }
    }
    let runs = root.run(&commands);
    println!(
        "watched (seed {seed}): {} runs of reads by {}, {reads} of them from the flags of {} programs; {}",
        commands.len(),
        shells.join(", "),
        programs.len(),
        root.equipment(),
    );
    let wrong = root.unsaid(&runs);
    assert!(
        wrong.is_empty(),
        "watched (seed {seed}): {} attempts of what is called a read:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn no_read_tries_to_write_or_to_connect() {
    let Some(root) = Root::make() else { return };
    let shells = root.shells(&["bash", "dash", "busybox"]);
    if shells.is_empty() {
        return;
    }
    let programs = programs(&root);
    fixed_or_new_seeds(|seed, _| round(&root, &programs, &shells, seed));
}
