//! What holds for every entry of the table: arguments of scripts, separators, words of sub-commands, and netlink.

use std::collections::BTreeSet;

use super::load::{Expected, all, uses_netlink};
use super::{AnyText, Node};
use crate::{Intent, classify};

/// What a shell, a pattern or a language would read as more than a word.
const HOSTILE: &[&str] = &[
    ";touch${IFS}/tmp/x",
    "$(id)",
    "`id`",
    "|id",
    "&id",
    ">/tmp/x",
    "</etc/hosts",
    " y",
    "*",
    "?",
    "[a]",
    "~",
    "!",
    "{a,b}",
    "\"",
    "\\",
    "\n",
    "(",
    ")",
    "#",
    "^",
    "\t",
    "'",
    "é",
];

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

fn is_write(command: &str) -> bool {
    classify(command).intent == Intent::WriteOrUnknown
}

#[test]
fn what_may_be_a_script_gets_plain_words_only() {
    let (mut wrong, mut tried, mut programs) = (Vec::new(), 0, 0);
    for entry in all().flatten() {
        if matches!(entry.node.any_text, AnyText::Compiled | AnyText::Script) {
            continue;
        }
        programs += 1;
        let spaced = entry.node.any_text == AnyText::Spaced;
        let mut check = |command: String| {
            tried += 1;
            if !is_write(&command) {
                wrong.push(command);
            }
        };
        let hostile: Vec<&str> = HOSTILE
            .iter()
            .copied()
            .filter(|value| !(spaced && *value == " y"))
            .collect();
        for name in &entry.names {
            for value in &hostile {
                let value = quoted(&format!("x{value}"));
                check(format!("{name} {value}"));
            }
            check(format!("{name} ''"));
            check(format!("{name} \"$X\""));
            check(format!("{name} x*"));
        }
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b" -_./:=,@+%".contains(&byte);
        let examples = entry
            .examples
            .iter()
            .filter(|example| example.expected == Expected::Allowed && example.command.bytes().all(plain));
        for (number, example) in examples.enumerate() {
            let words: Vec<&str> = example.command.split(' ').collect();
            if !entry.names.iter().any(|name| name == words[0]) {
                continue;
            }
            for at in 1..words.len() {
                // Attached to the word, also to a flag, and as a word of its own behind it.
                for value in hostile.iter().cycle().skip(number * 5 + at).take(4) {
                    let mut changed: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
                    changed[at] = quoted(&format!("{}{value}", words[at]));
                    check(changed.join(" "));
                    changed[at] = format!("{} {}", words[at], quoted(&format!("a{value}")));
                    check(changed.join(" "));
                }
            }
        }
    }
    assert!(programs > 200, "{programs}");
    assert!(tried > 10_000, "{tried}");
    assert!(
        wrong.is_empty(),
        "{} of {tried}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// An interpreter or a wrapper that runs what it is given is judged by that, and cannot be held to plain words.
#[test]
fn what_code_judges_takes_any_text() {
    let held: Vec<String> = all()
        .flatten()
        .filter(|entry| entry.node.inspect.is_some() && !entry.node.writes)
        .filter(|entry| matches!(entry.node.any_text, AnyText::Words | AnyText::Spaced))
        .map(|entry| entry.node.name)
        .collect();
    assert!(held.is_empty(), "{held:?}");
}

#[test]
fn a_word_that_separates_commands_is_refused_in_every_place() {
    let (mut wrong, mut tried) = (Vec::new(), 0);
    for entry in all().flatten().filter(|entry| !entry.node.separates.is_empty()) {
        for example in &entry.examples {
            if example.expected != Expected::Allowed {
                continue;
            }
            let words: Vec<&str> = example.command.split(' ').collect();
            for separator in &entry.node.separates {
                for at in 1..=words.len() {
                    let (before, after) = words.split_at(at);
                    let command = [before, &[separator.as_str()], after].concat().join(" ");
                    tried += 1;
                    if !is_write(&command) {
                        wrong.push(command);
                    }
                }
            }
        }
    }
    assert!(tried > 20, "{tried}");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// A word that is listed as a reading sub-command may have sub-commands of its own, and some of them change things.
#[test]
fn a_verb_behind_a_listed_sub_command_is_refused() {
    fn walk(node: &Node, path: &str, found: &mut Vec<String>) {
        for (name, sub) in &node.subs {
            let path = format!("{path} {}", name.replace('*', "x"));
            if sub.listed && name != "help" {
                found.push(path.clone());
            }
            walk(sub, &path, found);
        }
    }
    let mut listed = Vec::new();
    for entry in all().flatten() {
        walk(&entry.node, &entry.node.name, &mut listed);
    }
    assert!(listed.len() > 1000, "{}", listed.len());
    let wrong: Vec<String> = listed
        .iter()
        .flat_map(|path| ["delete", "set", "visibility"].map(|verb| format!("{path} {verb} x")))
        .filter(|command| !is_write(command))
        .collect();
    assert!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        listed.len(),
        wrong.join("\n")
    );
}

/// Programs that open netlink sockets. In a sandbox on this machine they have the capability to change the network: the kernel
/// shows its packet filter only to those who could change it. All are compiled, and each word of their arguments is judged.
const NETLINK: &[&str] = &[
    "arptables",
    "auditctl",
    "bridge",
    "calicoctl",
    "cilium",
    "conntrack",
    "dcb",
    "devlink",
    "ebtables",
    "ethtool",
    "hciconfig",
    "hostname",
    "ip",
    "ipset",
    "iptables",
    "iptables-save",
    "ipvsadm",
    "iw",
    "lldpctl",
    "lnstat",
    "networkctl",
    "nfacct",
    "nft",
    "rdma",
    "ss",
    "tc",
    "tipc",
    "vdpa",
    "wg",
];

#[test]
fn netlink_is_for_a_fixed_list_of_compiled_programs() {
    let mut found = BTreeSet::new();
    for entry in all().flatten().filter(|entry| uses_netlink(&entry.node)) {
        assert_eq!(entry.node.any_text, AnyText::Compiled, "{}", entry.node.name);
        found.insert(entry.node.name);
    }
    let expected: BTreeSet<String> = NETLINK.iter().map(|name| (*name).to_owned()).collect();
    assert_eq!(found, expected);
}
