//! Which readings show the state of a resource. A log says what happened some time, a list says what else there is, and a
//! greeting says nothing: none of them ends the verification of a free-form write.
//!
//! Works from lists of what does show state. An unknown program does not, so an error here makes code take a reading of
//! its own at the deadline; it never ends a verification.

/// Programs whose output is state, whatever their arguments. Not those that show what hardly any command changes (`id`, `who`,
/// `lscpu`, `smartctl`) or only how busy a machine is (`uptime`, `free`, `vmstat`), nor those that ask another machine or
/// service (`dig`, `curl`).
const STATE: &[&str] = &[
    "arp",
    "blkid",
    "brctl",
    "chronyc",
    "df",
    "dpkg",
    "dpkg-query",
    "du",
    "findmnt",
    "getent",
    "getenforce",
    "hostnamectl",
    "ifconfig",
    "ip",
    "ip6tables",
    "ip6tables-save",
    "ipset",
    "iptables",
    "iptables-save",
    "iw",
    "localectl",
    "losetup",
    "lsblk",
    "lsmod",
    "lsns",
    "lsof",
    "lvdisplay",
    "lvs",
    "mariadb",
    "mdadm",
    "mount",
    "mountpoint",
    "mysql",
    "netstat",
    "nft",
    "pgrep",
    "pidof",
    "ps",
    "psql",
    "pstree",
    "pvdisplay",
    "pvs",
    "redis-cli",
    "route",
    "rpm",
    "ss",
    "sqlite3",
    "sysctl",
    "timedatectl",
    "top",
    "vgdisplay",
    "vgs",
    "wg",
    "zramctl",
];

/// Programs whose output is state with one of these words.
const STATE_WITH: &[(&str, &[&str])] = &[
    (
        "systemctl",
        &[
            "status",
            "show",
            "cat",
            "is-active",
            "is-enabled",
            "is-failed",
            "list-units",
            "list-timers",
            "list-sockets",
            "list-unit-files",
        ],
    ),
    ("service", &["status", "--status-all"]),
    ("rc-service", &["status"]),
    ("rc-status", &[""]),
    (
        "docker",
        &["ps", "inspect", "stats", "top", "port", "images", "diff", "info"],
    ),
    (
        "podman",
        &["ps", "inspect", "stats", "top", "port", "images", "diff", "info"],
    ),
    ("crictl", &["ps", "inspect", "stats", "pods", "images"]),
    ("kubectl", &["get", "describe", "top"]),
    ("helm", &["list", "status", "get"]),
    ("pct", &["status", "config", "list", "df"]),
    ("qm", &["status", "config", "list", "pending"]),
    ("pvesm", &["status", "list"]),
    ("pvesh", &["get"]),
    ("pvecm", &["status", "nodes"]),
    ("ha-manager", &["status", "config"]),
    ("zpool", &["status", "list", "get"]),
    ("zfs", &["list", "get"]),
    ("btrfs", &["filesystem", "subvolume", "device"]),
    ("virsh", &["list", "dominfo", "domstate", "dumpxml"]),
    ("ufw", &["status"]),
    ("firewall-cmd", &["--state", "--list-all"]),
    ("crontab", &["-l"]),
    ("apt", &["list", "policy", "show"]),
    ("apk", &["info", "list"]),
    ("dnf", &["list", "info"]),
    ("pip", &["list", "show", "freeze"]),
    ("npm", &["ls", "list"]),
    ("nginx", &["-t", "-T"]),
    ("apachectl", &["-S", "-t", "configtest"]),
    ("sshd", &["-t", "-T"]),
    ("passwd", &["-S"]),
    ("chage", &["-l"]),
    ("swapon", &["--show", "-s"]),
    ("git", &["status", "diff", "rev-parse", "branch", "show"]),
    ("loginctl", &["list-sessions", "show-session", "show-user"]),
    ("postqueue", &["-p", "-j"]),
    ("resolvectl", &["status", "dns", "domain"]),
    ("snap", &["list", "services", "info"]),
    ("rabbitmqctl", &["status", "list_queues", "cluster_status"]),
];

/// Words that make the output of a program above a log, a list of events or the output of something else after all.
const NOT_STATE: &[(&str, &[&str])] = &[
    (
        "kubectl",
        &["events", "event", "ev", "logs", "exec", "attach", "run"],
    ),
    ("docker", &["logs", "events", "history", "search", "exec", "run"]),
    ("podman", &["logs", "events", "history", "search", "exec", "run"]),
    ("pvesh", &["log", "tasks", "syslog", "journal"]),
    ("git", &["log", "reflog"]),
    ("zpool", &["history", "events"]),
    ("crictl", &["logs", "exec"]),
    ("pct", &["exec"]),
    ("qm", &["guest"]),
    ("virsh", &["qemu-agent-command"]),
];

