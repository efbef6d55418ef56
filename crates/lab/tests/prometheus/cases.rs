//! Queries with results that were worked out by hand, over the samples in `promql`.

/// All at 600 s after time zero, the time of the last sample.
pub(crate) const CASES: &[(&str, &str)] = &[
    // Literals and arithmetic.
    ("1 + 2 * 3 ^ 2 % 5", "4"),
    ("-2 ^ 2", "-4"),
    ("2 ^ 3 ^ 2", "512"),
    ("1 / 0", "inf"),
    ("-7 % 3", "-1"),
    ("1 == bool 1", "1"),
    ("2 < bool 1", "0"),
    ("\"text\"", "\"text\""),
    ("time()", "1748779800"),
    ("pi() > bool 3", "1"),
    // Selectors.
    ("up{job=\"web\"}", "up{instance=\"c\", job=\"web\"} 1"),
    (
        "up{job!=\"web\",instance=~\"b|c\"}",
        "up{instance=\"b\", job=\"api\"} 0",
    ),
    ("up{instance!~\"a|b\"}", "up{instance=\"c\", job=\"web\"} 1"),
    (
        "{__name__=~\"pve_up|ended\"}",
        "pve_up{id=\"lxc/141\"} 1; pve_up{id=\"node/pve1\"} 1",
    ),
    ("pve_up{id=\"lxc/141\",node=\"\"}", "pve_up{id=\"lxc/141\"} 1"),
    ("nothing", ""),
    // The last sample of `ended` is 540 s old; at 359 s after zero it was 299 s old.
    ("ended", ""),
    ("ended offset 241s", "ended{} 8"),
    ("ended offset 4m", ""),
    ("stopped", ""),
    ("stopped offset 1m", "stopped{} 7"),
    ("count_over_time(stopped[10m])", "{} 9"),
    (
        "up{instance=\"b\"} offset 7m",
        "up{instance=\"b\", job=\"api\"} 1",
    ),
    (
        "up{instance=\"b\"} @ 1748779320",
        "up{instance=\"b\", job=\"api\"} 0",
    ),
    (
        "up{instance=\"b\"} @ 1748779320 offset -1m",
        "up{instance=\"b\", job=\"api\"} 1",
    ),
    // A range is open at its start: three samples in three minutes.
    (
        "up{instance=\"b\"}[3m]",
        "up{instance=\"b\", job=\"api\"} 0@480 0@540 0@600",
    ),
    ("ended[10m]", "ended{} 8@60"),
    // Growth: 60 a minute; five samples cover 240 s of 300 s and are extrapolated by the missing minute.
    (
        "rate(requests_total{code=\"200\",job=\"api\"}[5m])",
        "{code=\"200\", job=\"api\"} 1",
    ),
    (
        "increase(requests_total{code=\"500\"}[5m])",
        "{code=\"500\", job=\"api\"} 30",
    ),
    // 60 to 600: after the reset from 150 to 10 it has grown by 130 - 30 + 150 = 250 in 540 s; the start is
    // a minute before the first sample, and at the rate of 250/540 its 30 came within 64.8 s, so 60 s are taken.
    (
        "increase(requests_total{job=\"web\"}[10m])",
        "{code=\"200\", job=\"web\"} 277.777777778",
    ),
    (
        "resets(requests_total{job=\"web\"}[10m])",
        "{code=\"200\", job=\"web\"} 1",
    ),
    (
        "irate(requests_total{job=\"web\"}[5m])",
        "{code=\"200\", job=\"web\"} 0.5",
    ),
    ("rate(requests_total{job=\"web\"}[1m])", ""),
    (
        "delta(node_filesystem_avail_bytes[5m])",
        "{instance=\"pve1\", mountpoint=\"/\"} -300",
    ),
    (
        "idelta(node_filesystem_avail_bytes[5m])",
        "{instance=\"pve1\", mountpoint=\"/\"} -60",
    ),
    (
        "deriv(node_filesystem_avail_bytes[5m])",
        "{instance=\"pve1\", mountpoint=\"/\"} -1",
    ),
    // 400 are left and one goes each second.
    (
        "predict_linear(node_filesystem_avail_bytes[5m], 100)",
        "{instance=\"pve1\", mountpoint=\"/\"} 300",
    ),
    (
        "changes(up{instance=\"b\"}[10m])",
        "{instance=\"b\", job=\"api\"} 3",
    ),
    // Over time: 40 of the last three are 70, 100, 130.
    (
        "avg_over_time(requests_total{job=\"web\"}[3m])",
        "{code=\"200\", job=\"web\"} 100",
    ),
    (
        "min_over_time(requests_total{job=\"web\"}[3m])",
        "{code=\"200\", job=\"web\"} 70",
    ),
    (
        "max_over_time(requests_total{job=\"web\"}[3m])",
        "{code=\"200\", job=\"web\"} 130",
    ),
    (
        "sum_over_time(requests_total{job=\"web\"}[3m])",
        "{code=\"200\", job=\"web\"} 300",
    ),
    (
        "count_over_time(requests_total{job=\"web\"}[3m])",
        "{code=\"200\", job=\"web\"} 3",
    ),
    ("last_over_time(ended[10m])", "ended{} 8"),
    (
        "stdvar_over_time(requests_total{job=\"web\"}[3m])",
        "{code=\"200\", job=\"web\"} 600",
    ),
    (
        "stddev_over_time(requests_total{job=\"web\"}[2m])",
        "{code=\"200\", job=\"web\"} 15",
    ),
    (
        "quantile_over_time(0.5, requests_total{job=\"web\"}[4m])",
        "{code=\"200\", job=\"web\"} 85",
    ),
    ("present_over_time(ended[10m])", "{} 1"),
    ("absent_over_time(ended[5m])", "{} 1"),
    ("absent_over_time(gone{job=\"x\"}[5m])", "{job=\"x\"} 1"),
    // Subqueries, at whole minutes.
    (
        "max_over_time(rate(requests_total{job=\"api\",code=\"500\"}[2m])[3m:1m])",
        "{code=\"500\", job=\"api\"} 0.1",
    ),
    (
        "count_over_time(up{instance=\"a\"}[5m:30s])",
        "{instance=\"a\", job=\"api\"} 10",
    ),
    ("min_over_time(sum(up)[10m:])", "{} 2"),
    // Aggregations.
    ("sum(up)", "{} 2"),
    ("sum by (job) (up)", "{job=\"api\"} 1; {job=\"web\"} 1"),
    (
        "sum without (code) (requests_total)",
        "{job=\"api\"} 760; {job=\"web\"} 130",
    ),
    ("sum by (__name__) (up)", "up{} 2"),
    ("avg(pve_cpu_usage_ratio)", "{} 0.5"),
    ("min(odd)", "{} -2.5"),
    ("max(odd)", "{} 1.5"),
    ("count(up == 0)", "{} 1"),
    ("count(nothing)", ""),
    ("group(up) by (job)", "{job=\"api\"} 1; {job=\"web\"} 1"),
    ("stdvar(pve_cpu_usage_ratio)", "{} 0.0625"),
    ("stddev(pve_cpu_usage_ratio)", "{} 0.25"),
    (
        "topk(1, pve_cpu_usage_ratio)",
        "pve_cpu_usage_ratio{id=\"qemu/100\"} 0.75",
    ),
    ("bottomk(1, odd)", "odd{k=\"low\"} -2.5"),
    ("topk(0, up)", ""),
    ("quantile(0.25, pve_cpu_usage_ratio)", "{} 0.375"),
    ("count_values(\"value\", up)", "{value=\"0\"} 1; {value=\"1\"} 2"),
    // Operators between vectors.
    ("up == 0", "up{instance=\"b\", job=\"api\"} 0"),
    (
        "up{job=\"api\"} == bool 0",
        "{instance=\"a\", job=\"api\"} 0; {instance=\"b\", job=\"api\"} 1",
    ),
    (
        "0.5 < pve_cpu_usage_ratio",
        "pve_cpu_usage_ratio{id=\"qemu/100\"} 0.75",
    ),
    ("-pve_up{id=\"lxc/141\"}", "{id=\"lxc/141\"} -1"),
    (
        "node_filesystem_avail_bytes / node_filesystem_size_bytes",
        "{instance=\"pve1\", mountpoint=\"/\"} 0.1",
    ),
    (
        "node_filesystem_avail_bytes < node_filesystem_size_bytes",
        "node_filesystem_avail_bytes{instance=\"pve1\", mountpoint=\"/\"} 400",
    ),
    (
        "requests_total{code=\"500\"} / ignoring(code) requests_total{code=\"200\"}",
        "{job=\"api\"} 0.085714286",
    ),
    (
        "pve_cpu_usage_ratio * on(id) group_left(name,node) pve_guest_info",
        "{id=\"lxc/141\", name=\"web\", node=\"pve1\"} 0.25; {id=\"qemu/100\", name=\"db\", node=\"pve2\"} 0.75",
    ),
    (
        "pve_guest_info{type=\"lxc\"} * on(id) group_right(name) pve_up",
        "{id=\"lxc/141\", name=\"web\"} 1",
    ),
    (
        "up * on(job) group_left() sum by (job) (up)",
        "{instance=\"a\", job=\"api\"} 1; {instance=\"b\", job=\"api\"} 0; {instance=\"c\", job=\"web\"} 1",
    ),
    ("pve_up and on(id) pve_guest_info", "pve_up{id=\"lxc/141\"} 1"),
    (
        "pve_up unless on(id) pve_guest_info",
        "pve_up{id=\"node/pve1\"} 1",
    ),
    ("nothing or vector(0)", "{} 0"),
    (
        "pve_up{id=\"lxc/141\"} or on(id) pve_cpu_usage_ratio",
        "pve_cpu_usage_ratio{id=\"qemu/100\"} 0.75; pve_up{id=\"lxc/141\"} 1",
    ),
    // Functions of single values.
    ("abs(odd{k=\"low\"})", "{k=\"low\"} 2.5"),
    ("ceil(odd{k=\"low\"})", "{k=\"low\"} -2"),
    ("floor(odd{k=\"low\"})", "{k=\"low\"} -3"),
    ("round(odd{k=\"low\"})", "{k=\"low\"} -2"),
    (
        "round(pve_cpu_usage_ratio{id=\"lxc/141\"}, 0.2)",
        "{id=\"lxc/141\"} 0.2",
    ),
    (
        "clamp(odd, -1, 1)",
        "{k=\"high\"} 1; {k=\"low\"} -1; {k=\"nan\"} NaN",
    ),
    ("clamp(odd, 1, -1)", ""),
    ("clamp_min(odd{k=\"low\"}, 0)", "{k=\"low\"} 0"),
    ("clamp_max(odd{k=\"high\"}, 1)", "{k=\"high\"} 1"),
    (
        "sqrt(node_filesystem_avail_bytes)",
        "{instance=\"pve1\", mountpoint=\"/\"} 20",
    ),
    ("exp(vector(0))", "{} 1"),
    ("ln(vector(1))", "{} 0"),
    ("log2(vector(8))", "{} 3"),
    ("log10(vector(1000))", "{} 3"),
    ("sgn(odd{k!=\"nan\"})", "{k=\"high\"} 1; {k=\"low\"} -1"),
    ("scalar(node_filesystem_avail_bytes) + 1", "401"),
    ("scalar(up)", "NaN"),
    ("vector(3)", "{} 3"),
    ("absent(up)", ""),
    ("absent(gone{job=\"x\",id!=\"y\"})", "{job=\"x\"} 1"),
    ("timestamp(ended offset 241s)", "{} 1748779260"),
    (
        "timestamp(up{instance=\"a\"} offset 30s)",
        "{instance=\"a\", job=\"api\"} 1748779740",
    ),
    (
        "timestamp(up{instance=\"a\"} + 0)",
        "{instance=\"a\", job=\"api\"} 1748779800",
    ),
    // 2025-06-01 12:10 UTC, a Sunday.
    ("minute()", "{} 10"),
    ("hour()", "{} 12"),
    ("day_of_week()", "{} 0"),
    ("day_of_month()", "{} 1"),
    ("month()", "{} 6"),
    ("year()", "{} 2025"),
    ("year(vector(0))", "{} 1970"),
    // 50 observations: the rank 25 is 15 of 20 into the bucket from 0.1 to 0.5; the last bucket has no upper bound.
    ("histogram_quantile(0.5, lat_bucket)", "{} 0.4"),
    ("histogram_quantile(0.99, lat_bucket)", "{} 1"),
    ("histogram_quantile(2, lat_bucket)", "{} inf"),
    (
        "label_replace(pve_up{id=\"lxc/141\"}, \"vmid\", \"$1\", \"id\", \"lxc/(.+)\")",
        "pve_up{id=\"lxc/141\", vmid=\"141\"} 1",
    ),
    (
        "label_replace(pve_up{id=\"lxc/141\"}, \"vmid\", \"$1\", \"id\", \"(x)\")",
        "pve_up{id=\"lxc/141\"} 1",
    ),
    (
        "label_join(up{instance=\"a\"}, \"both\", \"-\", \"job\", \"instance\")",
        "up{both=\"api-a\", instance=\"a\", job=\"api\"} 1",
    ),
    // What an operator asks.
    (
        "100 * node_filesystem_avail_bytes / node_filesystem_size_bytes < 15",
        "{instance=\"pve1\", mountpoint=\"/\"} 10",
    ),
    (
        "avg_over_time(up{instance=\"b\"}[10m]) < 0.9",
        "{instance=\"b\", job=\"api\"} 0.2",
    ),
];
