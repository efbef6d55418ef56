//! When a command line needs no shell.

/// The most words a command line may have to be split here.
const MOST_WORDS: usize = 4096;

/// The words of a command line that is one simple command of plain and quoted words. `None` for everything that only a
/// shell can read: expansions, operators, globs, variables, tildes, comments, assignments, escapes, and what the shell
/// runs inside itself. When in doubt `None`, because a shell reads what it means and a vector does not.
pub fn argv_of(command: &str) -> Option<Vec<String>> {
    let mut words: Vec<String> = Vec::new();
    let mut word: Option<String> = None;
    let mut rest = command.chars();
    while let Some(c) = rest.next() {
        match c {
            ' ' | '\t' => {
                words.extend(word.take());
                if words.len() > MOST_WORDS {
                    return None;
                }
            }
            '\'' | '"' => {
                let text = word.get_or_insert_default();
                loop {
                    match rest.next()? {
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
    is_program.then_some(words)
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
