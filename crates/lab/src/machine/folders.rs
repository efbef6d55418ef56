//! Machines where namespaces are not to be had: a plain folder stands for the root, and only programs of a table run, on
//! paths in that folder. It says no rather than guess.

use std::collections::BTreeMap;
use std::io;
use std::net::Ipv4Addr;
use std::os::unix::process::CommandExt as _;
use std::path::Path;

use super::init::Init;
use super::init::exec::new_command;
use super::init::process::Command;
use super::places::{self, Root};
use super::wire::Config;
use super::{etc, keeper, script};

/// What the first argument of a program that is no option means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum First {
    /// A path like the others.
    Path,
    /// Something that must not be taken for a path, such as a pattern.
    Text,
}

/// A program that may run, and the arguments that it may not have, by how they begin.
struct Allowed {
    name: &'static str,
    first: First,
    refused: &'static [&'static str],
}

const fn plain(name: &'static str) -> Allowed {
    Allowed {
        name,
        first: First::Path,
        refused: &["--files0-from"],
    }
}

const ALLOWED: &[Allowed] = &[
    Allowed {
        name: "grep",
        first: First::Text,
        refused: &["-f", "--file", "-e", "--regexp"],
    },
    Allowed {
        name: "find",
        first: First::Path,
        refused: &["-exec", "-ok", "-delete", "-fprint", "-fls", "-files0-from"],
    },
    Allowed {
        name: "sort",
        first: First::Path,
        refused: &[
            "-o",
            "--output",
            "--compress-program",
            "--files0-from",
            "-T",
            "--temporary",
        ],
    },
    Allowed {
        name: "tr",
        first: First::Text,
        refused: &[],
    },
    plain("basename"),
    plain("cat"),
    plain("comm"),
    plain("cp"),
    plain("cut"),
    plain("diff"),
    plain("dirname"),
    plain("du"),
    plain("echo"),
    plain("false"),
    plain("head"),
    plain("join"),
    plain("ls"),
    plain("md5sum"),
    plain("mkdir"),
    plain("mv"),
    plain("nl"),
    plain("paste"),
    plain("printf"),
    plain("rm"),
    plain("rmdir"),
    plain("seq"),
    plain("sha256sum"),
    plain("sleep"),
    plain("stat"),
    plain("tac"),
    plain("tail"),
    plain("test"),
    plain("touch"),
    plain("true"),
    plain("truncate"),
    plain("uniq"),
    plain("wc"),
];

