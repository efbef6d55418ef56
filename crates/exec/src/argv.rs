//! When a command line needs no shell.

use interlock_confine::Stderr;

/// The most words a command line may have to be split here.
const MOST_WORDS: usize = 4096;
/// The most programs of a pipeline that is split here.
const MOST_STAGES: usize = 16;

/// One program of a pipeline that needs no shell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Simple {
    /// Its words; the first is the program.
    pub words: Vec<String>,
    /// Where its error stream goes.
    pub stderr: Stderr,
    /// Its part of the command line.
    pub text: String,
}

/// The words of a command line that is one simple command of plain and quoted words. `None` for everything that only a
/// shell can read: expansions, operators, globs, variables, tildes, comments, assignments, escapes, and what the shell
/// runs inside itself. When in doubt `None`, because a shell reads what it means and a vector does not.
pub fn argv_of(command: &str) -> Option<Vec<String>> {
    match pipeline_of(command)?.as_mut_slice() {
        [only] if only.stderr == Stderr::Kept => Some(std::mem::take(&mut only.words)),
        _ => None,
    }
}

/// The programs of a command line that is a pipeline of simple commands, each of plain and quoted words, with
/// `2>/dev/null` or `2>&1` behind them at most. `None` for everything else, as for [`argv_of`].
pub fn pipeline_of(command: &str) -> Option<Vec<Simple>> {
    let mut stages = Vec::new();
    let mut rest = command;
    loop {
        let (stage, next) = simple(rest)?;
        stages.push(stage);
        match next {
            None => return Some(stages),
            Some(next) => rest = next,
        }
        if stages.len() > MOST_STAGES {
            return None;
        }
    }
}

/// The first program of a pipeline, and what stands behind the `|` after it.
fn simple(command: &str) -> Option<(Simple, Option<&str>)> {
    let mut words: Vec<String> = Vec::new();
    let mut word: Option<String> = None;
    let mut stderr = Stderr::Kept;
    let mut rest = command.char_indices();
    let mut next = None;
    let mut end = command.len();
    while let Some((at, c)) = rest.next() {
        match c {
            ' ' | '\t' => {
                words.extend(word.take());
                if words.len() > MOST_WORDS {
                    return None;
                }
            }
            // Every shell reads a digit before `>` as a descriptor only where a word begins.
            '2' if word.is_none() && command[at..].starts_with("2>") => {
                let (target, length) = redirection(&command[at..])?;
                if stderr != Stderr::Kept {
                    return None;
                }
                stderr = target;
                let (tail, behind) = only_spaces_until_pipe(&command[at + length..])?;
                end = at + length + tail;
                next = behind;
                break;
            }
            '|' => {
                end = at;
                next = Some(pipe(&command[at..])?);
                break;
            }
            '\'' | '"' => {
                let text = word.get_or_insert_default();
                loop {
                    match rest.next()?.1 {
                        end if end == c => break,
                        '\0' => return None,
                        // `!` is history to some shells, the others are expansions.
                        '$' | '`' | '\\' | '!' if c == '"' => return None,
                        other => text.push(other),
                    }
                }
            }
            plain if is_plain(plain) => word.get_or_insert_default().push(plain),
            _ => return None,
        }
    }
    words.extend(word);
    let first = words.first()?;
    let is_program = !first.is_empty() && !first.contains('=') && !runs_inside_the_shell(first);
    let stage = Simple {
        words,
        stderr,
        text: command[..end].trim().to_owned(),
    };
    is_program.then_some((stage, next))
}

/// What stands behind a single `|`.
fn pipe(text: &str) -> Option<&str> {
    let behind = text.strip_prefix('|')?;
    // `||` is another operator, and `|&` one that some shells have.
    (!behind.starts_with(['|', '&'])).then_some(behind)
}

/// Where the error stream goes, by a redirection that ends its word, and how long that is.
fn redirection(text: &str) -> Option<(Stderr, usize)> {
    let (target, length) = [
        ("2>/dev/null", Stderr::Null),
        ("2> /dev/null", Stderr::Null),
        ("2>&1", Stderr::Output),
    ]
    .into_iter()
    .find(|(form, _)| text.starts_with(form))
    .map(|(form, target)| (target, form.len()))?;
    let ends = text[length..]
        .chars()
        .next()
        .is_none_or(|c| matches!(c, ' ' | '\t' | '|'));
    ends.then_some((target, length))
}

/// A redirection is the last of its command here: how many spaces follow it, and what stands behind the `|`.
fn only_spaces_until_pipe(text: &str) -> Option<(usize, Option<&str>)> {
    let behind = text.trim_start_matches([' ', '\t']);
    let spaces = text.len() - behind.len();
    if behind.is_empty() {
        Some((spaces, None))
    } else {
        Some((spaces, Some(pipe(behind)?)))
    }
}

/// Characters that mean themselves to every shell, wherever they stand.
const fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | ':' | ',' | '+' | '@' | '%' | '=')
}

/// Reserved words and built-in commands of bash and of a plain shell. Some have a program of the same name that does not
/// do quite the same.
fn runs_inside_the_shell(word: &str) -> bool {
    matches!(
        word,
        "." | ":"
            | "["
            | "[["
            | "]]"
            | "{"
            | "}"
            | "!"
            | "alias"
            | "bg"
            | "bind"
            | "break"
            | "builtin"
            | "caller"
            | "case"
            | "cd"
            | "chdir"
            | "command"
            | "compgen"
            | "complete"
            | "compopt"
            | "continue"
            | "coproc"
            | "declare"
            | "dirs"
            | "disown"
            | "do"
            | "done"
            | "echo"
            | "elif"
            | "else"
            | "enable"
            | "esac"
            | "eval"
            | "exec"
            | "exit"
            | "export"
            | "false"
            | "fc"
            | "fg"
            | "fi"
            | "for"
            | "function"
            | "getopts"
            | "hash"
            | "help"
            | "history"
            | "if"
            | "in"
            | "jobs"
            | "kill"
            | "let"
            | "local"
            | "logout"
            | "mapfile"
            | "popd"
            | "printf"
            | "pushd"
            | "pwd"
            | "read"
            | "readarray"
            | "readonly"
            | "return"
            | "select"
            | "set"
            | "shift"
            | "shopt"
            | "source"
            | "suspend"
            | "test"
            | "then"
            | "time"
            | "times"
            | "trap"
            | "true"
            | "type"
            | "typeset"
            | "ulimit"
            | "umask"
            | "unalias"
            | "unset"
            | "until"
            | "wait"
            | "while"
    )
}
