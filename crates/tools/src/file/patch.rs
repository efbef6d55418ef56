//! Replaces parts of a file's content: strictly, so that what was approved is what happens.

use interlock_gate::Plan;
use serde_json::Value;

use crate::Failure;

/// The longest file that is patched, in bytes.
pub(crate) const MOST_BYTES: usize = 4 * 1024 * 1024;

/// One replacement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Edit {
    find: String,
    replace: String,
}

/// The edits that a plan names.
pub(crate) fn edits(plan: &Plan) -> Result<Vec<Edit>, Failure> {
    let given = plan.arguments.get("edits").and_then(Value::as_array);
    let given = given.ok_or_else(|| Failure::missing("edits"))?;
    given
        .iter()
        .map(|edit| {
            let text = |name: &str| edit.get(name).and_then(Value::as_str).map(str::to_owned);
            Ok(Edit {
                find: text("find").ok_or_else(|| Failure::missing("edits/find"))?,
                replace: text("replace").ok_or_else(|| Failure::missing("edits/replace"))?,
            })
        })
        .collect()
}

/// The content after all edits, in order. Each must find its text exactly once, or nothing happens. What the file has is
/// not repeated in a failure: it may be secret.
pub(crate) fn apply(content: &[u8], edits: &[Edit]) -> Result<Vec<u8>, Failure> {
    let mut content = content.to_vec();
    for (index, edit) in edits.iter().enumerate() {
        let find = edit.find.as_bytes();
        let places: Vec<usize> = if find.is_empty() {
            Vec::new()
        } else {
            content
                .windows(find.len())
                .enumerate()
                .filter(|(_, window)| *window == find)
                .map(|(at, _)| at)
                .collect()
        };
        match places.as_slice() {
            [at] => {
                content.splice(*at..at + find.len(), edit.replace.bytes());
            }
            [] => {
                return Err(Failure::invalid(format!(
                    "edit {}: the text to find is not in the file; nothing was changed",
                    index + 1
                ))
                .detail("edit", index + 1)
                .detail("found", 0));
            }
            several => {
                return Err(Failure::invalid(format!(
                    "edit {}: the text to find is in the file {} times; add lines around it. Nothing was changed",
                    index + 1,
                    several.len()
                ))
                .detail("edit", index + 1)
                .detail("found", several.len()));
            }
        }
    }
    Ok(content)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(find: &str, replace: &str) -> Edit {
        Edit {
            find: find.to_owned(),
            replace: replace.to_owned(),
        }
    }

    #[test]
    fn edits_apply_exactly_once_or_not_at_all() {
        let cases: &[(&str, &[Edit], Option<&str>)] = &[
            ("a=1\nb=2\n", &[edit("a=1", "a=3")], Some("a=3\nb=2\n")),
            (
                "a=1\nb=2\n",
                &[edit("a=1\n", ""), edit("b=2", "b=a=1")],
                Some("b=a=1\n"),
            ),
            ("a=1\na=1\n", &[edit("a=1", "x")], None),
            ("aaa", &[edit("aa", "x")], None),
            ("a=1\n", &[edit("c", "x")], None),
            ("a=1\n", &[edit("", "x")], None),
            ("a=1\n", &[edit("a=1", "x"), edit("a=1", "y")], None),
            (
                "secret=hunter2\na=1\n",
                &[edit("a=1", "a=2")],
                Some("secret=hunter2\na=2\n"),
            ),
        ];
        for (content, edits, wanted) in cases {
            let made = apply(content.as_bytes(), edits).ok();
            assert_eq!(
                made.as_deref(),
                wanted.map(str::as_bytes),
                "{content:?} {edits:?}"
            );
        }
        assert_eq!(apply(b"\xffa", &[edit("a", "b")]).unwrap(), b"\xffb");
    }
}
