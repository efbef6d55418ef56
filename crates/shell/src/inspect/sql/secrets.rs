//! Tables, columns and settings that hold credentials.

use std::ops::ControlFlow;

use sqlparser::ast::{
    BinaryOperator, Expr, Ident, ObjectName, Select, SelectItem, SetExpr, Statement, TableFactor, Value,
    Visit, Visitor,
};

/// Tables of catalogues that hold password hashes, passwords of other servers, or the raw pages of a database.
const TABLES: &[&str] = &[
    "pg_authid",
    "pg_shadow",
    "pg_user_mapping",
    "pg_user_mappings",
    "_pg_user_mappings",
    "user_mapping_options",
    "pg_subscription",
    "pg_hba_file_rules",
    "pg_file_settings",
    "pg_dist_authinfo",
    "pg_statistic",
    "pg_statistic_ext_data",
    "pg_stats",
    "pg_stats_ext",
    "pg_stats_ext_exprs",
    "pg_largeobject",
    "global_priv",
    "user_attributes",
    "user_variables_by_thread",
    "sqlite_dbpage",
    "sqlite_stat3",
    "sqlite_stat4",
];

/// Tables of the database `mysql` that hold no credentials. All the others there count.
const HARMLESS_OF_MYSQL: &[&str] = &[
    "columns_priv",
    "component",
    "db",
    "default_roles",
    "engine_cost",
    "event",
    "func",
    "gtid_executed",
    "gtid_slave_pos",
    "help_category",
    "help_keyword",
    "help_relation",
    "help_topic",
    "innodb_index_stats",
    "innodb_table_stats",
    "plugin",
    "proc",
    "procs_priv",
    "proxies_priv",
    "role_edges",
    "roles_mapping",
    "server_cost",
    "tables_priv",
    "time_zone",
    "time_zone_leap_second",
    "time_zone_name",
    "time_zone_transition",
    "time_zone_transition_type",
];

/// Tables that hold credentials in the database `mysql`, where it is not known which database is meant.
const CREDENTIALS_OF_MYSQL: &[&str] = &[
    "user",
    "servers",
    "slave_master_info",
    "password_history",
    "general_log",
    "slow_log",
];

/// Databases of programs that keep credentials.
const STORES: &[&str] = &[
    "authelia",
    "authentik",
    "bitwarden",
    "guacamole",
    "hydra",
    "infisical",
    "keycloak",
    "keystone",
    "kratos",
    "passbolt",
    "vault",
    "vaultwarden",
    "zitadel",
];

/// Words in the name of a table or column that promise a secret.
const TELLING: &[&str] = &[
    "apikey",
    "apikeys",
    "authentication",
    "conninfo",
    "cookie",
    "cookies",
    "credential",
    "credentials",
    "keystore",
    "otp",
    "pass",
    "passcode",
    "passphrase",
    "passwd",
    "password",
    "passwords",
    "pin",
    "privkey",
    "pwd",
    "secret",
    "secrets",
    "token",
    "tokens",
    "totp",
];

/// Pairs of words that do.
const TELLING_PAIRS: &[(&str, &str)] = &[
    ("access", "key"),
    ("api", "key"),
    ("api", "keys"),
    ("auth", "key"),
    ("auth", "string"),
    ("encryption", "key"),
    ("private", "key"),
    ("private", "keys"),
    ("session", "data"),
    ("session", "key"),
    ("signing", "key"),
];

/// Tables of people and programs that sign in: a whole row of them holds a password hash or a key.
const ACCOUNTS: &[&str] = &[
    "account",
    "admin",
    "administrator",
    "auth",
    "client",
    "customer",
    "identity",
    "key",
    "login",
    "member",
    "operator",
    "session",
    "source",
    "user",
    "webhook",
];

/// Settings of a server that hold a password.
const SETTINGS: &[&str] = &[
    "primary_conninfo",
    "ssl_passphrase_command",
    "restore_command",
    "archive_command",
];

/// Where a query without the name of a database reads.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::inspect) struct Databases {
    pub(super) mysql: bool,
    /// Those that flags, operands and `use` name, in lower case.
    pub(super) named: Vec<String>,
}

impl Databases {
    pub(super) fn add(&mut self, name: &str) {
        self.named.push(name.to_ascii_lowercase());
    }
}