/// Programs that show what is in the files they are given.
const FILES: &[&str] = &[
    "[",
    "awk",
    "b2sum",
    "bat",
    "cat",
    "cksum",
    "cmp",
    "cut",
    "diff",
    "egrep",
    "fgrep",
    "file",
    "find",
    "gawk",
    "getfacl",
    "grep",
    "head",
    "hexdump",
    "jq",
    "less",
    "ls",
    "lsattr",
    "mawk",
    "md5sum",
    "more",
    "namei",
    "nl",
    "od",
    "openssl",
    "readlink",
    "realpath",
    "rg",
    "sed",
    "sha1sum",
    "sha256sum",
    "sha512sum",
    "sort",
    "stat",
    "strings",
    "tac",
    "tail",
    "test",
    "tree",
    "uniq",
    "wc",
    "xmllint",
    "xxd",
    "yq",
    "zcat",
];

/// Wrappers that run what stands after their own arguments.
const WRAPPERS: &[&str] = &[
    "chrt", "command", "env", "ionice", "nice", "nohup", "stdbuf", "sudo", "time", "timeout",
];

/// How deep a command within a command is looked at.
const MOST_NESTING: usize = 3;

/// Whether some part of a command prints the state of where it runs.
pub(crate) fn command_shows_state(command: &str) -> bool {
    shows_state(command, 0)
}

fn shows_state(command: &str, depth: usize) -> bool {
    depth < MOST_NESTING && parts(command).iter().any(|words| part_shows_state(words, depth))
}

fn part_shows_state(words: &[String], depth: usize) -> bool {
    let mut rest = words;
    loop {
        let Some(first) = rest.first() else { return false };
        let program = first.rsplit('/').next().unwrap_or_default();
        let arguments = &rest[1..];
        if is_assignment(first) {
            rest = arguments;
            continue;
        }
        if WRAPPERS.contains(&program) {
            // Its own flags, numbers and assignments; the first other word is what it runs.
            let own = |word: &String| {
                word.starts_with('-') || is_assignment(word) || word.starts_with(|c: char| c.is_ascii_digit())
            };
            rest = &arguments[arguments.iter().take_while(|word| own(word)).count()..];
            continue;
        }
        if matches!(program, "sh" | "bash" | "dash" | "ash") {
            let script = arguments.iter().find(|word| !word.starts_with('-'));
            return arguments
                .iter()
                .any(|word| word.starts_with('-') && word.contains('c'))
                && script.is_some_and(|script| shows_state(script, depth + 1));
        }
        return program_shows_state(program, arguments);
    }
}

fn program_shows_state(program: &str, arguments: &[String]) -> bool {
    if arguments
        .iter()
        .any(|word| matches!(word.as_str(), "--help" | "--version"))
    {
        return false;
    }
    let has = |words: &[&str]| {
        arguments.iter().any(|word| {
            words
                .iter()
                .any(|known| word == known || word.split('/').any(|part| part == *known))
        })
    };
    let row = |table: &'static [(&str, &[&str])]| {
        table
            .iter()
            .find(|(name, _)| *name == program)
            .map(|(_, words)| *words)
    };
    if row(NOT_STATE).is_some_and(has) {
        return false;
    }
    if STATE.contains(&program) {
        return true;
    }
    if let Some(words) = row(STATE_WITH) {
        return words.contains(&"") || has(words);
    }
    let mut paths = arguments
        .iter()
        .filter(|word| !word.starts_with('-') && word.contains('/'))
        .peekable();
    FILES.contains(&program) && paths.peek().is_some() && paths.all(|path| !is_log(path))
}

/// Whether what came of a command says anything: it printed something, or its exit code is the answer.
pub(crate) fn says_something(command: Option<&str>, data: &serde_json::Value) -> bool {
    let printed = |stream: &str| {
        let text = data.get(stream).and_then(serde_json::Value::as_str);
        text.map(|text| !text.trim().is_empty())
    };
    let answers = |words: &Vec<String>| matches!(words.first().map(String::as_str), Some("test" | "["));
    match (printed("stdout"), printed("stderr")) {
        // It is not the output of a command.
        (None | Some(true), _) => true,
        (Some(false), Some(true)) if data.get("exit_code").is_some_and(|code| *code == 0) => true,
        (Some(false), _) => command.is_some_and(|command| parts(command).iter().any(answers)),
    }
}

/// Whether what a path names is a log, or nothing at all.
pub(crate) fn is_log(path: &str) -> bool {
    let path = path.to_ascii_lowercase();
    let name = path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    let folder = path
        .split('/')
        .any(|part| matches!(part, "log" | "logs" | "journal"));
    let device = path.starts_with("/dev/")
        && matches!(
            name,
            "null" | "zero" | "full" | "random" | "urandom" | "kmsg" | "tty" | "stdin" | "log"
        );
    let log_name = matches!(
        name,
        "syslog" | "messages" | "dmesg" | "wtmp" | "btmp" | "lastlog" | "nohup.out"
    ) || name
        .split('.')
        .skip(1)
        .any(|part| part == "log" || part == "journal");
    folder || device || log_name
}

