//! SQL given to a client: parsed as SQL. Queries without side effects read; everything else writes.

use std::ops::ControlFlow;

use sqlparser::ast::{
    BinaryOperator, Expr, ObjectName, Query, SetExpr, Statement, TableFactor, Visit, Visitor,
};
use sqlparser::dialect::{Dialect, GenericDialect, MySqlDialect, PostgreSqlDialect, SQLiteDialect};
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Token, Tokenizer};

use crate::report::Report;
use crate::table::Node;
use crate::verdict::{Category, Risk};
use crate::word::Arg;

/// Functions without side effects. One that is not here could do anything.
const FUNCTIONS: &[&str] = &[
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
    "format",
    "format_bytes",
    "format_type",
    "found_rows",
    "from_unixtime",
    "generate_series",
    "greatest",
    "group_concat",
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
    "lpad",
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
    "repeat",
    "replace",
    "reverse",
    "right",
    "round",
    "row_count",
    "row_number",
    "row_to_json",
    "rpad",
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
    "variance",
    "version",
    "week",
    "weekday",
    "year",
    "years",
    "has_table_privilege",
    "has_schema_privilege",
    "has_database_privilege",
    "pg_stat_file_size",
    "values",
];

/// Tables that hold password hashes or keys.
const SECRETS: &[&str] = &[
    "pg_shadow",
    "pg_authid",
    "pg_user_mapping",
    "pg_user_mappings",
    "pg_subscription",
    "mysql.user",
    "mysql.servers",
    "global_priv",
    "slave_master_info",
    "user_privileges",
    "secrets",
    "credentials",
    "passwords",
];

/// Read-only pragmas of `SQLite`, when they are given no value.
const PRAGMAS: &[&str] = &[
    "table_info",
    "table_xinfo",
    "table_list",
    "index_list",
    "index_info",
    "index_xinfo",
    "foreign_key_list",
    "database_list",
    "collation_list",
    "function_list",
    "module_list",
    "pragma_list",
    "compile_options",
    "page_count",
    "page_size",
    "freelist_count",
    "journal_mode",
    "user_version",
    "schema_version",
    "application_id",
    "encoding",
    "integrity_check",
    "quick_check",
    "foreign_key_check",
    "cache_size",
    "synchronous",
    "auto_vacuum",
    "wal_autocheckpoint",
    "data_version",
    "max_page_count",
];

/// Judges SQL that is an argument of a client.
pub(crate) fn judge(arg: &Arg<'_>, node: &Node, part: &str, report: &mut Report) {
    let Some(text) = arg.text() else {
        report.write(
            Risk::MediumWrite,
            part,
            "is SQL that depends on a variable or a pattern",
        );
        return;
    };
    match reads_only(text, &node.name) {
        Ok(Reading { secret }) => {
            report.condition(part, "is SQL that only reads");
            let upper = text.to_ascii_uppercase();
            if upper.contains("RECURSIVE") && !upper.contains("LIMIT") {
                report.endless(
                    Category::UnboundedStream,
                    part,
                    "has a recursion that may not end",
                );
            }
            if secret {
                report.secret(part, "reads a table of secrets");
            }
        }
        Err(why) => report.write(Risk::MediumWrite, part, why),
    }
}

#[derive(Debug, PartialEq, Eq)]
struct Reading {
    secret: bool,
}

