//! Secrets that are written into the file itself.

use interlock_mask::Masker;
use serde_json::json;

use crate::interpolate::join;
use crate::problem::Problem;
use crate::tree::{Data, Node};

/// Secrets come from the environment or a file. What looks like one and is written here is an error.
pub(crate) fn no_literal_secrets(tree: &Node, problems: &mut Vec<Problem>) {
    let masker = Masker::built_in();
    literal(tree, "", "", &masker, problems);
}

fn literal(node: &Node, path: &str, name: &str, masker: &Masker, problems: &mut Vec<Problem>) {
    match &node.data {
        Data::Text(text) if text.origins.is_empty() => {
            // Instructions and descriptions may speak about passwords; everything else is a setting.
            let prose = matches!(name, "instructions" | "description" | "pattern" | "replacement");
            let secret = !prose && masker.mask_value(&mut json!({ name: text.value })) > 0;
            let known = problems.iter().any(|problem| problem.path == path);
            if secret && !known {
                let problem = Problem::new(
                    path,
                    node.place,
                    "looks like a secret that is written into the file",
                );
                problems.push(
                    problem.help(
                        "take it from the environment with `${NAME}`, or from a file with `${file:PATH}`",
                    ),
                );
            }
        }
        Data::List(items) => {
            for (index, item) in items.iter().enumerate() {
                literal(item, &format!("{path}[{index}]"), name, masker, problems);
            }
        }
        Data::Map(entries) => {
            for (key, value) in entries {
                literal(value, &join(path, &key.text), &key.text, masker, problems);
            }
        }
        _ => {}
    }
}
