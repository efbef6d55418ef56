use super::*;

fn read(sql: &str, client: &str) -> Result<Reading, String> {
    let mysql = client.contains("mysql");
    reads_only(
        sql,
        client,
        &Databases {
            mysql,
            named: Vec::new(),
        },
    )
}

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
            read(sql, client).is_ok(),
            "{client}: {sql}: {:?}",
            read(sql, client)
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
        assert!(read(sql, client).is_err(), "{client}: {sql}");
    }
}

fn verdict(command: &str) -> crate::Verdict {
    crate::classify(command)
}

#[test]
fn a_query_ends_only_if_all_that_it_calls_is_known_to_end() {
    for ends in [
        "psql -c 'select count(*) from generate_series(1,100)'",
        "psql -c 'select * from generate_series(1, 1000000, 10)'",
        "psql -c \"select generate_series(now() - interval '1 day', now(), interval '1 hour')\"",
        "psql -c \"select * from generate_series('2026-01-01'::date, '2026-12-31'::date, '1 day')\"",
        "psql -c \"select * from generate_series(date '2026-01-01', date '2026-12-31', interval '1' day)\"",
        "psql -c \"select repeat('-', 20), lpad(name, 30), rpad(name, 12) from t\"",
        "psql -c \"select format('%s of %-10s', a, b) from t\"",
        "mysql -e 'select format(n, 2), lpad(a, 8, 0) from t'",
        "psql -c 'with recursive t(n) as (select 1 union all select n+1 from t where n < 100) select sum(n) from t'",
        "psql -c 'with recursive t(n) as (values (1) union all select n+1 from t where n < 100) select sum(n) from t'",
        "psql -c 'with recursive t as (select 1 as n union all select n+1 from t where n <= 100 and true) select n from t'",
        "psql -c 'with recursive t(n) as (select 1 union all select n+1 from t) select n from t limit 10'",
        "psql -c 'with recursive c as (select id, parent from n where id = 1 union select n.id, n.parent from n join c on n.parent = c.id) select * from c'",
        "sqlite3 -readonly /srv/a.db 'with recursive t(n) as (select 1 union all select n+1 from t limit 50) select n from t'",
        "psql -c 'with t as (select 1 as a) select a from t'",
        "psql -c 'select * from a, b where a.id = b.a_id'",
        "psql -c 'select * from a join b on a.id = b.a_id join c using (id) left join d on d.x = c.x'",
        "psql -c 'select * from a cross join lateral (select * from b where b.a = a.id) x'",
        "psql -c 'select a.x, s.n from a, (select count(*) as n from b) s'",
        "psql -c 'with s as (select max(x) as m from b) select a.x, s.m from a, s'",
        "psql -c 'select * from pg_stat_activity a join pg_stat_activity b on b.pid = any(pg_blocking_pids(a.pid))'",
        "psql -c 'select a.x from a, b limit 10'",
        "psql -c 'select x from a, unnest(a.list) x'",
        "timeout 30 psql -c 'select count(*) from generate_series(1,99999999999)'",
        "sqlite3 -readonly /srv/a.db 'select 1 union select 2'",
    ] {
        let verdict = verdict(ends);
        assert!(verdict.is_bounded_read(), "{ends}: {verdict:?}");
    }
    for endless in [
        "psql -c 'select count(*) from generate_series(1,99999999999)'",
        "psql -c 'select generate_series(1,1e12)'",
        "psql -c 'select pg_catalog.generate_series(1,99999999999)'",
        "psql -c 'select PG_CATALOG.\"generate_series\"(1,99999999999)'",
        "psql -c 'select * from generate_series(1, n)'",
        "psql -c 'select * from generate_series(1, (select count(*) from t))'",
        "psql -c 'select * from generate_series(1, 10, 0)'",
        "psql -c 'select * from generate_series(1, 2, 0.0000001)'",
        "psql -c 'select * from generate_series(1,1000) a, generate_series(1,1000) b, generate_series(1,1000) c'",
        "psql -c 'select * from generate_series(1,10000) a where exists (select 1 from generate_series(1,10000))'",
        "psql -c \"select generate_series(now() - interval '100 years', now(), interval '1 second')\"",
        "psql -c \"select generate_series('1000-01-01'::date, now(), interval '1 day')\"",
        "psql -c \"select generate_series(now(), now(), interval '0')\"",
        "psql -c \"select repeat('x', 999999999)\"",
        "psql -c \"select repeat(repeat('x', 100000), 100000)\"",
        "psql -c \"select repeat('x', n) from t\"",
        "mysql -e \"select repeat('x', 999999999)\"",
        "psql -c \"select lpad('x', 999999999)\"",
        "psql -c \"select format('%999999999s', 'x')\"",
        "psql -c \"select format('%*s', 999999999, 'x')\"",
        "psql -c \"select format(a, b) from t\"",
        "psql -c 'with recursive t(n) as (select 1 union all select n+1 from t) select count(*) from t'",
        "psql -c 'with recursive t(n) as (select 1 union all select n+1 from t) select count(*) from t limit 1'",
        "psql -c 'with recursive t(n) as (select 1 union all select n+1 from t) select n from t order by n limit 1'",
        "psql -c 'with recursive t(n) as (select 1 union all select n+1 from t) select n from t where n < 0 limit 1'",
        "psql -c 'with recursive t(n) as (select 1 union all select n+1 from t) select n from t limit 1 offset 9999999999'",
        "psql -c 'with recursive t(n) as (select 1 union select n+1 from t) select count(*) from t'",
        "psql -c 'with recursive t(n) as (select 1 union all select n from t where n < 100) select count(*) from t'",
        "psql -c 'with recursive t(n) as (select 1 union all select n-1 from t where n < 100) select count(*) from t'",
        "psql -c 'with recursive t(n, m) as (select 1, 1 union all select n, m+1 from t where n < 100) select count(*) from t'",
        "psql -c 'with recursive t(n) as (select 1 union all select n+1 from t where n < 99999999999) select count(*) from t'",
        "psql -c 'with recursive t(n) as (select 1 union all select n+1 from t, u where n < 20) select count(*) from t'",
        "psql -c 'select (with recursive t(n) as (select 1 union all select n+1 from t) select max(n) from t)'",
        "sqlite3 -readonly /srv/a.db 'with t(n) as (select 1 union all select n+1 from t) select count(*) from t'",
        "sqlite3 -readonly /srv/a.db 'with t(n) as (select 1 union all select n+1 from t limit -1) select count(*) from t'",
        "psql -c 'select count(*) from pg_class a, pg_class b, pg_class c, pg_class d'",
        "psql -c 'select count(*) from a cross join b'",
        "psql -c 'select count(*) from a join b on true'",
        "psql -c 'select count(*) from a join b on a.x = a.x'",
        "psql -c 'select count(*) from a join b on 1 = 1'",
        "psql -c 'select count(*) from a, b where a.x = 1 or a.id = b.id'",
        "psql -c 'select count(*) from a, b limit 1'",
        "psql -c 'select count(*) from (select * from a, b) x'",
        "timeout 99d psql -c 'select count(*) from generate_series(1,99999999999)'",
    ] {
        let verdict = verdict(endless);
        assert!(!verdict.bounded, "{endless}: {verdict:?}");
    }
    for refused in [
        "psql -c 'select pg_sleep(99999)'",
        "psql -c \"select pg_sleep_for('5 years')\"",
        "mysql -e 'select sleep(99999)'",
        "mysql -e \"select benchmark(99999999999, md5('x'))\"",
        "mysql -e \"select get_lock('a', 99999)\"",
        "sqlite3 -readonly /srv/a.db 'select randomblob(1e12)'",
        "sqlite3 -readonly /srv/a.db 'select zeroblob(1e12)'",
        "sqlite3 -readonly /srv/a.db \"select printf('%999999999d', 1)\"",
        "psql -c 'select array_fill(0, array[99999,99999])'",
        "psql -c 'select public.generate_series(1,2)'",
        "psql -c 'select pg_catalog.x.now()'",
        "psql -c 'select gen_random_bytes(1024)'",
    ] {
        let verdict = verdict(refused);
        assert!(!verdict.is_bounded_read(), "{refused}: {verdict:?}");
    }
}