fn reads_only(text: &str, client: &str) -> Result<Reading, String> {
    let mysql = client.contains("mysql") || client.contains("maria");
    // The client's vertical output, as a terminator.
    let text = if mysql {
        text.trim_end().strip_suffix("\\G").unwrap_or(text)
    } else {
        text
    };
    let trimmed = text.trim();
    if let Some(meta) = trimmed.strip_prefix('\\') {
        return psql_meta(meta).map(|()| Reading { secret: false });
    }
    if let Some(meta) = trimmed.strip_prefix('.')
        && client.contains("sqlite")
    {
        return sqlite_meta(meta).map(|()| Reading { secret: false });
    }
    // What clients read differently: escapes, comments (some are executed), dollar quotes.
    for (mark, why) in [
        ("\\", "has a backslash, which clients read differently"),
        ("--", "has a comment, which clients read differently"),
        ("/*", "has a comment, which clients may execute"),
        ("$", "has a dollar sign, which clients read differently"),
        ("`", "has a backquote, which clients read differently"),
    ] {
        if text.contains(mark) {
            return Err(why.to_owned());
        }
    }
    if mysql && text.contains('#') {
        return Err("has a comment, which clients read differently".to_owned());
    }
    let upper = trimmed.to_ascii_uppercase();
    if let Some(pragma) = upper.strip_prefix("PRAGMA ") {
        return pragma_reads(&pragma.to_ascii_lowercase()).map(|()| Reading { secret: false });
    }
    if mysql && let Some(word) = trimmed.split_whitespace().next() {
        // Words of the client itself, which it obeys without a semicolon.
        if matches!(
            word.to_ascii_lowercase().as_str(),
            "system"
                | "source"
                | "tee"
                | "pager"
                | "edit"
                | "delimiter"
                | "prompt"
                | "connect"
                | "notee"
                | "rehash"
        ) {
            return Err("is a command of the client".to_owned());
        }
    }
    let dialect: Box<dyn Dialect> = if mysql {
        Box::new(MySqlDialect {})
    } else if client.contains("sqlite") {
        Box::new(SQLiteDialect {})
    } else if client.contains("psql") || client.contains("postgres") || client.contains("cockroach") {
        Box::new(PostgreSqlDialect {})
    } else {
        Box::new(GenericDialect {})
    };
    if let Some(word) = writing_word(dialect.as_ref(), text) {
        return Err(format!("has `{word}`, which writes"));
    }
    let statements = Parser::new(dialect.as_ref())
        .with_recursion_limit(32)
        .try_with_sql(text)
        .and_then(|mut parser| parser.parse_statements())
        .map_err(|error| format!("is not understood as SQL ({error})"))?;
    if statements.is_empty() {
        return Err("holds no SQL".to_owned());
    }
    let mut secret = false;
    for statement in &statements {
        secret |= statement_reads(statement)?;
    }
    Ok(Reading { secret })
}

/// A word that only a statement which writes has, unless it is quoted. The parser takes some of them for names:
/// `select into x from y` has no column `into`, it makes the table `x`.
fn writing_word(dialect: &dyn Dialect, text: &str) -> Option<String> {
    let tokens = Tokenizer::new(dialect, text).tokenize().ok()?;
    tokens.into_iter().find_map(|token| match token {
        Token::Word(word)
            if word.quote_style.is_none()
                && matches!(
                    word.value.to_ascii_lowercase().as_str(),
                    "into" | "outfile" | "dumpfile"
                ) =>
        {
            Some(word.value)
        }
        _ => None,
    })
}

/// Whether a statement only reads; says whether it reads secrets.
fn statement_reads(statement: &Statement) -> Result<bool, String> {
    match statement {
        Statement::Query(_) => {}
        Statement::Explain {
            analyze, statement, ..
        } => {
            // EXPLAIN ANALYZE runs the statement.
            let _ = analyze;
            return statement_reads(statement);
        }
        Statement::ExplainTable { .. }
        | Statement::ShowVariable { .. }
        | Statement::ShowVariables { .. }
        | Statement::ShowStatus { .. }
        | Statement::ShowTables { .. }
        | Statement::ShowColumns { .. }
        | Statement::ShowDatabases { .. }
        | Statement::ShowSchemas { .. }
        | Statement::ShowCreate { .. }
        | Statement::ShowCollation { .. }
        | Statement::ShowFunctions { .. }
        | Statement::ShowViews { .. }
        | Statement::ShowProcessList { .. }
        | Statement::ShowCharset { .. }
        | Statement::ShowCatalogs { .. } => return Ok(false),
        _ => return Err("is a statement that can change something".to_owned()),
    }
    let mut look = Look {
        why: None,
        secret: false,
    };
    let _ = statement.visit(&mut look);
    match look.why {
        Some(why) => Err(why),
        None => Ok(look.secret),
    }
}

struct Look {
    why: Option<String>,
    secret: bool,
}

impl Look {
    fn refuse(&mut self, why: impl Into<String>) -> ControlFlow<()> {
        self.why = Some(why.into());
        ControlFlow::Break(())
    }

    fn function(&mut self, name: &ObjectName) -> ControlFlow<()> {
        let full = name.to_string().to_ascii_lowercase().replace('"', "");
        let short = full.strip_prefix("pg_catalog.").unwrap_or(&full);
        if FUNCTIONS.contains(&short) {
            ControlFlow::Continue(())
        } else {
            self.refuse(format!(
                "calls {full}, which is not known to be free of side effects"
            ))
        }
    }

