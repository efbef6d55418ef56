//! Takes a line of shell apart, naively: commands joined by pipes and the like, plain words, simple redirections. Anything
//! else is refused.

use std::io;

/// A part of a line.
#[derive(Debug, PartialEq, Eq)]
enum Part {
    /// A word, and whether it has a pattern that the shell is to fill in.
    Word(String, bool),
    /// What joins commands.
    Joint(&'static str),
    /// Where output goes, or input comes from; a file follows.
    Redirect(&'static str),
    /// Errors go where output goes.
    Merge,
}

fn refused(why: &str) -> io::Error {
    io::Error::other(format!("sh: {why}: not understood (this lab has no namespaces)"))
}

/// Rewrites a line: each command through `check`, which is given its words, the program first, and gives them back as
/// they may be run.
pub(super) fn rewrite(
    line: &str,
    check: impl Fn(&[String]) -> io::Result<Vec<String>>,
) -> io::Result<String> {
    let mut out = String::new();
    let mut words: Vec<(String, bool)> = Vec::new();
    let mut redirects = String::new();
    let mut parts = parts(line)?.into_iter();
    let flush = |words: &mut Vec<(String, bool)>, redirects: &mut String, out: &mut String| {
        let plain: Vec<String> = words.iter().map(|(word, _)| word.clone()).collect();
        let checked = check(&plain)?;
        // What the check puts in comes right after the program.
        let added = checked.len().saturating_sub(words.len());
        for (number, word) in checked.iter().enumerate() {
            let pattern = number > added && words.get(number - added).is_some_and(|(_, pattern)| *pattern);
            out.push_str(&if pattern { escape(word) } else { quote(word) });
            out.push(' ');
        }
        out.push_str(redirects);
        words.clear();
        redirects.clear();
        Ok::<(), io::Error>(())
    };
    while let Some(part) = parts.next() {
        match part {
            Part::Word(word, pattern) => words.push((word, pattern)),
            Part::Joint(joint) => {
                flush(&mut words, &mut redirects, &mut out)?;
                out.push_str(joint);
                out.push(' ');
            }
            Part::Merge => redirects.push_str("2>&1 "),
            Part::Redirect(how) => {
                let Some(Part::Word(file, false)) = parts.next() else {
                    return Err(refused("a redirection"));
                };
                // The check knows what to make of a path.
                let checked = check(&["cat".to_owned(), file])?;
                let file = checked.get(1).cloned().unwrap_or_default();
                redirects.push_str(&format!("{how}{} ", quote(&file)));
            }
        }
    }
    if !words.is_empty() || !redirects.is_empty() {
        flush(&mut words, &mut redirects, &mut out)?;
    }
    Ok(out)
}

fn quote(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// Everything but what makes a pattern.
fn escape(word: &str) -> String {
    let mut out = String::new();
    for letter in word.chars() {
        if !letter.is_ascii_alphanumeric() && !"*?[]/.-_".contains(letter) {
            out.push('\\');
        }
        out.push(letter);
    }
    out
}

fn parts(line: &str) -> io::Result<Vec<Part>> {
    let mut parts = Vec::new();
    let mut word: Option<(String, bool)> = None;
    let mut letters = line.trim().chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\'' => {
                let (text, _) = word.get_or_insert_default();
                loop {
                    match letters.next() {
                        Some('\'') => break,
                        Some(letter) => text.push(letter),
                        None => return Err(refused("an open quote")),
                    }
                }
            }
            '"' => {
                let (text, _) = word.get_or_insert_default();
                loop {
                    match letters.next() {
                        Some('"') => break,
                        Some('$' | '`') => return Err(refused("an expansion")),
                        Some('\\') => text.extend(letters.next()),
                        Some(letter) => text.push(letter),
                        None => return Err(refused("an open quote")),
                    }
                }
            }
            '\\' => word.get_or_insert_default().0.extend(letters.next()),
            '$' | '`' | '(' | ')' | '{' | '}' | '!' | '#' | '~' => return Err(refused("an expansion")),
            ' ' | '\t' => parts.extend(word.take().map(|(text, pattern)| Part::Word(text, pattern))),
            '|' | '&' | ';' | '\n' => {
                parts.extend(word.take().map(|(text, pattern)| Part::Word(text, pattern)));
                let double = letters.next_if_eq(&letter).is_some();
                parts.push(Part::Joint(match (letter, double) {
                    ('|', false) => "|",
                    ('|', true) => "||",
                    ('&', true) => "&&",
                    (';', false) | ('\n', _) => ";",
                    _ => return Err(refused("running aside")),
                }));
            }
            '>' | '<' => {
                let errors = word.take_if(|(text, _)| text == "2").is_some();
                parts.extend(word.take().map(|(text, pattern)| Part::Word(text, pattern)));
                let double = letters.next_if_eq(&letter).is_some();
                if letters.next_if_eq(&'&').is_some() {
                    if !(errors && letters.next_if_eq(&'1').is_some()) {
                        return Err(refused("a redirection"));
                    }
                    parts.push(Part::Merge);
                    continue;
                }
                parts.push(Part::Redirect(match (letter, double, errors) {
                    ('>', false, false) => ">",
                    ('>', true, false) => ">>",
                    ('>', false, true) => "2>",
                    ('<', false, false) => "<",
                    _ => return Err(refused("a redirection")),
                }));
            }
            '*' | '?' | '[' | ']' => {
                let (text, pattern) = word.get_or_insert_default();
                text.push(letter);
                *pattern = true;
            }
            _ => word.get_or_insert_default().0.push(letter),
        }
    }
    parts.extend(word.map(|(text, pattern)| Part::Word(text, pattern)));
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::rewrite;

    #[test]
    fn lines_are_rewritten_or_refused() {
        let check = |words: &[String]| match words.first().map(String::as_str) {
            Some("cat" | "sort" | "awk") => Ok(words
                .iter()
                .map(|word| word.replace("/var", "/lab/var"))
                .collect()),
            other => Err(std::io::Error::other(format!("{other:?}"))),
        };
        let cases = [
            (
                "awk '{print $1}' /var/x | sort",
                Some("'awk' '{print $1}' '/lab/var/x' | 'sort' "),
            ),
            (
                "cat /var/*.log 2>/dev/null",
                Some("'cat' /lab/var/*.log 2>'/dev/null' "),
            ),
            (
                "cat x > /var/y && sort",
                Some("'cat' 'x' >'/lab/var/y' && 'sort' "),
            ),
            ("cat \"a b\"; sort 2>&1", Some("'cat' 'a b' ; 'sort' 2>&1 ")),
            ("cat $(id)", None),
            ("cat `id`", None),
            ("id", None),
            ("cat x | id", None),
            ("cat x & id", None),
            ("cat \"$HOME\"", None),
            ("cat 'x", None),
            ("A=b cat x", None),
        ];
        for (line, expected) in cases {
            assert_eq!(rewrite(line, check).ok().as_deref(), expected, "{line}");
        }
    }
}
