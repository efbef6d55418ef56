//! Argument vectors as text for a POSIX shell, and bounds that hold on the other side.

use std::time::Duration;

/// How long a command has to end after it was told to, before it is killed.
const KILL_AFTER: &str = "2";

/// The words as one line that every POSIX shell reads back as these very words.
pub(crate) fn quoted(argv: &[String]) -> String {
    argv.iter().map(|word| quote(word)).collect::<Vec<_>>().join(" ")
}

fn quote(word: &str) -> String {
    let plain = !word.is_empty()
        && word.chars().all(|c| {
            c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | ':' | ',' | '+' | '@' | '%')
        });
    if plain {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// The same command, which ends by itself on the other side even if nobody listens any more.
pub(crate) fn bounded(argv: &[String], wall: Duration) -> Vec<String> {
    let seconds = wall.as_secs().max(1).to_string();
    ["timeout", "-k", KILL_AFTER, &seconds]
        .into_iter()
        .map(str::to_owned)
        .chain(argv.iter().cloned())
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn words_are_quoted_where_a_shell_would_read_more_into_them() {
        let cases = [
            ("nginx", "nginx"),
            ("", "''"),
            ("a b", "'a b'"),
            ("$(id)", "'$(id)'"),
            ("it's", "'it'\\''s'"),
            ("~", "'~'"),
            ("a=b", "'a=b'"),
            ("*", "'*'"),
            ("a\nb", "'a\nb'"),
            ("!x", "'!x'"),
        ];
        for (word, expected) in cases {
            assert_eq!(quote(word), expected);
        }
    }

    /// Reads a line as a POSIX shell does that has only plain words, single quotes and `\'`.
    fn read_back(line: &str) -> Vec<String> {
        let mut words = Vec::new();
        let mut word: Option<String> = None;
        let mut rest = line.chars();
        while let Some(c) = rest.next() {
            match c {
                ' ' => words.extend(word.take()),
                '\'' => {
                    let text = word.get_or_insert_default();
                    text.extend(rest.by_ref().take_while(|c| *c != '\''));
                }
                '\\' => word.get_or_insert_default().extend(rest.next()),
                other => word.get_or_insert_default().push(other),
            }
        }
        words.extend(word);
        words
    }

    proptest! {
        #[test]
        fn any_words_come_back(words in proptest::collection::vec("[^\0]{0,12}", 1..6)) {
            prop_assert_eq!(read_back(&quoted(&words)), words);
        }
    }
}
