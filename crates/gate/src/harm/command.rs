//! What a free-form command that changes something can harm.
//!
//! Works from what is known to be tame: services and containers that are started and stopped, processes that are ended, files
//! of data at a path that is written out. Everything else, and everything that only a shell can read, is of high risk. What a
//! file is, is decided by its path alone, as for the tools that write files.

use std::collections::BTreeSet;

use super::{DATA_ENDINGS, DATA_FOLDERS, canonical, of_file, of_tree};

/// Why a command is of high risk; nothing if it is tame. `data` are files and folders that the operator says hold data.
pub(super) fn why(command: &str, data: &BTreeSet<String>) -> Option<String> {
    let Some(programs) = programs(command) else {
        return Some("what the command changes cannot be told beforehand: write it without variables, patterns and subshells".to_owned());
    };
    programs.iter().find_map(|program| program.harm(data))
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

/// Programs that run the rest of their words; the flags of theirs that take a value, and those that take none. Any other flag
/// is not known: `time --output=FILE` writes a file.
const WRAPPERS: &[(&str, &[&str], &[&str])] = &[
    ("nice", &["-n"], &[]),
    ("ionice", &["-c", "-n"], &["-t"]),
    ("nohup", &[], &[]),
    ("time", &[], &["-p"]),
    (
        "timeout",
        &["-k", "-s"],
        &["--foreground", "--preserve-status", "-v"],
    ),
];

/// A program with a verb: the verbs that change only whether something runs, or clean up after it, and the flags that may
/// stand behind them. A flag that ends in `=` takes a value, as a part of the word or as the next one. Any other flag is not
/// known: `kubectl scale --kubeconfig FILE` runs the program that the file names.
struct Tame {
    program: &'static str,
    verbs: &'static [&'static str],
    flags: &'static [&'static str],
}

const VERBS: &[Tame] = &[
    Tame {
        program: "systemctl",
        verbs: &[
            "start",
            "stop",
            "restart",
            "try-restart",
            "reload",
            "reload-or-restart",
            "kill",
            "reset-failed",
        ],
        flags: &[
            "--no-block",
            "--no-pager",
            "--wait",
            "-q",
            "--quiet",
            "-s=",
            "--signal=",
            "--kill-who=",
            "--kill-whom=",
            "--job-mode=",
        ],
    },
    Tame {
        program: "docker",
        verbs: ENGINE,
        flags: ENGINE_FLAGS,
    },
    Tame {
        program: "podman",
        verbs: ENGINE,
        flags: ENGINE_FLAGS,
    },
    Tame {
        program: "nerdctl",
        verbs: ENGINE,
        flags: ENGINE_FLAGS,
    },
    Tame {
        program: "kubectl",
        verbs: &[
            "scale", "delete", "cordon", "uncordon", "drain", "taint", "label", "annotate",
        ],
        flags: KUBECTL_FLAGS,
    },
    Tame {
        program: "pct",
        verbs: GUEST,
        flags: GUEST_FLAGS,
    },
    Tame {
        program: "qm",
        verbs: GUEST,
        flags: GUEST_FLAGS,
    },
    Tame {
        program: "apt-get",
        verbs: &["clean", "autoclean"],
        flags: &["-y", "-q", "-qq"],
    },
    Tame {
        program: "apt",
        verbs: &["clean", "autoclean"],
        flags: &["-y", "-q", "-qq"],
    },
    Tame {
        program: "dnf",
        verbs: &["clean"],
        flags: &["-y", "-q"],
    },
    Tame {
        program: "yum",
        verbs: &["clean"],
        flags: &["-y", "-q"],
    },
];

