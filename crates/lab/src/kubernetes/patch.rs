//! Patches: merge, strategic merge and JSON patch.

use serde_json::{Map, Value};

const DEEPEST: usize = 64;

/// How a patch is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Patch {
    Merge,
    /// Lists of named things are merged by name.
    Strategic,
    Json,
}

impl Patch {
    pub(super) fn of(content_type: &str) -> Option<Self> {
        match content_type.split(';').next().unwrap_or_default().trim() {
            "application/merge-patch+json" => Some(Self::Merge),
            "application/strategic-merge-patch+json" => Some(Self::Strategic),
            "application/json-patch+json" => Some(Self::Json),
            _ => None,
        }
    }

    /// The object with the patch applied, or why not.
    pub(super) fn apply(self, object: &Value, patch: &Value) -> Result<Value, String> {
        let mut object = object.clone();
        match self {
            Self::Json => {
                let steps = patch.as_array().ok_or("a JSON patch is a list")?;
                for step in steps {
                    self::step(&mut object, step)?;
                }
            }
            Self::Merge | Self::Strategic if !patch.is_object() => {
                return Err("a patch is an object".to_owned());
            }
            Self::Merge => merge(&mut object, patch, false, 0),
            Self::Strategic => merge(&mut object, patch, true, 0),
        }
        Ok(object)
    }
}

fn merge(target: &mut Value, patch: &Value, strategic: bool, depth: usize) {
    let Value::Object(changes) = patch else {
        *target = patch.clone();
        return;
    };
    if depth > DEEPEST {
        return;
    }
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Some(fields) = target.as_object_mut() else {
        return;
    };
    for (key, change) in changes {
        if strategic && key.starts_with('$') {
            continue;
        }
        if change.is_null() {
            fields.shift_remove(key);
            continue;
        }
        let field = fields.entry(key.clone()).or_insert(Value::Null);
        match change.as_array().filter(|_| strategic) {
            Some(items) if items.iter().all(|item| item["name"].is_string()) && !items.is_empty() => {
                merge_named(field, items, depth);
            }
            _ => merge(field, change, strategic, depth + 1),
        }
    }
}

fn merge_named(field: &mut Value, items: &[Value], depth: usize) {
    if !field.is_array() {
        *field = Value::Array(Vec::new());
    }
    let Some(list) = field.as_array_mut() else { return };
    for item in items {
        let there = list.iter().position(|one| one["name"] == item["name"]);
        match (there, item["$patch"] == "delete") {
            (Some(index), true) => {
                list.remove(index);
            }
            (None, true) => {}
            (Some(index), false) => merge(&mut list[index], item, true, depth + 1),
            (None, false) => list.push(item.clone()),
        }
    }
}

fn step(object: &mut Value, step: &Value) -> Result<(), String> {
    let path = step["path"].as_str().ok_or("a step without a path")?;
    let missing = || format!("the path {path} is not there");
    match step["op"].as_str().unwrap_or_default() {
        "test" if object.pointer(path) == Some(&step["value"]) => Ok(()),
        "test" => Err(format!("testing path {path} failed")),
        "replace" => {
            *object.pointer_mut(path).ok_or_else(missing)? = step["value"].clone();
            Ok(())
        }
        "add" | "remove" => {
            let (parent, key) = path.rsplit_once('/').ok_or_else(missing)?;
            let key = key.replace("~1", "/").replace("~0", "~");
            let add = step["op"] == "add";
            match object.pointer_mut(parent).ok_or_else(missing)? {
                Value::Object(fields) if add => {
                    fields.insert(key, step["value"].clone());
                }
                Value::Object(fields) => {
                    fields.shift_remove(&key).ok_or_else(missing)?;
                }
                Value::Array(list) if add && key == "-" => list.push(step["value"].clone()),
                Value::Array(list) => {
                    let index: usize = key.parse().map_err(|_| missing())?;
                    if add && index <= list.len() {
                        list.insert(index, step["value"].clone());
                    } else if !add && index < list.len() {
                        list.remove(index);
                    } else {
                        return Err(missing());
                    }
                }
                _ => return Err(missing()),
            }
            Ok(())
        }
        other => Err(format!("unknown operation `{other}`")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Patch;

    #[test]
    fn patches_change_objects() {
        let object = json!({ "spec": { "replicas": 1, "containers": [{ "name": "a", "image": "x:1" }, { "name": "b" }] } });
        for (kind, patch, expected) in [
            (
                Patch::Merge,
                json!({ "spec": { "replicas": 3, "containers": null } }),
                Ok(json!({ "spec": { "replicas": 3 } })),
            ),
            (
                Patch::Strategic,
                json!({ "spec": { "$setElementOrder/containers": [], "containers": [{ "name": "a", "image": "x:2" }] } }),
                Ok(
                    json!({ "spec": { "replicas": 1, "containers": [{ "name": "a", "image": "x:2" }, { "name": "b" }] } }),
                ),
            ),
            (
                Patch::Strategic,
                json!({ "spec": { "containers": [{ "name": "b", "$patch": "delete" }] } }),
                Ok(json!({ "spec": { "replicas": 1, "containers": [{ "name": "a", "image": "x:1" }] } })),
            ),
            (
                Patch::Json,
                json!([{ "op": "test", "path": "/spec/replicas", "value": 1 }, { "op": "remove", "path": "/spec/containers" }]),
                Ok(json!({ "spec": { "replicas": 1 } })),
            ),
            (
                Patch::Json,
                json!([{ "op": "add", "path": "/x/y", "value": 1 }]),
                Err("the path /x/y is not there".to_owned()),
            ),
            (Patch::Json, json!({}), Err("a JSON patch is a list".to_owned())),
            (Patch::Merge, json!([1]), Err("a patch is an object".to_owned())),
        ] {
            assert_eq!(kind.apply(&object, &patch), expected, "{patch}");
        }
    }
}