/// What a statement shows of secrets.
pub(super) struct Shown<'d> {
    databases: &'d Databases,
    /// It reads a table of secrets, or a column that is named like one.
    secret: bool,
    /// It shows whole rows.
    rows: bool,
    /// It reads a table whose whole rows hold a secret.
    accounts: bool,
    /// Names under which a whole row of such a table can be shown.
    row_names: Vec<String>,
    /// Names that stand alone in an expression.
    alone: Vec<String>,
}

/// Whether a statement shows secrets.
pub(super) fn shows(statement: &Statement, databases: &Databases) -> bool {
    let mut shown = Shown {
        databases,
        secret: false,
        rows: false,
        accounts: false,
        row_names: Vec::new(),
        alone: Vec::new(),
    };
    let _ = statement.visit(&mut shown);
    let whole_row = shown.alone.iter().any(|name| shown.row_names.contains(name));
    shown.secret || shown.accounts && (shown.rows || whole_row)
}

/// Whether a `SHOW` prints a password: its words, in lower case.
pub(super) fn show_prints(text: &str) -> bool {
    let words: Vec<&str> = text
        .split(|c: char| !(c.is_alphanumeric() || c == '_'))
        .filter(|word| !word.is_empty())
        .collect();
    matches!(words.as_slice(), ["show", "all"])
        || words.contains(&"grants")
        || words.contains(&"replicas")
        || words.windows(2).any(|pair| {
            matches!(
                pair,
                ["create", "user" | "server" | "subscription"] | ["slave" | "replica", "hosts"]
            )
        })
        || SETTINGS.iter().any(|setting| words.contains(setting))
}

impl Shown<'_> {
    fn table(&mut self, parts: &[String]) {
        let Some(table) = parts.last() else { return };
        let schema = parts.len().checked_sub(2).and_then(|at| parts.get(at));
        let known = &self.databases.named;
        let of_mysql = match schema {
            Some(schema) => schema == "mysql",
            None => self.databases.mysql && known.iter().any(|name| name == "mysql"),
        };
        let perhaps_of_mysql = schema.is_none() && self.databases.mysql && known.is_empty();
        self.secret |= TABLES.contains(&table.as_str())
            || tells(table)
            || schema.is_some_and(|schema| tells(schema) || STORES.contains(&schema.as_str()))
            || of_mysql && !HARMLESS_OF_MYSQL.contains(&table.as_str())
            || perhaps_of_mysql && CREDENTIALS_OF_MYSQL.contains(&table.as_str());
        // Catalogues show stars instead of passwords, unless they are listed above.
        let catalogue = table.starts_with("pg_")
            || schema.is_some_and(|schema| {
                matches!(
                    schema.as_str(),
                    "information_schema" | "performance_schema" | "pg_catalog" | "sys"
                )
            });
        let holds_accounts = !catalogue && table_of_accounts(table)
            || known
                .iter()
                .any(|name| STORES.contains(&name.as_str()) || tells(name));
        if holds_accounts {
            self.accounts = true;
            self.row_names.push(table.clone());
        }
    }

    /// The settings of a server are shown: all, or those that a condition names.
    fn settings(&mut self, select: &Select) {
        let all = select.from.iter().any(|from| {
            std::iter::once(&from.relation)
                .chain(from.joins.iter().map(|join| &join.relation))
                .any(|factor| matches!(factor, TableFactor::Table { name, .. } if parts(name).last().is_some_and(|name| name == "pg_settings")))
        });
        self.secret |= all && !select.selection.as_ref().is_some_and(names_harmless_settings);
    }
}

