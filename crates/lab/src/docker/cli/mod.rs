//! `docker`, as it is found on a Docker host: a client of the engine's socket.

mod http;
mod list;
mod show;

use std::io::Write as _;
use std::process::ExitCode;

use serde_json::{Value, json};

use self::http::{Client, Failure};

/// Runs it, in a guest that is a Docker host.
pub fn main(arguments: &[String]) -> ExitCode {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let words = match words.as_slice() {
        [first, rest @ ..] if *first == "docker" || first.ends_with("/docker") => rest,
        all => all,
    };
    match run(words) {
        Ok(code) => ExitCode::from(code),
        Err(Failure::Daemon(message)) => {
            eprintln!("Error response from daemon: {message}");
            ExitCode::from(1)
        }
        Err(Failure::Other(message)) => {
            eprintln!("{message}");
            ExitCode::from(1)
        }
        Err(Failure::Usage(message)) => {
            eprintln!("{message}\nSee 'docker --help'.");
            ExitCode::from(125)
        }
    }
}

const HELP: &str = "Usage:  docker COMMAND

Commands:
  ps [-a] [-q] [--format json] [--filter F]   List containers
  logs [-n N] [--since T] [-t] [-f] C         Fetch the logs of a container
  inspect [-f FORMAT] NAME...                 Return low-level information
  exec [-i] [-w DIR] [-e K=V] C CMD...        Execute a command in a running container
  start|stop|restart|kill|rm [-f] C...        Control containers
  images, pull IMAGE                          Images
  top C, stats --no-stream [C...], port C     What runs, and what it uses
  version, info                               About the engine
";

type Outcome = Result<u8, Failure>;

fn run(words: &[&str]) -> Outcome {
    let client = Client;
    let (command, rest) = match words {
        [] | ["help" | "--help" | "-h", ..] => return print(HELP),
        ["--version" | "-v", ..] => return print("Docker version 27.3.1, build ce12230\n"),
        ["container" | "image", "ls" | "list", rest @ ..] => {
            (if words[0] == "image" { "images" } else { "ps" }, rest)
        }
        ["container" | "image", command, rest @ ..] | [command, rest @ ..] => (*command, rest),
    };
    match command {
        "ps" => list::containers(
            &client,
            &options(rest, &["--format", "--filter", "-f", "-n", "--last"], &[])?,
        ),
        "images" => list::images(&client, &options(rest, &["--format", "--filter", "-f"], &[])?),
        "top" => list::top(&client, rest),
        "stats" => list::stats(&client, &options(rest, &["--format"], &[])?),
        "port" => list::port(&client, rest),
        "inspect" => show::inspect(&client, &options(rest, &["--format", "-f", "--type"], &[])?),
        "logs" => show::logs(
            &client,
            &options(rest, &["--tail", "-n", "--since", "--until"], &[])?,
        ),
        "version" => show::version(&client),
        "info" => show::info(&client),
        "exec" => exec(
            &client,
            &options(
                rest,
                &["-e", "--env", "-w", "--workdir", "-u", "--user"],
                &["stop"],
            )?,
        ),
        "start" | "stop" | "restart" | "kill" | "rm" => control(
            &client,
            command,
            &options(rest, &["-t", "--time", "--timeout", "-s", "--signal"], &[])?,
        ),
        "pull" => show::pull(&client, rest),
        _ => Err(Failure::Usage(format!(
            "docker: '{command}' is not a docker command."
        ))),
    }
}

#[expect(clippy::unnecessary_wraps, reason = "printing is how most commands end")]
fn print(text: &str) -> Outcome {
    // A reader that went away, such as `head`, is no failure.
    let _ = std::io::stdout().write_all(text.as_bytes());
    Ok(0)
}

/// Options and operands of a command.
#[derive(Debug, Default)]
struct Options {
    given: Vec<(String, String)>,
    operands: Vec<String>,
}

impl Options {
    fn has(&self, names: &[&str]) -> bool {
        self.given.iter().any(|(name, _)| names.contains(&name.as_str()))
    }

    fn value(&self, names: &[&str]) -> Option<&str> {
        self.given
            .iter()
            .rfind(|(name, _)| names.contains(&name.as_str()))
            .map(|(_, value)| value.as_str())
    }

    fn values<'a>(&'a self, names: &'a [&str]) -> impl Iterator<Item = &'a str> {
        self.given
            .iter()
            .filter(|(name, _)| names.contains(&name.as_str()))
            .map(|(_, value)| value.as_str())
    }
}

