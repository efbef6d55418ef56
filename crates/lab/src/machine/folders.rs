//! Machines where namespaces are not to be had: a plain folder stands for the root.
//!
//! Nothing keeps a program there away from the files of whoever started the lab. So only programs of our own run, which look
//! at the machine's folder alone: nothing that a model wrote, and no program of the system.

use std::collections::BTreeMap;
use std::io;
use std::net::Ipv4Addr;
use std::os::unix::process::CommandExt as _;
use std::path::Path;

use super::etc;
use super::init::Init;
use super::init::exec::new_command;
use super::init::process::Command;
use super::places;
use super::wire::Config;

/// Said about every other program.
const WHY: &str = "this lab has no namespaces, so it runs only its own programs (systemctl, journalctl, pct, qm, docker): \
                   any other would run on the files of your own system";

fn refused(name: &str) -> io::Error {
    io::Error::other(format!("{name}: refused: {WHY}"))
}

/// The address that a machine's services listen on: of the loopback network, since there is no other.
pub(super) fn address(config: &Config) -> Ipv4Addr {
    let [_, b, c, d] = config.address.map_or_else(
        || {
            use sha2::Digest as _;
            let digest = sha2::Sha256::digest(config.name.as_bytes());
            [0, digest[0], digest[1], digest[2]]
        },
        |address| address.octets(),
    );
    // Neither 127.0.0.1 nor near it: others listen there.
    Ipv4Addr::new(127, 64 | (b & 0x3f), c, d)
}

/// A command in such a machine: one of our own programs, and nothing else.
pub(super) fn command(
    init: &Init,
    program: &str,
    arguments: &[String],
    env: &BTreeMap<String, String>,
    folder: Option<&Path>,
) -> io::Result<Command> {
    let words: Vec<String> = std::iter::once(program.to_owned())
        .chain(arguments.iter().cloned())
        .collect();
    let (name, arguments) = own(&words)?;
    let mut command = new_command(&std::env::current_exe()?);
    command.arg0(name).args(arguments);
    let at = folder
        .and_then(|folder| init.root.at(folder).ok())
        .filter(|at| at.is_dir());
    let root = init.root.at("/")?;
    let (mark, value) = init.folder_mark.clone();
    command
        .env_clear()
        .envs(env)
        .env("HOME", init.root.at("/root")?)
        .env(places::ROOT, &root)
        .env(places::ADDRESS, address(&init.config).to_string())
        .env(mark, value)
        .current_dir(at.unwrap_or(root));
    Ok(command)
}

/// The program of ours that these words run, with its arguments. A line of plain words for a shell counts as those words,
/// and a time limit around them is left out.
fn own(words: &[String]) -> io::Result<(String, Vec<String>)> {
    let split;
    let words = match words {
        [shell, flag, line]
            if matches!(name_of(shell), "sh" | "bash" | "dash") && matches!(flag.as_str(), "-c" | "-lc") =>
        {
            split = plain_words(line).ok_or_else(|| refused("sh"))?;
            split.as_slice()
        }
        words => words,
    };
    let words = match words {
        [limit, flag, after, seconds, rest @ ..]
            if name_of(limit) == "timeout" && flag == "-k" && is_number(after) && is_number(seconds) =>
        {
            rest
        }
        words => words,
    };
    let (program, arguments) = words.split_first().ok_or_else(|| refused("no program"))?;
    let name = name_of(program);
    if etc::APPLETS.contains(&name) {
        Ok((name.to_owned(), arguments.to_vec()))
    } else {
        Err(refused(name))
    }
}

fn name_of(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The words of a line that has plain and single-quoted words and nothing else that a shell would do something with.
fn plain_words(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut rest = line.chars();
    while let Some(c) = rest.next() {
        match c {
            ' ' => words.extend(word.take()),
            '\'' => {
                let text = word.get_or_insert_default();
                loop {
                    match rest.next()? {
                        '\'' => break,
                        inside => text.push(inside),
                    }
                }
            }
            plain if plain.is_ascii_alphanumeric() || "_-./:,+@%=".contains(plain) => {
                word.get_or_insert_default().push(plain);
            }
            _ => return None,
        }
    }
    words.extend(word);
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_own_programs_run() {
        let cases: [(&[&str], Option<&[&str]>); 18] = [
            (
                &["systemctl", "is-active", "app"],
                Some(&["systemctl", "is-active", "app"]),
            ),
            (
                &["/usr/bin/journalctl", "-n", "3"],
                Some(&["journalctl", "-n", "3"]),
            ),
            (
                &["sh", "-c", "systemctl status app"],
                Some(&["systemctl", "status", "app"]),
            ),
            (
                &["sh", "-c", "timeout -k 2 30 journalctl '--unit=a b' -n 5"],
                Some(&["journalctl", "--unit=a b", "-n", "5"]),
            ),
            (
                &["pct", "exec", "141", "--", "cat", "/x"],
                Some(&["pct", "exec", "141", "--", "cat", "/x"]),
            ),
            (&["cat", "/etc/hosts"], None),
            (&["cat", ".?/.?/.?/etc/passwd"], None),
            (&["sort", "--files0=-"], None),
            (&["sh", "-c", "cat .?/.?/etc/passwd"], None),
            (&["sh", "-c", "systemctl status app; cat /etc/passwd"], None),
            (&["sh", "-c", "systemctl status $(cat /etc/passwd)"], None),
            (&["sh", "-c", "systemctl status *"], None),
            (&["sh", "-c", "systemctl status 'app"], None),
            (&["sh", "-c", "systemctl status app > /tmp/x"], None),
            (&["sh", "-c", "systemctl status app\ncat /etc/passwd"], None),
            (&["timeout", "-k", "2", "9", "cat", "/etc/passwd"], None),
            (&["env", "systemctl"], None),
            (&[], None),
        ];
        for (words, expected) in cases {
            let words: Vec<String> = words.iter().map(ToString::to_string).collect();
            let found = own(&words)
                .ok()
                .map(|(name, arguments)| std::iter::once(name).chain(arguments).collect::<Vec<String>>());
            let expected = expected.map(|words| words.iter().map(ToString::to_string).collect());
            assert_eq!(found, expected, "{words:?}");
        }
    }
}
