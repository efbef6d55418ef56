//! What a free-form command that changes something can harm.
//!
//! Works from what is known to be tame: services and containers that are started and stopped, processes that are ended, files
//! of data at a path that is written out. Everything else, and everything that only a shell can read, is of high risk.

use super::configures;

/// Why a command is of high risk; nothing if it is tame.
pub(super) fn why(command: &str) -> Option<String> {
    let Some(programs) = programs(command) else {
        return Some("what the command changes cannot be told beforehand: write it without variables, patterns and subshells".to_owned());
    };
    programs.iter().find_map(Program::harm)
}

/// One program of a command.
#[derive(Debug, Default, PartialEq, Eq)]
struct Program {
    words: Vec<String>,
    /// The files that its output goes to.
    outputs: Vec<String>,
}

/// What can be written to without a trace.
const SINKS: &[&str] = &["/dev/null", "/dev/stdout", "/dev/stderr"];

/// Programs that run the rest of their words, and the flags of theirs that take a value.
const WRAPPERS: &[(&str, &[&str])] = &[
    ("nice", &["-n"]),
    ("ionice", &["-c", "-n"]),
    ("nohup", &[]),
    ("time", &[]),
    ("timeout", &["-k", "-s"]),
];

/// Programs with a verb, and the verbs that change only whether something runs, or clean up after it.
const VERBS: &[(&str, &[&str])] = &[
    (
        "systemctl",
        &[
            "start",
            "stop",
            "restart",
            "try-restart",
            "reload",
            "reload-or-restart",
            "kill",
            "reset-failed",
        ],
    ),
    ("docker", ENGINE),
    ("podman", ENGINE),
    ("nerdctl", ENGINE),
    (
        "kubectl",
        &[
            "scale", "delete", "cordon", "uncordon", "drain", "taint", "label", "annotate",
        ],
    ),
    ("pct", GUEST),
    ("qm", GUEST),
    ("apt-get", &["clean", "autoclean"]),
    ("apt", &["clean", "autoclean"]),
    ("dnf", &["clean"]),
    ("yum", &["clean"]),
];

const ENGINE: &[&str] = &[
    "start", "stop", "restart", "kill", "pause", "unpause", "rm", "wait",
];
const GUEST: &[&str] = &[
    "start", "stop", "shutdown", "reboot", "suspend", "resume", "unlock",
];

/// Programs that change the files that they name, with the flags that leave it at that. Flags are single letters.
const FILES: &[(&str, &str)] = &[
    ("touch", "acm"),
    ("tee", "a"),
    ("cp", "aRrpfvnu"),
    ("mv", "fvnu"),
    ("rm", "rRfvd"),
    ("rmdir", "pv"),
    ("mkdir", "pv"),
    ("truncate", "c"),
    ("chown", "Rv"),
    ("chgrp", "Rv"),
    ("chmod", "Rv"),
];

/// Programs that change nothing but which processes run, or what is cached, whatever their words.
const TAME: &[&str] = &["kill", "pkill", "killall", "sync", "fstrim", "swapon", "swapoff"];

/// Programs that end what runs on a machine.
const POWER: &[&str] = &[
    "reboot", "shutdown", "poweroff", "halt", "kexec", "telinit", "init",
];

impl Program {
    fn harm(&self) -> Option<String> {
        for path in self.outputs.iter().filter(|path| !SINKS.contains(&path.as_str())) {
            if configures(path).is_some() {
                return Some(format!("the command writes to `{path}`, which may run code"));
            }
        }
        of_words(&self.words)
    }
}