#[test]
fn a_query_that_shows_credentials_is_sensitive() {
    for secret in [
        "mysql -D mysql -e 'select * from user'",
        "mysql -Dmysql -e 'select host, user from user'",
        "mysql -e 'select * from user' -D mysql",
        "mysql -e 'select * from USER' --database=MySQL",
        "mysql mysql -e 'select * from user'",
        "mysql -e 'select * from user' mysql",
        "mysql -e 'select * from user'",
        "mysql -e 'use mysql; select * from user'",
        "mysql -D app -e 'use mysql; select * from global_priv'",
        "mysql -e 'use mysql' -e 'select * from user'",
        "mysql -e 'select * from mysql.user'",
        "mysql -e 'select * from MYSQL.User'",
        "mysql -e 'select * from mysql . user'",
        "mysql -e 'select * from mysql.general_log'",
        "mysql -e 'select * from mysql.some_new_table'",
        "mysql -D mysql -e 'select * from servers'",
        "mysql -e 'show grants for root@localhost'",
        "psql -c 'select * from pg_authid'",
        "psql -c 'select * from pg_catalog.pg_authid'",
        "psql -c 'select * from \"pg_shadow\"'",
        "psql -c 'select * from PG_SHADOW'",
        "psql -c 'select * from \"pg_catalog\".\"pg_shadow\"'",
        "psql -c 'select 1 union table pg_shadow'",
        "psql -c 'select usename from (select * from pg_shadow) x'",
        "psql -c 'with x as (select * from pg_shadow) select * from x'",
        "psql -c 'select (select passwd from pg_shadow limit 1)'",
        "psql -c 'select * from pg_user_mapping'",
        "psql -c 'select * from pg_user_mappings'",
        "psql -c 'select * from information_schema.user_mapping_options'",
        "psql -c 'select * from pg_hba_file_rules'",
        "psql -c 'select subconninfo from pg_subscription'",
        "psql -c 'select * from pg_settings'",
        "psql -c \"select setting from pg_settings where name = 'primary_conninfo'\"",
        "psql -c \"select setting from pg_settings where name like '%conn%'\"",
        "psql -c \"select setting from pg_settings where name <> 'x'\"",
        "psql -c \"select current_setting('primary_conninfo')\"",
        "psql -c 'show primary_conninfo'",
        "psql -c 'show all'",
        "psql -c '\\deu+'",
        "psql -c '\\dRs+'",
        "psql -c 'select most_common_vals from pg_stats'",
        "psql -c 'select * from users'",
        "psql -c 'select u.* from app.users u'",
        "psql -c 'select u from users u'",
        "psql -c 'select users from users'",
        "psql -c 'select row_to_json(u) from users u'",
        "psql -c 'select json_agg(u.*) from users u'",
        "psql -c 'select c from users as t(a, b, c)'",
        "psql -c 'select email, password_hash from people'",
        "psql -c 'select \"Password\" from people'",
        "psql -c 'select id from people order by password'",
        "psql -c 'select api_key from x'",
        "psql -c 'select * from api_keys'",
        "psql -c 'select value from vault.secrets'",
        "psql -d keycloak -c 'select * from credential'",
        "psql keycloak -c 'select * from realm'",
        "sqlite3 -readonly /srv/a.db 'select * from cookies'",
        "sqlite3 -readonly /srv/a.db 'select data from sqlite_dbpage'",
        "sqlite3 -readonly /srv/a.db 'select * from auth_user'",
        "sqlite3 -readonly /srv/a.db 'select access_token from oauth'",
        "sqlite3 -readonly /var/lib/grafana/grafana.db 'select * from data_source'",
        "sqlite3 -readonly /srv/a.db .fullschema",
    ] {
        let verdict = verdict(secret);
        assert!(verdict.sensitive, "{secret}: {verdict:?}");
    }
    for plain in [
        "mysql -D app -e 'select id, name from user'",
        "mysql -e 'select * from mysql.db'",
        "mysql -e 'select * from mysql.innodb_table_stats'",
        "mysql -e 'show databases'",
        "mysql -e 'show processlist'",
        "mysql -e 'show create table app.users'",
        "mysql -e 'use app; select count(*) from orders'",
        "psql -c 'select count(*) from users'",
        "psql -c 'select id, name from users limit 5'",
        "psql -c 'select * from orders limit 5'",
        "psql -c 'select * from pg_stat_activity'",
        "psql -c 'select * from pg_roles'",
        "psql -c 'select * from pg_user'",
        "psql -c \"select setting from pg_settings where name = 'max_connections'\"",
        "psql -c \"select name, setting from pg_settings where name in ('work_mem', 'shared_buffers')\"",
        "psql -c \"select * from pg_settings where name like '%autovacuum%'\"",
        "psql -c 'show max_connections'",
        "psql -c '\\du'",
        "psql -c '\\dt+'",
        "sqlite3 -readonly /srv/a.db 'select * from measurements limit 5'",
        "sqlite3 -readonly /srv/a.db '.schema users'",
    ] {
        let verdict = verdict(plain);
        assert!(!verdict.sensitive, "{plain}: {verdict:?}");
        assert!(verdict.is_bounded_read(), "{plain}: {verdict:?}");
    }
    for refused in [
        "psql -c \"select * from U&\\\"!0070g_shadow\\\" uescape '!'\"",
        "psql -c 'use mysql'",
        // Not understood by the parser.
        "psql -c 'table pg_shadow'",
        "psql -c 'table pg_catalog.pg_shadow'",
        "psql -c 'table users'",
        "psql -c 'select (u).* from users u'",
        "mysql -e 'select * from `mysql`.`user`'",
    ] {
        let verdict = verdict(refused);
        assert!(!verdict.is_bounded_read(), "{refused}: {verdict:?}");
    }
}
