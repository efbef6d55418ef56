//! `label_replace` and `label_join`: labels made from labels.

use promql_parser::label::{MatchOp, Matcher};
use promql_parser::parser::token::T_EQL_REGEX;

use super::{Error, Item};

/// Whether a text can name a label.
pub(super) fn is_label_name(text: &str) -> bool {
    let first = |char: char| char.is_ascii_alphabetic() || char == '_';
    text.starts_with(first) && text.chars().all(|char| first(char) || char.is_ascii_digit())
}

fn check_target(target: &str, function: &str) -> Result<(), Error> {
    if is_label_name(target) {
        return Ok(());
    }
    Err(Error::execution(format!(
        "invalid destination label name in {function}(): {target}"
    )))
}

/// One `label_replace`.
pub(super) struct Replace {
    target: String,
    replacement: String,
    source: String,
    // A matcher, because it reads an expression as the selectors of the language do: anchored at both ends.
    matcher: Matcher,
}

impl Replace {
    pub(super) fn new(
        target: String,
        replacement: String,
        source: String,
        pattern: &str,
    ) -> Result<Self, Error> {
        check_target(&target, "label_replace")?;
        let invalid = |_| {
            Error::execution(format!(
                "invalid regular expression in label_replace(): {pattern}"
            ))
        };
        let matcher =
            Matcher::new_matcher(T_EQL_REGEX, source.clone(), pattern.to_owned()).map_err(invalid)?;
        Ok(Self {
            target,
            replacement,
            source,
            matcher,
        })
    }

    pub(super) fn on(&self, items: Vec<Item>) -> Vec<Item> {
        items.into_iter().map(|item| self.one(item)).collect()
    }

    fn one(&self, item: Item) -> Item {
        let MatchOp::Re(pattern) = &self.matcher.op else {
            return item;
        };
        let mut value = String::new();
        match pattern.captures(item.labels.get(&self.source)) {
            Some(found) => found.expand(&self.replacement, &mut value),
            None => return item,
        }
        Item {
            labels: item.labels.with(&self.target, &value),
            ..item
        }
    }
}

pub(super) fn join(
    target: &str,
    separator: &str,
    sources: &[String],
    items: Vec<Item>,
) -> Result<Vec<Item>, Error> {
    check_target(target, "label_join")?;
    let one = |item: Item| {
        let values: Vec<&str> = sources.iter().map(|source| item.labels.get(source)).collect();
        let joined = values.join(separator);
        Item {
            labels: item.labels.with(target, &joined),
            ..item
        }
    };
    Ok(items.into_iter().map(one).collect())
}