fn of_words(words: &[String]) -> Option<String> {
    let (called, rest) = words.split_first()?;
    let Some(name) = program_name(called) else {
        return Some(format!("`{called}` is not a program of the system"));
    };
    if POWER.contains(&name) {
        return Some("the command turns a machine off or restarts it".to_owned());
    }
    if let Some((_, with_value)) = WRAPPERS.iter().find(|(wrapper, _)| *wrapper == name) {
        return of_words(inner(name, with_value, rest));
    }
    if TAME.contains(&name) {
        return None;
    }
    if let Some((_, flags)) = FILES.iter().find(|(program, _)| *program == name) {
        return of_files(name, flags, rest);
    }
    if reads(words) {
        return None;
    }
    let tame = match (name, rest) {
        ("service", [_, verb]) => {
            matches!(
                verb.as_str(),
                "start" | "stop" | "restart" | "reload" | "force-reload"
            )
        }
        ("kubectl", _) if first(rest) == Some("rollout") => {
            matches!(after(rest, "rollout"), Some("restart" | "pause" | "resume"))
        }
        ("journalctl", flags) => flags.iter().all(|flag| {
            flag.starts_with("--vacuum-") || matches!(flag.as_str(), "--rotate" | "--flush" | "--sync")
        }),
        _ => VERBS
            .iter()
            .find(|(program, _)| *program == name)
            .is_some_and(|(_, verbs)| first(rest).is_some_and(|verb| verbs.contains(&verb))),
    };
    if tame {
        return None;
    }
    let power = name == "systemctl" && first(rest).is_some_and(|verb| POWER.contains(&verb));
    if power {
        return Some("the command turns a machine off or restarts it".to_owned());
    }
    Some(format!(
        "what `{name}` changes when it is called like this cannot be told beforehand"
    ))
}

/// The name of a program of the system. Nothing for one that is called by another path, or that an assignment stands before.
fn program_name(called: &str) -> Option<&str> {
    const SYSTEM: [&str; 6] = [
        "/bin/",
        "/sbin/",
        "/usr/bin/",
        "/usr/sbin/",
        "/usr/local/bin/",
        "/usr/local/sbin/",
    ];
    if called.contains('=') {
        return None;
    }
    match called.rfind('/') {
        None => Some(called),
        Some(slash) => {
            let (folder, name) = called.split_at(slash + 1);
            SYSTEM.contains(&folder).then_some(name)
        }
    }
}

/// What a wrapper runs.
fn inner<'a>(name: &str, with_value: &[&str], mut rest: &'a [String]) -> &'a [String] {
    while let Some((word, behind)) = rest.split_first() {
        if !word.starts_with('-') {
            break;
        }
        rest = if with_value.contains(&word.as_str()) {
            behind.get(1..).unwrap_or_default()
        } else {
            behind
        };
    }
    // The time.
    if name == "timeout" {
        rest.get(1..).unwrap_or_default()
    } else {
        rest
    }
}

/// The first word that is no flag. A flag before it could take a value, so there may be none.
fn first(rest: &[String]) -> Option<&str> {
    rest.first()
        .map(String::as_str)
        .filter(|word| !word.starts_with('-'))
}

fn after<'a>(rest: &'a [String], word: &str) -> Option<&'a str> {
    match rest {
        [one, two, ..] if one == word => Some(two),
        _ => None,
    }
}

/// Whether the analysis of commands calls it a read: then it changes nothing, whatever it names.
fn reads(words: &[String]) -> bool {
    let quoted: Vec<String> = words
        .iter()
        .map(|word| format!("'{}'", word.replace('\'', "'\\''")))
        .collect();
    interlock_shell::classify(&quoted.join(" ")).is_bounded_read_anywhere()
}