/// Whether the name of a tool server's tool or action says that it lists, searches or tells what happened.
pub(crate) fn names_a_list(name: &str) -> bool {
    name.to_ascii_lowercase()
        .split(|c: char| !c.is_ascii_alphanumeric())
        .any(|word| {
            matches!(
                word,
                "log" | "logs" | "event" | "events" | "list" | "search" | "find" | "history" | "tail"
            )
        })
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty()
            && !name.starts_with(|c: char| c.is_ascii_digit())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

/// The simple commands of a command line, each as its words. The shell room judges what a command does; here it is
/// already known to be a read.
fn parts(command: &str) -> Vec<Vec<String>> {
    let mut parts = vec![Vec::new()];
    let mut word = String::new();
    let mut in_word = false;
    let mut quote: Option<char> = None;
    let mut characters = command.chars();
    let end = |word: &mut String, in_word: &mut bool, parts: &mut Vec<Vec<String>>| {
        if std::mem::take(in_word)
            && let Some(last) = parts.last_mut()
        {
            last.push(std::mem::take(word));
        }
    };
    while let Some(c) = characters.next() {
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (Some('"') | None, '\\') => {
                in_word = true;
                word.extend(characters.next());
            }
            (Some(_), _) => word.push(c),
            (None, '\'' | '"') => {
                in_word = true;
                quote = Some(c);
            }
            (None, '|' | ';' | '&' | '\n' | '(' | ')' | '{' | '}') => {
                end(&mut word, &mut in_word, &mut parts);
                parts.push(Vec::new());
            }
            (None, _) if c.is_whitespace() => end(&mut word, &mut in_word, &mut parts),
            (None, _) => {
                in_word = true;
                word.push(c);
            }
        }
    }
    end(&mut word, &mut in_word, &mut parts);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_that_show_state_and_commands_that_do_not() {
        let shows = [
            "systemctl status nginx",
            "systemctl is-active nginx || true",
            "ls /x",
            "cat /etc/nginx/nginx.conf",
            "cat < /etc/hosts | grep x /etc/fstab",
            "grep -c processor /proc/cpuinfo",
            "df -h / | tail -1",
            "docker ps --filter name=web",
            "kubectl get pods -n web",
            "timeout 5 env LC_ALL=C systemctl status nginx",
            "sh -c 'ss -lnt'",
            "nginx -t",
            "crontab -l",
            "echo checking; stat /srv/marker",
            "test -e /srv/marker",
            "resolvectl status",
            "snap list",
        ];
        for command in shows {
            assert!(command_shows_state(command), "{command}");
        }
        let shows_nothing = [
            "",
            "true",
            "echo ok",
            "date",
            "hostname",
            "printf '%s' /etc/passwd",
            "journalctl -u nginx -n 50",
            "dmesg | tail -20",
            "tail -n 50 /var/log/syslog",
            "cat /var/log/nginx/error.log",
            "grep error /srv/app/logs/today.txt",
            "zcat /srv/app/app.log.1.gz",
            "docker logs web --tail 20",
            "docker events --since 5m --until 1s",
            "kubectl get events -n web",
            "kubectl logs web-1",
            "git log -3",
            "cat /dev/null",
            "systemctl --version",
            "systemctl status --help",
            "systemctl list-jobs",
            "sleep 1",
            "uptime",
            "uptime; id; free -m",
            "free -m",
            "vmstat 1 2",
            "iostat -x",
            "sensors",
            "smartctl -a /dev/sda",
            "systemd-analyze blame",
            "apt-cache policy nginx",
            "curl -s http://127.0.0.1/health",
            "wget -qO- http://127.0.0.1/health",
            "resolvectl query example.com",
            "snap find x",
            "docker version",
            "ulimit -a",
            "id",
            "groups root",
            "who",
            "w",
            "lscpu",
            "dig example.com",
            "host example.com",
            "pct exec 105 -- uptime",
            "docker exec web ps",
            "unknown-program /etc/x",
            "grep x",
            "tail /var/log/messages /etc/hostname",
        ];
        for command in shows_nothing {
            assert!(!command_shows_state(command), "{command}");
        }
    }

    #[test]
    fn names_of_tools_that_list() {
        for name in ["srv.get_logs", "srv.list", "search-issues", "tail"] {
            assert!(names_a_list(name), "{name}");
        }
        for name in ["srv.get", "catalog", "status", "eventually"] {
            assert!(!names_a_list(name), "{name}");
        }
    }

    #[test]
    fn a_command_that_printed_nothing_shows_nothing() {
        let data = |stdout: &str, stderr: &str, code: i32| serde_json::json!({"stdout": stdout, "stderr": stderr, "exit_code": code});
        for (command, data, says) in [
            ("ls /", data("bin", "", 0), true),
            ("ls / >/dev/null 2>&1", data("", "", 0), false),
            ("head -c 0 /etc/hosts", data("", "", 0), false),
            ("cat /nonexistent", data("", "cat: no such file", 1), false),
            ("systemctl is-active x", data("inactive", "", 3), true),
            ("nginx -t", data("", "syntax is ok", 0), true),
            ("test -e /srv/marker", data("", "", 1), true),
            ("[ -e /srv/marker ]", data(" ", "", 0), true),
        ] {
            assert_eq!(says_something(Some(command), &data), says, "{command}");
        }
        assert!(says_something(None, &serde_json::json!({"state": "running"})));
    }
}
