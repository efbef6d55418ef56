//! Whatever is sent as a query, there is an answer or an error, never a panic.

use std::time::Duration;

use interlock_lab::prometheus::{Limits, Query, Tsdb};
use proptest::prelude::*;

use crate::world::{at, load};

/// Pieces in any order.
fn pieces() -> impl Strategy<Value = String> {
    let words = [
        "up",
        "{job=~\"a.*\"}",
        "[5m]",
        "[1m:10s]",
        "(",
        ")",
        " + ",
        " and ",
        "== bool ",
        "rate(",
        "sum by (job) (",
        "topk(2, ",
        " offset 1m",
        " @ end()",
        "on(job) ",
        "group_left() ",
        "-",
        "NaN",
        "0",
        "\"é\\u00e9\"",
        "'",
        "#",
        "[0s]",
        ", ",
        "{",
        "}",
    ];
    prop::collection::vec(prop::sample::select(words.to_vec()), 0..14).prop_map(|words| words.concat())
}

/// Queries that mostly parse, with strange numbers, times and types in them.
fn grammar() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(vec![
        "up",
        "up{job=~\"a.*\"}",
        "{__name__=~\".+\"}",
        "lat_bucket",
        "gone{a=\"b\"}",
        "up offset -99999y",
        "up @ 1e12",
        "up @ -5",
        "up @ end()",
        "1e309",
        "NaN",
        "-Inf",
        "0",
        "3",
        "-2.5",
        "\"é\"",
        "time()",
        "vector(1e300)",
        "up[5m]",
        "up[1m:10s]",
        "up[100y]",
    ]);
    leaf.prop_map(str::to_owned).prop_recursive(5, 24, 3, |inner| {
        let one = prop::sample::select(vec![
            "-",
            "abs",
            "rate",
            "increase",
            "irate",
            "deriv",
            "sum",
            "avg",
            "stddev",
            "count by (job) ",
            "sum without (job) ",
            "sort",
            "scalar",
            "vector",
            "absent",
            "absent_over_time",
            "max_over_time",
            "avg_over_time",
            "stdvar_over_time",
            "minute",
            "year",
            "timestamp",
            "sgn",
            "round",
            "changes",
            "last_over_time",
            "",
        ]);
        let two = prop::sample::select(vec![
            "topk",
            "bottomk",
            "quantile",
            "quantile_over_time",
            "histogram_quantile",
            "predict_linear",
            "clamp_min",
            "round",
            "count_values",
        ]);
        let operator = prop::sample::select(vec![
            "+",
            "-",
            "*",
            "/",
            "%",
            "^",
            "atan2",
            "==",
            "> bool",
            "<",
            "and",
            "or",
            "unless",
            "and on(job)",
            "* on(job) group_left()",
            "/ ignoring(instance) group_right(job)",
            "== on() ",
        ]);
        prop_oneof![
            (one, inner.clone()).prop_map(|(name, of)| format!("{name}({of})")),
            (two, inner.clone(), inner.clone()).prop_map(|(name, a, b)| format!("{name}({a}, {b})")),
            (inner.clone(), operator, inner.clone()).prop_map(|(a, op, b)| format!("{a} {op} {b}")),
            inner.clone().prop_map(|of| format!("({of})[2m:20s]")),
            inner.prop_map(|of| format!("label_replace({of}, \"x\", \"$1\", \"job\", \"(.)?.*\")")),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3_000, ..ProptestConfig::default() })]

    #[test]
    fn any_query_is_answered_or_refused(query in prop_oneof![4 => grammar(), 1 => pieces(), 1 => "\\PC{0,60}"]) {
        let tsdb = Tsdb::default();
        load(&tsdb, "up{job=\"a\",instance=\"x\"}", 30, &[1.0, f64::NAN, 0.0, f64::INFINITY, 3.0]);
        load(&tsdb, "up{job=\"ab\"}", 30, &[1.0, 2.0]);
        load(&tsdb, "lat_bucket{le=\"1\"}", 30, &[1.0, 0.0]);
        load(&tsdb, "lat_bucket{le=\"+Inf\"}", 30, &[f64::NAN, 4.0]);
        let limits = Limits { samples: 20_000, time: Duration::from_secs(5) };
        if let Ok(query) = Query::parse(&query) {
            let again = Query::parse(&query.to_string());
            prop_assert!(again.is_ok(), "{query} is not read back: {again:?}");
            let _ = query.pretty();
            let _ = query.instant(&tsdb, at(90), limits);
            let _ = query.range(&tsdb, at(0), at(120), Duration::from_secs(50), limits);
        }
    }
}