fn of_files(name: &str, flags: &str, rest: &[String]) -> Option<String> {
    let mut operands: Vec<&str> = Vec::new();
    let mut words = rest.iter().map(String::as_str);
    while let Some(word) = words.next() {
        let size =
            name == "truncate" && (word == "-s" || word.starts_with("-s") || word.starts_with("--size="));
        if size {
            if word == "-s" {
                words.next();
            }
        } else if let Some(letters) = word.strip_prefix('-') {
            if letters.is_empty() || !letters.chars().all(|letter| flags.contains(letter)) {
                return Some(format!(
                    "what `{name}` does with `{word}` cannot be told beforehand"
                ));
            }
        } else {
            operands.push(word);
        }
    }
    let paths = match (name, operands.split_first()) {
        ("chmod", Some((mode, paths))) => {
            if makes_executable(mode) {
                return Some(
                    "the command makes a file executable, or gives it the rights of its owner".to_owned(),
                );
            }
            paths.to_vec()
        }
        ("chown" | "chgrp", Some((_, paths))) => paths.to_vec(),
        // The last one may be a folder.
        ("cp" | "mv", Some(_)) => {
            let to = operands.last().copied().unwrap_or_default();
            for from in operands.iter().rev().skip(1) {
                let file = from.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
                let landing = format!("{}/{file}", to.trim_end_matches('/'));
                if configures(&landing).is_some() {
                    return Some(format!("the command writes to `{landing}`, which may run code"));
                }
            }
            if name == "cp" { vec![to] } else { operands.clone() }
        }
        _ => operands.clone(),
    };
    paths
        .iter()
        .find(|path| !SINKS.contains(path) && configures(path).is_some())
        .map(|path| format!("the command names `{path}`, which may run code"))
}

/// Whether a mode lets anybody run a file, or run it with the rights of its owner.
fn makes_executable(mode: &str) -> bool {
    if mode.chars().all(|c| c.is_ascii_digit()) {
        let special = mode.len() > 3 && !mode.starts_with('0');
        return special || mode.chars().any(|digit| "1357".contains(digit));
    }
    let gives = mode.contains('+') || mode.contains('=');
    gives && mode.chars().any(|c| "xXst".contains(c))
        || mode.contains("=u")
        || mode.contains("=g")
        || mode.contains("=o")
}

/// The programs of a command that is written plainly: plain and quoted words, joined by `;`, `&&`, `||` and `|`, whose output goes
/// to files that are written out. Nothing for everything that only a shell can read.
fn programs(command: &str) -> Option<Vec<Program>> {
    let mut all: Vec<Program> = Vec::new();
    let mut now = Program::default();
    let mut word: Option<String> = None;
    let mut output = false;
    let mut chars = command.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            ' ' | '\t' => end_word(&mut now, &mut word, &mut output),
            '\'' => {
                let text = word.get_or_insert_default();
                loop {
                    match chars.next()? {
                        '\'' => break,
                        c => text.push(c),
                    }
                }
            }
            '"' => {
                let text = word.get_or_insert_default();
                loop {
                    match chars.next()? {
                        '"' => break,
                        '$' | '`' | '\\' | '!' => return None,
                        c => text.push(c),
                    }
                }
            }
            ';' | '\n' | '|' | '&' => {
                let doubled = chars.next_if_eq(&c).is_some();
                if (c == '&' && !doubled) || chars.peek() == Some(&'&') {
                    // In the background, or both streams.
                    return None;
                }
                end_word(&mut now, &mut word, &mut output);
                if output {
                    return None;
                }
                all.push(std::mem::take(&mut now));
            }
            '>' => {
                // A number right before it says which stream.
                let number = word.as_deref().is_some_and(|text| matches!(text, "1" | "2"));
                if number {
                    word = None;
                }
                end_word(&mut now, &mut word, &mut output);
                if output {
                    return None;
                }
                chars.next_if_eq(&'>');
                if chars.next_if_eq(&'&').is_some() {
                    // Where the other stream goes.
                    chars.next_if(|c| matches!(c, '1' | '2'))?;
                } else {
                    output = true;
                }
            }
            '$' | '`' | '\\' | '*' | '?' | '[' | ']' | '{' | '}' | '(' | ')' | '~' | '#' | '!' | '<'
            | '^' => return None,
            c if c.is_control() => return None,
            c => word.get_or_insert_default().push(c),
        }
    }
    end_word(&mut now, &mut word, &mut output);
    if output {
        return None;
    }
    all.push(now);
    all.retain(|program| !program.words.is_empty() || !program.outputs.is_empty());
    (!all.is_empty()).then_some(all)
}

