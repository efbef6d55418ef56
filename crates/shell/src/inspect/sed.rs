//! `sed`: a script that neither writes files nor runs commands, without `-i`.

use crate::argv::{self, Context};
use crate::report::Report;
use crate::table::Node;
use crate::verdict::{Category, Risk};
use crate::word::Arg;

pub(super) fn judge(_node: &Node, args: &[Arg<'_>], context: Context<'_>, report: &mut Report) {
    let mut scripts: Vec<&Arg<'_>> = Vec::new();
    let mut files: Vec<&Arg<'_>> = Vec::new();
    let mut flags = true;
    let mut at = 1;
    while let Some(arg) = args.get(at) {
        at += 1;
        let Some(text) = arg.text() else {
            if flags && arg.may_be_flag() {
                report.write(Risk::MediumWrite, &arg.raw, "could turn into a flag of sed");
            }
            files.push(arg);
            continue;
        };
        if !flags || text.len() < 2 || !text.starts_with('-') {
            files.push(arg);
            continue;
        }
        match text {
            "--" => flags = false,
            "--quiet" | "--silent" | "--regexp-extended" | "--separate" | "--unbuffered" | "--null-data"
            | "--posix" | "--sandbox" | "--debug" => {}
            "--help" | "--version" => return,
            "--expression" => {
                scripts.extend(args.get(at));
                at += 1;
            }
            "--line-length" => at += 1,
            _ if text.starts_with("--line-length=") => {}
            _ if text.starts_with("--expression=") => {
                if let Err(why) = reads_only(&text["--expression=".len()..], context, report) {
                    report.write(Risk::MediumWrite, text, why);
                }
                // Stands for the script, which is judged.
                scripts.push(&EMPTY);
            }
            _ if text.starts_with("--") => report.write(
                Risk::MediumWrite,
                text,
                "is a flag of sed that writes or loads a script",
            ),
            _ => {
                for (index, letter) in text.char_indices().skip(1) {
                    match letter {
                        'n' | 'E' | 'r' | 's' | 'u' | 'z' => {}
                        'e' => {
                            let rest = &text[index + 1..];
                            if rest.is_empty() {
                                scripts.extend(args.get(at));
                                at += 1;
                            } else if let Err(why) = reads_only(rest, context, report) {
                                report.write(Risk::MediumWrite, rest, why);
                            } else {
                                scripts.push(&EMPTY);
                            }
                            break;
                        }
                        'l' => {
                            let rest = &text[index + 1..];
                            let length = if rest.is_empty() {
                                at += 1;
                                args.get(at - 1).and_then(Arg::text).unwrap_or("")
                            } else {
                                rest
                            };
                            if length.is_empty() || !length.bytes().all(|b| b.is_ascii_digit()) {
                                report.write(
                                    Risk::MediumWrite,
                                    text,
                                    "takes a value in some seds and not in others",
                                );
                            }
                            break;
                        }
                        'i' => {
                            report.write(Risk::MediumWrite, text, "edits files in place");
                            break;
                        }
                        _ => {
                            report.write(
                                Risk::MediumWrite,
                                text,
                                "is a flag of sed that writes or loads a script",
                            );
                            break;
                        }
                    }
                }
            }
        }
    }
    if scripts.is_empty() && !files.is_empty() {
        scripts.push(files.remove(0));
    }
    for script in &scripts {
        match script.text() {
            Some(text) => {
                if let Err(why) = reads_only(text, context, report) {
                    report.write(Risk::MediumWrite, text, why);
                }
            }
            None => report.write(
                Risk::HighWrite,
                &script.raw,
                "is a script that depends on a variable or a pattern",
            ),
        }
    }
    for file in &files {
        argv::file(file, &file.raw, context, report, false);
    }
    if (files.is_empty() || files.iter().any(|file| file.text() == Some("-"))) && !context.fed() {
        report.endless(Category::UnboundedStream, "sed", "waits for its standard input");
    }
    report.condition("sed", "its script only reads");
}

const EMPTY: Arg<'static> = Arg {
    raw: std::borrow::Cow::Borrowed(""),
    value: crate::word::Value::Known(std::borrow::Cow::Borrowed("")),
};

