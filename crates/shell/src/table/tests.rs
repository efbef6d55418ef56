//! The table holds what it says: it can be read, and every example comes out as written.

use super::load::{Expected, all, claimed_twice};
use crate::{Intent, classify};

#[test]
fn table_can_be_read_without_errors() {
    let errors: Vec<String> = all().filter_map(Result::err).collect();
    assert!(
        errors.is_empty(),
        "{} errors:\n{}",
        errors.len(),
        errors.join("\n")
    );
    assert_eq!(claimed_twice(), Vec::<&str>::new(), "names with two entries");
}

#[test]
fn table_knows_at_least_two_hundred_programs() {
    let count: usize = all().flatten().map(|entry| entry.names.len()).sum();
    assert!(count >= 200, "only {count} programs");
}

#[test]
fn table_finds_every_program_by_each_of_its_names() {
    for entry in all().flatten() {
        for name in &entry.names {
            assert!(
                super::program(name).is_some(),
                "{name} is in the table and is not found"
            );
        }
    }
}

#[test]
fn table_examples_come_out_as_written() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for example in all().flatten().flat_map(|entry| entry.examples) {
        count += 1;
        let verdict = classify(&example.command);
        let read = verdict.intent != Intent::WriteOrUnknown;
        let right = match example.expected {
            Expected::Allowed => verdict.is_bounded_read(),
            Expected::Refused => !verdict.is_bounded_read(),
            Expected::Unbounded => read && !verdict.bounded,
        };
        if !right {
            let reasons: Vec<String> = verdict.reasons.iter().take(2).map(ToString::to_string).collect();
            wrong.push(format!(
                "{:?} {}: {}\n      {}",
                example.expected,
                example.program,
                example.command,
                reasons.join("; ")
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {count} examples:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn every_program_has_examples_that_must_be_allowed_and_refused() {
    let lacking: Vec<String> = all()
        .flatten()
        .filter(|entry| !entry.shows_both)
        .map(|entry| entry.node.name)
        .collect();
    assert!(lacking.is_empty(), "without examples: {}", lacking.join(", "));
}

#[test]
fn sockets_that_reading_needs_are_the_ones_declared_for_each_program() {
    for (command, unix, network, netlink) in [
        ("docker ps", true, false, false),
        ("docker ps | grep web", true, false, false),
        ("systemctl status nginx", true, false, false),
        ("virsh list --all", true, false, false),
        ("kubectl get pods", false, true, false),
        ("curl -s https://example.com", false, true, false),
        ("dig example.com", false, true, false),
        ("ping -c 1 example.com", false, true, false),
        ("ss -tlnp", false, false, true),
        ("ip addr", false, false, true),
        ("timeout 5 ip addr; docker ps", true, false, true),
        ("sh -c 'docker ps'", true, false, false),
        ("ls -l /", false, false, false),
        ("ps aux", false, false, false),
        ("id", false, false, false),
        ("getent passwd root", false, false, false),
        ("journalctl -n 20", false, false, false),
        ("cat http://example.com", false, false, false),
    ] {
        let needs = classify(command).needs;
        assert_eq!(
            (needs.unix, needs.network, needs.netlink),
            (unix, network, netlink),
            "{command}"
        );
    }
}

#[test]
fn only_what_every_program_needs_is_shared() {
    for (command, unix, network, netlink) in [
        ("uptime", false, false, false),
        ("docker ps", true, false, false),
        ("timeout 5 docker ps", true, false, false),
        (
            "systemctl status nginx 2>&1 || docker ps; echo done",
            true,
            false,
            false,
        ),
        ("systemctl status nginx && uptime", false, false, false),
        ("docker ps; ss -ltn", false, false, false),
        ("ip route; ss -ltn", false, false, true),
        ("echo docker ps", false, false, false),
        (
            "for x in a b; do docker logs --tail 5 $x; done",
            true,
            false,
            false,
        ),
        (
            "for x in a b; do docker logs --tail 5 $x | grep error; done",
            false,
            false,
            false,
        ),
        ("docker ps | grep 'a;b'", false, false, false),
        ("docker ps -q | xargs docker inspect", true, false, false),
        ("(docker ps)", true, false, false),
        ("sh -c 'docker ps; cat /etc/hostname'", false, false, false),
        ("curl -s https://example.com | jq .", false, false, false),
        ("if docker ps; then docker images; fi", true, false, false),
    ] {
        let needs = classify(command).shared_needs;
        assert_eq!(
            (needs.unix, needs.network, needs.netlink),
            (unix, network, netlink),
            "{command}"
        );
    }
}
