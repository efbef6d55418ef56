//! Statistics and the quarantine: numbers over a span of time.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::api::{Fault, number};
use super::traffic::{Flow, between, whole};
use crate::docker::wire::{Call, digest_number};

const DAY: i64 = 86_400;
const MOST_ROWS: i64 = 1_000;
const RECEIVERS: [&str; 5] = [
    "anna@lab.example",
    "ben@lab.example",
    "office@lab.example",
    "info@lab.example",
    "admin@lab.example",
];
const SENDERS: [&str; 5] = [
    "news@example.com",
    "billing@example.org",
    "noreply@example.net",
    "lists@example.com",
    "hr@example.org",
];

/// The span that is asked for: `starttime` and `endtime`, or the last day.
fn span(call: &Call) -> Result<(i64, i64), Fault> {
    let now = Timestamp::now().as_second();
    let to = number(call, "endtime")?.unwrap_or(now);
    let from = number(call, "starttime")?.unwrap_or_else(|| to.saturating_sub(DAY));
    if from > to {
        return Err(Fault::parameter("endtime", "endtime is before starttime"));
    }
    Ok((from, to))
}

pub(super) fn statistics(what: &str, call: &Call) -> Result<Option<Value>, Fault> {
    let (from, to) = span(call)?;
    let flow = between(from, to);
    Ok(Some(match what {
        "mail" => mail(&flow),
        "mailcount" | "rejectcount" => buckets(call, from, to, 3600)?,
        "recent" => recent(call)?,
        "spamscores" => scores(&flow),
        "virus" => viruses(&flow),
        "domains" => domains(&flow),
        "sender" => shares("sender", &SENDERS, flow.inward),
        "receiver" => shares("receiver", &RECEIVERS, flow.inward),
        "recentreceivers" => {
            let hours = number(call, "hours")?.unwrap_or(12).clamp(1, 24);
            let now = Timestamp::now().as_second();
            shares("receiver", &RECEIVERS, between(now - hours * 3600, now).inward)
        }
        _ => return Ok(None),
    }))
}

fn mail(flow: &Flow) -> Value {
    let rejected = flow.rbl + flow.pregreet;
    json!({
        "avptime": 0.42,
        "count": whole(flow.inward + flow.outward),
        "count_in": whole(flow.inward),
        "count_out": whole(flow.outward),
        "bytes_in": whole(flow.inward * 41_000.0),
        "bytes_out": whole(flow.outward * 63_000.0),
        "spamcount_in": whole(flow.spam),
        "spamcount_out": 0,
        "viruscount_in": whole(flow.viruses),
        "viruscount_out": 0,
        "bounces_in": whole(flow.bounces),
        "bounces_out": whole(flow.bounces / 2.0),
        "glcount": whole(flow.greylisted),
        "spfcount": whole(flow.inward / 90.0),
        "rbl_rejects": whole(flow.rbl),
        "pregreet_rejects": whole(flow.pregreet),
        "junk_in": whole(flow.spam + flow.viruses + rejected + flow.greylisted),
        "junk_out": 0,
    })
}

/// One row for each part of the span.
fn buckets(call: &Call, from: i64, to: i64, default: i64) -> Result<Value, Fault> {
    let every = number(call, "timespan")?.unwrap_or(default).clamp(60, DAY * 366);
    let rows = to.saturating_sub(from) / every;
    if rows > MOST_ROWS {
        return Err(Fault::parameter("timespan", "too many rows"));
    }
    let row = |index: i64| {
        let begin = from + index * every;
        let flow = between(begin, begin.saturating_add(every).min(to));
        json!({
            "index": index,
            "time": begin,
            "timespan": every,
            "count": whole(flow.inward + flow.outward),
            "count_in": whole(flow.inward),
            "count_out": whole(flow.outward),
            "spam": whole(flow.spam),
            "spam_in": whole(flow.spam),
            "spam_out": 0,
            "spamcount_in": whole(flow.spam),
            "spamcount_out": 0,
            "virus": whole(flow.viruses),
            "virus_in": whole(flow.viruses),
            "virus_out": 0,
            "viruscount_in": whole(flow.viruses),
            "viruscount_out": 0,
            "bounces_in": whole(flow.bounces),
            "bounces_out": 0,
            "bytes_in": whole(flow.inward * 41_000.0),
            "bytes_out": whole(flow.outward * 63_000.0),
            "rbl_rejects": whole(flow.rbl),
            "pregreet_rejects": whole(flow.pregreet),
        })
    };
    Ok((0..=rows).map(row).collect())
}

