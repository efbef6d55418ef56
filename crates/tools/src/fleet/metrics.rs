//! How resources do over time.

use std::collections::BTreeMap;
use std::time::Duration;

use interlock_gate::{Plan, Started};
use interlock_infra::prometheus::{Point, Range, Series};
use interlock_infra::proxmox::Guest;
use interlock_infra::{Infra, Resource};
use interlock_protocol::{ErrorCode, ResourceId, ResourceKind};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::Fleet;
use super::metrics_numbers::{baseline, pattern, summary};
use super::metrics_questions::{Question, Topic, questions};
use super::reach::{Place, nothing_named, reading};
use crate::Failure;
use crate::local::arguments;
use crate::{Done, Reading};

/// How old the graph may be in which a resource is looked up.
const NAMES_FOR: Duration = Duration::from_secs(30);
/// How many series are given back.
const MOST_SERIES: usize = 40;
/// The shortest time over which a rate is taken, in seconds.
const RATE_WINDOW: u64 = 300;
const MINUTE: u64 = 60;

/// What is made out of each series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum View {
    Summary,
    Baseline,
    Pattern,
}

impl View {
    /// How far back, where a call does not say, and into how many points, in seconds.
    const fn span(self) -> (u64, u64) {
        match self {
            Self::Summary => (60 * MINUTE, 60),
            Self::Baseline => (24 * 60 * MINUTE, 288),
            Self::Pattern => (7 * 24 * 60 * MINUTE, 672),
        }
    }

    fn of(self, points: &[Point]) -> Option<Value> {
        match self {
            Self::Summary => summary(points),
            Self::Baseline => baseline(points),
            Self::Pattern => pattern(points),
        }
    }
}

/// One series, whoever measured it.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// What was measured, in a word: `processor`, `memory`, `disk`.
    pub metric: String,
    /// Its unit: `ratio`, `bytes`, `bytes/s`.
    pub unit: &'static str,
    /// What tells it from others of that metric.
    pub labels: BTreeMap<String, String>,
    /// The points, oldest first.
    pub points: Vec<Point>,
}

/// How a resource did: everything that whatever is connected measured, and what went wrong on the way. Code asks, no model.
pub async fn measure(infra: &Infra, resource: &Resource, range: Range) -> (Vec<Measured>, Vec<String>) {
    let mut all = Found::default();
    for topic in [Topic::Performance, Topic::Disk, Topic::Network] {
        let mut found = ask_prometheus(infra, topic, Some(resource), range).await;
        if found.series.is_empty() {
            ask_proxmox(infra, topic, &resource.id, range, &mut found).await;
        }
        // Prometheus that does not answer is asked once.
        let broken = !found.problems.is_empty() && found.series.is_empty();
        for series in found.series {
            let known = |other: &Measured| other.metric == series.metric && other.labels == series.labels;
            if !all.series.iter().any(known) {
                all.series.push(series);
            }
        }
        all.problems.extend(found.problems);
        if broken {
            break;
        }
    }
    (all.series, all.problems)
}

/// What was found, and what went wrong.
#[derive(Default)]
struct Found {
    series: Vec<Measured>,
    problems: Vec<String>,
}

impl Fleet {
    pub(super) async fn metrics(
        &self,
        started: &Started,
        _cancel: &CancellationToken,
    ) -> Result<Done, Failure> {
        let plan = started.plan();
        let action = arguments::text(plan, "action").unwrap_or("performance");
        let (topic, view) = match action {
            "performance" => (Topic::Performance, View::Summary),
            "temperatures" => (Topic::Temperatures, View::Summary),
            "network" => (Topic::Network, View::Summary),
            "disk" => (Topic::Disk, View::Summary),
            "baselines" => (Topic::Performance, View::Baseline),
            "patterns" => (Topic::Performance, View::Pattern),
            _ => return Err(Failure::invalid("`action` is none that this tool has")),
        };
        let resource = self.measured(plan).await?;
        let range = range_of(plan, view)?;
        let infra = &self.inner.infra;
        let mut found = ask_prometheus(infra, topic, resource.as_ref(), range).await;
        if found.series.is_empty()
            && let Some(resource) = &resource
        {
            ask_proxmox(infra, topic, &resource.id, range, &mut found).await;
        }
        metrics_done(action, view, resource.as_ref(), range, found)
    }

    /// How a resource does now.
    pub(super) async fn snapshot(
        &self,
        started: &Started,
        _cancel: &CancellationToken,
    ) -> Result<Done, Failure> {
        let id = match self.place(started.plan())? {
            Place::Here(local) => return local.snapshot(started),
            Place::There(id) => id,
        };
        if id.kind() == ResourceKind::DockerContainer
            && let Some(docker) = self.inner.infra.docker_of(&id)
        {
            let taken_at = Timestamp::now();
            let data = json!({"resource_id": id, "usage": docker.usage(id.uid()).await?});
            let done = Done::succeeded(data.clone(), "how a container is doing");
            return Ok(done.with_reading(reading(&id, taken_at, data, Vec::new())));
        }
        let look = self.look(&id).await?;
        if !look.exists {
            return Err(nothing_named(&id.to_string()));
        }
        let seen = look.reading(&id);
        let mut data = seen.data.clone();
        data["resource_id"] = json!(id);
        Ok(Done::succeeded(data, "how a resource is doing").with_reading(seen))
    }