    fn set_expr(&mut self, body: &SetExpr) -> ControlFlow<()> {
        match body {
            SetExpr::Select(select) => {
                if select.into.is_some() {
                    return self.refuse("creates a table");
                }
                ControlFlow::Continue(())
            }
            SetExpr::SetOperation { left, right, .. } => {
                self.set_expr(left)?;
                self.set_expr(right)
            }
            // A nested query is visited by itself.
            SetExpr::Query(_) | SetExpr::Values(_) | SetExpr::Table(_) => ControlFlow::Continue(()),
            _ => self.refuse("changes data inside a query"),
        }
    }
}

impl Visitor for Look {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        if !query.locks.is_empty() {
            return self.refuse("locks rows");
        }
        if query.for_clause.is_some()
            || query.settings.is_some()
            || query.format_clause.is_some()
            || !query.pipe_operators.is_empty()
        {
            return self.refuse("has a clause that is not understood");
        }
        self.set_expr(&query.body)
    }

    fn pre_visit_relation(&mut self, relation: &ObjectName) -> ControlFlow<()> {
        let full = relation.to_string().to_ascii_lowercase().replace(['"', '\''], "");
        let last = full.rsplit('.').next().unwrap_or(&full);
        self.secret |= SECRETS.iter().any(|secret| *secret == full || *secret == last);
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        match factor {
            TableFactor::Table {
                name, args: Some(_), ..
            }
            | TableFactor::Function { name, .. } => self.function(name),
            TableFactor::Table { .. }
            | TableFactor::Derived { .. }
            | TableFactor::NestedJoin { .. }
            | TableFactor::UNNEST { .. } => ControlFlow::Continue(()),
            _ => self.refuse("reads from something that is not understood"),
        }
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        match expr {
            Expr::Function(function) => self.function(&function.name),
            // `@x := 1` assigns.
            Expr::BinaryOp {
                op:
                    BinaryOperator::Assignment
                    | BinaryOperator::Custom(_)
                    | BinaryOperator::PGCustomBinaryOperator(_),
                ..
            } => self.refuse("uses an operator that is not understood"),
            _ => ControlFlow::Continue(()),
        }
    }
}

/// `\dt`, `\l+`, `\d name`: the listing commands of psql, with plain names only.
fn psql_meta(meta: &str) -> Result<(), String> {
    let mut words = meta.split_whitespace();
    let command = words.next().unwrap_or("").trim_end_matches('+');
    let lists = matches!(command, "l" | "list" | "conninfo" | "encoding" | "z")
        || command
            .strip_prefix('d')
            .is_some_and(|rest| rest.len() <= 3 && rest.bytes().all(|b| b.is_ascii_alphabetic()));
    let plain = words.all(|word| {
        word.chars()
            .all(|c| c.is_ascii_alphanumeric() || "_.*?".contains(c))
    });
    if lists && plain {
        Ok(())
    } else {
        Err("is a command of the client that can run or write something".to_owned())
    }
}

fn sqlite_meta(meta: &str) -> Result<(), String> {
    let mut words = meta.split_whitespace();
    let command = words.next().unwrap_or("");
    let lists = matches!(
        command,
        "tables"
            | "schema"
            | "indexes"
            | "indices"
            | "databases"
            | "dbinfo"
            | "fullschema"
            | "show"
            | "version"
    );
    let plain = words.all(|word| {
        word.chars()
            .all(|c| c.is_ascii_alphanumeric() || "_.%".contains(c))
    });
    if lists && plain && !meta.contains('\n') {
        Ok(())
    } else {
        Err("is a command of the client that can run or write something".to_owned())
    }
}

fn pragma_reads(pragma: &str) -> Result<(), String> {
    let pragma = pragma.trim().trim_end_matches(';').trim();
    let (name, argument) = match pragma.split_once('(') {
        Some((name, rest)) => (name.trim(), Some(rest.trim_end_matches(')').trim())),
        None => (pragma, None),
    };
    let plain = argument.is_none_or(|argument| {
        argument
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '\'')
    });
    let about_a_table = matches!(
        name,
        "table_info"
            | "table_xinfo"
            | "index_list"
            | "index_info"
            | "index_xinfo"
            | "foreign_key_list"
            | "integrity_check"
            | "quick_check"
            | "foreign_key_check"
    );
    if PRAGMAS.contains(&name) && plain && (argument.is_none() || about_a_table) {
        Ok(())
    } else {
        Err("is a pragma that can change something".to_owned())
    }
}

#[cfg(test)]
mod tests;
