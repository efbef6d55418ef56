//! Functions that a query may call: without side effects, and with an end.
//!
//! One that is not here could do anything, or take for ever: `pg_sleep`, `benchmark`, `randomblob`, `pg_read_file`.

use sqlparser::ast::{
    BinaryOperator, DateTimeField, Expr, FunctionArg, FunctionArgExpr, Interval, UnaryOperator, Value,
};

use super::number;
use crate::extent;

/// Functions whose work and result are no larger than what they are given.
const BOUNDED: &[&str] = &[
    "abs",
    "acos",
    "age",
    "array_agg",
    "array_length",
    "array_to_string",
    "ascii",
    "asin",
    "atan",
    "avg",
    "bit_length",
    "btrim",
    "cardinality",
    "cast",
    "ceil",
    "ceiling",
    "changes",
    "char_length",
    "character_length",
    "chr",
    "coalesce",
    "col_description",
    "concat",
    "concat_ws",
    "connection_id",
    "convert_tz",
    "cos",
    "count",
    "cume_dist",
    "curdate",
    "current_catalog",
    "current_database",
    "current_date",
    "current_role",
    "current_schema",
    "current_schemas",
    "current_setting",
    "current_time",
    "current_timestamp",
    "current_user",
    "curtime",
    "database",
    "date",
    "date_add",
    "date_format",
    "date_part",
    "date_sub",
    "date_trunc",
    "datediff",
    "datetime",
    "day",
    "dayname",
    "dayofmonth",
    "dayofweek",
    "dayofyear",
    "degrees",
    "dense_rank",
    "every",
    "exp",
    "extract",
    "first_value",
    "floor",
    "format_bytes",
    "format_type",
    "found_rows",
    "from_unixtime",
    "greatest",
    "group_concat",
    "has_database_privilege",
    "has_schema_privilege",
    "has_table_privilege",
    "hex",
    "hour",
    "if",
    "ifnull",
    "iif",
    "inet_client_addr",
    "inet_server_addr",
    "inet_server_port",
    "initcap",
    "instr",
    "isnull",
    "json_agg",
    "json_array",
    "json_build_object",
    "json_extract",
    "json_object",
    "json_object_agg",
    "json_unquote",
    "jsonb_agg",
    "jsonb_pretty",
    "julianday",
    "justify_hours",
    "lag",
    "last_value",
    "lcase",
    "lead",
    "least",
    "left",
    "length",
    "ln",
    "locate",
    "log",
    "log10",
    "lower",
    "ltrim",
    "make_interval",
    "max",
    "md5",
    "mid",
    "min",
    "minute",
    "mod",
    "month",
    "monthname",
    "now",
    "ntile",
    "nullif",
    "nvl",
    "obj_description",
    "octet_length",
    "percent_rank",
    "percentile_cont",
    "percentile_disc",
    "pg_backend_pid",
    "pg_blocking_pids",
    "pg_char_to_encoding",
    "pg_collation_for",
    "pg_column_size",
    "pg_conf_load_time",
    "pg_current_wal_lsn",
    "pg_database_size",
    "pg_encoding_to_char",
    "pg_get_constraintdef",
    "pg_get_expr",
    "pg_get_functiondef",
    "pg_get_indexdef",
    "pg_get_userbyid",
    "pg_get_viewdef",
    "pg_indexes_size",
    "pg_is_in_backup",
    "pg_is_in_recovery",
    "pg_is_wal_replay_paused",
    "pg_last_wal_receive_lsn",
    "pg_last_wal_replay_lsn",
    "pg_last_xact_replay_timestamp",
    "pg_lsn",
    "pg_postmaster_start_time",
    "pg_relation_filepath",
    "pg_relation_size",
    "pg_size_bytes",
    "pg_size_pretty",
    "pg_stat_get_activity",
    "pg_table_is_visible",
    "pg_table_size",
    "pg_tablespace_location",
    "pg_tablespace_size",
    "pg_total_relation_size",
    "pg_typeof",
    "pg_wal_lsn_diff",
    "pg_walfile_name",
    "pi",
    "position",
    "pow",
    "power",
    "quarter",
    "quote",
    "radians",
    "random",
    "rank",
    "regexp_count",
    "regexp_match",
    "regexp_matches",
    "regexp_replace",
    "regexp_split_to_table",
    "replace",
    "reverse",
    "right",
    "round",
    "row_count",
    "row_number",
    "row_to_json",
    "rtrim",
    "schema",
    "second",
    "session_user",
    "shobj_description",
    "sign",
    "sin",
    "split_part",
    "sqlite_version",
    "sqrt",
    "stddev",
    "str_to_date",
    "strftime",
    "string_agg",
    "string_to_array",
    "strpos",
    "substr",
    "substring",
    "substring_index",
    "sum",
    "sysdate",
    "tan",
    "time",
    "timediff",
    "timestampdiff",
    "to_char",
    "to_date",
    "to_json",
    "to_jsonb",
    "to_number",
    "to_regclass",
    "to_timestamp",
    "total",
    "total_changes",
    "translate",
    "trim",
    "trunc",
    "truncate",
    "txid_current_snapshot",
    "typeof",
    "ucase",
    "unhex",
    "unix_timestamp",
    "unnest",
    "upper",
    "user",
    "utc_date",
    "utc_time",
    "utc_timestamp",
    "uuid",
    "values",
    "variance",
    "version",
    "week",
    "weekday",
    "year",
    "years",
];

