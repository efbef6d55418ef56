//! The forms in which alerts come, and what is read from each. One that cannot be read is rejected by itself.

use std::collections::BTreeMap;

use http::HeaderMap;
use interlock_engine::{Alert, AlertMapping};
use interlock_protocol::{ContentHash, Severity};
use jiff::Timestamp;
use serde_json::{Map, Value, json};

/// An alert, or why it is none.
pub(super) type Read = Result<Alert, String>;

/// One alert of Alertmanager or Grafana.
pub(super) fn webhook(source: &str, alert: Value) -> Read {
    let Value::Object(fields) = &alert else {
        return Err("an alert must be an object".to_owned());
    };
    let labels = match fields.get("labels") {
        None => &Map::new(),
        Some(Value::Object(labels)) => labels,
        Some(_) => return Err("`labels` must be an object".to_owned()),
    };
    if let Some((name, _)) = labels.iter().find(|(_, value)| !value.is_string()) {
        return Err(format!(
            "the label `{}` must be a text",
            super::extract::short(name)
        ));
    }
    match fields.get("annotations") {
        None | Some(Value::Object(_)) => {}
        Some(_) => return Err("`annotations` must be an object".to_owned()),
    }
    let firing = match fields.get("status").map(|status| (status, status.as_str())) {
        None | Some((_, Some("firing"))) => true,
        Some((_, Some("resolved"))) => false,
        Some(_) => return Err("`status` must be `firing` or `resolved`".to_owned()),
    };
    let fingerprint = match fields.get("fingerprint") {
        None | Some(Value::Null) => None,
        Some(Value::String(text)) if text.is_empty() => None,
        Some(Value::String(text)) => Some(text.clone()),
        Some(_) => return Err("`fingerprint` must be a text".to_owned()),
    };
    let starts_at = match fields.get("startsAt") {
        None | Some(Value::Null) => None,
        Some(value) => Some(moment(value).ok_or("`startsAt` must be a time such as `2026-01-31T12:00:00Z`")?),
    };
    let named = labels.get("alert_type").or_else(|| labels.get("alertname"));
    let alert_type = named.and_then(Value::as_str).map(str::to_owned);
    // Without a fingerprint of its own, an alert is what its labels say.
    let sorted: BTreeMap<&String, &Value> = labels.iter().collect();
    let fingerprint = fingerprint.unwrap_or_else(|| ContentHash::of(json!(sorted).to_string()).to_string());
    Ok(Alert {
        alert_type,
        fingerprint: Some(fingerprint),
        firing,
        starts_at,
        ..Alert::firing(source, alert)
    })
}

/// One event of the `CloudEvents` specification.
pub(super) fn cloud_event(event: Value) -> Read {
    let Value::Object(fields) = &event else {
        return Err("an event must be an object".to_owned());
    };
    let word = |name: &str| {
        fields
            .get(name)
            .and_then(Value::as_str)
            .filter(|text| !text.is_empty())
    };
    let needed = |name: &str| word(name).ok_or_else(|| format!("the event has no `{name}`"));
    if needed("specversion")? != "1.0" {
        return Err("`specversion` must be `1.0`".to_owned());
    }
    let (kind, source, id) = (needed("type")?, needed("source")?, needed("id")?);
    let data = fields.get("data");
    let in_data = |name: &str| data.and_then(|data| data.get(name)).and_then(Value::as_str);
    let said = |name: &str| word(name).or_else(|| in_data(name));
    let over = |text: &str| {
        matches!(
            text.to_ascii_lowercase().as_str(),
            "resolved" | "ok" | "closed" | "recovered"
        )
    };
    let (alert_type, ended) = match kind.rsplit_once('.') {
        Some((alert_type, end)) if over(end) => (alert_type, true),
        _ => (kind, false),
    };
    let firing = !(ended || said("status").is_some_and(over));
    if let Some(value) = fields.get("time").filter(|value| !value.is_null()) {
        moment(value).ok_or("`time` must be a time such as `2026-01-31T12:00:00Z`")?;
    }
    let about = said("subject").map(str::to_owned);
    let fingerprint = said("fingerprint").map(str::to_owned);
    let fingerprint = fingerprint
        .unwrap_or_else(|| ContentHash::of(json!([source, about, alert_type]).to_string()).to_string());
    Ok(Alert {
        alert_type: Some(alert_type.to_owned()),
        fingerprint: Some(fingerprint),
        // An event with the same source and id is the same one, says the specification.
        idempotency_key: Some(ContentHash::of(json!([source, id]).to_string()).to_string()),
        firing,
        // The time of an event says when it was told, not since when something fires.
        starts_at: said("starts_at").and_then(|text| moment(&json!(text))),
        severity: said("severity").map(Severity::of_label),
        title: said("title").or_else(|| in_data("summary")).map(str::to_owned),
        about,
        ..Alert::firing("cloudevents", event)
    })
}

