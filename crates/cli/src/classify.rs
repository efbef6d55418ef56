//! `interlock classify`: the shell analysis, for people and for programs.

mod lines;
mod people;

use crate::Ending;
use crate::terminal::Paint;
use clap::Args;
use interlock_shell::{Category, Intent, Risk, Verdict, classify};
use serde::Serialize;
use std::io::{self, Read as _, Write as _};

/// The longest line or input that is read, in bytes. The analysis itself refuses much shorter commands.
const MOST_BYTES: usize = 1 << 20;

/// Say what a shell command can do, and which part of it decided.
#[derive(Args)]
#[command(after_help = "\
Examples:
  interlock classify 'ls / & zfs destroy tank'
  interlock classify -- df -h /
  interlock classify --check 'journalctl -n 50 -u nginx' && echo would run
  echo '{\"command\":\"tail -f /var/log/syslog\"}' | interlock classify --jsonl

The read tool takes what is provably read-only and ends by itself. What prints secrets or reaches other hosts waits \
for a human. What runs code that its data can name runs only inside a sandbox.

Exit codes: 0 the verdict was printed, whatever it is; 1 with --check if the read tool would not run the command at \
once; 2 wrong usage or input.")]
pub(crate) struct Arguments {
    /// The command: one argument as a shell would read it, or several as a program would get them; `-` reads it
    /// from standard input
    ///
    /// Without quotes, put `--` before it, so that its options are not taken for options of this command.
    #[arg(required_unless_present = "jsonl", conflicts_with = "jsonl")]
    command: Vec<String>,

    /// Read lines {"command": …} from standard input and print one JSON line for each, in order, at once
    ///
    /// A line that is not understood gives a line with `line` and `error`, and exit code 2 at the end. Empty lines
    /// are passed over.
    #[arg(long)]
    jsonl: bool,

    /// Print one JSON document
    #[arg(long, conflicts_with = "jsonl")]
    json: bool,

    /// Exit with 1 if the read tool would not run the command at once
    #[arg(long)]
    check: bool,
}

/// A verdict in the form that programs rely on: these fields, in this order.
#[derive(Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "the fields that programs rely on")]
struct Report<'a> {
    command: &'a str,
    intent: Intent,
    risk: Risk,
    bounded: bool,
    category: Option<Category>,
    sensitive: bool,
    network: bool,
    reasons: Vec<String>,
    rewrite: Option<&'a str>,
    needs_sandbox: bool,
    hands_over: bool,
}

impl<'a> Report<'a> {
    fn new(command: &'a str, verdict: &'a Verdict) -> Self {
        Self {
            command,
            intent: verdict.intent,
            risk: verdict.risk,
            bounded: verdict.bounded,
            category: verdict.category,
            sensitive: verdict.sensitive,
            network: verdict.network,
            reasons: verdict.reasons.iter().map(ToString::to_string).collect(),
            rewrite: verdict.rewrite.as_deref(),
            needs_sandbox: verdict.needs_sandbox,
            hands_over: verdict.hands_over,
        }
    }
}

/// What would become of a command that is given to the read tool, as far as the command itself decides it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Runs,
    /// It runs only where a sandbox holds it.
    RunsInSandbox,
    Waits,
    Refused,
}

impl Fate {
    /// Whether nothing but a sandbox, which the machine may offer, is needed to run it at once.
    const fn runs(self) -> bool {
        matches!(self, Self::Runs | Self::RunsInSandbox)
    }

    const fn of(verdict: &Verdict) -> Self {
        if !verdict.is_bounded_read() {
            Self::Refused
        } else if verdict.sensitive || verdict.network {
            Self::Waits
        } else if verdict.needs_sandbox {
            Self::RunsInSandbox
        } else {
            Self::Runs
        }
    }
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> io::Result<Ending> {
    if arguments.jsonl {
        return lines::run(io::stdin().lock(), io::stdout().lock(), arguments.check);
    }
    let command = match arguments.command.as_slice() {
        [dash] if dash == "-" => read_command()?,
        [line] => line.clone(),
        words => join(words),
    };
    let verdict = classify(&command);

    let stdout = io::stdout();
    let mut out = stdout.lock();
    if arguments.json {
        let text = serde_json::to_string_pretty(&Report::new(&command, &verdict))?;
        writeln!(out, "{}", interlock_protocol::visible::json(&text))?;
    } else {
        out.write_all(people::render(&command, &verdict, Paint::for_stream(&stdout)).as_bytes())?;
    }
    out.flush()?;
    Ok(if arguments.check && !Fate::of(&verdict).runs() {
        Ending::Unsuccessful
    } else {
        Ending::Done
    })
}

fn read_command() -> io::Result<String> {
    let mut bytes = Vec::new();
    io::stdin()
        .lock()
        .take(MOST_BYTES as u64 + 1)
        .read_to_end(&mut bytes)?;
    if bytes.len() > MOST_BYTES {
        return Err(io::Error::other(format!(
            "the command has more than {MOST_BYTES} bytes"
        )));
    }
    let mut text =
        String::from_utf8(bytes).map_err(|_| io::Error::other("the command is not valid UTF-8"))?;
    // `echo` and editors end a text with a line break that nobody means.
    if text.ends_with('\n') {
        text.pop();
    }
    Ok(text)
}

/// Several arguments are what a program would get, so each stays one word whatever is in it.
fn join(words: &[String]) -> String {
    let quoted: Vec<String> = words
        .iter()
        .enumerate()
        .map(|(index, word)| quote(word, index == 0))
        .collect();
    quoted.join(" ")
}

fn quote(word: &str, is_program: bool) -> String {
    const RESERVED: [&str; 20] = [
        "if", "then", "else", "elif", "fi", "do", "done", "case", "esac", "while", "until", "for", "select",
        "in", "function", "time", "coproc", "{", "}", "!",
    ];
    // `a=b` in front would be an assignment, and a reserved word would begin a construct.
    let special = is_program && (word.contains('=') || RESERVED.contains(&word));
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./=:,@%+".contains(c);
    if !word.is_empty() && !special && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_arguments_stay_several_words() {
        let cases: &[(&[&str], &str)] = &[
            (&["ls", "-la", "/var/log"], "ls -la /var/log"),
            (&["grep", "a<b", "f"], "grep 'a<b' f"),
            (&["echo", ";", "rm", "x"], "echo ';' rm x"),
            (&["echo", "it's", ""], r"echo 'it'\''s' ''"),
            (&["PATH=/tmp", "ls"], "'PATH=/tmp' ls"),
            (&["dd", "if=/dev/sda"], "dd if=/dev/sda"),
            (&["if", "true"], "'if' true"),
            (&["cat", "~", "*", "$x"], "cat '~' '*' '$x'"),
        ];
        for (words, expected) in cases {
            let words: Vec<String> = words.iter().map(ToString::to_string).collect();
            assert_eq!(join(&words), *expected);
        }
    }
}