const ENGINE: &[&str] = &[
    "start", "stop", "restart", "kill", "pause", "unpause", "rm", "wait",
];
const ENGINE_FLAGS: &[&str] = &[
    "-t=",
    "--time=",
    "--timeout=",
    "-s=",
    "--signal=",
    "-f",
    "--force",
    "-v",
    "--volumes",
];
const GUEST: &[&str] = &[
    "start", "stop", "shutdown", "reboot", "suspend", "resume", "unlock",
];
const GUEST_FLAGS: &[&str] = &[
    "-timeout=",
    "--timeout=",
    "-forceStop=",
    "--forceStop=",
    "--skiplock",
    "--overrule-shutdown=",
];
const KUBECTL_FLAGS: &[&str] = &[
    "-n=",
    "--namespace=",
    "-l=",
    "--selector=",
    "--replicas=",
    "--current-replicas=",
    "--grace-period=",
    "--timeout=",
    "--pod-selector=",
    "--ignore-daemonsets",
    "--delete-emptydir-data",
    "--disable-eviction",
    "--ignore-not-found",
    "--force",
    "--now",
    "--overwrite",
    "--all",
    "-A",
];

/// Programs that change the files that they name, with the flags that leave it at that. Flags are single letters.
const FILES: &[(&str, &str)] = &[
    ("touch", "acm"),
    ("tee", "a"),
    ("cp", "aRrpfvnuT"),
    ("mv", "fvnuT"),
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
    fn harm(&self, data: &BTreeSet<String>) -> Option<String> {
        self.outputs
            .iter()
            .find_map(|path| written(path, data))
            .or_else(|| of_words(&self.words, data))
    }
}

/// Why a command that writes to this path is of high risk.
fn written(path: &str, data: &BTreeSet<String>) -> Option<String> {
    if SINKS.contains(&path) {
        return None;
    }
    of_file(path, data).map(|why| format!("the command writes to `{path}`: {why}"))
}

fn of_words(words: &[String], data: &BTreeSet<String>) -> Option<String> {
    let (called, rest) = words.split_first()?;
    let Some(name) = program_name(called) else {
        return Some(format!("`{called}` is not a program of the system"));
    };
    if POWER.contains(&name) {
        return Some("the command turns a machine off or restarts it".to_owned());
    }
    if let Some((_, with_value, without)) = WRAPPERS.iter().find(|(wrapper, ..)| *wrapper == name) {
        return match inner(name, with_value, without, rest) {
            Ok(inner) => of_words(inner, data),
            Err(flag) => Some(unknown(name, flag)),
        };
    }
    if TAME.contains(&name) {
        return None;
    }
    if let Some((_, flags)) = FILES.iter().find(|(program, _)| *program == name) {
        return of_files(name, flags, rest, data);
    }
    if reads(words) {
        return None;
    }
    let flags = match (name, rest) {
        ("service", [service, verb]) if !service.contains('/') => matches!(
            verb.as_str(),
            "start" | "stop" | "restart" | "reload" | "force-reload"
        )
        .then_some(None),
        ("kubectl", _) if first(rest) == Some("rollout") => {
            matches!(after(rest, "rollout"), Some("restart" | "pause" | "resume"))
                .then(|| only_flags(KUBECTL_FLAGS, rest).err())
        }
        ("journalctl", flags) => flags
            .iter()
            .all(|flag| {
                flag.starts_with("--vacuum-") || matches!(flag.as_str(), "--rotate" | "--flush" | "--sync")
            })
            .then_some(None),
        _ => VERBS
            .iter()
            .find(|row| row.program == name && first(rest).is_some_and(|verb| row.verbs.contains(&verb)))
            .map(|row| only_flags(row.flags, rest).err()),
    };
    if let Some(flag) = flags {
        return flag.map(|flag| unknown(name, flag));
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

fn unknown(program: &str, word: &str) -> String {
    format!("what `{program}` does with `{word}` cannot be told beforehand")
}

/// The first flag that is not one of these.
fn only_flags<'a>(known: &[&str], words: &'a [String]) -> Result<(), &'a str> {
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let value = |flag: &&str| {
            flag.strip_suffix('=').is_some_and(|name| {
                word == name || word.split_once('=').is_some_and(|(before, _)| before == name)
            })
        };
        if !word.starts_with('-') || known.contains(&word.as_str()) {
            continue;
        }
        if !known.iter().any(value) {
            return Err(word);
        }
        if !word.contains('=') {
            words.next();
        }
    }
    Ok(())
}