/// An event whose attributes are in the headers and whose data is the body.
pub(super) fn binary_event(headers: &HeaderMap, data: Value) -> Option<Value> {
    headers.get("ce-specversion")?;
    let mut event = Map::new();
    for (name, value) in headers {
        if let (Some(name), Ok(value)) = (name.as_str().strip_prefix("ce-"), value.to_str()) {
            event.insert(name.to_owned(), Value::String(value.to_owned()));
        }
    }
    event.insert("data".to_owned(), data);
    Some(Value::Object(event))
}

/// The alerts in a body of a form that the configuration describes.
pub(super) fn mapped(name: &str, mapping: &AlertMapping, body: Value) -> Result<Vec<(Read, Value)>, String> {
    let alerts = match &mapping.alerts {
        None => vec![body],
        Some(place) => match body.pointer(place) {
            Some(Value::Array(alerts)) => alerts.clone(),
            Some(_) => return Err(format!("`{place}` is not a list")),
            None => return Err(format!("there is no list at `{place}`")),
        },
    };
    let read = |alert: Value| (one_mapped(name, mapping, &alert), alert);
    Ok(alerts.into_iter().map(read).collect())
}

fn one_mapped(name: &str, mapping: &AlertMapping, alert: &Value) -> Read {
    let at = |place: &Option<String>| place.as_deref().and_then(|place| alert.pointer(place));
    let text = |place: &Option<String>| match at(place)? {
        Value::String(text) if !text.trim().is_empty() => Some(text.trim().to_owned()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(yes) => Some(yes.to_string()),
        _ => None,
    };
    if let (Some(place), None) = (&mapping.fingerprint, text(&mapping.fingerprint)) {
        return Err(format!(
            "there is no text at `{place}`, where the fingerprint should be"
        ));
    }
    let starts_at = match at(&mapping.starts_at) {
        None | Some(Value::Null) => None,
        Some(value) => Some(moment(value).ok_or_else(|| {
            let place = mapping.starts_at.as_deref().unwrap_or_default();
            format!("what is at `{place}` is not a time")
        })?),
    };
    let status = text(&mapping.status);
    let firing = !status.is_some_and(|status| {
        mapping
            .resolved
            .iter()
            .any(|over| over.eq_ignore_ascii_case(&status))
    });
    Ok(Alert {
        alert_type: text(&mapping.alert_type),
        // The names of different senders do not clash.
        fingerprint: text(&mapping.fingerprint).map(|own| format!("{name}:{own}")),
        firing,
        starts_at,
        severity: text(&mapping.severity).map(|label| Severity::of_label(&label)),
        title: text(&mapping.title),
        about: text(&mapping.resource),
        ..Alert::firing(name, alert.clone())
    })
}

/// A time: RFC 3339, or seconds or milliseconds since 1970. What lies beyond what can be kept is none.
pub(super) fn moment(value: &Value) -> Option<Timestamp> {
    let at = match value {
        Value::String(text) => text.parse::<Timestamp>().ok()?,
        Value::Number(number) => {
            let number = number.as_f64()?;
            // After the year 5000 in seconds: then it is milliseconds.
            let seconds = if number.abs() > 1e11 {
                number / 1000.0
            } else {
                number
            };
            Timestamp::try_from(
                std::time::UNIX_EPOCH.checked_add(std::time::Duration::try_from_secs_f64(seconds).ok()?)?,
            )
            .ok()?
        }
        _ => return None,
    };
    (-8_000_000_000..=9_000_000_000)
        .contains(&at.as_second())
        .then_some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_alert_of_a_webhook_is_read_or_rejected_by_itself() {
        let read =
            |alert: Value| webhook("alertmanager", alert).map(|alert| (alert.alert_type, alert.firing));
        let rejected = |alert: Value| read(alert).unwrap_err();
        assert_eq!(
            read(json!({ "labels": { "alertname": "Down", "severity": "page" } })),
            Ok((Some("Down".to_owned()), true))
        );
        assert_eq!(
            read(
                json!({ "status": "resolved", "labels": { "alertname": "Down", "alert_type": "service_down" } })
            ),
            Ok((Some("service_down".to_owned()), false))
        );
        assert_eq!(rejected(json!(["firing"])), "an alert must be an object");
        assert_eq!(rejected(json!({ "labels": [] })), "`labels` must be an object");
        assert_eq!(
            rejected(json!({ "labels": { "a": 1 } })),
            "the label `a` must be a text"
        );
        assert_eq!(
            rejected(json!({ "annotations": 1 })),
            "`annotations` must be an object"
        );
        assert_eq!(
            rejected(json!({ "status": "odd" })),
            "`status` must be `firing` or `resolved`"
        );
        assert_eq!(
            rejected(json!({ "fingerprint": 1 })),
            "`fingerprint` must be a text"
        );
        assert!(rejected(json!({ "startsAt": "soon" })).starts_with("`startsAt`"));
        assert!(rejected(json!({ "startsAt": "9999-12-31T00:00:00Z" })).starts_with("`startsAt`"));
    }

    #[test]
    fn without_a_fingerprint_an_alert_is_what_its_labels_say() {
        let of = |labels: Value| {
            webhook("grafana", json!({ "labels": labels }))
                .unwrap()
                .fingerprint
        };
        let one = of(json!({ "alertname": "Down", "instance": "a" }));
        assert_eq!(one, of(json!({ "instance": "a", "alertname": "Down" })));
        assert_ne!(one, of(json!({ "instance": "b", "alertname": "Down" })));
    }

    #[test]
    fn events_are_read() {
        let event = |more: Value| {
            let mut event =
                json!({ "specversion": "1.0", "type": "com.example.disk", "source": "/a", "id": "1" });
            for (name, value) in more.as_object().unwrap() {
                event[name] = value.clone();
            }
            cloud_event(event)
        };
        let fires = event(json!({ "subject": "web-1", "data": { "severity": "critical" } })).unwrap();
        assert_eq!(fires.alert_type.as_deref(), Some("com.example.disk"));
        assert_eq!((fires.firing, fires.severity), (true, Some(Severity::Critical)));
        assert_eq!(fires.about.as_deref(), Some("web-1"));
        let over =
            event(json!({ "type": "com.example.disk.resolved", "subject": "web-1", "id": "2" })).unwrap();
        assert!(!over.firing);
        assert_eq!(over.fingerprint, fires.fingerprint, "they are about the same");
        assert_ne!(over.idempotency_key, fires.idempotency_key);
        assert!(!event(json!({ "data": { "status": "OK" } })).unwrap().firing);
        assert_eq!(
            event(json!({ "specversion": "0.3" })).unwrap_err(),
            "`specversion` must be `1.0`"
        );
        assert_eq!(event(json!({ "id": "" })).unwrap_err(), "the event has no `id`");
        assert!(cloud_event(json!(1)).is_err());
        let mut headers = HeaderMap::new();
        assert_eq!(binary_event(&headers, json!({})), None);
        headers.insert("ce-specversion", "1.0".parse().unwrap());
        headers.insert("ce-id", "7".parse().unwrap());
        assert_eq!(
            binary_event(&headers, json!({ "a": 1 })),
            Some(json!({ "specversion": "1.0", "id": "7", "data": { "a": 1 } }))
        );
    }

    #[test]
    fn other_forms_are_read_by_their_mapping() {
        let place = |text: &str| Some(text.to_owned());
        let mapping = AlertMapping {
            alerts: place("/events"),
            alert_type: place("/check"),
            title: place("/text"),
            fingerprint: place("/id"),
            resource: place("/host/name"),
            severity: place("/prio"),
            starts_at: place("/since"),
            status: place("/state"),
            resolved: vec!["Recovered".to_owned()],
        };
        let body = json!({ "events": [
            { "id": 7, "check": "disk", "text": "full", "host": { "name": "web" }, "prio": "high",
              "since": 1_700_000_000, "state": "problem" },
            { "id": 7, "state": "recovered", "since": 1_700_000_000_000_i64 },
            { "state": "problem" },
            { "id": 8, "since": "soon" },
        ] });
        let read = mapped("zabbix", &mapping, body).unwrap();
        let first = read[0].0.clone().unwrap();
        assert_eq!(first.fingerprint.as_deref(), Some("zabbix:7"));
        assert_eq!((first.firing, first.severity), (true, Some(Severity::Critical)));
        assert_eq!(
            (first.about.as_deref(), first.title.as_deref()),
            (Some("web"), Some("full"))
        );
        let second = read[1].0.clone().unwrap();
        assert!(!second.firing);
        assert_eq!(second.starts_at, first.starts_at);
        assert!(read[2].0.clone().unwrap_err().contains("`/id`"));
        assert!(read[3].0.clone().unwrap_err().contains("`/since`"));
        assert!(mapped("zabbix", &mapping, json!({})).is_err());
    }
}
