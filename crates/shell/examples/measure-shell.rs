//! How often the analysis is wrong about a corpus: `make measure-shell CORPUS="a.tsv b.tsv"`.
//!
//! Each line of a corpus is a command, a tab, `allow`, `block` or `either`, a tab, and a note; lines that start with `#` are
//! comments. In a command `\n`, `\t`, `\r` and `\\` are escaped. A false block is an `allow` that is not a bounded read; a false
//! allow is a `block` that is. `either` is right both ways and only counted.

#![expect(clippy::print_stdout, reason = "it prints what it measured")]

use std::process::ExitCode;

use interlock_shell::classify;

#[derive(Default)]
struct Rate {
    of: usize,
    wrong: Vec<String>,
}

impl Rate {
    fn say(&self, what: &str) {
        if self.of == 0 {
            return;
        }
        let wrong = self.wrong.len();
        // Counts of commands are far below what a float holds exactly.
        #[expect(clippy::cast_precision_loss, reason = "corpora are small")]
        let percent = wrong as f64 * 100.0 / self.of as f64;
        println!("  {what}: {wrong} of {} ({percent:.2} %)", self.of);
        for line in &self.wrong {
            println!("    {line}");
        }
    }
}

fn main() -> ExitCode {
    let files: Vec<String> = std::env::args().skip(1).collect();
    if files.is_empty() {
        println!("usage: measure-shell CORPUS...");
        return ExitCode::FAILURE;
    }
    for file in files {
        let text = match std::fs::read_to_string(&file) {
            Ok(text) => text,
            Err(error) => {
                println!("cannot read {file}: {error}");
                return ExitCode::FAILURE;
            }
        };
        let (mut blocked, mut allowed) = (Rate::default(), Rate::default());
        let (mut either, mut either_reads) = (0, 0);
        let mut sandboxed = 0;
        for (index, line) in text
            .lines()
            .enumerate()
            .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
        {
            let mut columns = line.split('\t');
            let command = unescape(columns.next().unwrap_or_default());
            let want = columns.next().unwrap_or_default();
            let verdict = classify(&command);
            let read = verdict.is_bounded_read();
            let why = verdict
                .reasons
                .first()
                .map(ToString::to_string)
                .unwrap_or_default();
            match want {
                "allow" => {
                    blocked.of += 1;
                    sandboxed += usize::from(read && verdict.needs_sandbox);
                    if !read {
                        blocked.wrong.push(format!("{command:?}: {why}"));
                    }
                }
                "block" => {
                    allowed.of += 1;
                    if read {
                        allowed.wrong.push(format!("{command:?}: {why}"));
                    }
                }
                "either" => {
                    either += 1;
                    either_reads += usize::from(read);
                }
                _ => {
                    println!(
                        "{file}:{}: the second column must be `allow`, `block` or `either`",
                        index + 1
                    );
                    return ExitCode::FAILURE;
                }
            }
        }
        println!("{file}");
        blocked.say("false blocks");
        if sandboxed > 0 {
            println!("  allowed only inside a sandbox: {sandboxed} of {}", blocked.of);
        }
        allowed.say("false allows");
        if either > 0 {
            println!("  right both ways: {either}, of them {either_reads} allowed");
        }
    }
    ExitCode::SUCCESS
}

fn unescape(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        if character != '\\' {
            plain.push(character);
            continue;
        }
        match characters.next() {
            Some('n') => plain.push('\n'),
            Some('t') => plain.push('\t'),
            Some('r') => plain.push('\r'),
            Some('\\') | None => plain.push('\\'),
            Some(other) => plain.extend(['\\', other]),
        }
    }
    plain
}