/// What a wrapper runs, or the flag of it that is not known.
fn inner<'a>(
    name: &str,
    with_value: &[&str],
    without: &[&str],
    mut rest: &'a [String],
) -> Result<&'a [String], &'a str> {
    while let Some((word, behind)) = rest.split_first() {
        if !word.starts_with('-') {
            break;
        }
        let number = word[1..].chars().all(|c| c.is_ascii_digit());
        rest = if with_value.contains(&word.as_str()) {
            behind.get(1..).unwrap_or_default()
        } else if without.contains(&word.as_str()) || (name == "nice" && number) {
            behind
        } else {
            return Err(word);
        };
    }
    // The time.
    Ok(if name == "timeout" {
        rest.get(1..).unwrap_or_default()
    } else {
        rest
    })
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

fn of_files(name: &str, flags: &str, rest: &[String], data: &BTreeSet<String>) -> Option<String> {
    let mut operands: Vec<&str> = Vec::new();
    let (mut recursive, mut exact) = (false, false);
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
                return Some(unknown(name, word));
            }
            let tree = |letter: char| matches!(letter, 'r' | 'R') || (name == "cp" && letter == 'a');
            recursive |= letters.chars().any(tree);
            exact |= letters.contains('T');
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
        ("cp" | "mv", Some(_)) => return of_landing(name, (recursive, exact), &operands, data),
        _ => operands.clone(),
    };
    paths.iter().find_map(|path| {
        if recursive {
            of_tree(path, data).map(|why| format!("the command changes all of `{path}`: {why}"))
        } else {
            written(path, data)
        }
    })
}

