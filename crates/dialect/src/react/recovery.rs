//! Finds the action of an input whose `Action:` line is missing: models bury it in their thought.

use crate::Offer;

const WORD: &str = "action";

/// The last action that the text names: after `action:`, else after the word alone, in any case. A tool of a server is
/// taken by its form, `server.tool`; one of ours, which has no dot, only if it is offered.
pub(super) fn action_before(text: &str, offer: &Offer) -> Option<String> {
    let with_colon = last_mention(text, |rest| rest.strip_prefix(':'));
    let alone = || {
        last_mention(text, |rest| {
            if rest.starts_with(is_word) {
                None
            } else {
                Some(rest)
            }
        })
    };
    let name = |rest: &str| {
        let line = rest.lines().map(str::trim).find(|line| !line.is_empty())?;
        let name = line.trim_matches(['`', '*']).trim();
        (is_server_tool(name) || offer.find(name).is_ok()).then(|| name.to_owned())
    };
    with_colon.and_then(name).or_else(|| alone().and_then(name))
}

/// What follows the last mention of the word that `accept` takes.
fn last_mention(text: &str, accept: impl Fn(&str) -> Option<&str>) -> Option<&str> {
    let bytes = text.as_bytes();
    (0..=bytes.len().checked_sub(WORD.len())?).rev().find_map(|at| {
        // The word is ASCII: where it matches, both its ends are at characters.
        let after = bytes.get(at + WORD.len()..)?;
        let matches = bytes[at..at + WORD.len()].eq_ignore_ascii_case(WORD.as_bytes());
        let begins = !text.get(..at)?.ends_with(is_word);
        if matches && begins {
            accept(text.get(bytes.len() - after.len()..)?)
        } else {
            None
        }
    })
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn is_server_tool(name: &str) -> bool {
    let part = |part: &str| {
        !part.is_empty()
            && part
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
    };
    name.split_once('.')
        .is_some_and(|(server, tool)| part(server) && part(tool))
}
