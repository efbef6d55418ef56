//! People, what they sign in with, and their views. Each function runs in one transaction: what is looked at and what
//! follows from it are one step for every process.

use interlock_protocol::{ContentHash, Role, UserId};
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::fault::{Fault, is_taken, json, text};
use super::read::{hash, number, rows, time};
use crate::prepare::{integer, json as to_json, nanoseconds};
use crate::{ApiToken, Error, Link, Login, SavedView, User, UserChange};

const USER: &str =
    "u.id, u.role, u.password, u.issuer, u.subject, u.enabled, u.revision, u.created_at, u.seen_at";
/// How many columns that is.
const USER_COLUMNS: usize = 9;
const LOGIN: &str = "l.hash, l.user, l.csrf, l.origin, l.created_at, l.expires_at";
const TOKEN: &str =
    "t.id, t.hash, t.name, t.user, t.scopes, t.created_at, t.expires_at, t.used_at, t.revoked_at";

/// A user whose columns begin here.
fn to_user(row: &Row<'_>, first: usize) -> Result<User, Fault> {
    let identity = match (row.get(first + 3)?, row.get(first + 4)?) {
        (Some(issuer), Some(subject)) => Some((issuer, subject)),
        _ => None,
    };
    Ok(User {
        id: text(&row.get::<_, String>(first)?)?,
        role: text(&row.get::<_, String>(first + 1)?)?,
        password: row.get(first + 2)?,
        identity,
        enabled: row.get(first + 5)?,
        revision: number(row.get(first + 6)?)?,
        created_at: time(row.get(first + 7)?)?,
        seen_at: row.get::<_, Option<i64>>(first + 8)?.map(time).transpose()?,
    })
}

fn to_login(row: &Row<'_>, first: usize) -> Result<Login, Fault> {
    Ok(Login {
        hash: hash(&row.get::<_, Vec<u8>>(first)?)?,
        user: text(&row.get::<_, String>(first + 1)?)?,
        csrf: row.get(first + 2)?,
        from: row.get(first + 3)?,
        created_at: time(row.get(first + 4)?)?,
        expires_at: time(row.get(first + 5)?)?,
    })
}

fn to_token(row: &Row<'_>, first: usize) -> Result<ApiToken, Fault> {
    let moment = |at: usize| row.get::<_, Option<i64>>(at)?.map(time).transpose();
    Ok(ApiToken {
        id: row.get(first)?,
        hash: hash(&row.get::<_, Vec<u8>>(first + 1)?)?,
        name: row.get(first + 2)?,
        user: text(&row.get::<_, String>(first + 3)?)?,
        scopes: json(&row.get::<_, String>(first + 4)?)?,
        created_at: time(row.get(first + 5)?)?,
        expires_at: moment(first + 6)?,
        used_at: moment(first + 7)?,
        revoked_at: moment(first + 8)?,
    })
}

