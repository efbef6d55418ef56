//! The language: a table of queries with results that were worked out by hand.

use std::time::Duration;

use interlock_lab::prometheus::promql::{Error, Limits, Query, Value};
use interlock_lab::prometheus::{Labels, Tsdb};

use crate::cases::CASES;
use crate::world::{T0, at, labels, load};

/// Ten minutes of samples, one a minute, and their staleness.
fn samples() -> Tsdb {
    let tsdb = Tsdb::default();
    let line = |from: f64, by: f64| (0..=10).map(|n| from + by * f64::from(n)).collect::<Vec<_>>();
    load(
        &tsdb,
        "requests_total{job=\"api\",code=\"200\"}",
        60,
        &line(100.0, 60.0),
    );
    load(
        &tsdb,
        "requests_total{job=\"api\",code=\"500\"}",
        60,
        &line(0.0, 6.0),
    );
    load(
        &tsdb,
        "requests_total{job=\"web\",code=\"200\"}",
        60,
        &[
            0.0, 30.0, 60.0, 90.0, 120.0, 150.0, 10.0, 40.0, 70.0, 100.0, 130.0,
        ],
    );
    load(&tsdb, "up{job=\"api\",instance=\"a\"}", 60, &[1.0; 11]);
    load(
        &tsdb,
        "up{job=\"api\",instance=\"b\"}",
        60,
        &[1.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
    );
    load(&tsdb, "up{job=\"web\",instance=\"c\"}", 60, &[1.0; 11]);
    load(&tsdb, "pve_up{id=\"lxc/141\"}", 60, &[1.0; 11]);
    load(&tsdb, "pve_up{id=\"node/pve1\"}", 60, &[1.0; 11]);
    load(
        &tsdb,
        "pve_guest_info{id=\"lxc/141\",node=\"pve1\",name=\"web\",type=\"lxc\"}",
        60,
        &[1.0; 11],
    );
    load(
        &tsdb,
        "pve_guest_info{id=\"qemu/100\",node=\"pve2\",name=\"db\",type=\"qemu\"}",
        60,
        &[1.0; 11],
    );
    load(&tsdb, "pve_cpu_usage_ratio{id=\"lxc/141\"}", 60, &[0.25; 11]);
    load(&tsdb, "pve_cpu_usage_ratio{id=\"qemu/100\"}", 60, &[0.75; 11]);
    load(
        &tsdb,
        "node_filesystem_avail_bytes{instance=\"pve1\",mountpoint=\"/\"}",
        60,
        &line(1_000.0, -60.0),
    );
    load(
        &tsdb,
        "node_filesystem_size_bytes{instance=\"pve1\",mountpoint=\"/\"}",
        60,
        &[4_000.0; 11],
    );
    load(&tsdb, "lat_bucket{le=\"0.1\"}", 60, &[10.0; 11]);
    load(&tsdb, "lat_bucket{le=\"0.5\"}", 60, &[30.0; 11]);
    load(&tsdb, "lat_bucket{le=\"1\"}", 60, &[40.0; 11]);
    load(&tsdb, "lat_bucket{le=\"+Inf\"}", 60, &[50.0; 11]);
    load(&tsdb, "odd{k=\"nan\"}", 60, &[f64::NAN; 11]);
    load(&tsdb, "odd{k=\"low\"}", 60, &[-2.5; 11]);
    load(&tsdb, "odd{k=\"high\"}", 60, &[1.5; 11]);
    load(&tsdb, "ended", 60, &[7.0, 8.0]);
    load(&tsdb, "stopped", 60, &[7.0; 10]);
    tsdb.mark_stale(labels("stopped"), at(570)).unwrap();
    tsdb
}

/// The result as lines of text, in the order of the labels.
fn show(value: &Value) -> String {
    let named = |labels: &Labels, value: String| format!("{labels} {value}");
    let mut lines: Vec<String> = match value {
        Value::Scalar(number) => vec![number.to_string()],
        Value::Text(text) => vec![format!("{text:?}")],
        Value::Vector(items) => items
            .iter()
            .map(|item| named(&item.labels, round(item.value)))
            .collect(),
        Value::Matrix(series) => {
            let points = |points: &[(i64, f64)]| {
                let point = |(at, value): &(i64, f64)| format!("{}@{}", round(*value), at / 1_000 - T0);
                points.iter().map(point).collect::<Vec<_>>().join(" ")
            };
            series
                .iter()
                .map(|series| named(&series.labels, points(&series.points)))
                .collect()
        }
    };
    lines.sort();
    lines.join("; ")
}

/// Nine digits: the cases are about meaning, not about the last bit.
fn round(value: f64) -> String {
    if value.is_finite() {
        ((value * 1e9).round() / 1e9).to_string()
    } else {
        value.to_string()
    }
}

fn ask(tsdb: &Tsdb, query: &str, seconds: i64) -> Result<String, Error> {
    let value = Query::parse(query)?.instant(tsdb, at(seconds), Limits::default())?;
    Ok(show(&value))
}

#[test]
fn queries_give_what_was_worked_out_by_hand() {
    let tsdb = samples();
    let mut wrong = Vec::new();
    for (query, expected) in CASES {
        let got = ask(&tsdb, query, 600);
        if got.as_deref() != Ok(*expected) {
            wrong.push(format!("{query}\n  expected {expected}\n  got      {got:?}"));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn what_cannot_be_asked_is_refused() {
    let tsdb = samples();
    let invalid = [
        "",
        "up{",
        "rate(up)",
        "sum(up[5m])",
        "1 == 1",
        "foo(up)",
        "{job=~\".*\"}",
        "up offset",
        "sum()",
        "up and 1",
        "limitk(1, up)",
        "sin(up)",
        "holt_winters(up[5m], 0.5, 0.5)",
        "info(up)",
        "up + fill(0) up",
        "exp(Inf)",
        "-\"a\"",
    ];
    for query in invalid {
        let got = ask(&tsdb, query, 600);
        assert!(matches!(got, Err(Error::Invalid(_))), "{query}: {got:?}");
    }
    let execution = [
        "requests_total / on(job) requests_total",
        "requests_total * on(job) up",
        "abs({__name__=~\"pve_up|pve_cpu_usage_ratio\"})",
        "label_replace(up, \"a-b\", \"\", \"job\", \".*\")",
        "label_replace(up, \"a\", \"\", \"job\", \"(\")",
        "label_replace(up, \"instance\", \"x\", \"job\", \"api\")",
        "topk(NaN, up)",
    ];
    for query in execution {
        let got = ask(&tsdb, query, 600);
        assert!(matches!(got, Err(Error::Execution(_))), "{query}: {got:?}");
    }
}

#[test]
fn a_range_query_gives_each_series_its_points() {
    let tsdb = samples();
    let cases = [
        (
            "up{instance=\"b\"}",
            0,
            240,
            60,
            "up{instance=\"b\", job=\"api\"} 1@0 1@60 0@120 1@180 0@240",
        ),
        (
            "up{instance=\"b\"} == 0",
            0,
            300,
            120,
            "up{instance=\"b\", job=\"api\"} 0@120 0@240",
        ),
        ("1", 0, 20, 10, "{} 1@0 1@10 1@20"),
        ("time() - 1748779200", 5, 25, 10, "{} 5@5 15@15 25@25"),
        ("ended", 300, 420, 30, "ended{} 8@300 8@330"),
        ("ended @ end()", 300, 359, 30, "ended{} 8@300 8@330"),
        (
            "rate(requests_total{code=\"500\"}[2m])",
            0,
            120,
            60,
            "{code=\"500\", job=\"api\"} 0.05@60 0.1@120",
        ),
    ];
    for (query, start, end, step, expected) in cases {
        let parsed = Query::parse(query).unwrap();
        let series = parsed.range(
            &tsdb,
            at(start),
            at(end),
            Duration::from_secs(step),
            Limits::default(),
        );
        assert_eq!(show(&Value::Matrix(series.unwrap())), expected, "{query}");
    }
}

#[test]
fn a_query_is_bounded() {
    let tsdb = samples();
    let query = Query::parse("up").unwrap();
    let range = |end, step| {
        query.range(
            &tsdb,
            at(0),
            at(end),
            Duration::from_secs(step),
            Limits::default(),
        )
    };
    assert!(range(11_000, 1).is_ok());
    assert!(matches!(range(11_001, 1), Err(Error::Invalid(why)) if why.contains("11,000 points")));
    assert!(matches!(range(-1, 1), Err(Error::Invalid(_))));
    assert!(matches!(range(10, 0), Err(Error::Invalid(_))));

    let heavy = Query::parse("max_over_time(max_over_time(up[10m:1s])[10m:1s])").unwrap();
    let few = Limits {
        samples: 10_000,
        ..Limits::default()
    };
    assert!(matches!(
        heavy.instant(&tsdb, at(600), few),
        Err(Error::Execution(_))
    ));
    let short = Limits {
        time: Duration::ZERO,
        ..Limits::default()
    };
    assert_eq!(heavy.instant(&tsdb, at(600), short), Err(Error::Timeout));
}

#[test]
fn deep_and_long_queries_are_refused_and_the_deepest_allowed_runs() {
    let tsdb = samples();
    let nested = |depth: usize| format!("{}up{}", "abs(".repeat(depth), ")".repeat(depth));
    let chain = |length: usize| format!("1{}", " + 1".repeat(length));
    assert!(ask(&tsdb, &nested(90), 600).is_ok());
    assert_eq!(ask(&tsdb, &chain(90), 600).as_deref(), Ok("91"));
    for query in [
        nested(200),
        chain(1_500),
        "-".repeat(4_000) + "up",
        "(".repeat(4_000),
        " ".repeat(9_000),
    ] {
        assert!(
            matches!(ask(&tsdb, &query, 600), Err(Error::Invalid(_))),
            "{}",
            &query[..40]
        );
    }
}
