//! Says what is wrong without repeating a value that came from the environment or from a file.
//!
//! No message is cleaned afterwards: messages are made again, from a configuration that never held such a value. Where a text
//! came from outside, that configuration has what the file says: `${NAME}`. If it has the same problem there, that is what is said. If
//! it has none, only the key and the name of the variable are said.

use std::collections::BTreeSet;

use crate::problem::Problem;
use crate::tree::{Data, Node, Text};

/// One step towards a value: the number of an entry of a list or of a map.
type Route = Vec<usize>;

/// What an examination of a tree found.
pub(crate) struct Found {
    pub(crate) problems: Vec<Problem>,
    pub(crate) warnings: Vec<Problem>,
}

/// What is wrong and what is worth knowing, without any value from outside. `written` is the tree as the file has it, `tree`
/// the same with the values put in, `found` what was found there; `examine` looks at another tree in the same way.
pub(crate) fn told(
    written: &Node,
    tree: &Node,
    found: Found,
    mut examine: impl FnMut(&Node) -> Found,
) -> Found {
    let outside = from_outside(tree);
    if outside.is_empty() || (found.problems.is_empty() && found.warnings.is_empty()) {
        return found;
    }
    let (stand_in, kept) = stand_in(written, tree, &outside, &found.problems, &mut examine);
    let again = examine(&stand_in);
    let said = |problems: Vec<Problem>, again: &[Problem]| {
        let mut told: Vec<Problem> = problems
            .into_iter()
            .map(|problem| tell(problem, again, tree, &outside, &kept))
            .collect();
        told.sort();
        told.dedup();
        told
    };
    Found {
        problems: said(found.problems, &again.problems),
        warnings: said(found.warnings, &again.warnings),
    }
}

/// The routes to every text into which something was put.
fn from_outside(node: &Node) -> Vec<Route> {
    fn collect(node: &Node, route: &mut Route, all: &mut Vec<Route>) {
        match &node.data {
            Data::Text(text) if !text.origins.is_empty() => all.push(route.clone()),
            Data::List(items) => {
                for (index, item) in items.iter().enumerate() {
                    route.push(index);
                    collect(item, route, all);
                    route.pop();
                }
            }
            Data::Map(entries) => {
                for (index, (_, value)) in entries.iter().enumerate() {
                    route.push(index);
                    collect(value, route, all);
                    route.pop();
                }
            }
            _ => {}
        }
    }
    let mut all = Vec::new();
    collect(node, &mut Vec::new(), &mut all);
    all
}

/// A tree with what the file says in place of each value from outside. A value that is a number, a time or a word of a list,
/// and that fits, stays: `${NAME}` would not fit there, and would hide what else is wrong. Says which stay.
fn stand_in(
    written: &Node,
    tree: &Node,
    outside: &[Route],
    problems: &[Problem],
    examine: &mut impl FnMut(&Node) -> Found,
) -> (Node, Vec<String>) {
    let mut made = tree.clone();
    let mut kept = Vec::new();
    for route in outside {
        let (Some(source), Some(value)) = (text_at(written, route), text_at(tree, route)) else {
            continue;
        };
        let mut candidate = made.clone();
        put(&mut candidate, route, &source.value);
        let path = path_of(tree, route);
        let is_about = |problem: &Problem| problem.path == path;
        let was_wrong = problems.iter().any(is_about);
        if was_wrong || !examine(&candidate).problems.iter().any(is_about) {
            made = candidate;
        } else {
            kept.push(value.value.clone());
        }
    }
    (made, kept)
}

fn text_at<'n>(node: &'n Node, route: &[usize]) -> Option<&'n Text> {
    match (&node.data, route.split_first()) {
        (Data::Text(text), None) => Some(text),
        (Data::List(items), Some((first, rest))) => text_at(items.get(*first)?, rest),
        (Data::Map(entries), Some((first, rest))) => text_at(&entries.get(*first)?.1, rest),
        _ => None,
    }
}

fn put(node: &mut Node, route: &[usize], value: &str) {
    match (&mut node.data, route.split_first()) {
        (Data::Text(text), None) => value.clone_into(&mut text.value),
        (Data::List(items), Some((first, rest))) => {
            if let Some(item) = items.get_mut(*first) {
                put(item, rest, value);
            }
        }
        (Data::Map(entries), Some((first, rest))) => {
            if let Some((_, item)) = entries.get_mut(*first) {
                put(item, rest, value);
            }
        }
        _ => {}
    }
}

/// The route as problems name it: `models.main.url`, `agents.a.tools[0]`.
fn path_of(node: &Node, route: &[usize]) -> String {
    let mut path = String::new();
    let mut here = Some(node);
    for step in route {
        match here.map(|node| &node.data) {
            Some(Data::List(items)) => {
                path = format!("{path}[{step}]");
                here = items.get(*step);
            }
            Some(Data::Map(entries)) => {
                if let Some((name, value)) = entries.get(*step) {
                    path = crate::interpolate::join(&path, &name.text);
                    here = Some(value);
                }
            }
            _ => {}
        }
    }
    path
}

/// One problem, as it may be said.
fn tell(problem: Problem, again: &[Problem], tree: &Node, outside: &[Route], kept: &[String]) -> Problem {
    let repeats = |problem: &Problem| {
        let help = problem.help.as_deref().unwrap_or_default();
        kept.iter()
            .any(|value| !value.is_empty() && (problem.message.contains(value) || help.contains(value)))
    };
    if again.contains(&problem) && !repeats(&problem) {
        return problem;
    }
    let same = again
        .iter()
        .find(|other| other.path == problem.path && !repeats(other));
    if let Some(same) = same {
        return Problem {
            place: problem.place,
            ..same.clone()
        };
    }
    // Which variables can be meant: those in it, else all.
    let inside = |path: &str| {
        let rest = path.strip_prefix(&problem.path);
        rest.is_some_and(|rest| {
            problem.path.is_empty() || rest.is_empty() || rest.starts_with('.') || rest.starts_with('[')
        })
    };
    let names = |wanted: &dyn Fn(&str) -> bool| -> BTreeSet<String> {
        outside
            .iter()
            .filter(|route| wanted(&path_of(tree, route)))
            .filter_map(|route| text_at(tree, route))
            .flat_map(|text| text.origins.iter().map(|origin| format!("`{origin}`")))
            .collect()
    };
    let within = names(&inside);
    let (message, names) = if within.is_empty() {
        ("does not fit another value, which comes from", names(&|_| true))
    } else {
        ("does not fit; its value comes from", within)
    };
    let listed = names.into_iter().collect::<Vec<_>>().join(", ");
    Problem::new(problem.path, problem.place, format!("{message} {listed}"))
        .help("look at the value there; it is not repeated here, because it can be a secret")
}