impl Visitor for Shown<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &sqlparser::ast::Query) -> ControlFlow<()> {
        self.whole_table(&query.body);
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        self.rows |= select
            .projection
            .iter()
            .any(|item| matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..)));
        self.settings(select);
        ControlFlow::Continue(())
    }

    fn pre_visit_relation(&mut self, relation: &ObjectName) -> ControlFlow<()> {
        self.table(&parts(relation));
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        if let TableFactor::Table {
            name,
            alias: Some(alias),
            ..
        } = factor
        {
            self.row_names.push(alias.name.value.to_ascii_lowercase());
            // Other names for the columns hide what they hold.
            self.rows |=
                !alias.columns.is_empty() && parts(name).last().is_some_and(|name| table_of_accounts(name));
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_ident(&mut self, ident: &Ident) -> ControlFlow<()> {
        self.secret |= tells(&ident.value.to_ascii_lowercase());
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        match expr {
            Expr::Identifier(name) => self.alone.push(name.value.to_ascii_lowercase()),
            Expr::CompoundFieldAccess { .. } | Expr::QualifiedWildcard(..) | Expr::Wildcard(_) => {
                self.rows = true;
            }
            Expr::Function(function) => {
                let counts = function.name.to_string().eq_ignore_ascii_case("count");
                let text = function.args.to_string();
                self.rows |= !counts && text.contains('*');
                // `current_setting('primary_conninfo')`
                let text = text.to_ascii_lowercase();
                self.secret |= SETTINGS.iter().any(|setting| text.contains(setting));
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

impl Shown<'_> {
    /// `table users` shows whole rows, and is not visited.
    fn whole_table(&mut self, body: &SetExpr) {
        match body {
            SetExpr::Table(table) => {
                self.rows = true;
                let parts: Vec<String> = [&table.schema_name, &table.table_name]
                    .into_iter()
                    .flatten()
                    .map(|name| name.replace('"', "").to_ascii_lowercase())
                    .collect();
                self.table(&parts);
                self.secret |= parts.last().is_some_and(|name| name == "pg_settings");
            }
            SetExpr::SetOperation { left, right, .. } => {
                self.whole_table(left);
                self.whole_table(right);
            }
            _ => {}
        }
    }
}

/// The parts of a name, in lower case and without quotes.
pub(super) fn parts(name: &ObjectName) -> Vec<String> {
    name.0
        .iter()
        .map(|part| match part.as_ident() {
            Some(ident) => ident.value.to_ascii_lowercase(),
            None => part.to_string().to_ascii_lowercase(),
        })
        .collect()
}

/// Whether a name in lower case promises a secret.
fn tells(name: &str) -> bool {
    let words: Vec<&str> = name
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    words.iter().any(|word| TELLING.contains(word))
        || words.windows(2).any(|pair| {
            TELLING_PAIRS
                .iter()
                .any(|(first, second)| pair[0] == *first && pair[1] == *second)
        })
        || [
            "password",
            "passwd",
            "secret",
            "credential",
            "privatekey",
            "apikey",
            "accesstoken",
        ]
        .iter()
        .any(|part| name.contains(part))
}

/// Whether whole rows of a table hold a password hash or a key, by the last word of its name.
fn table_of_accounts(table: &str) -> bool {
    let last = table.rsplit('_').next().unwrap_or(table);
    let one = last.strip_suffix("ies").map_or_else(
        || last.strip_suffix('s').unwrap_or(last).to_owned(),
        |stem| format!("{stem}y"),
    );
    ACCOUNTS.contains(&one.as_str())
}

/// `name = 'x'`, `name in ('x', 'y')`, `name like '%x%'`, also beside other conditions.
fn names_harmless_settings(condition: &Expr) -> bool {
    let of_name = |expr: &Expr| match expr {
        Expr::Identifier(name) => name.value.eq_ignore_ascii_case("name"),
        Expr::CompoundIdentifier(names) => names
            .last()
            .is_some_and(|name| name.value.eq_ignore_ascii_case("name")),
        _ => false,
    };
    let harmless = |expr: &Expr| {
        text(expr).is_some_and(|text| !SETTINGS.iter().any(|setting| setting.eq_ignore_ascii_case(text)))
    };
    match condition {
        Expr::Nested(inner) => names_harmless_settings(inner),
        Expr::BinaryOp {
            left,
            op: BinaryOperator::And,
            right,
        } => names_harmless_settings(left) || names_harmless_settings(right),
        Expr::BinaryOp {
            left,
            op: BinaryOperator::Or,
            right,
        } => names_harmless_settings(left) && names_harmless_settings(right),
        Expr::BinaryOp {
            left,
            op: BinaryOperator::Eq,
            right,
        } => of_name(left) && harmless(right) || of_name(right) && harmless(left),
        Expr::InList {
            expr,
            list,
            negated: false,
        } => of_name(expr) && list.iter().all(harmless),
        Expr::Like {
            negated: false,
            expr,
            pattern,
            ..
        }
        | Expr::ILike {
            negated: false,
            expr,
            pattern,
            ..
        } => {
            of_name(expr)
                && text(pattern).is_some_and(|pattern| {
                    let pattern = pattern.to_ascii_lowercase();
                    let pieces: Vec<&str> = pattern
                        .split(['%', '_'])
                        .filter(|piece| !piece.is_empty())
                        .collect();
                    // Each of these settings must lack a piece of the pattern.
                    SETTINGS
                        .iter()
                        .all(|setting| pieces.iter().any(|piece| !setting.contains(piece)))
                })
        }
        _ => false,
    }
}

fn text(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) => Some(text),
            _ => None,
        },
        _ => None,
    }
}