fn recent(call: &Call) -> Result<Value, Fault> {
    let hours = number(call, "hours")?.unwrap_or(12).clamp(1, 24);
    let now = Timestamp::now().as_second();
    buckets(call, now - hours * 3600, now, 1800)
}

fn scores(flow: &Flow) -> Value {
    let total = flow.inward.max(1.0);
    let level = |level: u32| {
        // Most mail has no score; what is spam has one above three.
        let count = match level {
            0 => flow.inward - flow.spam,
            1 | 2 => flow.inward * 0.02,
            3..=9 => flow.spam / 9.0,
            _ => flow.spam / 9.0 * 2.0,
        };
        json!({ "level": level.to_string(), "count": whole(count), "ratio": (count / total * 100.0).round() / 100.0 })
    };
    (0..=10).map(level).collect()
}

fn viruses(flow: &Flow) -> Value {
    let first = whole(flow.viruses / 2.0);
    let rows = [
        ("Heuristics.Phishing.Email.SpoofedDomain", first),
        ("Win.Trojan.Agent-36", whole(flow.viruses) - first),
    ];
    rows.into_iter()
        .filter(|(_, count)| *count > 0)
        .map(|(name, count)| json!({ "name": name, "count": count }))
        .collect()
}

fn domains(flow: &Flow) -> Value {
    let row = |(domain, inward, outward): (&str, f64, f64)| {
        json!({
            "domain": domain,
            "count_in": whole(flow.inward * inward),
            "count_out": whole(flow.outward * outward),
            "bytes_in": whole(flow.inward * inward * 41_000.0),
            "bytes_out": whole(flow.outward * outward * 63_000.0),
            "spamcount_in": whole(flow.spam * inward),
            "spamcount_out": 0,
            "viruscount_in": whole(flow.viruses * inward),
            "viruscount_out": 0,
            "mbytes_in": flow.inward * inward * 0.041,
            "mbytes_out": flow.outward * outward * 0.063,
        })
    };
    [("lab.example", 0.8, 0.9), ("shop.lab.example", 0.2, 0.1)]
        .into_iter()
        .map(row)
        .collect()
}

/// The shares of addresses in some number of messages, the largest first.
fn shares(key: &str, names: &[&str], total: f64) -> Value {
    let mut share = total / 2.0;
    let mut rows = Vec::new();
    for name in names {
        let count = whole(share);
        if count > 0 {
            let mut row =
                json!({ "count": count, "bytes": count * 41_000, "viruscount": 0, "spamcount": count / 8 });
            row[key] = json!(name);
            rows.push(row);
        }
        share /= 2.0;
    }
    Value::Array(rows)
}

/// Spam that is kept for its receiver: messages of the last week.
pub(super) fn quarantine(what: &str, call: &Call) -> Result<Option<Value>, Fault> {
    let now = Timestamp::now().as_second();
    let flow = between(now - 7 * DAY, now);
    let (spam, viruses) = (whole(flow.spam / 4.0), whole(flow.viruses));
    Ok(Some(match what {
        "spamstatus" => {
            json!({ "count": spam, "avgbytes": 9120, "avgspam": 8.4, "mbytes": flow.spam / 4.0 * 0.00912 })
        }
        "virusstatus" => json!({ "count": viruses, "avgbytes": 48_211, "mbytes": flow.viruses * 0.0482 }),
        "spamusers" => RECEIVERS.iter().map(|mail| json!({ "mail": mail })).collect(),
        "spam" => {
            let receiver = call.get("pmail").unwrap_or(RECEIVERS[0]);
            let (from, to) = span(call)?;
            let count = i64::try_from(whole(between(from, to).spam / 20.0))
                .unwrap_or(0)
                .min(500);
            (0..count)
                .map(|index| spam_message(index, to, receiver))
                .collect()
        }
        _ => return Ok(None),
    }))
}

fn spam_message(index: i64, to: i64, receiver: &str) -> Value {
    let time = to.saturating_sub(index * 1700 + 311);
    let number = digest_number(format!("{receiver}{}", time / 1000).as_bytes());
    let subjects = [
        "You have won",
        "Invoice overdue",
        "Your parcel is waiting",
        "Last chance",
        "Account locked",
    ];
    let subject = subjects[usize::try_from(number % 5).unwrap_or(0)];
    json!({
        "id": format!("C1R{}T{time}", number % 100_000),
        "bytes": 2000 + number % 30_000,
        "envelope_sender": format!("bounce{}@example.net", number % 900),
        "from": format!("Winner <win{}@example.net>", number % 900),
        "receiver": receiver,
        "sender": "",
        "subject": subject,
        "spamlevel": 5 + number % 20,
        "time": time,
    })
}