/// What `cp` and `mv` put where. The last operand may be a folder, unless it is said to be none: what is put there lands
/// below it.
fn of_landing(
    name: &str,
    (recursive, exact): (bool, bool),
    operands: &[&str],
    data: &BTreeSet<String>,
) -> Option<String> {
    let (to, from) = operands.split_last()?;
    if recursive {
        return Some(format!(
            "the command copies a whole folder to `{to}`, and what is in it cannot be told beforehand"
        ));
    }
    for from in from {
        let file = from.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        if matches!(file, "" | "." | "..") {
            return Some(unknown(name, from));
        }
        let landing = format!("{}/{file}", to.trim_end_matches('/'));
        if let Some(why) = of_file(&landing, data).filter(|_| !exact) {
            return Some(format!(
                "the command writes to `{landing}` if `{to}` is a folder: {why}"
            ));
        }
        if name == "mv" {
            // A folder moves with everything in it.
            let is_file = file
                .rsplit_once('.')
                .is_some_and(|(_, ending)| DATA_ENDINGS.contains(&ending.to_ascii_lowercase().as_str()));
            if !is_file {
                return Some(format!(
                    "`{from}` may be a folder, and what is in it cannot be told beforehand"
                ));
            }
            if let Some(why) = written(from, data) {
                return Some(why);
            }
        }
    }
    // Known to be a folder.
    let folder = canonical(to).is_some_and(|parts| {
        let whole = format!("/{}", parts.join("/"));
        DATA_FOLDERS.contains(&whole.as_str())
    });
    if folder && !exact { None } else { written(to, data) }
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
    use std::collections::BTreeSet;

    /// What is of high risk where the operator named `/srv/data`.
    fn why(command: &str) -> Option<String> {
        super::why(command, &BTreeSet::from(["/srv/data".to_owned()]))
    }

    #[test]
    fn what_is_tame_is_written_plainly() {
        for command in [
            "systemctl restart nginx",
            "touch /srv/data/flag",
            "docker restart web",
            "rm /var/tmp/x",
            "rm -rf /var/tmp/x && systemctl start app",
            "kubectl rollout restart deployment/web",
            "kubectl scale deployment/web --replicas=3",
            "echo x > /dev/null",
            "echo 'ready now' > /srv/data/state 2>&1",
            "df -h / 2>/dev/null; truncate -s 0 /var/log/app.log",
            "nice /usr/bin/systemctl restart nginx",
            "timeout -k 5 30 systemctl restart nginx",
            "journalctl --vacuum-size=100M",
            "apt-get clean",
            "service nginx restart",
            "kill -9 4711",
            "cp /srv/a.conf /srv/data/b.conf",
            "cp /etc/hosts /tmp",
            "cp -T /srv/a /srv/b.txt",
            "cp -fT /srv/a /etc/motd",
            "cp /srv/a.txt /srv/b.txt",
            "mv /var/log/app.log /var/log/app.old.log",
            "mv /srv/list.csv /srv/data",
            "rm -rf /srv/data/old",
            "rm -r /var/log/app/2024",
            "chown -R app /srv/data/pages",
            "mkdir -p /srv/data/new",
            "nice -n 5 touch /tmp/x",
            "nice -5 touch /tmp/x",
            "time -p touch /tmp/x",
            "systemctl kill -s HUP nginx",
            "systemctl restart nginx --no-block",
            "docker stop -t 10 web",
            "docker rm -f web",
            "kubectl delete pod web-1 -n shop --grace-period 0 --force",
            "kubectl rollout restart deployment/web -n shop",
            "qm shutdown 105 --timeout 60",
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
            // Onto a parent of a folder that runs code, or a folder whose content is not known.
            "cp -r /srv/t/spool /var",
            "cp -R /srv/t/spool /var/",
            "cp -a /srv/t/spool /var",
            "cp -fpr /srv/t/spool /var",
            "cp -r /home/anna/. /root",
            "cp -r /srv/t /tmp",
            "cp -r /srv/t /srv/data",
            "cp --recursive /srv/t /srv/data",
            "mv /srv/t/spool /var",
            "mv /srv/t /srv/data",
            "mv /srv/data/t /",
            "cp /srv/x.txt/. /srv/data",
            "cp /srv/x.txt/.. /srv/data",
            "rsync -a /srv/t/ /var/",
            "rm -rf /srv",
            "rm -rf /",
            "rm -r /tmp",
            "chown -R app /var",
            "chmod -R 644 /srv",
            // The same paths as with `write_file`.
            "cp /tmp/evil /opt/app/server",
            "tee /var/lib/jenkins/config.xml",
            "cp /tmp/x /var/lib/kubelet/config.yaml",
            "touch /srv/flag",
            "echo x > /srv/state",
            "cp /srv/a.conf /srv/b.conf",
            "mv /srv/a.txt /srv/b",
            "cp /srv/a /srv/b.txt",
            "cp /srv/a /etc/motd",
            "cp -T /srv/a /tmp",
            "cp -rT /srv/a /tmp/x",
            "cp -T /srv/a /srv/b",
            "tee /srv/data/.env",
            "tee /srv/data/id_rsa",
            // Flags of tame programs that write files, or name code or another machine.
            "time --output=/etc/cron.d/x systemctl restart nginx",
            "/usr/bin/time -o/etc/cron.d/x -f'* * * * * root id' systemctl restart nginx",
            "timeout --kill-after=5 9 touch /tmp/x",
            "kubectl scale deployment/web --replicas=1 --kubeconfig /tmp/x",
            "kubectl rollout restart deployment/web --kubeconfig=/tmp/x",
            "kubectl delete -f /tmp/x",
            "systemctl restart nginx --root=/mnt",
            "systemctl restart nginx -H other",
            "docker rm web --config /tmp/x",
            "apt-get clean -o Dir::Cache=/etc",
            "dnf clean all --setopt=cachedir=/etc",
            "qm start 105 --stateuri /tmp/x",
            "service ../../tmp/x restart",
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