    /// The resource that a call is about.
    async fn measured(&self, plan: &Plan) -> Result<Option<Resource>, Failure> {
        let id = match (&plan.target, arguments::text(plan, "resource_id")) {
            (Some(target), _) => target.id.clone(),
            (None, Some(name)) => self.named(name).await?,
            (None, None) => return Ok(None),
        };
        let graph = self.inner.infra.graph(NAMES_FOR).await;
        let resource = graph.get(&id).cloned();
        resource.map(Some).ok_or_else(|| nothing_named(&id.to_string()))
    }
}

async fn ask_prometheus(infra: &Infra, topic: Topic, resource: Option<&Resource>, range: Range) -> Found {
    let mut found = Found::default();
    let window = RATE_WINDOW.max(range.step_seconds * 2);
    for prometheus in infra.prometheus() {
        for question in questions(topic, resource, window) {
            match prometheus.query_range(&question.text, range).await {
                Ok(answer) => {
                    found.problems.extend(answer.warnings);
                    found
                        .series
                        .extend(answer.data.into_iter().map(|series| measured(&question, series)));
                }
                Err(error) => {
                    found.problems.push(error.to_string());
                    break;
                }
            }
        }
    }
    found
}

/// What Proxmox itself keeps of a guest or a node, where nobody else measured it.
async fn ask_proxmox(infra: &Infra, topic: Topic, id: &ResourceId, range: Range, found: &mut Found) {
    let Ok(proxmox) = infra.proxmox_of(id).await else {
        return;
    };
    let timeframe = timeframe(range);
    let history = match id.kind() {
        ResourceKind::Node => proxmox.node_history(id.uid(), timeframe).await,
        ResourceKind::Lxc | ResourceKind::Vm => match Guest::of(id) {
            Some(guest) => proxmox.guest_history(&guest, timeframe).await,
            None => return,
        },
        _ => return,
    };
    match history {
        Ok(rows) => found.series.extend(from_rows(topic, id, &rows, range)),
        Err(error) => found.problems.push(error.to_string()),
    }
}

fn measured(question: &Question, series: Series) -> Measured {
    let mut labels = series.metric;
    labels.remove("__name__");
    Measured {
        metric: question.metric.to_owned(),
        unit: question.unit,
        labels,
        points: series.values,
    }
}

/// The span of a call: how far back, in how many steps.
fn range_of(plan: &Plan, view: View) -> Result<Range, Failure> {
    let (default, points) = view.span();
    let seconds = match arguments::text(plan, "period") {
        Some(period) => period_seconds(period)
            .ok_or_else(|| Failure::invalid("`period` is a number and one of s, m, h, d, w: `24h`"))?,
        None => default,
    };
    let to = Timestamp::now();
    let back = SignedDuration::from_secs(i64::try_from(seconds).unwrap_or(i64::MAX));
    Ok(Range {
        from: to.checked_sub(back).unwrap_or(Timestamp::UNIX_EPOCH),
        to,
        step_seconds: (seconds / points).max(15),
    })
}

fn period_seconds(text: &str) -> Option<u64> {
    let unit = match text.chars().last()? {
        's' => 1,
        'm' => MINUTE,
        'h' => 60 * MINUTE,
        'd' => 24 * 60 * MINUTE,
        'w' => 7 * 24 * 60 * MINUTE,
        _ => return None,
    };
    let number: u64 = text.get(..text.len() - 1)?.parse().ok()?;
    number.checked_mul(unit).filter(|seconds| *seconds > 0)
}

/// The shortest of the spans for which Proxmox keeps averages that covers this one.
fn timeframe(range: Range) -> &'static str {
    let hours = range.to.duration_since(range.from).as_hours();
    match hours {
        ..=1 => "hour",
        2..=24 => "day",
        25..=168 => "week",
        169..=744 => "month",
        _ => "year",
    }
}

/// A column of what Proxmox keeps, or one of them divided by another.
const COLUMNS: &[(Topic, &str, &str, &str, Option<&str>)] = &[
    (Topic::Performance, "processor", "ratio", "cpu", None),
    (Topic::Performance, "memory", "ratio", "mem", Some("maxmem")),
    (Topic::Performance, "memory", "ratio", "memused", Some("memtotal")),
    (Topic::Performance, "load", "processes", "loadavg", None),
    (Topic::Network, "received", "bytes/s", "netin", None),
    (Topic::Network, "sent", "bytes/s", "netout", None),
    (Topic::Disk, "disk", "ratio", "disk", Some("maxdisk")),
    (Topic::Disk, "disk", "ratio", "rootused", Some("roottotal")),
    (Topic::Disk, "disk_read", "bytes/s", "diskread", None),
    (Topic::Disk, "disk_write", "bytes/s", "diskwrite", None),
];