pub(crate) fn create_user(conn: &Connection, user: &User) -> Result<(), Fault> {
    let (issuer, subject) = match &user.identity {
        Some((issuer, subject)) => (Some(issuer), Some(subject)),
        None => (None, None),
    };
    if let Some(name) = like(conn, &user.id)? {
        return Err(Error::Exists { what: "user", name }.into());
    }
    conn.prepare_cached(
        "INSERT INTO users (id, role, password, issuer, subject, enabled, revision, created_at, seen_at) \
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )?
    .execute(params![
        user.id.as_str(),
        user.role.as_str(),
        user.password,
        issuer,
        subject,
        user.enabled,
        integer("a user", user.revision)?,
        nanoseconds(user.created_at)?,
        user.seen_at.map(nanoseconds).transpose()?
    ])
    .map(drop)
    .map_err(|error| match (is_taken(&error), subject) {
        (true, Some(subject)) => Fault::from(Error::Exists {
            what: "user with the provider's subject",
            name: subject.clone(),
        }),
        _ => error.into(),
    })
}

/// The name of somebody that differs from this one in nothing but case.
fn like(conn: &Connection, id: &UserId) -> Result<Option<String>, Fault> {
    let name = conn
        .prepare_cached("SELECT id FROM users WHERE id = ? COLLATE NOCASE LIMIT 1")?
        .query_row([id.as_str()], |row| row.get(0))
        .optional()?;
    Ok(name)
}

pub(crate) fn user(conn: &Connection, id: &UserId) -> Result<Option<User>, Fault> {
    let sql = format!("SELECT {USER} FROM users u WHERE u.id = ?");
    Ok(rows(conn, &sql, [id.as_str()], |row| to_user(row, 0))?.pop())
}

pub(crate) fn user_of(conn: &Connection, issuer: &str, subject: &str) -> Result<Option<User>, Fault> {
    let sql = format!("SELECT {USER} FROM users u WHERE u.issuer = ? AND u.subject = ?");
    Ok(rows(conn, &sql, [issuer, subject], |row| to_user(row, 0))?.pop())
}

pub(crate) fn users(conn: &Connection) -> Result<Vec<User>, Fault> {
    let sql = format!("SELECT {USER} FROM users u ORDER BY u.id");
    rows(conn, &sql, [], |row| to_user(row, 0))
}

fn known(conn: &Connection, id: &UserId) -> Result<User, Fault> {
    user(conn, id)?.ok_or_else(|| Fault::not_found("user", id))
}

/// Somebody else must be able to administer.
fn check_other_admin(conn: &Connection, id: &UserId) -> Result<(), Fault> {
    let other: bool = conn
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM users WHERE role = 'admin' AND enabled AND id <> ?)")?
        .query_row([id.as_str()], |row| row.get(0))?;
    if other {
        return Ok(());
    }
    Err(Error::LastAdmin { user: id.clone() }.into())
}

fn administers(user: &User) -> bool {
    user.enabled && user.role == Role::Admin
}

pub(crate) fn change_user(conn: &Connection, id: &UserId, change: &UserChange) -> Result<User, Fault> {
    let before = known(conn, id)?;
    let mut after = User {
        role: change.role.unwrap_or(before.role),
        password: change.password.clone().or_else(|| before.password.clone()),
        enabled: change.enabled.unwrap_or(before.enabled),
        ..before.clone()
    };
    if after == before {
        return Ok(before);
    }
    if administers(&before) && !administers(&after) {
        check_other_admin(conn, id)?;
    }
    after.revision += 1;
    conn.prepare_cached("UPDATE users SET role = ?, password = ?, enabled = ?, revision = ? WHERE id = ?")?
        .execute(params![
            after.role.as_str(),
            after.password,
            after.enabled,
            integer("a user", after.revision)?,
            id.as_str()
        ])?;
    if before.password != after.password || before.role != after.role {
        // A link that somebody else may have was made for what they were.
        conn.prepare_cached("DELETE FROM links WHERE user = ?")?
            .execute([id.as_str()])?;
    }
    if before.enabled && !after.enabled {
        // Or they would be signed in again on the day that they are let in again.
        remove_logins(conn, id, None)?;
        conn.prepare_cached("DELETE FROM links WHERE user = ?")?
            .execute([id.as_str()])?;
    }
    Ok(after)
}

/// With everything that points at them, by the tables' own rules.
pub(crate) fn remove_user(conn: &Connection, id: &UserId) -> Result<(), Fault> {
    if administers(&known(conn, id)?) {
        check_other_admin(conn, id)?;
    }
    conn.prepare_cached("DELETE FROM users WHERE id = ?")?
        .execute([id.as_str()])?;
    Ok(())
}

/// A visit, unless one was noted so shortly before.
pub(crate) fn seen(conn: &Connection, id: &UserId, now: i64, apart: i64) -> Result<(), Fault> {
    conn.prepare_cached(
        "UPDATE users SET seen_at = ?1 WHERE id = ?2 AND (seen_at IS NULL OR seen_at <= ?3)",
    )?
    .execute(params![now, id.as_str(), now.saturating_sub(apart)])?;
    Ok(())
}

