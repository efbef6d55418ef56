//! The configuration as people may see it.

use serde_json::Value;

use crate::Config;
use crate::tree::{Data, Node, Text};

/// The configuration with its defaults, without anything that came from the environment or a file.
pub(crate) fn of(config: &Config, tree: Option<&Node>) -> Value {
    let mut view = serde_json::to_value(config).unwrap_or_default();
    // Before masking: a text of which a part was masked is not found by what it is.
    if let Some(tree) = tree {
        let mut texts = Vec::new();
        collect(tree, &mut texts);
        hide_equal(&mut view, &texts);
    }
    interlock_mask::Masker::built_in().mask_value(&mut view);
    if let Some(tree) = tree {
        hide_at(&mut view, tree);
    }
    view
}

fn origin(text: &Text) -> Value {
    Value::String(format!("[from {}]", text.origins.join(", ")))
}

/// Every text into which something was put.
fn collect<'n>(node: &'n Node, texts: &mut Vec<&'n Text>) {
    match &node.data {
        Data::Text(text) if !text.origins.is_empty() => texts.push(text),
        Data::List(items) => items.iter().for_each(|item| collect(item, texts)),
        Data::Map(entries) => entries.iter().for_each(|(_, value)| collect(value, texts)),
        _ => {}
    }
}

/// A set has another order than its list, so that its texts are found by what they are.
fn hide_equal(view: &mut Value, texts: &[&Text]) {
    match view {
        Value::String(shown) => {
            if let Some(text) = texts
                .iter()
                .find(|text| !text.value.is_empty() && text.value == *shown)
            {
                *view = origin(text);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| hide_equal(item, texts)),
        Value::Object(entries) => entries.values_mut().for_each(|value| hide_equal(value, texts)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn hide_at(view: &mut Value, node: &Node) {
    match (&node.data, view) {
        (Data::Text(text), view) if !text.origins.is_empty() => *view = origin(text),
        (Data::Map(entries), Value::Object(shown)) => {
            for (name, value) in entries {
                if let Some(shown) = shown.get_mut(&name.text) {
                    hide_at(shown, value);
                }
            }
        }
        (Data::List(items), Value::Array(shown)) => {
            // Texts of a list were found by what they are: a list can have become a set, in another order.
            for (item, shown) in items
                .iter()
                .zip(shown)
                .filter(|(item, _)| !matches!(item.data, Data::Text(_)))
            {
                hide_at(shown, item);
            }
        }
        _ => {}
    }
}
