//! `sed`: a script that neither writes files nor runs commands, without `-i`.

mod grammar;

use crate::argv::{self, Context};
use crate::report::Report;
use crate::table::Node;
use crate::verdict::{Category, Risk};
use crate::word::Arg;

pub(super) fn judge(_node: &Node, args: &[Arg<'_>], context: Context<'_>, report: &mut Report) {
    if let [_, only] = args
        && matches!(only.text(), Some("--help" | "--version"))
    {
        report.read("sed", "says what it is");
        return;
    }
    let Some(call) = Call::parse(args, report) else {
        return;
    };
    match grammar::parse(&call.script) {
        Ok(script) => {
            for path in &script.files {
                argv::file(&Arg::known(path.clone()), path, context, report, false);
            }
            if script.may_not_end {
                report.endless(
                    Category::UnboundedStream,
                    &call.script,
                    "jumps back, perhaps for ever",
                );
            }
        }
        Err(why) => report.write(Risk::MediumWrite, &call.script, why),
    }
    for file in &call.files {
        argv::file(file, &file.raw, context, report, false);
    }
    if (call.files.is_empty() || call.files.iter().any(|file| file.text() == Some("-"))) && !context.fed() {
        report.endless(Category::UnboundedStream, "sed", "waits for its standard input");
    }
    report.condition("sed", "its script only reads");
}

/// A call of sed: its whole script and its files.
struct Call<'a> {
    script: String,
    files: Vec<&'a Arg<'a>>,
}

impl<'a> Call<'a> {
    /// Takes the arguments apart. Whatever seds could read differently is a write, and `None` where there is no script.
    fn parse(args: &'a [Arg<'a>], report: &mut Report) -> Option<Self> {
        let mut pieces: Vec<&str> = Vec::new();
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
            let before = pieces.len();
            match text {
                "--" => flags = false,
                "--quiet" | "--silent" | "--regexp-extended" | "--separate" | "--unbuffered"
                | "--null-data" | "--posix" | "--sandbox" | "--debug" => {}
                "--expression" => {
                    pieces.push(piece(args.get(at), report)?);
                    at += 1;
                }
                "--line-length" => {
                    line_length(args.get(at).and_then(Arg::text).unwrap_or(""), text, report);
                    at += 1;
                }
                _ if text.starts_with("--line-length=") => {
                    line_length(&text["--line-length=".len()..], text, report);
                }
                _ if text.starts_with("--expression=") => pieces.push(&text["--expression=".len()..]),
                _ if text.starts_with("--") => report.write(
                    Risk::MediumWrite,
                    text,
                    "is a flag of sed that writes or loads a script",
                ),
                _ => {
                    for (index, letter) in text.char_indices().skip(1) {
                        let rest = &text[index + letter.len_utf8()..];
                        match letter {
                            'n' | 'E' | 'r' | 's' | 'u' | 'z' => continue,
                            'e' if rest.is_empty() => {
                                pieces.push(piece(args.get(at), report)?);
                                at += 1;
                            }
                            'e' => pieces.push(rest),
                            'l' if rest.is_empty() => {
                                line_length(args.get(at).and_then(Arg::text).unwrap_or(""), text, report);
                                at += 1;
                            }
                            'l' => line_length(rest, text, report),
                            'i' => report.write(Risk::MediumWrite, text, "edits files in place"),
                            _ => report.write(
                                Risk::MediumWrite,
                                text,
                                "is a flag of sed that writes or loads a script",
                            ),
                        }
                        break;
                    }
                }
            }
            if pieces.len() > before && !files.is_empty() {
                // Seds that stop at the first operand take that one as the script.
                report.write(Risk::MediumWrite, text, "is a script behind the files");
            }
        }
        if pieces.is_empty() {
            if files.is_empty() {
                report.write(Risk::MediumWrite, "sed", "has no script");
                return None;
            }
            pieces.push(piece(Some(files.remove(0)), report)?);
        }
        if pieces.iter().any(|piece| piece.ends_with('\\')) {
            report.write(
                Risk::MediumWrite,
                &pieces.join(" "),
                "has a script that ends with a backslash",
            );
        }
        Some(Self {
            script: pieces.join("\n"),
            files,
        })
    }
}

/// The text of a part of the script.
fn piece<'a>(arg: Option<&'a Arg<'_>>, report: &mut Report) -> Option<&'a str> {
    let text = arg.and_then(Arg::text);
    if text.is_none() {
        report.write(
            Risk::HighWrite,
            arg.map_or("sed", |arg| &arg.raw),
            "is a script that depends on a variable or a pattern",
        );
    }
    text
}

/// `-l` takes a number in GNU sed, and nothing in BSD sed: there the number is the script, and no command.
fn line_length(length: &str, flag: &str, report: &mut Report) {
    if length.is_empty() || !length.bytes().all(|b| b.is_ascii_digit()) {
        report.write(
            Risk::MediumWrite,
            flag,
            "takes a value in some seds and not in others",
        );
    }
}
