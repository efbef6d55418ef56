use super::*;

#[test]
fn queries_read() {
    for (client, sql) in [
        ("psql", "SELECT 1"),
        (
            "psql",
            "select count(*) from pg_stat_activity where state = 'active'",
        ),
        ("psql", "SELECT pg_size_pretty(pg_database_size('app'))"),
        ("psql", "EXPLAIN ANALYZE SELECT * FROM t WHERE a > 3"),
        ("psql", "WITH x AS (SELECT 1 AS a) SELECT a FROM x"),
        ("psql", "SHOW max_connections"),
        ("psql", "\\dt"),
        ("psql", "\\d+ public.users"),
        ("psql", "\\l"),
        ("mysql", "SHOW DATABASES"),
        ("mysql", "SHOW TABLES"),
        ("mysql", "SELECT VERSION()"),
        (
            "mysql",
            "SELECT * FROM information_schema.processlist LIMIT 5; SELECT 2",
        ),
        ("mysql", "SHOW STATUS LIKE 'Threads%'"),
        ("sqlite3", "SELECT name FROM sqlite_master WHERE type='table'"),
        ("sqlite3", ".tables"),
        ("sqlite3", ".schema users"),
        ("sqlite3", "PRAGMA table_info(users)"),
        ("sqlite3", "PRAGMA integrity_check;"),
    ] {
        assert!(
            reads_only(sql, client).is_ok(),
            "{client}: {sql}: {:?}",
            reads_only(sql, client)
        );
    }
}

#[test]
fn everything_else_writes() {
    for (client, sql) in [
        ("psql", "DROP TABLE x"),
        ("psql", "SELECT 1; DROP TABLE x"),
        ("psql", "WITH d AS (DELETE FROM t RETURNING *) SELECT * FROM d"),
        ("psql", "EXPLAIN ANALYZE DELETE FROM t"),
        ("psql", "SELECT * INTO n FROM t"),
        ("psql", "SELECT pg_terminate_backend(1)"),
        ("psql", "SELECT * FROM pg_read_file('/etc/passwd')"),
        ("psql", "SELECT lo_import('/etc/passwd')"),
        ("psql", "SELECT dblink_exec('x','y')"),
        ("psql", "SELECT nextval('s')"),
        ("psql", "SELECT set_config('a','b',false)"),
        ("psql", "SELECT * FROM t FOR UPDATE"),
        ("psql", "COPY t TO PROGRAM 'id'"),
        ("psql", "\\! id"),
        ("psql", "\\copy t to 'x'"),
        ("psql", "\\o x"),
        ("psql", "\\dt | sh"),
        ("psql", "SELECT 1 \\g |sh"),
        ("psql", "DO $$ BEGIN END $$"),
        ("psql", "SELECT 1 /* x */"),
        ("psql", "SELECT evil(1)"),
        ("psql", "VACUUM"),
        ("psql", "SET x = 1"),
        ("mysql", "SELECT 1 INTO OUTFILE '/tmp/x'"),
        ("mysql", "SELECT LOAD_FILE('/etc/passwd')"),
        ("mysql", "SELECT /*!50000 1 INTO OUTFILE '/tmp/x' */"),
        ("mysql", "\\! id"),
        ("mysql", "system id"),
        ("mysql", "SELECT SLEEP(10000)"),
        ("mysql", "SELECT @a := 1"),
        ("mysql", "SELECT 1--1; DROP TABLE x"),
        ("mysql", "KILL 5"),
        ("sqlite3", ".shell id"),
        ("sqlite3", ".output x"),
        ("sqlite3", ".tables\n.shell id"),
        ("sqlite3", "ATTACH 'x' AS y"),
        ("sqlite3", "PRAGMA journal_mode=WAL"),
        ("sqlite3", "PRAGMA writable_schema=1"),
        ("sqlite3", "SELECT load_extension('x')"),
        ("sqlite3", "SELECT writefile('x', 'y')"),
        ("psql", ""),
        ("psql", "nonsense"),
    ] {
        assert!(reads_only(sql, client).is_err(), "{client}: {sql}");
    }
}