/// What is known of a call.
pub(super) enum Call {
    /// It does no more than what it is given.
    Bounded,
    /// It makes so many rows, or repeats so often.
    Makes(f64),
    /// It could make any number of rows or bytes.
    Endless,
    /// It is not known to be free of side effects.
    Unknown,
}

/// Judges a call by its name, in lower case and without a schema, and its arguments.
pub(super) fn judge(name: &str, args: &[FunctionArg], mysql: bool) -> Call {
    if BOUNDED.contains(&name) {
        return Call::Bounded;
    }
    let args: Option<Vec<&Expr>> = args.iter().map(plain).collect();
    let size = |at: usize| args.as_ref().and_then(|args| number(args.get(at)?));
    let made = |size: Option<f64>| match size {
        Some(size) if size.abs() <= extent::MOST_LINES => Call::Makes(size.max(1.0)),
        _ => Call::Endless,
    };
    match name {
        "repeat" => made(size(1)),
        // Their length does not depend on that of others.
        "lpad" | "rpad" => match made(size(1)) {
            Call::Makes(_) => Call::Bounded,
            other => other,
        },
        // Elsewhere than in MySQL the first argument is a template, and `%99999999s` a width.
        "format" if mysql => Call::Bounded,
        "format" => match args.as_deref() {
            Some([Expr::Value(template), ..]) => match &template.value {
                Value::SingleQuotedString(template) if narrow(template) => Call::Bounded,
                _ => Call::Endless,
            },
            _ => Call::Endless,
        },
        "generate_series" => made(args.as_deref().and_then(rows)),
        _ => Call::Unknown,
    }
}

/// An argument without a name.
const fn plain(arg: &FunctionArg) -> Option<&Expr> {
    match arg {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr),
        _ => None,
    }
}

/// Whether no width in a template is large, or comes from an argument.
fn narrow(template: &str) -> bool {
    !template.contains('*')
        && !template
            .split(|c: char| !c.is_ascii_digit())
            .any(|digits| digits.len() > 4)
}

