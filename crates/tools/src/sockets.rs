//! What the analysis of a command says about its sandbox: which kinds of sockets it opens, and whether it holds at all.

use interlock_protocol::{SandboxWall, SocketKind};

/// The kinds of sockets that every program of a command needs, as the table of programs declares them.
pub(crate) fn needed(command: &str) -> Vec<SocketKind> {
    let needs = interlock_shell::classify(command).shared_needs;
    [
        (needs.unix, SocketKind::Unix),
        (needs.netlink, SocketKind::Netlink),
        (needs.network, SocketKind::Network),
    ]
    .into_iter()
    .filter_map(|(needed, kind)| needed.then_some(kind))
    .collect()
}

/// The sandbox that held what a command did. One that hands its command to another machine or container ran it outside of
/// the sandbox around itself.
pub(crate) fn held(command: &str, sandbox: SandboxWall) -> SandboxWall {
    if interlock_shell::classify(command).hands_over {
        return SandboxWall::None {
            reason: "the command was handed to another machine, container or namespace".to_owned(),
        };
    }
    sandbox
}

#[cfg(test)]
mod tests {
    use super::{held, needed};
    use interlock_protocol::SocketKind::{Netlink, Network, Unix};
    use interlock_protocol::{SandboxWall, WallKind};

    #[test]
    fn the_table_of_programs_says_which_sockets_are_opened() {
        for (command, kinds) in [
            ("uptime", &[] as &[_]),
            ("docker ps", &[Unix]),
            ("ss -ltn", &[Netlink]),
            ("dig example.com", &[Network]),
            ("docker ps | grep web", &[]),
            ("a program that is not known", &[]),
        ] {
            assert_eq!(needed(command), kinds, "{command}");
        }
    }

    #[test]
    fn what_is_handed_over_was_not_held() {
        let enforced = SandboxWall::Enforced {
            by: WallKind::Bubblewrap,
            sockets: Vec::new(),
            missing: Vec::new(),
        };
        for (command, holds) in [
            ("uptime", true),
            ("docker ps", true),
            ("docker exec web uptime", false),
            ("timeout 5 docker exec web uptime", false),
            ("sh -c 'pct exec 141 -- df -h | head'", false),
            ("ssh host uptime", false),
            ("kubectl exec web -- uptime", false),
            ("k3s kubectl exec web -- uptime", false),
            ("nomad alloc exec abc uptime", false),
            ("docker top web", false),
        ] {
            assert_eq!(held(command, enforced.clone()).is_enforced(), holds, "{command}");
        }
    }
}