pub(crate) fn create_login(conn: &Connection, login: &Login) -> Result<(), Fault> {
    known(conn, &login.user)?;
    let at = nanoseconds(login.created_at)?;
    conn.prepare_cached("DELETE FROM logins WHERE expires_at <= ?")?
        .execute([at])?;
    conn.prepare_cached(
        "INSERT INTO logins (hash, user, csrf, origin, created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?)",
    )?
    .execute(params![
        login.hash.as_bytes(),
        login.user.as_str(),
        login.csrf,
        login.from,
        at,
        nanoseconds(login.expires_at)?
    ])
    .map(drop)
    .map_err(|error| taken(error, "login", login.user.as_str()))
}

fn taken(error: rusqlite::Error, what: &'static str, name: &str) -> Fault {
    if is_taken(&error) {
        let name = name.to_owned();
        return Error::Exists { what, name }.into();
    }
    error.into()
}

pub(crate) fn login(conn: &Connection, hash: &ContentHash, now: i64) -> Result<Option<(Login, User)>, Fault> {
    let sql = format!(
        "SELECT {USER}, {LOGIN} FROM logins l JOIN users u ON u.id = l.user \
         WHERE l.hash = ? AND l.expires_at > ? AND u.enabled"
    );
    let found = rows(conn, &sql, params![hash.as_bytes(), now], |row| {
        Ok((to_login(row, USER_COLUMNS)?, to_user(row, 0)?))
    });
    Ok(found?.pop())
}

pub(crate) fn logins(conn: &Connection, user: &UserId, now: i64) -> Result<Vec<Login>, Fault> {
    let sql = format!(
        "SELECT {LOGIN} FROM logins l WHERE l.user = ? AND l.expires_at > ? ORDER BY l.created_at DESC, l.hash"
    );
    rows(conn, &sql, params![user.as_str(), now], |row| to_login(row, 0))
}

pub(crate) fn extend_login(conn: &Connection, hash: &ContentHash, until: i64) -> Result<(), Fault> {
    conn.prepare_cached("UPDATE logins SET expires_at = ? WHERE hash = ?")?
        .execute(params![until, hash.as_bytes()])?;
    Ok(())
}

pub(crate) fn remove_login(conn: &Connection, hash: &ContentHash) -> Result<(), Fault> {
    conn.prepare_cached("DELETE FROM logins WHERE hash = ?")?
        .execute(params![hash.as_bytes()])?;
    Ok(())
}

pub(crate) fn remove_logins(
    conn: &Connection,
    user: &UserId,
    but: Option<&ContentHash>,
) -> Result<(), Fault> {
    conn.prepare_cached("DELETE FROM logins WHERE user = ? AND hash IS NOT ?")?
        .execute(params![user.as_str(), but.map(ContentHash::as_bytes)])?;
    Ok(())
}

pub(crate) fn create_link(conn: &Connection, link: &Link) -> Result<(), Fault> {
    known(conn, &link.user)?;
    // The newest counts: one that went astray works no more.
    conn.prepare_cached("DELETE FROM links WHERE user = ?")?
        .execute([link.user.as_str()])?;
    conn.prepare_cached("INSERT INTO links (hash, user, expires_at) VALUES (?, ?, ?)")?
        .execute(params![
            link.hash.as_bytes(),
            link.user.as_str(),
            nanoseconds(link.expires_at)?
        ])
        .map(drop)
        .map_err(|error| taken(error, "link", link.user.as_str()))
}

/// Gone in the same step in which it is found, and every other that is too old with it.
pub(crate) fn use_link(conn: &Connection, hash: &ContentHash, now: i64) -> Result<Option<User>, Fault> {
    conn.prepare_cached("DELETE FROM links WHERE expires_at <= ?")?
        .execute([now])?;
    let user: Option<String> = conn
        .prepare_cached("DELETE FROM links WHERE hash = ? RETURNING user")?
        .query_row(params![hash.as_bytes()], |row| row.get(0))
        .optional()?;
    let Some(id) = user else { return Ok(None) };
    Ok(self::user(conn, &text(&id)?)?.filter(|user| user.enabled))
}

