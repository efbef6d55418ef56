//! SQL given to a client: parsed as SQL. Queries without side effects read; everything else writes.
//!
//! `functions` says which functions have no side effects and an end, `ends` which recursions and joins end, `secrets` what
//! holds credentials.

mod ends;
mod functions;
mod secrets;

use std::ops::ControlFlow;

use sqlparser::ast::{
    BinaryOperator, Expr, FunctionArg, FunctionArguments, ObjectName, Query, SetExpr, Statement, TableFactor,
    UnaryOperator, Use, Value, Visit, Visitor,
};
use sqlparser::dialect::{Dialect, GenericDialect, MySqlDialect, PostgreSqlDialect, SQLiteDialect};
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Token, Tokenizer};

use crate::extent::MOST_LINES;
use crate::report::Report;
use crate::verdict::{Category, Risk};
use functions::Call;
use secrets::Databases;

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

/// SQL that a client was given, and how it was written.
pub(crate) struct Given {
    /// `None` where it depends on a variable or a pattern.
    pub(crate) text: Option<String>,
    pub(crate) part: String,
}

/// Judges all the SQL that a client was given. `databases` are those that its arguments name.
pub(crate) fn judge(given: &[Given], client: &str, databases: &[String], report: &mut Report) {
    let mut known = Databases {
        mysql: client.contains("mysql") || client.contains("maria"),
        named: Vec::new(),
    };
    for name in databases {
        known.add(name);
    }
    // What one text switches to, the next one reads.
    for text in given.iter().filter_map(|given| given.text.as_deref()) {
        for name in used(text, &known) {
            known.add(&name);
        }
    }
    for Given { text, part } in given {
        let Some(text) = text else {
            report.write(
                Risk::MediumWrite,
                part,
                "is SQL that depends on a variable or a pattern",
            );
            continue;
        };
        match reads_only(text, client, &known) {
            Ok(Reading { secret, endless }) => {
                report.condition(part, "is SQL that only reads");
                if let Some(why) = endless {
                    report.endless(Category::UnboundedStream, part, why);
                }
                if secret {
                    report.secret(part, "reads a table, column or setting of secrets");
                }
            }
            Err(why) => report.write(Risk::MediumWrite, part, why),
        }
    }
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Reading {
    secret: bool,
    /// Why it may not end.
    endless: Option<String>,
}

/// The databases that a text switches to.
fn used(text: &str, databases: &Databases) -> Vec<String> {
    if !databases.mysql {
        return Vec::new();
    }
    Parser::new(&MySqlDialect {})
        .with_recursion_limit(32)
        .try_with_sql(text)
        .and_then(|mut parser| parser.parse_statements())
        .unwrap_or_default()
        .iter()
        .filter_map(|statement| match statement {
            Statement::Use(Use::Object(name)) => secrets::parts(name).pop(),
            _ => None,
        })
        .collect()
}

fn reads_only(text: &str, client: &str, databases: &Databases) -> Result<Reading, String> {
    let mysql = databases.mysql;
    // The client's vertical output, as a terminator.
    let text = if mysql {
        text.trim_end().strip_suffix("\\G").unwrap_or(text)
    } else {
        text
    };
    let trimmed = text.trim();
    if let Some(meta) = trimmed.strip_prefix('\\') {
        return psql_meta(meta).map(|secret| Reading {
            secret,
            ..Reading::default()
        });
    }
    if let Some(meta) = trimmed.strip_prefix('.')
        && client.contains("sqlite")
    {
        return sqlite_meta(meta).map(|secret| Reading {
            secret,
            ..Reading::default()
        });
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
    // `U&"!0070g_shadow" UESCAPE '!'` names another table than it seems to.
    let lower = text.to_ascii_lowercase();
    if lower.contains("u&'") || lower.contains("u&\"") {
        return Err("has an escaped name or text, which clients read differently".to_owned());
    }
    if mysql && text.contains('#') {
        return Err("has a comment, which clients read differently".to_owned());
    }
    let upper = trimmed.to_ascii_uppercase();
    if let Some(pragma) = upper.strip_prefix("PRAGMA ") {
        return pragma_reads(&pragma.to_ascii_lowercase()).map(|()| Reading::default());
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
    let mut reading = Reading::default();
    for statement in &statements {
        let found = statement_reads(statement, databases)?;
        reading.secret |= found.secret;
        reading.endless = reading.endless.or(found.endless);
    }
    Ok(reading)
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

/// Whether a statement only reads; says whether it reads secrets, and whether it ends.
fn statement_reads(statement: &Statement, databases: &Databases) -> Result<Reading, String> {
    match statement {
        Statement::Query(_) => {}
        Statement::Explain {
            analyze, statement, ..
        } => {
            // EXPLAIN ANALYZE runs the statement.
            let _ = analyze;
            return statement_reads(statement, databases);
        }
        // The client's own word; what it switches to counts for all of the text.
        Statement::Use(Use::Object(_)) if databases.mysql => return Ok(Reading::default()),
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
        | Statement::ShowCatalogs { .. } => {
            return Ok(Reading {
                secret: secrets::show_prints(&statement.to_string().to_ascii_lowercase()),
                ..Reading::default()
            });
        }
        _ => return Err("is a statement that can change something".to_owned()),
    }
    let mut look = Look {
        mysql: databases.mysql,
        why: None,
        endless: None,
        makes: 1.0,
    };
    let _ = statement.visit(&mut look);
    if let Some(why) = look.why {
        return Err(why);
    }
    if look.makes > MOST_LINES {
        look.endless
            .get_or_insert_with(|| "makes too many rows, or too long a text".to_owned());
    }
    Ok(Reading {
        secret: secrets::shows(statement, databases),
        endless: look.endless,
    })
}

struct Look {
    mysql: bool,
    why: Option<String>,
    endless: Option<String>,
    /// How many rows and repetitions its functions make, all together.
    makes: f64,
}

impl Look {
    fn refuse(&mut self, why: impl Into<String>) -> ControlFlow<()> {
        self.why = Some(why.into());
        ControlFlow::Break(())
    }

    fn function(&mut self, name: &ObjectName, args: &[FunctionArg]) -> ControlFlow<()> {
        let parts = secrets::parts(name);
        let short = match parts.as_slice() {
            [name] => name,
            [schema, name] if schema == "pg_catalog" => name,
            _ => {
                return self.refuse(format!(
                    "calls {name}, which is not known to be free of side effects"
                ));
            }
        };
        match functions::judge(short, args, self.mysql) {
            Call::Bounded => {}
            Call::Makes(size) => self.makes *= size,
            Call::Endless => {
                self.endless.get_or_insert_with(|| {
                    format!("calls {short}, which could take for ever with these arguments")
                });
            }
            Call::Unknown => {
                return self.refuse(format!(
                    "calls {short}, which is not known to be free of side effects and to end"
                ));
            }
        }
        ControlFlow::Continue(())
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
        if let Some(why) = ends::recursion(query).or_else(|| ends::joins(query)) {
            self.endless.get_or_insert_with(|| why.to_owned());
        }
        self.set_expr(&query.body)
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        match factor {
            TableFactor::Table {
                name,
                args: Some(args),
                ..
            } => self.function(name, &args.args),
            TableFactor::Function { name, args, .. } => self.function(name, args),
            TableFactor::Table { .. }
            | TableFactor::Derived { .. }
            | TableFactor::NestedJoin { .. }
            | TableFactor::UNNEST { .. } => ControlFlow::Continue(()),
            _ => self.refuse("reads from something that is not understood"),
        }
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        match expr {
            Expr::Function(function) => match &function.args {
                FunctionArguments::List(list) => self.function(&function.name, &list.args),
                FunctionArguments::None | FunctionArguments::Subquery(_) => {
                    self.function(&function.name, &[])
                }
            },
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

/// A number that is written out.
fn number(expr: &Expr) -> Option<f64> {
    match expr {
        Expr::Nested(inner) => number(inner),
        Expr::UnaryOp {
            op: UnaryOperator::Minus,
            expr,
        } => number(expr).map(|number| -number),
        Expr::Value(value) => match &value.value {
            Value::Number(text, _) => text.parse().ok(),
            _ => None,
        },
        _ => None,
    }
}

/// `\dt`, `\l+`, `\d name`: the listing commands of psql, with plain names only. Says whether it shows secrets.
fn psql_meta(meta: &str) -> Result<bool, String> {
    let mut words = meta.split_whitespace();
    let first = words.next().unwrap_or("");
    let command = first.trim_end_matches('+');
    // Options of user mappings and servers, and the connections of subscriptions.
    let secret = first.ends_with('+') && ["deu", "des", "dew", "dRs"].contains(&command);
    let lists = matches!(command, "l" | "list" | "conninfo" | "encoding" | "z")
        || command
            .strip_prefix('d')
            .is_some_and(|rest| rest.len() <= 3 && rest.bytes().all(|b| b.is_ascii_alphabetic()));
    let plain = words.all(|word| {
        word.chars()
            .all(|c| c.is_ascii_alphanumeric() || "_.*?".contains(c))
    });
    if lists && plain {
        Ok(secret)
    } else {
        Err("is a command of the client that can run or write something".to_owned())
    }
}

/// Says whether it shows secrets: `.fullschema` holds samples of the data.
fn sqlite_meta(meta: &str) -> Result<bool, String> {
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
        Ok(command == "fullschema")
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
