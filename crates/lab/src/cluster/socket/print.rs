//! How `pct` and `qm` write words, sizes and objects.

use serde_json::Value;

use crate::cluster::{GuestStatus, numbers};

/// The word for how a guest is.
pub(super) const fn status_word(status: GuestStatus) -> &'static str {
    match status {
        GuestStatus::Running => "running",
        GuestStatus::Paused => "paused",
        GuestStatus::Stopped => "stopped",
        GuestStatus::Unknown => "unknown",
    }
}

/// A size for people.
pub(super) fn people(bytes: u64) -> String {
    match bytes {
        bytes if bytes >= 1 << 30 => format!("{:.1}G", numbers::ratio(bytes, 1 << 30)),
        bytes if bytes >= 1 << 20 => format!("{:.1}M", numbers::ratio(bytes, 1 << 20)),
        bytes => format!("{:.1}K", numbers::ratio(bytes, 1 << 10)),
    }
}

/// An object as Perl prints it: sorted, three spaces, a space before the colon.
pub(super) fn perl_json(value: &Value) -> String {
    let Value::Object(fields) = value else {
        return format!("{value}\n");
    };
    let mut fields: Vec<_> = fields.iter().collect();
    fields.sort_by_key(|(key, _)| key.as_str());
    let lines: Vec<String> = fields
        .into_iter()
        .map(|(key, value)| format!("   \"{key}\" : {value}"))
        .collect();
    format!("{{\n{}\n}}\n", lines.join(",\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn json_looks_as_perl_prints_it() {
        let value = json!({ "out-data": "a\n\"b\"", "exitcode": 0, "exited": 1 });
        assert_eq!(
            perl_json(&value),
            "{\n   \"exitcode\" : 0,\n   \"exited\" : 1,\n   \"out-data\" : \"a\\n\\\"b\\\"\"\n}\n"
        );
    }
}
