//! The analyses of sed, awk and arithmetic as they were: scanners that guess where an expression ends. They had holes. A generator that
//! does not find these would not find others.

use crate::arena::called_a_read;

/// Whether the former analysis called this a read. Only commands with one script are answered.
pub(crate) fn sed_reads(command: &str) -> bool {
    only_script(command).is_some_and(|script| sed_script(&script).is_ok())
}

/// Whether the former analysis called this a read. Only commands with one program are answered.
pub(crate) fn awk_reads(command: &str) -> bool {
    only_script(command).is_some_and(|script| awk_program(&script).is_ok())
}

/// Whether arithmetic used to be called a read here: it was looked for up to the first `))`, and only its characters counted.
pub(crate) fn shell_reads(command: &str) -> bool {
    let Some((before, rest)) = command.split_once("$((") else {
        return false;
    };
    let Some((expression, behind)) = rest.split_once("))") else {
        return false;
    };
    let fine = |c: char| c.is_ascii_digit() || c.is_ascii_whitespace() || "+-*/%()<>=!&|^~?:,".contains(c);
    expression.chars().all(fine) && called_a_read(&format!("{before}1{behind}"))
}

/// The one word in single quotes of a command that a generator made.
fn only_script(command: &str) -> Option<String> {
    let dense = command.replace("'\\''", "\0");
    let mut parts = dense.split('\'');
    let (_, script, behind) = (parts.next()?, parts.next()?, parts.next()?);
    (parts.next().is_none() && behind == " f").then(|| script.replace('\0', "'"))
}

/// Walks the commands of a sed script.
fn sed_script(script: &str) -> Result<(), &'static str> {
    let chars: Vec<char> = script.chars().collect();
    let mut at = 0;
    loop {
        skip(&chars, &mut at, |c| c.is_whitespace() || c == ';');
        let Some(&start) = chars.get(at) else {
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
            'r' | 'R' => skip(&chars, &mut at, |c| c != '\n'),
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
fn awk_program(program: &str) -> Result<(), &'static str> {
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
