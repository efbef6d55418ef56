//! The store: order, staleness, limits, and histories that end in the present.

use std::time::Duration;

use interlock_lab::prometheus::promql::Value;
use interlock_lab::prometheus::tsdb::{Error, Size};
use interlock_lab::prometheus::{Labels, Limits, Profile, Query, Retention, Sample, Tsdb};

use crate::world::{at, labels, load};

fn sample(series: &str, seconds: i64, value: f64) -> Sample {
    Sample {
        labels: labels(series),
        at: at(seconds),
        value,
    }
}

#[test]
fn a_sample_must_be_newer_than_the_last() {
    let tsdb = Tsdb::default();
    assert_eq!(tsdb.append(sample("up", 10, 1.0)), Ok(()));
    assert_eq!(
        tsdb.append(sample("up", 10, 1.0)),
        Ok(()),
        "the same again is no error"
    );
    assert_eq!(
        tsdb.append(sample("up", 10, 2.0)),
        Err(Error::Duplicate(labels("up")))
    );
    assert_eq!(
        tsdb.append(sample("up", 9, 1.0)),
        Err(Error::OutOfOrder(labels("up")))
    );
    let nameless = Labels::new([("job", "a")]);
    let refused = tsdb.append(Sample {
        labels: nameless.clone(),
        at: at(11),
        value: 1.0,
    });
    assert_eq!(refused, Err(Error::NoName(nameless)));
    assert_eq!(
        tsdb.size(),
        Size {
            series: 1,
            samples: 1
        }
    );
    assert_eq!(tsdb.latest(&labels("up")), Some(sample("up", 10, 1.0)));
}

#[test]
fn what_is_too_old_or_too_much_is_dropped() {
    let retention = Retention {
        span: Duration::from_mins(10),
        series: 2,
        samples_per_series: 1_000,
    };
    let tsdb = Tsdb::new(retention);
    load(&tsdb, "up", 60, &[1.0; 100]);
    // Ten minutes are eleven samples; a short series is trimmed at once.
    assert_eq!(
        tsdb.size(),
        Size {
            series: 1,
            samples: 11
        }
    );
    load(&tsdb, "load", 1, &[1.0]);
    assert_eq!(tsdb.append(sample("third", 0, 1.0)), Err(Error::TooManySeries(2)));

    let tsdb = Tsdb::new(Retention {
        samples_per_series: 500,
        ..Retention::default()
    });
    load(&tsdb, "up", 1, &[1.0; 2_000]);
    assert!((500..=564).contains(&tsdb.size().samples), "{:?}", tsdb.size());
}

#[test]
fn a_series_that_ended_has_no_value_until_its_next_sample() {
    let tsdb = Tsdb::default();
    load(&tsdb, "up", 60, &[1.0, 1.0]);
    tsdb.mark_stale(labels("up"), at(90)).unwrap();
    tsdb.append(sample("up", 200, 5.0)).unwrap();
    let value = |seconds| match Query::parse("up")
        .unwrap()
        .instant(&tsdb, at(seconds), Limits::default())
    {
        Ok(Value::Vector(items)) => items.first().map(|item| item.value),
        other => panic!("{other:?}"),
    };
    let seen: Vec<Option<f64>> = [0, 89, 90, 199, 200, 499, 500].map(value).to_vec();
    assert_eq!(
        seen,
        [Some(1.0), Some(1.0), None, None, Some(5.0), Some(5.0), None]
    );
}

#[test]
fn a_history_is_the_same_each_time_and_ends_in_the_present() {
    let now = at(86_400);
    let gauge = Profile::Gauge {
        swing: 0.2,
        noise: 0.05,
        min: 0.0,
        max: 1.0,
    };
    let series = labels("pve_cpu_usage_ratio{id=\"lxc/141\"}");
    let history = || {
        let tsdb = Tsdb::default();
        tsdb.backfill_day(&series, now, 0.4, &gauge).unwrap();
        let query = Query::parse("pve_cpu_usage_ratio[25h]").unwrap();
        match query.instant(&tsdb, now, Limits::default()).unwrap() {
            Value::Matrix(mut found) => found.remove(0).points,
            other => panic!("{other:?}"),
        }
    };
    let points = history();
    assert_eq!(points, history());
    assert_eq!(points.len(), 1_441);
    assert_eq!(points.last(), Some(&(now.as_millisecond(), 0.4)));
    assert!(points.iter().all(|(_, value)| (0.0..=1.0).contains(value)));
    assert!(
        points.windows(2).all(|pair| (pair[1].1 - pair[0].1).abs() < 0.12),
        "it has a jump"
    );
    let (low, high) = points.iter().fold((1.0_f64, 0.0_f64), |(low, high), (_, value)| {
        (low.min(*value), high.max(*value))
    });
    assert!(
        high - low > 0.3,
        "there is no daily wave between {low} and {high}"
    );
}

#[test]
fn a_counter_has_only_grown_and_began_at_zero() {
    let now = at(86_400);
    let tsdb = Tsdb::default();
    let bytes = labels("pve_network_receive_bytes_total{id=\"lxc/141\"}");
    let uptime = labels("pve_uptime_seconds{id=\"lxc/141\"}");
    tsdb.backfill_day(
        &bytes,
        now,
        1e9,
        &Profile::Counter {
            per_second: 1_000.0,
            swing: 0.5,
        },
    )
    .unwrap();
    tsdb.backfill_day(
        &uptime,
        now,
        3_600.0,
        &Profile::Counter {
            per_second: 1.0,
            swing: 0.0,
        },
    )
    .unwrap();
    let cases = [
        ("resets(pve_network_receive_bytes_total[1d])", 0.0),
        ("count_over_time(pve_uptime_seconds[1d])", 61.0),
        ("pve_uptime_seconds offset 30m", 1_800.0),
        ("rate(pve_network_receive_bytes_total[10m]) > bool 499", 1.0),
        ("rate(pve_network_receive_bytes_total[10m]) < bool 1501", 1.0),
    ];
    for (query, expected) in cases {
        match Query::parse(query)
            .unwrap()
            .instant(&tsdb, now, Limits::default())
            .unwrap()
        {
            Value::Vector(items) => assert_eq!(
                items.iter().map(|item| item.value).collect::<Vec<_>>(),
                [expected],
                "{query}"
            ),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_history_goes_before_what_is_there() {
    let tsdb = Tsdb::default();
    load(&tsdb, "node_load1", 60, &[5.0, 6.0]);
    let step = Duration::from_mins(1);
    tsdb.backfill(
        &labels("node_load1"),
        at(60),
        Duration::from_mins(5),
        step,
        |_| Some(1.0),
    )
    .unwrap();
    match Query::parse("node_load1[10m]")
        .unwrap()
        .instant(&tsdb, at(60), Limits::default())
        .unwrap()
    {
        Value::Matrix(found) => {
            let values: Vec<f64> = found[0].points.iter().map(|(_, value)| *value).collect();
            assert_eq!(values, [1.0, 1.0, 1.0, 1.0, 5.0, 6.0]);
        }
        other => panic!("{other:?}"),
    }
}
