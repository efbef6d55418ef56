//! The second wall alone, on the whole way of a read: model, gate, tool, connection, sandbox, guest.
//!
//! The binary is built with the feature `everything-is-a-read`, so that the gate lets every command through the read tool.
//! Then whatever the tables refuse runs on guests of the lab, and no file of any machine may differ. Only in namespaces
//! without network and devices: [`Lab::start`] starts nothing else.

use std::collections::BTreeSet;

use serde_json::json;

use super::examples;
use super::generate::{Call, Class, Reply, Session};
use super::lab::Lab;
use super::oracle::Oracle;
use super::play::Player;

/// How many calls one reply has, and how many a session.
const CALLS: usize = 16;
const SESSION: usize = 1600;
/// How many examples are run. All of them where this is not set.
const SAMPLE: &str = "WALL_SAMPLE";
/// Guests: one that is reached through its node, and one through its agent.
const GUESTS: [&str; 2] = ["lxc:minipc:110", "vm:tower:210"];

#[test]
fn with_everything_a_read_no_refused_command_changes_a_machine() {
    const { assert!(interlock_shell::EVERYTHING_IS_A_READ) };
    assert!(interlock_shell::classify("rm -rf /").is_bounded_read());
    let Some(lab) = Lab::start() else { return };
    let player = Player::with(&lab, |config| {
        config["control"]["require_read_sandbox"] = json!(true);
    });
    let oracle = Oracle::new(&lab);
    let before = oracle.look();
    assert!(before.machines() >= 20, "{} machines", before.machines());
    let mut commands = examples::refused();
    if let Some(sample) = std::env::var(SAMPLE)
        .ok()
        .and_then(|text| text.parse::<usize>().ok())
    {
        let step = commands.len().div_ceil(sample.max(1));
        commands = commands.into_iter().step_by(step).collect();
    }
    let mut ran = 0;
    let mut left = BTreeSet::new();
    for (number, part) in commands.chunks(SESSION).enumerate() {
        let calls: Vec<Call> = part
            .iter()
            .enumerate()
            .map(|(at, command)| Call {
                id: format!("call_{at}"),
                tool: "infra_read".to_owned(),
                // What has no end shall not take a minute each.
                arguments: json!({
                    "action": "exec",
                    "target_resource_id": GUESTS[at % GUESTS.len()],
                    "command": format!("timeout 2 sh -c {} </dev/null", quoted(command)),
                })
                .to_string(),
                class: Class::Example,
                may_read: true,
            })
            .collect();
        let looks = Call {
            id: "look".to_owned(),
            tool: "infra_query".to_owned(),
            arguments: json!({"action": "list", "limit": 200}).to_string(),
            class: Class::Example,
            may_read: true,
        };
        let replies = std::iter::once(vec![looks])
            .chain(calls.chunks(CALLS).map(<[Call]>::to_vec))
            .map(|calls| Reply {
                text: String::new(),
                calls,
            })
            .collect();
        let session = Session::new(
            format!("wall-{number}"),
            "read_only",
            replies,
            vec!["Done.".to_owned()],
        );
        ran += player.read(session);
        // A process that outlives its read is a known limit of the sandbox on guests (docs/shell.md). It is named, and it can
        // change as little as the read could.
        let (processes, changed): (Vec<String>, Vec<String>) = before
            .difference(&oracle.look())
            .into_iter()
            .partition(|line| line.split(' ').nth(1) == Some("process") && line.ends_with(" is new"));
        assert!(
            changed.is_empty(),
            "the sandbox let something change:\n{}",
            changed.join("\n")
        );
        left.extend(processes);
    }
    eprintln!(
        "everything is a read: {ran} of {} refused commands ran in a sandbox, and no file or book of {} machines changed; processes that \
         stayed: {left:?}",
        commands.len(),
        before.machines()
    );
    // The commands came as far as the guests.
    assert!(
        ran * 10 >= commands.len() * 9,
        "only {ran} of {} ran",
        commands.len()
    );
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}
