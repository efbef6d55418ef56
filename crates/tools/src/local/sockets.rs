//! Which kinds of sockets a command needs.
//!
//! A kind is opened only if every program of the command needs it. Where no shell is needed each program of a pipeline
//! is asked about by itself. Where a shell reads the command, its parts are asked about one by one, and what is not a
//! plain list of commands gets none.

use interlock_exec::argv_of;
use interlock_protocol::SocketKind;

/// What separates the commands of a plain list.
const SEPARATORS: [char; 4] = [';', '&', '|', '\n'];
/// What makes a command more than a plain list.
const MORE_THAN_A_LIST: [char; 6] = ['$', '`', '(', ')', '{', '}'];

/// The kinds of sockets that every program of a command needs.
pub(super) fn needed(command: &str) -> Vec<SocketKind> {
    if argv_of(command).is_some() {
        return of_one(command);
    }
    // Where the error stream goes is no command of its own.
    let Some(parts) = parts_of(&command.replace("2>&1", " ")) else {
        return Vec::new();
    };
    let mut needs = parts
        .iter()
        .filter(|part| !runs_inside_the_shell(part))
        .map(|part| of_one(part));
    let first = needs.next().unwrap_or_default();
    needs.fold(first, |all, this| {
        all.into_iter().filter(|kind| this.contains(kind)).collect()
    })
}

/// The commands of a plain list. Nothing for what is more than that.
fn parts_of(command: &str) -> Option<Vec<String>> {
    let mut parts = vec![String::new()];
    let mut quote = None;
    for c in command.chars() {
        match quote {
            Some(open) if c == open => quote = None,
            Some('"') if c == '$' || c == '`' || c == '\\' => return None,
            Some(_) => {}
            None if c == '\'' || c == '"' => quote = Some(c),
            None if c == '\\' || MORE_THAN_A_LIST.contains(&c) => return None,
            None if SEPARATORS.contains(&c) => {
                parts.push(String::new());
                continue;
            }
            None => {}
        }
        parts.last_mut()?.push(c);
    }
    let parts: Vec<String> = parts
        .iter()
        .map(|part| part.trim().to_owned())
        .filter(|part| !part.is_empty())
        .collect();
    let is_list = parts.iter().all(|part| !begins_more_than_a_command(part));
    is_list.then_some(parts)
}

fn begins_more_than_a_command(part: &str) -> bool {
    let first = part.split_whitespace().next().unwrap_or_default();
    matches!(
        first,
        "if" | "then"
            | "else"
            | "elif"
            | "fi"
            | "for"
            | "while"
            | "until"
            | "do"
            | "done"
            | "case"
            | "esac"
            | "function"
            | "select"
            | "!"
            | "time"
            | "coproc"
            | "eval"
            | "exec"
            | "."
            | "source"
            | "command"
            | "builtin"
    )
}

/// What prints or tests, and starts no program.
fn runs_inside_the_shell(part: &str) -> bool {
    let first = part.split_whitespace().next().unwrap_or_default();
    matches!(
        first,
        "echo" | "printf" | "true" | "false" | ":" | "test" | "[" | "cd" | "pwd"
    )
}

/// The kinds of sockets that one command needs.
fn of_one(command: &str) -> Vec<SocketKind> {
    let program = command.split_whitespace().next().unwrap_or_default();
    let program = program.rsplit('/').next().unwrap_or_default();
    let mut kinds = match program {
        "docker" | "podman" | "systemctl" | "loginctl" | "timedatectl" | "hostnamectl" | "busctl"
        | "resolvectl" | "networkctl" | "crictl" | "virsh" | "lxc" | "incus" => vec![SocketKind::Unix],
        "ip" | "ss" | "bridge" | "nft" | "iptables" | "ip6tables" | "ethtool" | "tc" => {
            vec![SocketKind::Netlink]
        }
        // An ioctl on an internet socket.
        "ifconfig" | "arp" | "route" => vec![SocketKind::Network],
        _ => Vec::new(),
    };
    if !kinds.contains(&SocketKind::Network) && interlock_shell::classify(command).network {
        kinds.push(SocketKind::Network);
    }
    kinds
}

#[cfg(test)]
mod tests {
    use super::needed;
    use interlock_protocol::SocketKind::{self, Netlink, Unix};

    #[test]
    fn a_kind_is_needed_only_if_every_program_needs_it() {
        let cases: [(&str, &[SocketKind]); 12] = [
            ("uptime", &[]),
            ("docker ps", &[Unix]),
            ("systemctl status nginx 2>&1 || docker ps; echo done", &[Unix]),
            ("systemctl status nginx && uptime", &[]),
            ("docker ps; ss -ltn", &[]),
            ("ip route; ss -ltn", &[Netlink]),
            ("echo docker ps", &[]),
            ("docker ps $(cat /etc/hostname)", &[]),
            ("for x in 1 2; do docker ps; done", &[]),
            ("docker ps | grep 'a;b'", &[]),
            ("docker ps \"$x\"; docker images", &[]),
            ("(docker ps)", &[]),
        ];
        for (command, kinds) in cases {
            assert_eq!(needed(command), kinds, "{command}");
        }
    }
}