fn from_rows(topic: Topic, id: &ResourceId, rows: &Value, range: Range) -> Vec<Measured> {
    let rows: Vec<&Value> = rows.as_array().into_iter().flatten().collect();
    #[expect(clippy::cast_precision_loss, reason = "seconds since 1970 fit")]
    let from = range.from.as_second() as f64;
    COLUMNS
        .iter()
        .filter(|column| column.0 == topic)
        .filter_map(|(_, metric, unit, part, whole)| {
            let points: Vec<Point> = rows
                .iter()
                .filter_map(|row| {
                    let value = number(row, part)?;
                    let value = match whole {
                        None => value,
                        Some(whole) => value / number(row, whole).filter(|whole| *whole > 0.0)?,
                    };
                    Some(Point {
                        at: number(row, "time")?,
                        value,
                    })
                })
                .filter(|point| point.at >= from)
                .collect();
            (!points.is_empty()).then(|| Measured {
                metric: (*metric).to_owned(),
                unit,
                labels: BTreeMap::from([("resource_id".to_owned(), id.to_string())]),
                points,
            })
        })
        .collect()
}

/// Proxmox writes numbers as numbers and, at times, as texts.
fn number(row: &Value, column: &str) -> Option<f64> {
    let value = row.get(column)?;
    value.as_f64().or_else(|| value.as_str()?.parse().ok())
}

fn metrics_done(
    action: &str,
    view: View,
    resource: Option<&Resource>,
    range: Range,
    found: Found,
) -> Result<Done, Failure> {
    let newest = found
        .series
        .iter()
        .filter_map(|series| series.points.last())
        .filter_map(Point::time)
        .max();
    let mut rows: Vec<Value> = found
        .series
        .iter()
        .filter_map(|series| {
            let mut row = json!({"metric": series.metric, "unit": series.unit, "labels": series.labels});
            if let (Value::Object(row), Some(Value::Object(numbers))) = (&mut row, view.of(&series.points)) {
                row.extend(numbers);
                return Some(json!(row));
            }
            None
        })
        .collect();
    if rows.is_empty() {
        let about = resource.map_or_else(|| "anything".to_owned(), |resource| format!("`{}`", resource.id));
        return Err(Failure::new(
            ErrorCode::NotFound,
            format!("nothing that is connected has {action} of {about} for this period"),
        )
        .detail("problems", found.problems));
    }
    let total = rows.len();
    rows.truncate(MOST_SERIES);
    let data = json!({
        "action": action,
        "resource_id": resource.map(|resource| &resource.id),
        "from": range.from,
        "to": range.to,
        "series": rows,
        "total": total,
        "truncated": total > MOST_SERIES,
        "problems": found.problems,
    });
    let summary = format!("read {total} series of measurements");
    Ok(Done::succeeded(data.clone(), summary).with_reading(Reading {
        resource: resource.map(|resource| resource.id.clone()),
        // What was measured is as old as the newest measurement, however fresh the question is.
        taken_at: newest.unwrap_or(range.from).min(range.to),
        data,
        observations: Vec::new(),
        walls: None,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periods_are_read() {
        for (text, seconds) in [
            ("90s", Some(90)),
            ("5m", Some(300)),
            ("24h", Some(86_400)),
            ("7d", Some(604_800)),
            ("2w", Some(1_209_600)),
            ("0h", None),
            ("h", None),
            ("1y", None),
            ("é", None),
        ] {
            assert_eq!(period_seconds(text), seconds, "{text}");
        }
    }

    #[test]
    fn what_proxmox_keeps_becomes_series() {
        let id: ResourceId = "lxc:delly:141".parse().unwrap();
        let range = Range {
            from: Timestamp::from_second(1_700_000_000).unwrap(),
            to: Timestamp::from_second(1_700_003_600).unwrap(),
            step_seconds: 60,
        };
        let rows = json!([
            {"time": 1_699_999_000, "cpu": 0.9},
            {"time": 1_700_000_060, "cpu": 0.1, "mem": "50", "maxmem": 100},
            {"time": 1_700_000_120, "mem": 75, "maxmem": 0},
        ]);
        let found = from_rows(Topic::Performance, &id, &rows, range);
        let found: Vec<(&str, Vec<f64>)> = found
            .iter()
            .map(|series| {
                let values = series.points.iter().map(|point| point.value).collect();
                (series.metric.as_str(), values)
            })
            .collect();
        assert_eq!(found, [("processor", vec![0.1]), ("memory", vec![0.5])]);
        assert_eq!(timeframe(range), "hour");
    }
}