pub(crate) fn create_token(conn: &Connection, token: &ApiToken) -> Result<(), Fault> {
    known(conn, &token.user)?;
    conn.prepare_cached(
        "INSERT INTO api_tokens (id, hash, name, user, scopes, created_at, expires_at, used_at, revoked_at) \
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )?
    .execute(params![
        token.id,
        token.hash.as_bytes(),
        token.name,
        token.user.as_str(),
        to_json("scopes", &token.scopes)?,
        nanoseconds(token.created_at)?,
        token.expires_at.map(nanoseconds).transpose()?,
        token.used_at.map(nanoseconds).transpose()?,
        token.revoked_at.map(nanoseconds).transpose()?
    ])
    .map(drop)
    .map_err(|error| taken(error, "token", &token.id))
}

pub(crate) fn api_token(
    conn: &Connection,
    hash: &ContentHash,
    now: i64,
) -> Result<Option<(ApiToken, User)>, Fault> {
    let sql = format!(
        "SELECT {USER}, {TOKEN} FROM api_tokens t JOIN users u ON u.id = t.user WHERE t.hash = ? \
         AND t.revoked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > ?) AND u.enabled"
    );
    let found = rows(conn, &sql, params![hash.as_bytes(), now], |row| {
        Ok((to_token(row, USER_COLUMNS)?, to_user(row, 0)?))
    });
    Ok(found?.pop())
}

/// A use, unless one was noted so shortly before.
pub(crate) fn used(conn: &Connection, id: &str, now: i64, apart: i64) -> Result<(), Fault> {
    conn.prepare_cached(
        "UPDATE api_tokens SET used_at = ?1 WHERE id = ?2 AND (used_at IS NULL OR used_at <= ?3)",
    )?
    .execute(params![now, id, now.saturating_sub(apart)])?;
    Ok(())
}

pub(crate) fn api_tokens(conn: &Connection, user: Option<&UserId>) -> Result<Vec<ApiToken>, Fault> {
    let sql = format!(
        "SELECT {TOKEN} FROM api_tokens t WHERE ?1 IS NULL OR t.user = ?1 ORDER BY t.created_at DESC, t.id"
    );
    rows(conn, &sql, [user.map(UserId::as_str)], |row| to_token(row, 0))
}

pub(crate) fn revoke_token(
    conn: &Connection,
    id: &str,
    user: Option<&UserId>,
    now: i64,
) -> Result<bool, Fault> {
    let changed = conn
        .prepare_cached(
            "UPDATE api_tokens SET revoked_at = ?1 \
             WHERE id = ?2 AND revoked_at IS NULL AND (?3 IS NULL OR user = ?3)",
        )?
        .execute(params![now, id, user.map(UserId::as_str)])?;
    Ok(changed == 1)
}

pub(crate) fn views(conn: &Connection, user: &UserId) -> Result<Vec<SavedView>, Fault> {
    rows(
        conn,
        "SELECT id, user, name, query, created_at FROM saved_views WHERE user = ? ORDER BY name",
        [user.as_str()],
        |row| {
            Ok(SavedView {
                id: row.get(0)?,
                user: text(&row.get::<_, String>(1)?)?,
                name: row.get(2)?,
                query: row.get(3)?,
                created_at: time(row.get(4)?)?,
            })
        },
    )
}

pub(crate) fn save_view(conn: &Connection, view: &SavedView) -> Result<(), Fault> {
    known(conn, &view.user)?;
    conn.prepare_cached(
        "INSERT INTO saved_views (id, user, name, query, created_at) VALUES (?, ?, ?, ?, ?) \
         ON CONFLICT (user, name) DO UPDATE SET id = excluded.id, query = excluded.query, \
         created_at = excluded.created_at",
    )?
    .execute(params![
        view.id,
        view.user.as_str(),
        view.name,
        view.query,
        nanoseconds(view.created_at)?
    ])
    .map(drop)
    .map_err(|error| taken(error, "view", &view.id))
}

pub(crate) fn remove_view(conn: &Connection, user: &UserId, id: &str) -> Result<bool, Fault> {
    let removed = conn
        .prepare_cached("DELETE FROM saved_views WHERE user = ? AND id = ?")?
        .execute([user.as_str(), id])?;
    Ok(removed == 1)
}
