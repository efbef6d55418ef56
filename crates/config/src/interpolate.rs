//! `${NAME}`, `${NAME:-default}` and `${file:PATH}` in texts.
//!
//! This happens after the file was read, so that no value can add a key or change a type. `$${` stands for `${`.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use crate::load::Outside;
use crate::problem::Problem;
use crate::tree::{Data, Node, Text};

/// The largest secret that a file may hold.
const MAX_SECRET_BYTES: u64 = 64 * 1024;

/// Where values come from.
pub(crate) struct Sources<'a> {
    pub(crate) variable: &'a dyn Fn(&str) -> Option<String>,
    /// The folder that paths are relative to.
    pub(crate) folder: &'a Path,
    /// The files that were read.
    pub(crate) read: RefCell<Vec<PathBuf>>,
    /// The values that were put in.
    pub(crate) values: RefCell<Vec<Outside>>,
}

/// Puts values in, everywhere in the tree.
pub(crate) fn interpolate(node: &mut Node, path: &str, sources: &Sources<'_>, problems: &mut Vec<Problem>) {
    match &mut node.data {
        Data::Text(text) => {
            if text.value.contains('$') {
                match resolve(&text.value, sources) {
                    Ok(resolved) => *text = resolved,
                    Err((message, help)) => problems.push(Problem::new(path, node.place, message).help(help)),
                }
            }
        }
        Data::List(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                interpolate(item, &format!("{path}[{index}]"), sources, problems);
            }
        }
        Data::Map(entries) => {
            for (name, value) in entries {
                interpolate(value, &join(path, &name.text), sources, problems);
            }
        }
        Data::Null | Data::Bool(_) | Data::Integer(_) | Data::Float(_) => {}
    }
}

/// The path of a key below another.
pub(crate) fn join(path: &str, name: &str) -> String {
    if path.is_empty() {
        name.to_owned()
    } else {
        format!("{path}.{name}")
    }
}

type Wrong = (String, &'static str);

fn resolve(text: &str, sources: &Sources<'_>) -> Result<Text, Wrong> {
    let mut value = String::with_capacity(text.len());
    let mut found = Vec::new();
    let mut interpolated = false;
    let mut rest = text;
    while let Some(dollar) = rest.find('$') {
        value.push_str(&rest[..dollar]);
        let from = &rest[dollar..];
        if let Some(after) = from.strip_prefix("$${") {
            value.push_str("${");
            rest = after;
        } else if let Some(after) = from.strip_prefix("${") {
            let Some(end) = after.find('}') else {
                return Err((
                    "`${` has no `}`".to_owned(),
                    "close it, or write `$${` for the characters themselves",
                ));
            };
            let (part, origin) = reference(&after[..end], sources)?;
            value.push_str(&part);
            if let Some(origin) = origin {
                found.push((part, origin));
            }
            interpolated = true;
            rest = &after[end + 1..];
        } else {
            value.push('$');
            rest = &from[1..];
        }
    }
    value.push_str(rest);
    let in_address = value.contains("://");
    let origins = found.iter().map(|(_, origin)| origin.clone()).collect();
    sources
        .values
        .borrow_mut()
        .extend(found.into_iter().map(|(value, origin)| Outside {
            value,
            origin,
            in_address,
        }));
    Ok(Text {
        value,
        interpolated,
        origins,
    })
}

/// The value of what stands between the braces, and its origin unless it is written in the file itself.
fn reference(inside: &str, sources: &Sources<'_>) -> Result<(String, Option<String>), Wrong> {
    if let Some(path) = inside.strip_prefix("file:") {
        let file = sources.folder.join(path);
        let content = read_file(&file)?;
        sources.read.borrow_mut().push(file);
        return Ok((content, Some(format!("file {path}"))));
    }
    let (name, default) = match inside.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (inside, None),
    };
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    if name.is_empty() || name.as_bytes()[0].is_ascii_digit() || !name.bytes().all(plain) {
        let shown: String = name.chars().take(40).collect();
        return Err((
            format!("`{shown}` is no name of an environment variable"),
            "write `${NAME}`, `${NAME:-default}` or `${file:PATH}`, or `$${` for the characters themselves",
        ));
    }
    if default.is_some_and(|default| default.contains("${")) {
        return Err((
            "a default cannot hold another `${`".to_owned(),
            "give the default as plain text",
        ));
    }
    match ((sources.variable)(name), default) {
        (Some(value), Some(default)) if value.is_empty() => Ok((default.to_owned(), None)),
        (Some(value), _) => Ok((value, Some(name.to_owned()))),
        (None, Some(default)) => Ok((default.to_owned(), None)),
        (None, None) => Err((
            format!("the environment variable `{name}` is not set"),
            "set it, or give a default with `${NAME:-default}`",
        )),
    }
}

fn read_file(path: &Path) -> Result<String, Wrong> {
    let shown = path.display();
    let wrong = |reason: String| {
        (
            format!("the file `{shown}` cannot be read: {reason}"),
            "check the path and its permissions",
        )
    };
    let data = std::fs::metadata(path).map_err(|error| wrong(error.to_string()))?;
    if !data.is_file() {
        return Err(wrong("it is no file".to_owned()));
    }
    if data.len() > MAX_SECRET_BYTES {
        return Err(wrong("it is larger than 64 KiB".to_owned()));
    }
    let text = std::fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
    Ok(text
        .strip_suffix('\n')
        .map_or(text.as_str(), |text| text.strip_suffix('\r').unwrap_or(text))
        .to_owned())
}
