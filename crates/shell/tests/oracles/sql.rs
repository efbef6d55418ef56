//! SQL: the `SQLite` shell, on a database that is compared before and after.

use std::fs;

use crate::arena::{Case, Language, called_a_read};
use crate::quoted;
use crate::random::Random;

const READS: &[&str] = &[
    "select 1",
    "select * from t",
    "select count(*) from t where a > 0",
    "pragma table_info(t)",
    "select a from t order by 1 limit 1",
    "explain select 1",
    "select 'x'",
    "select \"a\" from t",
    "with q as (select 1) select * from q",
    "values (1)",
    "select upper(b) from t",
    ".tables",
    ".schema t",
    "explain query plan select * from t",
    "select [a] from t",
    "select replace(b,'x','y') from t",
    "select coalesce(a,1), x'00' from t",
];

const WRITES: &[&str] = &[
    "delete from t",
    "insert into t values(2,'y')",
    "update t set a=2",
    "drop table t",
    "create table u(a)",
    "replace into t values(3,'z')",
    "vacuum into 'M'",
    "attach 'M' as m; create table m.x(a)",
    "attach 'M' as m;create table m.u(a)",
    "select writefile('M','x')",
    "pragma user_version=5",
    "pragma user_version(5)",
    "pragma journal_mode=wal",
    "pragma application_id = 7",
    "alter table t add c",
    "reindex;insert into t values(1,1)",
    "create index i on t(a)",
    "select load_extension('M')",
    "with q as (select 1) delete from t",
    "with q as (select 1) insert into t select 9,'q' from q",
    ".shell touch M",
    ".system touch M",
    ".output M",
    ".once M",
    ".backup M",
    ".save M",
    ".clone M",
    ".log M",
    ".excel",
    ".dump",
    ".read s",
    ".import f t",
    ".cd d",
    ".open M",
    ".trace M",
    ".session x",
    ".archive -c f",
    "explain delete from t",
    "analyze",
    "pragma writable_schema=1",
    "begin; delete from t; commit",
    "insert into t select 1,'a' returning a",
    "select edit('x','touch M #')",
    "pragma main.user_version=9",
    "pragma auto_vacuum=1;vacuum",
];

const GLUE: &[&str] = &[
    "; ", ";", ";\n", "\n", " ", " -- ", "/*", "*/", "--\n", "'", "''", "\"", "[", "]", "`", "\\", ")", "(",
    ";;", "'; ", "\"; ", "]; ", "$", ";\t", " union ", " as x;", "#", ";.", "\n.",
];

fn generate(random: &mut Random) -> Case {
    let read = random.pick(READS);
    let write = random.pick(WRITES);
    let (sql, family) = match random.below(5) {
        0 => (read.to_owned(), "reads"),
        1 => (write.to_owned(), "writes"),
        2 => (format!("{read}{}{write}", random.soup(GLUE, 1, 2)), "glued"),
        3 => (
            format!(
                "select {}{}{write}{}",
                random.pick(&["[a'", "'a", "\"a", "[a\"", "`a", "'a''", "1", "[a", "x'", "a."]),
                random.soup(GLUE, 1, 2),
                random.soup(GLUE, 1, 2)
            ),
            "quotes",
        ),
        _ => (
            format!(
                "{}{read}{}{read}",
                random.soup(GLUE, 0, 1),
                random.soup(GLUE, 1, 2)
            ),
            "reads",
        ),
    };
    let sql = quoted(&sql);
    let text = match random.below(6) {
        1 => format!("sqlite3 -readonly -header -csv t.db {sql}"),
        2 => format!("sqlite3 -readonly t.db {sql} {}", quoted(random.pick(READS))),
        _ => format!("sqlite3 -readonly t.db {sql}"),
    };
    Case { text, family }
}

pub(crate) const SQL: Language = Language {
    name: "sqlite",
    generate,
    implementations: &[("sqlite3", "sqlite3")],
    run: r#"
run() {
  if [ ! -s t.db ]; then
    sqlite3 t.db "create table t(a,b); insert into t values(1,'x')" && cp t.db ../t.db && cp t.db ../base/t.db
  fi
  # A read is run without the flag that would keep it from writing: the text must be harmless by itself.
  sqlite3() { [ "$1" != -readonly ] || shift; limit sqlite3 "$@"; }
  (eval "$text") </dev/null >/dev/null 2>&1
  unset -f sqlite3
  cmp -s t.db ../t.db || : > M
}
"#,
    prepare: |base| {
        fs::create_dir_all(base.join("d")).unwrap();
        fs::write(base.join("s"), ".shell touch M\n").unwrap();
        fs::write(base.join("t.db"), "").unwrap();
    },
    reads: called_a_read,
    cases: 2_500,
    most: 150,
    families: &["writes", "glued", "quotes"],
    former: None,
    rules: &[],
};

#[test]
fn no_sql_that_is_called_a_read_changes_the_database() {
    SQL.check();
}
