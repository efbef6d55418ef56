//! Which kinds of sockets a command may open in its sandbox.

use interlock_protocol::SocketKind;

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

#[cfg(test)]
mod tests {
    use super::needed;
    use interlock_protocol::SocketKind::{Netlink, Network, Unix};

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
}