fn refused(why: impl Into<String>) -> io::Error {
    io::Error::other(format!("{} (this lab has no namespaces)", why.into()))
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

/// A command in such a machine.
pub(super) fn command(
    init: &Init,
    program: &str,
    arguments: &[String],
    env: &BTreeMap<String, String>,
    folder: Option<&Path>,
) -> io::Result<Command> {
    let name = program.rsplit('/').next().unwrap_or(program);
    let own = std::env::current_exe()?;
    let mut command = new_command(&own);
    if etc::APPLETS.contains(&name) {
        command.arg0(name).args(arguments);
    } else {
        let (path, arguments) = allowed(&init.root, name, arguments)?;
        command.args([keeper::WORD, "run", &path]).args(arguments);
    }
    let at = folder
        .and_then(|folder| init.root.at(folder).ok())
        .filter(|at| at.is_dir());
    let root = init.root.at("/")?;
    let (mark, value) = init.folder_mark.clone();
    command
        .env_clear()
        .envs(env)
        .env("PATH", "/usr/bin:/bin")
        .env("HOME", init.root.at("/root")?)
        .env(places::ROOT, &root)
        .env(places::ADDRESS, address(&init.config).to_string())
        .env(mark, value)
        .current_dir(at.unwrap_or(root));
    Ok(command)
}

/// The program and its arguments as they may be run, if they may.
fn allowed(root: &Root, name: &str, arguments: &[String]) -> io::Result<(String, Vec<String>)> {
    let (name, arguments) = match (name, arguments) {
        ("sh" | "bash" | "dash", [flag, text]) if matches!(flag.as_str(), "-c" | "-lc") => {
            let text = script::rewrite(text, |words| check(root, words))?;
            ("sh", vec!["-c".to_owned(), text])
        }
        _ => {
            let words: Vec<String> = std::iter::once(name.to_owned())
                .chain(arguments.iter().cloned())
                .collect();
            let checked = check(root, &words)?;
            (name, checked.into_iter().skip(1).collect())
        }
    };
    ["/usr/bin", "/bin"]
        .iter()
        .map(|folder| Path::new(folder).join(name))
        .find(|path| path.is_file())
        .map(|path| (path.display().to_string(), arguments))
        .ok_or_else(|| io::ErrorKind::NotFound.into())
}

/// Checks one command, and turns its paths into ones in the folder.
fn check(root: &Root, words: &[String]) -> io::Result<Vec<String>> {
    let Some((name, arguments)) = words.split_first() else {
        return Err(refused("no program"));
    };
    let name = name.rsplit('/').next().unwrap_or(name);
    let Some(allowed) = ALLOWED.iter().find(|allowed| allowed.name == name) else {
        return Err(refused(format!("{name}: not among the programs that may run")));
    };
    let mut first = allowed.first == First::Text;
    let mut checked = vec![name.to_owned()];
    for argument in arguments {
        if argument.len() > 1 && argument.starts_with('-') {
            let bad = allowed
                .refused
                .iter()
                .any(|refused| argument.starts_with(refused));
            // Letters may stand together: `-he.` is a pattern as `-e .` is, and what follows is then a file.
            let pattern = name == "grep" && !argument.starts_with("--") && argument.contains(['e', 'f']);
            if bad || pattern || argument.contains('/') {
                return Err(refused(format!("{name}: {argument}: not allowed")));
            }
            checked.push(argument.clone());
        } else if std::mem::take(&mut first) {
            checked.push(argument.clone());
        } else {
            checked.push(path(root, argument)?);
        }
    }
    Ok(checked)
}

fn path(root: &Root, argument: &str) -> io::Result<String> {
    if argument.split('/').any(|part| part == "..") {
        return Err(refused(format!("{argument}: leads out")));
    }
    if argument == "/dev/null" || !argument.starts_with('/') {
        return Ok(argument.to_owned());
    }
    Ok(root.at(argument)?.display().to_string())
}

/// Runs a program that ends with its parent: `run PROGRAM ARGUMENTS...`.
#[expect(
    clippy::disallowed_methods,
    reason = "what runs in a machine of the lab are processes"
)]
pub(super) fn run(arguments: &[String]) -> std::process::ExitCode {
    let Some((program, arguments)) = arguments.split_first() else {
        return std::process::ExitCode::from(2);
    };
    if super::isolate::end_with_parent().is_ok() {
        let cause = new_command(Path::new(program)).args(arguments).exec();
        eprintln!("{program}: {cause}");
    }
    std::process::ExitCode::from(126)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_in_the_table_does_not_run() {
        let root = Root::new(Some("/lab/x".into()));
        let cases: [(&[&str], Option<&[&str]>); 12] = [
            (&["cat", "/etc/hosts"], Some(&["cat", "/lab/x/etc/hosts"])),
            (
                &["/usr/bin/head", "-n", "3", "log"],
                Some(&["head", "-n", "3", "log"]),
            ),
            (
                &["grep", "/x", "/var/log/a"],
                Some(&["grep", "/x", "/lab/x/var/log/a"]),
            ),
            (&["grep", "-he.", "/etc/shadow"], None),
            (&["awk", "{print $1}", "/f"], None),
            (&["sed", "-nep", "/etc/passwd"], None),
            (&["date", "-uf", "/etc/passwd"], None),
            (&["cat", "../../etc/shadow"], None),
            (&["find", "/", "-exec", "id"], None),
            (&["sort", "-o/etc/x"], None),
            (&["curl", "http://x"], None),
            (&["python3", "-c", "1"], None),
        ];
        for (words, expected) in cases {
            let words: Vec<String> = words.iter().map(ToString::to_string).collect();
            let checked = check(&root, &words).ok();
            let expected = expected.map(|words| words.iter().map(ToString::to_string).collect());
            assert_eq!(checked, expected, "{words:?}");
        }
    }
}