/// Takes words apart. `valued` are the options that take a value; with `stop` in `how` options end at the first operand.
fn options(words: &[&str], valued: &[&str], how: &[&str]) -> Result<Options, Failure> {
    let mut found = Options::default();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let operand = !word.starts_with('-') || *word == "-";
        if *word == "--" || (operand && how.contains(&"stop")) {
            found.operands.extend((*word != "--").then(|| (*word).to_owned()));
            found.operands.extend(words.map(|word| (*word).to_owned()));
            break;
        }
        if operand {
            found.operands.push((*word).to_owned());
        } else if let Some((name, value)) = word.split_once('=') {
            found.given.push((name.to_owned(), value.to_owned()));
        } else if valued.contains(word) {
            let value = words
                .next()
                .ok_or_else(|| Failure::Usage(format!("flag needs an argument: {word}")))?;
            found.given.push(((*word).to_owned(), (*value).to_owned()));
        } else if word.starts_with("--") {
            found.given.push(((*word).to_owned(), String::new()));
        } else {
            // Several short ones in one word: `-aq`, `-it`, and `-n5`.
            let (name, rest) = word.split_at(word.char_indices().nth(2).map_or(word.len(), |(at, _)| at));
            if valued.contains(&name) {
                found.given.push((name.to_owned(), rest.to_owned()));
            } else {
                found.given.extend(
                    word.chars()
                        .skip(1)
                        .map(|letter| (format!("-{letter}"), String::new())),
                );
            }
        }
    }
    Ok(found)
}

fn control(client: &Client, command: &str, options: &Options) -> Outcome {
    if options.operands.is_empty() {
        return Err(Failure::Usage(format!(
            "\"docker {command}\" requires at least 1 argument."
        )));
    }
    let mut code = 0;
    for name in &options.operands {
        let escaped = http::escape(name);
        let time = options
            .value(&["-t", "--time", "--timeout"])
            .map(|t| format!("?t={t}"))
            .unwrap_or_default();
        let done = match command {
            "rm" => {
                let force = if options.has(&["-f", "--force"]) {
                    "?force=1"
                } else {
                    ""
                };
                client.ask("DELETE", &format!("/containers/{escaped}{force}"), None)
            }
            "kill" => {
                let signal = options.value(&["-s", "--signal"]).unwrap_or("KILL");
                client.ask(
                    "POST",
                    &format!("/containers/{escaped}/kill?signal={}", http::escape(signal)),
                    None,
                )
            }
            _ => client.ask("POST", &format!("/containers/{escaped}/{command}{time}"), None),
        };
        match done {
            Ok(_) => println!("{name}"),
            Err(Failure::Daemon(message)) => {
                eprintln!("Error response from daemon: {message}");
                code = 1;
            }
            Err(other) => return Err(other),
        }
    }
    Ok(code)
}

fn exec(client: &Client, options: &Options) -> Outcome {
    let [container, argv @ ..] = options.operands.as_slice() else {
        return Err(Failure::Usage(
            "\"docker exec\" requires at least 2 arguments.".to_owned(),
        ));
    };
    if argv.is_empty() {
        return Err(Failure::Usage(
            "\"docker exec\" requires at least 2 arguments.".to_owned(),
        ));
    }
    if options.has(&["-t", "--tty"]) {
        return Err(Failure::Other("the input device is not a TTY".to_owned()));
    }
    let stdin = options.has(&["-i", "--interactive"]);
    let env: Vec<&str> = options.values(&["-e", "--env"]).collect();
    let body = json!({
        "Cmd": argv, "AttachStdin": stdin, "AttachStdout": true, "AttachStderr": true,
        "Env": env, "WorkingDir": options.value(&["-w", "--workdir"]).unwrap_or_default(),
    });
    let made: Value = client.json(
        "POST",
        &format!("/containers/{}/exec", http::escape(container)),
        Some(&body),
    )?;
    let id = made["Id"].as_str().unwrap_or_default();
    client.hijack(
        &format!("/exec/{id}/start"),
        &json!({ "Detach": false, "Tty": false }),
        stdin,
    )?;
    let state: Value = client.json("GET", &format!("/exec/{id}/json"), None)?;
    Ok(state["ExitCode"]
        .as_i64()
        .and_then(|code| u8::try_from(code).ok())
        .unwrap_or(1))
}
