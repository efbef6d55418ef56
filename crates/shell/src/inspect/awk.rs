//! `awk`: a program text without pipes, output files, `system` or loaded code only reads.

use crate::argv::{self, Context};
use crate::report::Report;
use crate::table::Node;
use crate::verdict::{Category, Risk};
use crate::word::Arg;

/// Flags that change how the program is read, not what it does.
const HARMLESS: &[&str] = &[
    "-P",
    "-r",
    "-b",
    "-c",
    "-S",
    "-M",
    "-N",
    "-n",
    "-O",
    "-s",
    "-t",
    "-k",
    "--posix",
    "--re-interval",
    "--csv",
    "--sandbox",
    "--characters-as-bytes",
    "--traditional",
    "--bignum",
    "--use-lc-numeric",
    "--non-decimal-data",
];

pub(super) fn judge(_node: &Node, args: &[Arg<'_>], context: Context<'_>, report: &mut Report) {
    let mut at = 1;
    let mut sources: Vec<&Arg<'_>> = Vec::new();
    while let Some(arg) = args.get(at) {
        let Some(text) = arg.text() else { break };
        if text.len() < 2 || !text.starts_with('-') {
            break;
        }
        at += 1;
        match text {
            "--" => break,
            "-F" | "-v" => {
                if args.get(at).is_some_and(Arg::may_hide_others) {
                    report.write(Risk::HighWrite, &args[at].raw, "could turn into a program of awk");
                }
                at += 1;
            }
            "-e" | "--source" => {
                sources.extend(args.get(at));
                at += 1;
            }
            "--help" | "--version" | "-V" | "-h" if args.len() == 2 => return,
            _ if HARMLESS.contains(&text) => {}
            _ if text.starts_with("-F") || text.starts_with("-v") => {}
            _ if text.starts_with("--field-separator=") || text.starts_with("--assign=") => {}
            _ => {
                report.write(
                    Risk::HighWrite,
                    text,
                    "is a flag of awk that loads code or writes",
                );
                return;
            }
        }
    }
    if sources.is_empty() {
        sources.extend(args.get(at));
        at += 1;
    }
    let texts: Option<Vec<&str>> = sources.iter().map(|source| source.text()).collect();
    let Some(text) = texts
        .filter(|texts| !texts.is_empty())
        .map(|texts| texts.join("\n"))
    else {
        report.write(Risk::HighWrite, "awk", "its program is not known");
        return;
    };
    if let Err(why) = reads_only(&text) {
        report.write(Risk::HighWrite, &text, why);
    }
    if text.contains("ENVIRON") || text.contains("PROCINFO") {
        report.secret(&text, "can print the environment");
    }
    if text.contains("getline") {
        report.secret(&text, "reads files that it names itself");
    }
    let mut files = 0;
    for arg in args.get(at..).unwrap_or_default() {
        match arg.text() {
            // `name=value` among the files sets a variable.
            Some(text) if text.split_once('=').is_some_and(|(name, _)| is_name(name)) => {}
            Some("-") => {}
            _ => {
                files += 1;
                argv::file(arg, &arg.raw, context, report, false);
            }
        }
    }
    let begins_only = text.trim_start().starts_with("BEGIN") && text.matches('{').count() == 1;
    if !context.fed() && (files == 0 && !begins_only || text.contains("getline")) {
        report.endless(Category::UnboundedStream, "awk", "waits for its standard input");
    }
    if loops(&text) {
        report.endless(Category::UnboundedStream, &text, "has a loop that may not end");
    }
    report.condition("awk", "its program only reads");
}

fn is_name(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// Whether a loop could go on for ever: any but those over an array or with three parts.
fn loops(program: &str) -> bool {
    let dense: String = program.chars().filter(|c| !c.is_whitespace()).collect();
    let words = program.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    dense.contains(";;") || words.into_iter().any(|word| matches!(word, "while" | "do"))
}

#[derive(PartialEq, Eq, Clone, Copy)]
enum Last {
    /// A value has just ended: a slash divides.
    Value,
    /// A value may start: a slash opens a regular expression.
    Open,
    /// Neither is sure.
    Unsure,
}

/// Walks the tokens of an awk program.
fn reads_only(program: &str) -> Result<(), &'static str> {
    // Wherever the call stands: no reading of the program may hide it.
    let calls = |(at, word): (usize, &str)| program[at + word.len()..].trim_start().starts_with('(');
    if program.match_indices("system").any(calls) {
        return Err("runs a command");
    }
    if program.contains("/inet") {
        return Err("opens a connection");
    }
    let chars: Vec<char> = program.chars().collect();
    let mut at = 0;
    let mut last = Last::Open;
    let mut printing: Option<usize> = None;
    // Whether each open parenthesis belongs to `if`, `while`, `for` or `switch`: a statement follows it.
    let mut parens: Vec<bool> = Vec::new();
    let mut control = false;
    while let Some(&c) = chars.get(at) {
        let next = chars.get(at + 1).copied();
        match c {
            '"' => {
                at += 1;
                loop {
                    match chars.get(at) {
                        None | Some('\n') => return Err("has a string without an end"),
                        Some('\\') => at += 1,
                        Some('"') => break,
                        Some(_) => {}
                    }
                    at += 1;
                }
                last = Last::Value;
            }
            '/' => match last {
                Last::Value => last = Last::Open,
                Last::Open => {
                    at = regex_end(&chars, at + 1)?;
                    last = Last::Value;
                }
                Last::Unsure => return Err("has a slash that could be a division or a regular expression"),
            },
            '#' => {
                while chars.get(at).is_some_and(|c| *c != '\n') {
                    at += 1;
                }
                continue;
            }
            '@' | '`' => return Err("loads code or calls a function by name"),
            '|' if next == Some('|') => {
                at += 1;
                last = Last::Open;
            }
            '|' => return Err("pipes to or from a command"),
            '>' if printing.is_some_and(|base| parens.len() <= base) => {
                return Err("writes its output into a file");
            }
            '(' => {
                parens.push(std::mem::take(&mut control));
                last = Last::Open;
            }
            ')' => {
                last = if parens.pop() == Some(true) {
                    Last::Open
                } else {
                    Last::Value
                }
            }
            ';' | '}' | '{' => {
                printing = None;
                last = Last::Open;
            }
            // A line break behind a comma or an operator ends nothing: what prints goes on printing.
            '\n' => last = Last::Open,
            '\\' if next == Some('\n') => at += 1,
            '\\' => return Err("has a backslash outside of a string"),
            ']' | '$' => last = if c == ']' { Last::Value } else { Last::Unsure },
            '+' | '-' if next == Some(c) => {
                at += 1;
                last = Last::Unsure;
            }
            ',' | '~' | '!' | '&' | '=' | '<' | '>' | '+' | '-' | '*' | '%' | '^' | '?' | ':' | '[' => {
                last = Last::Open;
            }
            _ if c.is_ascii_alphanumeric() || c == '_' || c == '.' => {
                let start = at;
                while chars
                    .get(at)
                    .is_some_and(|c| c.is_ascii_alphanumeric() || *c == '_' || *c == '.')
                {
                    at += 1;
                }
                let word: String = chars[start..at].iter().collect();
                match word.as_str() {
                    "system" => return Err("runs a command"),
                    "print" | "printf" => {
                        printing = Some(parens.len());
                        last = Last::Open;
                    }
                    "if" | "while" | "for" | "switch" => {
                        control = true;
                        last = Last::Open;
                    }
                    "getline" | "length" | "next" | "nextfile" | "break" | "continue" | "delete" => {
                        last = Last::Unsure;
                    }
                    "return" | "in" | "else" | "do" | "case" | "exit" => last = Last::Open,
                    _ => last = Last::Value,
                }
                continue;
            }
            _ if c.is_whitespace() => {}
            _ => return Err("has a character that is not understood"),
        }
        at += 1;
    }
    Ok(())
}

/// Where the slash is that ends a regular expression. Brackets that awks read differently are refused.
fn regex_end(chars: &[char], mut at: usize) -> Result<usize, &'static str> {
    const ODD: &str = "has a bracket that awks read differently";
    loop {
        match chars.get(at) {
            None | Some('\n') => return Err("has a regular expression without an end"),
            Some('\\') => at += 1,
            Some('/') => return Ok(at),
            Some('[') => {
                at += 1;
                if chars.get(at) == Some(&'^') {
                    at += 1;
                }
                if chars.get(at) == Some(&']') {
                    return Err(ODD);
                }
                loop {
                    match chars.get(at) {
                        None | Some('\n' | '/') => return Err(ODD),
                        Some('\\') => at += 1,
                        Some('[') => {
                            // `[:alpha:]` and nothing else.
                            let class: String = chars[at..].iter().take(12).collect();
                            let end = class
                                .strip_prefix("[:")
                                .and_then(|rest| rest.find(":]"))
                                .ok_or(ODD)?;
                            at += end + 3;
                        }
                        Some(']') => break,
                        Some(_) => {}
                    }
                    at += 1;
                }
            }
            Some(_) => {}
        }
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::reads_only;

    #[test]
    fn programs_that_only_read() {
        for program in [
            "{print $1}",
            "NR==1",
            "$3 > 80 {print $1, $3}",
            "/error|warn/ {n++} END {print n}",
            "BEGIN{FS=\":\"} $3>=1000 {print $1}",
            "{a[$1]++} END {for (k in a) print a[k], k}",
            "$1 ~ /^[0-9]+$/ {s += $1} END {print s/NR}",
            "!seen[$0]++",
            "{print ($2 > 5 ? \"hi\" : \"lo\")}",
            "length > 80",
            "{ if ($5 > 10 && $6 < 3) { print } }",
            "{printf \"%-10s %s\\n\", $1, $2}",
        ] {
            assert_eq!(reads_only(program), Ok(()), "{program}");
        }
    }

    #[test]
    fn programs_that_write_or_run() {
        for program in [
            "BEGIN{system(\"id\")}",
            "{print > \"/tmp/x\"}",
            "{print >> f}",
            "{print | \"sh\"}",
            "BEGIN{\"id\"|getline x}",
            "{printf(\"x\") > \"f\"}",
            "@load \"x\"",
            "BEGIN{print \"a\" |& \"sh\"}",
            "BEGIN { f = \"sys\" \"tem\"; @f(\"id\") }",
            "{print $1 / 2 > \"f\"}",
            "BEGIN{s=\"/inet/tcp/0/h/1\"; print 1 |& s}",
            "{x = y++ / 2; print | \"sh\" /1}",
            "{print $1,\n$2 > \"x\"}",
            "{if (1) /#/; print > \"x\"}",
            "{if (0) exit /#/; print > \"x\"}",
            "{z = length /#/; print > \"x\"}",
            "!/[[:space:]/]#/ {print > \"x\"}",
            "!/[]/]#/ {print > \"x\"}",
        ] {
            assert!(reads_only(program).is_err(), "{program}");
        }
    }
}
