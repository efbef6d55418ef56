//! Reading the arguments of `pct` and `qm`.

use std::collections::BTreeMap;

/// What was asked for: the words before `--`, the options, and the words after it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Words {
    pub(super) plain: Vec<String>,
    pub(super) options: BTreeMap<String, String>,
    pub(super) rest: Vec<String>,
}

impl Words {
    /// Takes the words apart. After `plain` words the others belong to the program that is to be run, with or without `--`.
    pub(super) fn parse(words: &[String], plain: usize) -> Self {
        let mut parsed = Self::default();
        let mut words = words.iter().peekable();
        while let Some(word) = words.next() {
            if word == "--" {
                parsed.rest.extend(words.cloned());
                return parsed;
            }
            let option = word
                .strip_prefix("--")
                .or_else(|| word.strip_prefix('-').filter(|name| name.len() > 1));
            match option {
                Some(option) => {
                    let (name, value) = if let Some((name, value)) = option.split_once('=') {
                        (name, value.to_owned())
                    } else {
                        let value = words.next_if(|next| !next.starts_with('-'));
                        (option, value.cloned().unwrap_or_else(|| "1".to_owned()))
                    };
                    parsed.options.insert(name.to_owned(), value);
                }
                None if parsed.plain.len() < plain => parsed.plain.push(word.clone()),
                None => {
                    parsed.rest.push(word.clone());
                    parsed.rest.extend(words.filter(|word| *word != "--").cloned());
                    return parsed;
                }
            }
        }
        parsed
    }

    /// Whether an option is switched on.
    pub(super) fn is_on(&self, option: &str) -> bool {
        self.options.get(option).is_some_and(|value| value != "0")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_taken_apart() {
        type Case<'a> = (
            &'a str,
            usize,
            &'a [&'a str],
            &'a [(&'a str, &'a str)],
            &'a [&'a str],
        );
        let cases: [Case<'_>; 6] = [
            ("141", 1, &["141"], &[], &[]),
            ("141 -- ls -l", 1, &["141"], &[], &["ls", "-l"]),
            ("141 ls -l", 1, &["141"], &[], &["ls", "-l"]),
            (
                "203 --timeout 5 -- sleep 1",
                1,
                &["203"],
                &[("timeout", "5")],
                &["sleep", "1"],
            ),
            (
                "203 -synchronous=0 -- id",
                1,
                &["203"],
                &[("synchronous", "0")],
                &["id"],
            ),
            (
                "141 minipc --restart",
                2,
                &["141", "minipc"],
                &[("restart", "1")],
                &[],
            ),
        ];
        for (line, plain, words, options, rest) in cases {
            let line: Vec<String> = line.split(' ').map(str::to_owned).collect();
            let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
            let expected = Words {
                plain: owned(words),
                options: options
                    .iter()
                    .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                    .collect(),
                rest: owned(rest),
            };
            assert_eq!(Words::parse(&line, plain), expected, "{line:?}");
        }
    }
}