/// How many rows a series has: of numbers, or of moments in equal steps.
fn rows(args: &[&Expr]) -> Option<f64> {
    let (first, last, step) = match args {
        [first, last] => (first, last, None),
        [first, last, step] => (first, last, Some(*step)),
        _ => return None,
    };
    if let (Some(first), Some(last)) = (number(first), number(last)) {
        let step = step.map_or(Some(1.0), number)?;
        return (step != 0.0).then(|| ((last - first) / step).floor() + 1.0);
    }
    let (first, last) = (moment(first)?, moment(last)?);
    if first.of_now != last.of_now {
        return None;
    }
    let step = length(step?)?;
    (step > 0.0).then(|| ((last.seconds - first.seconds) / step).floor() + 1.0)
}

/// A moment that the query writes out.
struct Moment {
    /// Whether the seconds are counted from now, or from 1970.
    of_now: bool,
    seconds: f64,
}

fn moment(expr: &Expr) -> Option<Moment> {
    match expr {
        Expr::Nested(inner) => moment(inner),
        Expr::Cast { expr, .. } => moment(expr),
        Expr::Function(function) => {
            let name = function.name.to_string().to_ascii_lowercase();
            matches!(
                name.as_str(),
                "now" | "current_timestamp" | "current_date" | "localtimestamp"
            )
            .then_some(Moment {
                of_now: true,
                seconds: 0.0,
            })
        }
        Expr::Value(value) => date(&value.value),
        Expr::TypedString(typed) => date(&typed.value.value),
        Expr::BinaryOp { left, op, right } => {
            let start = moment(left)?;
            let length = length(right)?;
            let seconds = match op {
                BinaryOperator::Plus => start.seconds + length,
                BinaryOperator::Minus => start.seconds - length,
                _ => return None,
            };
            Some(Moment { seconds, ..start })
        }
        _ => None,
    }
}

fn date(value: &Value) -> Option<Moment> {
    let Value::SingleQuotedString(text) = value else {
        return None;
    };
    #[expect(clippy::cast_precision_loss, reason = "dates of four digits are exact")]
    extent::date(text).map(|seconds| Moment {
        of_now: false,
        // The time of the day adds less than a day.
        seconds: seconds as f64,
    })
}

/// A length of time that the query writes out, in seconds: `interval '1 hour'`, `'5 min'`.
fn length(expr: &Expr) -> Option<f64> {
    match expr {
        Expr::Nested(inner) => length(inner),
        Expr::Cast { expr, .. } => length(expr),
        Expr::UnaryOp {
            op: UnaryOperator::Minus,
            expr,
        } => length(expr).map(|seconds| -seconds),
        Expr::Value(value) => words(&value.value),
        Expr::Interval(Interval {
            value,
            leading_field: None,
            ..
        }) => length(value),
        Expr::Interval(Interval {
            value,
            leading_field: Some(field),
            last_field: None,
            ..
        }) => {
            let count = number(value).or_else(|| match value.as_ref() {
                Expr::Value(value) => match &value.value {
                    Value::SingleQuotedString(text) => text.trim().parse().ok(),
                    _ => None,
                },
                _ => None,
            })?;
            let each = match field {
                DateTimeField::Second => 1.0,
                DateTimeField::Minute => 60.0,
                DateTimeField::Hour => 3600.0,
                DateTimeField::Day => 86_400.0,
                DateTimeField::Week(_) => 604_800.0,
                DateTimeField::Month => 2_419_200.0,
                DateTimeField::Year => 31_536_000.0,
                _ => return None,
            };
            Some(count * each)
        }
        _ => None,
    }
}

fn words(value: &Value) -> Option<f64> {
    let Value::SingleQuotedString(text) = value else {
        return None;
    };
    let months = |words: &[&str], each: f64| {
        let (count, unit) = text.trim().split_once(' ')?;
        words
            .contains(&unit.trim())
            .then(|| count.parse::<f64>().ok().map(|count| count * each))
            .flatten()
    };
    extent::time(text, extent::Unit::Seconds)
        .or_else(|| months(&["month", "months", "mon", "mons"], 2_419_200.0))
        .or_else(|| months(&["year", "years"], 31_536_000.0))
}