fn end_word(now: &mut Program, word: &mut Option<String>, output: &mut bool) {
    if let Some(word) = word.take() {
        if std::mem::take(output) {
            now.outputs.push(word);
        } else {
            now.words.push(word);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::why;

    #[test]
    fn what_is_tame_is_written_plainly() {
        for command in [
            "systemctl restart nginx",
            "touch /srv/flag",
            "docker restart web",
            "rm /var/tmp/x",
            "rm -rf /var/tmp/x && systemctl start app",
            "kubectl rollout restart deployment/web",
            "kubectl scale deployment/web --replicas=3",
            "echo x > /dev/null",
            "echo 'ready now' > /srv/state 2>&1",
            "df -h / 2>/dev/null; truncate -s 0 /var/log/app.log",
            "nice /usr/bin/systemctl restart nginx",
            "timeout -k 5 30 systemctl restart nginx",
            "journalctl --vacuum-size=100M",
            "apt-get clean",
            "service nginx restart",
            "kill -9 4711",
            "cp /srv/a.conf /srv/b.conf",
            "mkdir -p /srv/data",
            "chmod 644 /srv/data/x",
            "pct start 101",
        ] {
            assert_eq!(why(command), None, "{command}");
        }
    }

    #[test]
    fn what_can_run_code_or_cannot_be_told_is_of_high_risk() {
        for command in [
            "reboot",
            "systemctl poweroff",
            "/sbin/shutdown -h now",
            "sleep 5; reboot",
            "timeout 5 reboot",
            "systemctl enable x",
            "systemctl daemon-reload",
            "systemctl --root=/mnt restart x",
            "kubectl -n shop set image deployment/web web=nginx:2",
            "kubectl rollout undo deployment/web",
            "kubectl apply -f /srv/x.yaml",
            "docker service update --image nginx:2 web",
            "docker run -d nginx",
            "docker exec web touch /x",
            "docker tag a:2 a:latest",
            "docker compose up -d",
            "helm upgrade web ./chart",
            "echo '* * * * * root id' > /etc/cron.d/x",
            "echo x >/etc/cron.d/x",
            "echo x 2>/etc/cron.d/x",
            "cd /etc; echo '* * * * * root id' | tee cron.d/evil",
            "cd /root; echo k | tee -a .ssh/authorized_keys",
            "cd /usr; cp F local/bin/evil",
            "cp /srv/F /etc/cron.*/",
            "cp /srv/F /etc/cro''n.d/",
            "cp /srv/F /etc/cro\\n.d/",
            "cp /srv/F.service /etc/systemd/system",
            "cp /srv/authorized_keys /srv",
            "cp -t /etc/cron.d /srv/F",
            "cp -t/etc/cron.d /srv/F",
            "cp --target-directory=/etc/cron.d /srv/F",
            "mv /srv/x /usr/local/bin/x",
            "install -D F -t/etc/cron.d",
            "tar -xf F -C/etc/cron.d",
            "tar -xf /srv/F",
            "patch -p1 -i F",
            "at now -f F",
            "make install",
            "git pull",
            "tee -a ~/.ssh/authorized_keys",
            "crontab /srv/x",
            "chmod +x /srv/x",
            "chmod 755 /srv/x",
            "chmod u=rwx /srv/x",
            "chmod 4644 /srv/x",
            "chmod o=u /srv/x",
            "ln -s /srv/x /etc/cron.d/x",
            "sed -i s/a/b/ \"$HOME/.bashrc\"",
            "A=1 systemctl restart x",
            "PATH=/tmp systemctl restart x",
            "/srv/run restart",
            "./run",
            "unheard-of --flag",
            "sh -c 'make install'",
            "bash /srv/x",
            "eval systemctl restart x",
            "systemctl restart x &",
            "systemctl restart `cat /srv/x`",
            "touch /srv/{a,b}",
            "touch relative",
            "echo x > relative",
            "echo x >",
            "'unclosed",
            "",
        ] {
            assert!(why(command).is_some(), "{command}");
        }
    }
}
