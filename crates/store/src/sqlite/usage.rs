//! Sums over calls to models and over calls of tools. Each reads small rows of the time that is asked for, once.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use rusqlite::{Connection, params};

use super::fault::{Fault, text};
use super::read::{rows, time};
use crate::{ToolUse, UsageBy, UsageRow};

const SECOND: f64 = 1e9;
const DAY: i64 = 24 * 60 * 60;

/// How long calls took.
#[derive(Default)]
struct Times(Vec<i64>);

impl Times {
    /// The time that so many of a hundred stay under, in seconds; 0 where none is known.
    fn percentile(&mut self, hundredths: usize) -> f64 {
        if self.0.is_empty() {
            return 0.0;
        }
        let place = (self.0.len() * hundredths).div_ceil(100).saturating_sub(1);
        let (_, took, _) = self.0.select_nth_unstable(place);
        #[expect(clippy::cast_precision_loss, reason = "no call takes a hundred days")]
        let took = *took as f64;
        took / SECOND
    }
}

#[derive(Default)]
struct Group {
    row: UsageRow,
    micro_dollars: Option<i64>,
    sessions: BTreeSet<i64>,
    times: Times,
}

pub(crate) fn usage(conn: &Connection, from: i64, to: i64, by: UsageBy) -> Result<Vec<UsageRow>, Fault> {
    let (group, more) = match by {
        UsageBy::Day => ("u.at / 1000000000 / 86400", ""),
        UsageBy::Model => ("u.name", ""),
        UsageBy::AlertType => (
            "coalesce(s.alert_type, 'chat')",
            "CROSS JOIN sessions s ON s.key = u.session",
        ),
    };
    let sql = format!(
        "SELECT CAST({group} AS TEXT), u.session, u.failed, u.input_tokens, u.output_tokens, u.micro_dollars, u.took \
         FROM usage u INDEXED BY usage_at {more} WHERE u.at >= ? AND u.at < ?"
    );
    let mut groups: BTreeMap<String, Group> = BTreeMap::new();
    let mut statement = conn.prepare_cached(&sql)?;
    let mut calls = statement.query(params![from, to])?;
    while let Some(call) = calls.next()? {
        let name = call.get_ref(0)?.as_str().map_err(Fault::corrupt)?;
        let group = match groups.get_mut(name) {
            Some(group) => group,
            None => groups.entry(name.to_owned()).or_default(),
        };
        group.sessions.insert(call.get(1)?);
        group.row.calls += 1;
        group.row.failed += u64::from(call.get::<_, bool>(2)?);
        let row = &mut group.row;
        row.input_tokens = row
            .input_tokens
            .saturating_add(call.get::<_, i64>(3)?.unsigned_abs());
        row.output_tokens = row
            .output_tokens
            .saturating_add(call.get::<_, i64>(4)?.unsigned_abs());
        if let Some(cost) = call.get::<_, Option<i64>>(5)? {
            group.micro_dollars = Some(group.micro_dollars.unwrap_or(0).saturating_add(cost));
        }
        group.times.0.extend(call.get::<_, Option<i64>>(6)?);
    }
    groups
        .into_iter()
        .map(|(name, mut group)| {
            #[expect(clippy::cast_precision_loss, reason = "a price is for people")]
            let cost = group.micro_dollars.map(|cost| cost as f64 / 1e6);
            Ok(UsageRow {
                group: match by {
                    UsageBy::Day => day(&name)?,
                    UsageBy::Model | UsageBy::AlertType => name,
                },
                sessions: group.sessions.len() as u64,
                cost,
                seconds_p50: group.times.percentile(50),
                seconds_p95: group.times.percentile(95),
                ..group.row
            })
        })
        .collect()
}

/// `2026-11-15`, of the number of a day since 1970.
fn day(number: &str) -> Result<String, Fault> {
    let number: i64 = text(number)?;
    let begin = Timestamp::from_second(number.saturating_mul(DAY)).map_err(Fault::corrupt)?;
    Ok(begin.strftime("%Y-%m-%d").to_string())
}

#[derive(Default)]
struct Doing {
    calls: u64,
    failed: u64,
    writes: u64,
    last: i64,
    times: Times,
}

pub(crate) fn tool_use(conn: &Connection, since: i64) -> Result<Vec<ToolUse>, Fault> {
    let mut tools: BTreeMap<String, Doing> = BTreeMap::new();
    let ran = rows(
        conn,
        "SELECT c.tool, c.writes, c.at, r.outcome, r.took FROM calls c INDEXED BY calls_at \
         LEFT JOIN receipts r ON r.call = c.key WHERE c.at >= ? AND NOT c.abandoned",
        [since],
        |row| {
            Ok((
                row.get::<_, String>(0)?,
                row.get::<_, bool>(1)?,
                row.get::<_, i64>(2)?,
                row.get::<_, Option<String>>(3)?,
                row.get::<_, Option<i64>>(4)?,
            ))
        },
    )?;
    for (tool, writes, at, outcome, took) in ran {
        let doing = tools.entry(tool).or_default();
        doing.calls += 1;
        doing.failed += u64::from(outcome.is_some_and(|outcome| outcome != "succeeded"));
        doing.writes += u64::from(writes);
        doing.last = doing.last.max(at);
        doing.times.0.extend(took);
    }
    tools
        .into_iter()
        .map(|(tool, mut doing)| {
            Ok(ToolUse {
                tool: text(&tool)?,
                calls: doing.calls,
                failed: doing.failed,
                writes: doing.writes,
                seconds_p50: doing.times.percentile(50),
                seconds_p95: doing.times.percentile(95),
                last_at: Some(time(doing.last)?),
            })
        })
        .collect()
}