/// Walks the commands of a sed script.
fn reads_only(script: &str, context: Context<'_>, report: &mut Report) -> Result<(), &'static str> {
    let chars: Vec<char> = script.chars().collect();
    let mut at = 0;
    // A jump back that takes no further line on its way never ends.
    let (mut label, mut jump, mut takes) = (false, false, false);
    loop {
        skip(&chars, &mut at, |c| c.is_whitespace() || c == ';');
        let Some(&start) = chars.get(at) else {
            if label && jump && !takes {
                report.endless(Category::UnboundedStream, script, "jumps back, perhaps for ever");
            }
            return Ok(());
        };
        if start == '#' {
            skip(&chars, &mut at, |c| c != '\n');
            continue;
        }
        address(&chars, &mut at)?;
        skip(&chars, &mut at, |c| c == ' ' || c == '\t');
        if chars.get(at) == Some(&',') {
            at += 1;
            skip(&chars, &mut at, |c| c == ' ' || c == '\t');
            if matches!(chars.get(at), Some('+' | '~')) {
                at += 1;
            }
            address(&chars, &mut at)?;
        }
        skip(&chars, &mut at, |c| c == ' ' || c == '\t' || c == '!');
        let Some(&command) = chars.get(at) else {
            return Err("ends where a command was expected");
        };
        at += 1;
        label |= command == ':';
        jump |= command == 'b';
        takes |= matches!(command, 'n' | 'N' | 'd' | 'D' | 'q' | 'Q');
        match command {
            '{' | '}' | '=' | 'd' | 'D' | 'g' | 'G' | 'h' | 'H' | 'n' | 'N' | 'p' | 'P' | 'x' | 'z' | 'F' => {
            }
            'q' | 'Q' | 'l' | 'L' => skip(&chars, &mut at, |c| c == ' ' || c.is_ascii_digit()),
            // A label ends at a blank in some seds and goes on in others: what follows a blank is refused below.
            'b' | 't' | 'T' | ':' => {
                skip(&chars, &mut at, |c| c == ' ' || c == '\t');
                skip(&chars, &mut at, |c| c.is_ascii_alphanumeric() || c == '_');
            }
            'a' | 'i' | 'c' => skip(&chars, &mut at, |c| c != '\n'),
            'r' | 'R' => {
                let start = at;
                skip(&chars, &mut at, |c| c != '\n');
                let path: String = chars[start..at].iter().collect();
                argv::file(
                    &Arg::known(path.trim().to_owned()),
                    path.trim(),
                    context,
                    report,
                    false,
                );
            }
            's' => {
                let Some(&delimiter) = chars.get(at) else {
                    return Err("has a substitution without an end");
                };
                at += 1;
                delimited(&chars, &mut at, delimiter)?;
                delimited(&chars, &mut at, delimiter)?;
                while let Some(&flag) = chars.get(at) {
                    match flag {
                        'g' | 'p' | 'i' | 'I' | 'm' | 'M' | '0'..='9' => at += 1,
                        'e' => return Err("runs what it matches"),
                        'w' => return Err("writes into a file"),
                        ' ' | '\t' | ';' | '\n' | '}' | '#' => break,
                        _ => return Err("has a flag that is not understood"),
                    }
                }
            }
            'y' => {
                let Some(&delimiter) = chars.get(at) else {
                    return Err("has a translation without an end");
                };
                at += 1;
                delimited(&chars, &mut at, delimiter)?;
                delimited(&chars, &mut at, delimiter)?;
            }
            'w' | 'W' => return Err("writes into a file"),
            'e' => return Err("runs a command"),
            _ => return Err("has a command that is not understood"),
        }
        skip(&chars, &mut at, |c| c == ' ' || c == '\t');
        match chars.get(at) {
            None | Some(';' | '\n' | '}' | '#') => {}
            Some(_) if matches!(command, '{' | '}') => {}
            Some(_) => return Err("has something behind a command that is not understood"),
        }
    }
}

fn skip(chars: &[char], at: &mut usize, while_true: impl Fn(char) -> bool) {
    while chars.get(*at).copied().is_some_and(&while_true) {
        *at += 1;
    }
}

fn address(chars: &[char], at: &mut usize) -> Result<(), &'static str> {
    match chars.get(*at) {
        Some('$') => *at += 1,
        Some(c) if c.is_ascii_digit() => skip(chars, at, |c| c.is_ascii_digit() || c == '~'),
        Some('/') => {
            *at += 1;
            delimited(chars, at, '/')?;
            skip(chars, at, |c| c == 'I' || c == 'M');
        }
        Some('\\') => {
            *at += 1;
            let Some(&delimiter) = chars.get(*at) else {
                return Err("has an address without an end");
            };
            *at += 1;
            delimited(chars, at, delimiter)?;
            skip(chars, at, |c| c == 'I' || c == 'M');
        }
        _ => {}
    }
    Ok(())
}

/// Skips up to and over the delimiter. Brackets are refused where the delimiter stands in them: seds differ there.
fn delimited(chars: &[char], at: &mut usize, delimiter: char) -> Result<(), &'static str> {
    if delimiter == '\n' || delimiter == '\\' || delimiter.is_ascii_alphanumeric() {
        return Err("has a delimiter that is not understood");
    }
    let mut class = false;
    loop {
        match chars.get(*at) {
            None => return Err("has an expression without an end"),
            Some('\\') => *at += 1,
            Some(c) if *c == delimiter => {
                if class {
                    return Err("has its delimiter inside a bracket, which seds read differently");
                }
                *at += 1;
                return Ok(());
            }
            Some('[') => class = true,
            Some(']') => class = false,
            Some(_) => {}
        }
        *at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::argv::{Course, Feed};

    fn context(course: &Course) -> Context<'_> {
        Context {
            depth: 0,
            feed: Feed::Inherited,
            course,
        }
    }

    #[test]
    fn scripts_that_only_read() {
        for script in [
            "s/a/b/g",
            "1,10p",
            "/start/,/end/p",
            "$d",
            "s|/usr|/opt|",
            "/^#/d;/^$/d",
            "5q",
            "s/a/b/;s/c/d/2p",
            "1~2d",
            "/x/{s/a/b/;p}",
            "/foo/I,+3p",
            "y/abc/xyz/",
            "n;d",
            "$!N;P;D",
            ":a;N;$!ba;s/\\n/ /g",
        ] {
            assert_eq!(
                reads_only(script, context(&Course::default()), &mut Report::new()),
                Ok(()),
                "{script}"
            );
        }
    }

    #[test]
    fn scripts_that_write_or_run() {
        for script in [
            "w /tmp/x",
            "s/a/b/w /tmp/x",
            "s/a/id/e",
            "1e id",
            "e",
            "p;w x",
            "s/a/b/gw x",
            "/x/W y",
            "1{w x\n}",
            "s/[/]/w x/e",
            "s/a/b/ge",
            "ba  s/b/x/w y",
            ":a s/b/x/w y",
        ] {
            assert!(
                reads_only(script, context(&Course::default()), &mut Report::new()).is_err(),
                "{script}"
            );
        }
    }
}
