//! Incidents: which one an alert belongs to, what happened to it, and the sessions that work on it.

use interlock_protocol::{
    IncidentEventKind, IncidentId, IncidentStatus, ResourceId, SessionId, Severity, Status, UserId,
};
use interlock_seal::Keyring;
use jiff::Timestamp;
use rusqlite::types::Value as Sql;
use rusqlite::{Connection, OptionalExtension as _, Row, params, params_from_iter};

use super::fault::{Fault, text};
use super::read::{number, rows, time};
use super::{Sqlite, queue};
use crate::incidents::{
    Filed, Incident, IncidentCounts, IncidentEvent, IncidentMove, IncidentNews, IncidentQuery,
    IncidentSession, NewAlert, RejectedAlert,
};
use crate::prepare::{json, nanoseconds};
use crate::{Deed, Error, NewSession, QueueLimits, Submitted};

/// How many rejected alerts are kept.
const MOST_REJECTED: i64 = 1_000;
/// How many incidents one step of retention removes.
const STEP: i64 = 100;

const INCIDENT: &str = "SELECT i.id, i.fingerprint, i.status, i.firing, i.severity, i.title, i.summary, i.source, i.owner, \
     i.alert_type, i.rule, i.about, i.resource, i.priority, i.starts_at, i.opened_at, i.changed_at, i.resolved_at, \
     i.repeats, i.waiting, i.alert, s.id, s.status, \
     (SELECT count(*) FROM holds h INDEXED BY holds_open WHERE h.session = s.key AND h.status = 'pending') \
     FROM incidents i LEFT JOIN incident_sessions l \
     ON l.key = (SELECT max(n.key) FROM incident_sessions n WHERE n.incident = i.id) \
     LEFT JOIN sessions s ON s.id = l.session AND s.deleted_at IS NULL";
const EVENT: &str =
    "SELECT e.number, e.kind, e.at, e.last_at, e.count, e.by, e.session, e.text FROM incident_events e";

/// As a number, so that an index has the worst first.
const fn rank(severity: Severity) -> i64 {
    match severity {
        Severity::Critical => 0,
        Severity::Warning => 1,
        Severity::Info => 2,
    }
}

fn of_rank(rank: i64) -> Result<Severity, Fault> {
    match rank {
        0 => Ok(Severity::Critical),
        1 => Ok(Severity::Warning),
        2 => Ok(Severity::Info),
        other => Err(Fault::corrupt(format!("{other} is no severity"))),
    }
}

/// What is known of the newest incident with a fingerprint.
struct Known {
    id: IncidentId,
    status: IncidentStatus,
    firing: bool,
    starts_at: Option<i64>,
    resolved_at: Option<i64>,
}

fn known(conn: &Connection, condition: &str, value: &str) -> Result<Option<Known>, Fault> {
    let sql = format!(
        "SELECT id, status, firing, starts_at, resolved_at FROM incidents WHERE {condition} = ? \
         ORDER BY key DESC LIMIT 1"
    );
    let mut statement = conn.prepare_cached(&sql)?;
    let mut found = statement.query([value])?;
    let Some(row) = found.next()? else { return Ok(None) };
    Ok(Some(Known {
        id: text(&row.get::<_, String>(0)?)?,
        status: text(&row.get::<_, String>(1)?)?,
        firing: row.get(2)?,
        starts_at: row.get(3)?,
        resolved_at: row.get(4)?,
    }))
}

fn file(conn: &Connection, alert: &NewAlert, reopen_within: i64, now: i64) -> Result<Filed, Fault> {
    let starts_at = alert.starts_at.map(nanoseconds).transpose()?;
    if let Some(key) = &alert.idempotency_key
        && let Some(known) = known(conn, "idempotency_key", key)?
    {
        return Ok(Filed::Repeated(known.id));
    }
    let known = match &alert.fingerprint {
        Some(fingerprint) => known(conn, "fingerprint", fingerprint)?,
        None => None,
    };
    if !alert.firing {
        let Some(known) = known.filter(|known| known.firing || known.status.is_open()) else {
            return Ok(Filed::NothingToResolve);
        };
        // Late news about an earlier firing says nothing about this one.
        if let (Some(over), Some(current)) = (starts_at, known.starts_at)
            && over < current
        {
            return Ok(Filed::NothingToResolve);
        }
        let was_open = known.status.is_open();
        conn.prepare_cached(
            "UPDATE incidents SET firing = 0, status = 'resolved', resolved_at = coalesce(resolved_at, ?1), \
             changed_at = ?1, alert = ?2, waiting = 0 WHERE id = ?3",
        )?
        .execute(params![now, alert.alert, known.id.as_str()])?;
        happened(
            conn,
            known.id.as_str(),
            IncidentEventKind::AlertResolved,
            now,
            &About::default(),
        )?;
        return Ok(if was_open {
            Filed::Resolved(known.id)
        } else {
            Filed::NothingToResolve
        });
    }
    let Some(known) = known else {
        return open(conn, alert, starts_at, now);
    };
    if known.status.is_open() {
        repeat(conn, known.id.as_str(), alert, starts_at, now)?;
        return Ok(Filed::Repeated(known.id));
    }
    // Sent again for the same firing: late, or a person has resolved it. That it fires is shown beside what they said.
    if known.starts_at.is_some() && known.starts_at == starts_at {
        repeat(conn, known.id.as_str(), alert, starts_at, now)?;
        return Ok(Filed::Repeated(known.id));
    }
    let long_ago = known
        .resolved_at
        .is_none_or(|resolved| now.saturating_sub(resolved) > reopen_within);
    if long_ago {
        return open(conn, alert, starts_at, now);
    }
    conn.prepare_cached(
        "UPDATE incidents SET status = 'open', firing = 1, resolved_at = NULL, starts_at = ?1, changed_at = ?2, \
         severity = ?3, title = ?4, summary = ?5, alert = ?6, waiting = 1 WHERE id = ?7",
    )?
    .execute(params![
        starts_at,
        now,
        rank(alert.severity),
        alert.title,
        alert.summary,
        alert.alert,
        known.id.as_str()
    ])?;
    happened(
        conn,
        known.id.as_str(),
        IncidentEventKind::Reopened,
        now,
        &About::default(),
    )?;
    Ok(Filed::Reopened(known.id))
}

fn open(conn: &Connection, alert: &NewAlert, starts_at: Option<i64>, now: i64) -> Result<Filed, Fault> {
    conn
        .prepare_cached(
            "INSERT INTO incidents (id, fingerprint, idempotency_key, status, firing, severity, title, summary, source, \
             owner, alert_type, rule, about, priority, starts_at, opened_at, changed_at, waiting, alert) \
             VALUES (?1, ?2, ?3, 'open', 1, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?14, 1, ?15)",
        )?
        .execute(
            params![
                alert.id.as_str(),
                alert.fingerprint,
                alert.idempotency_key,
                rank(alert.severity),
                alert.title,
                alert.summary,
                alert.source,
                alert.owner.as_ref().map(UserId::as_str),
                alert.alert_type,
                alert.rule,
                alert.about,
                alert.priority,
                starts_at,
                now,
                alert.alert
            ],
        )?;
    happened(
        conn,
        alert.id.as_str(),
        IncidentEventKind::Opened,
        now,
        &About::default(),
    )?;
    Ok(Filed::Opened(alert.id.clone()))
}

fn repeat(
    conn: &Connection,
    id: &str,
    alert: &NewAlert,
    starts_at: Option<i64>,
    now: i64,
) -> Result<(), Fault> {
    conn.prepare_cached(
        "UPDATE incidents SET repeats = repeats + 1, firing = 1, changed_at = ?1, starts_at = coalesce(?2, starts_at), \
         severity = min(severity, ?3), alert = ?4 WHERE id = ?5",
    )?
    .execute(params![now, starts_at, rank(alert.severity), alert.alert, id])?;
    happened(conn, id, IncidentEventKind::Repeated, now, &About::default())
}

/// More about an event.
#[derive(Default)]
struct About<'a> {
    by: Option<&'a UserId>,
    session: Option<&'a str>,
    text: &'a str,
}

/// Writes down what happened. What repeats right after itself stays one event.
fn happened(
    conn: &Connection,
    incident: &str,
    kind: IncidentEventKind,
    at: i64,
    about: &About<'_>,
) -> Result<(), Fault> {
    let last: i64 = conn
        .prepare_cached("SELECT last_event FROM incidents WHERE id = ?")?
        .query_row([incident], |row| row.get(0))?;
    if kind == IncidentEventKind::Repeated {
        let again = conn
            .prepare_cached(
                "UPDATE incident_events SET count = count + 1, last_at = max(last_at, ?1) \
                 WHERE incident = ?2 AND number = ?3 AND kind = ?4",
            )?
            .execute(params![at, incident, last, kind.as_str()])?;
        if again > 0 {
            return Ok(());
        }
    }
    conn.prepare_cached(
        "INSERT INTO incident_events (incident, number, kind, at, last_at, count, by, session, text) \
         VALUES (?1, ?2, ?3, ?4, ?4, 1, ?5, ?6, ?7)",
    )?
    .execute(params![
        incident,
        last + 1,
        kind.as_str(),
        at,
        about.by.map(UserId::as_str),
        about.session,
        about.text
    ])?;
    conn.prepare_cached(
        "UPDATE incidents SET last_event = ?1, changed_at = max(changed_at, ?2) WHERE id = ?3",
    )?
    .execute(params![last + 1, at, incident])?;
    Ok(())
}

fn check_known(conn: &Connection, id: &IncidentId) -> Result<(), Fault> {
    let known: Option<bool> = conn
        .prepare_cached("SELECT 1 FROM incidents WHERE id = ?")?
        .query_row([id.as_str()], |row| row.get(0))
        .optional()?;
    known.map(drop).ok_or_else(|| Fault::not_found("incident", id))
}

fn start(
    conn: &Connection,
    keyring: Option<&Keyring>,
    session: &NewSession,
    incidents: &[IncidentId],
    limits: QueueLimits,
) -> Result<Option<Submitted>, Fault> {
    for id in incidents {
        let waits: Option<bool> = conn
            .prepare_cached("SELECT waiting = 1 FROM incidents WHERE id = ?")?
            .query_row([id.as_str()], |row| row.get(0))
            .optional()?;
        if waits != Some(true) {
            return Ok(None);
        }
    }
    let submitted = queue::submit(conn, keyring, session, limits)?;
    let at = nanoseconds(session.at)?;
    for id in incidents {
        conn.prepare_cached("UPDATE incidents SET waiting = 0 WHERE id = ?")?
            .execute([id.as_str()])?;
        conn.prepare_cached("INSERT INTO incident_sessions (incident, session) VALUES (?, ?)")?
            .execute(params![id.as_str(), session.id.as_str()])?;
        let about = About {
            session: Some(session.id.as_str()),
            ..About::default()
        };
        happened(conn, id.as_str(), IncidentEventKind::SessionStarted, at, &about)?;
    }
    Ok(Some(submitted))
}

/// A session ended. If an action of its was verified, its incidents are mitigated.
pub(super) fn session_ended(conn: &Connection, session: i64, at: i64, status: Status) -> Result<(), Fault> {
    if status != Status::Completed {
        return Ok(());
    }
    let of: Vec<(String, String)> = rows(
        conn,
        "SELECT i.id, s.id FROM sessions s JOIN incident_sessions l ON l.session = s.id \
         JOIN incidents i ON i.id = l.incident \
         WHERE s.key = ? AND s.writes_verified > 0 AND i.status IN ('open', 'acknowledged')",
        [session],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    for (id, session) in of {
        conn.prepare_cached("UPDATE incidents SET status = 'mitigated' WHERE id = ?")?
            .execute([&id])?;
        let about = About {
            session: Some(&session),
            ..About::default()
        };
        happened(conn, &id, IncidentEventKind::Mitigated, at, &about)?;
    }
    Ok(())
}

fn move_to(
    conn: &Connection,
    id: &IncidentId,
    to: IncidentMove,
    by: &UserId,
    reason: &str,
    at: i64,
) -> Result<(), Fault> {
    check_known(conn, id)?;
    let status: String = conn
        .prepare_cached("SELECT status FROM incidents WHERE id = ?")?
        .query_row([id.as_str()], |row| row.get(0))?;
    let status: IncidentStatus = text(&status)?;
    let (kind, sql) = match (to, status) {
        (IncidentMove::Acknowledge, IncidentStatus::Open) => (
            IncidentEventKind::Acknowledged,
            "UPDATE incidents SET status = 'acknowledged', changed_at = ?1 WHERE id = ?2",
        ),
        (IncidentMove::Resolve, status) if status.is_open() => (
            IncidentEventKind::Resolved,
            "UPDATE incidents SET status = 'resolved', resolved_at = ?1, changed_at = ?1, waiting = 0 WHERE id = ?2",
        ),
        (IncidentMove::Reopen, IncidentStatus::Resolved) => (
            IncidentEventKind::Reopened,
            "UPDATE incidents SET status = 'open', resolved_at = NULL, changed_at = ?1, waiting = 1 WHERE id = ?2",
        ),
        (IncidentMove::Acknowledge | IncidentMove::Resolve | IncidentMove::Reopen, status) => {
            return Err(Error::IncidentStands {
                incident: id.clone(),
                status,
            }
            .into());
        }
    };
    conn.prepare_cached(sql)?.execute(params![at, id.as_str()])?;
    let about = About {
        by: Some(by),
        session: None,
        text: reason,
    };
    happened(conn, id.as_str(), kind, at, &about)
}

fn incident(row: &Row<'_>) -> Result<Incident, Fault> {
    let word = |at: usize| -> Result<String, Fault> { Ok(row.get(at)?) };
    let maybe = |at: usize| -> Result<Option<String>, Fault> { Ok(row.get(at)?) };
    let moment = |at: usize| -> Result<Option<Timestamp>, Fault> {
        row.get::<_, Option<i64>>(at)?.map(time).transpose()
    };
    Ok(Incident {
        id: text(&word(0)?)?,
        fingerprint: maybe(1)?,
        status: text(&word(2)?)?,
        firing: row.get(3)?,
        severity: of_rank(row.get(4)?)?,
        title: word(5)?,
        summary: word(6)?,
        source: word(7)?,
        owner: maybe(8)?.map(|owner| text(&owner)).transpose()?,
        alert_type: maybe(9)?,
        rule: maybe(10)?,
        about: maybe(11)?,
        resource: maybe(12)?.map(|resource| text(&resource)).transpose()?,
        priority: row.get(13)?,
        starts_at: moment(14)?,
        opened_at: time(row.get(15)?)?,
        changed_at: time(row.get(16)?)?,
        resolved_at: moment(17)?,
        repeats: number(row.get(18)?)?,
        waiting: row.get(19)?,
        alert: word(20)?,
        session: match maybe(21)? {
            Some(session) => Some(IncidentSession {
                id: text(&session)?,
                status: text(&word(22)?)?,
                open_holds: number(row.get(23)?)?,
            }),
            None => None,
        },
    })
}

fn event(row: &Row<'_>) -> Result<IncidentEvent, Fault> {
    let maybe = |at: usize| -> Result<Option<String>, Fault> { Ok(row.get(at)?) };
    Ok(IncidentEvent {
        number: number(row.get(0)?)?,
        kind: text(&row.get::<_, String>(1)?)?,
        at: time(row.get(2)?)?,
        last_at: time(row.get(3)?)?,
        count: number(row.get(4)?)?,
        by: maybe(5)?.map(|by| text(&by)).transpose()?,
        session: maybe(6)?.map(|session| text(&session)).transpose()?,
        text: row.get(7)?,
    })
}

fn page(conn: &Connection, query: &IncidentQuery) -> Result<(Vec<Incident>, u64), Fault> {
    let (mut conditions, mut values) = ("1".to_owned(), Vec::<Sql>::new());
    if !query.statuses.is_empty() {
        conditions.push_str(" AND i.status IN (");
        conditions.push_str(&vec!["?"; query.statuses.len()].join(", "));
        conditions.push(')');
        values.extend(
            query
                .statuses
                .iter()
                .map(|status| Sql::from(status.as_str().to_owned())),
        );
        // Which index has them: the planner does not see that from a list of words.
        if query.statuses.iter().all(|status| status.is_open()) {
            conditions.push_str(" AND i.status <> 'resolved'");
        }
    }
    if let Some(severity) = query.severity {
        conditions.push_str(" AND i.severity = ?");
        values.push(rank(severity).into());
    }
    if let Some(resource) = &query.resource {
        conditions.push_str(" AND i.resource = ?");
        values.push(resource.to_string().into());
    }
    let total: i64 = conn
        .prepare_cached(&format!("SELECT count(*) FROM incidents i WHERE {conditions}"))?
        .query_row(params_from_iter(&values), |row| row.get(0))?;
    let sql = format!(
        "{INCIDENT} WHERE {conditions} ORDER BY i.status = 'resolved', \
         CASE WHEN i.status = 'resolved' THEN -i.resolved_at ELSE i.severity END, i.key DESC LIMIT ? OFFSET ?"
    );
    values.push(i64::from(query.limit).into());
    values.push(i64::from(query.offset).into());
    Ok((
        rows(conn, &sql, params_from_iter(&values), incident)?,
        number(total)?,
    ))
}

fn news(conn: &Connection, session: &SessionId, after: i64) -> Result<Vec<IncidentNews>, Fault> {
    rows(
        conn,
        "SELECT e.number, e.kind, e.at, e.last_at, e.count, e.by, e.session, e.text, i.id, i.title \
         FROM incident_sessions l JOIN incidents i ON i.id = l.incident \
         JOIN incident_events e ON e.incident = i.id AND e.number > i.last_event - 8 \
         WHERE l.session = ?1 AND e.last_at > ?2 \
         AND e.kind IN ('repeated', 'reopened', 'alert_resolved', 'resolved') ORDER BY e.last_at, e.key LIMIT 50",
        params![session.as_str(), after],
        |row| {
            Ok(IncidentNews {
                event: event(row)?,
                incident: text(&row.get::<_, String>(8)?)?,
                title: row.get(9)?,
            })
        },
    )
}

fn counts(conn: &Connection) -> Result<IncidentCounts, Fault> {
    let mut counts = IncidentCounts::default();
    let by: Vec<(i64, i64)> = rows(
        conn,
        "SELECT severity, count(*) FROM incidents INDEXED BY incidents_open WHERE status <> 'resolved' GROUP BY severity",
        [],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    for (severity, count) in by {
        let count = number(count)?;
        match of_rank(severity)? {
            Severity::Critical => counts.critical = count,
            Severity::Warning => counts.warning = count,
            Severity::Info => counts.info = count,
        }
    }
    let waiting: i64 = conn
        .prepare_cached("SELECT count(*) FROM incidents INDEXED BY incidents_waiting WHERE waiting = 1")?
        .query_row([], |row| row.get(0))?;
    counts.waiting = number(waiting)?;
    Ok(counts)
}

/// Removes some incidents that were resolved before a moment and whose sessions are gone. Says how many.
fn purge(conn: &Connection, resolved_before: i64) -> Result<u64, Fault> {
    let old: Vec<String> = rows(
        conn,
        "SELECT i.id FROM incidents i WHERE i.status = 'resolved' AND i.resolved_at < ?1 \
         AND NOT EXISTS (SELECT 1 FROM incident_sessions l JOIN sessions s ON s.id = l.session WHERE l.incident = i.id) \
         LIMIT ?2",
        [resolved_before, STEP],
        |row| Ok(row.get(0)?),
    )?;
    for id in &old {
        for sql in [
            "DELETE FROM incident_sessions WHERE incident = ?",
            "DELETE FROM incident_events WHERE incident = ?",
            "DELETE FROM incidents WHERE id = ?",
        ] {
            conn.prepare_cached(sql)?.execute([id])?;
        }
    }
    Ok(old.len() as u64)
}

impl Sqlite {
    pub(crate) async fn file_alerts(
        &self,
        alerts: Vec<NewAlert>,
        reopen_within: jiff::SignedDuration,
        now: Timestamp,
    ) -> Result<Vec<Filed>, Error> {
        let now = nanoseconds(now)?;
        let within = i64::try_from(reopen_within.as_nanos()).unwrap_or(i64::MAX);
        self.write(true, move |conn| {
            alerts
                .iter()
                .map(|alert| file(conn, alert, within, now))
                .collect()
        })
        .await
    }

    pub(crate) async fn waiting_incidents(&self, limit: u32) -> Result<Vec<Incident>, Error> {
        self.read(move |conn| {
            let sql =
                format!("{INCIDENT} WHERE i.waiting = 1 ORDER BY i.priority DESC, i.severity, i.key LIMIT ?");
            rows(conn, &sql, [limit], incident)
        })
        .await
    }

    pub(crate) async fn start_incidents(
        &self,
        session: NewSession,
        incidents: Vec<IncidentId>,
        limits: QueueLimits,
    ) -> Result<Option<Submitted>, Error> {
        let keyring = self.keyring().cloned();
        self.write(true, move |conn| {
            start(conn, keyring.as_ref(), &session, &incidents, limits)
        })
        .await
    }

    pub(crate) async fn incident(&self, id: &IncidentId) -> Result<Incident, Error> {
        let id = id.clone();
        self.read(move |conn| one(conn, &id)).await
    }

    pub(crate) async fn incidents(&self, query: &IncidentQuery) -> Result<(Vec<Incident>, u64), Error> {
        let query = query.clone();
        self.read(move |conn| page(conn, &query)).await
    }

    pub(crate) async fn incident_events(
        &self,
        id: &IncidentId,
        limit: u32,
    ) -> Result<Vec<IncidentEvent>, Error> {
        let id = id.clone();
        self.read(move |conn| {
            check_known(conn, &id)?;
            let sql = format!("{EVENT} WHERE e.incident = ? ORDER BY e.number DESC LIMIT ?");
            rows(conn, &sql, params![id.as_str(), limit], event)
        })
        .await
    }

    pub(crate) async fn incident_sessions(&self, id: &IncidentId) -> Result<Vec<SessionId>, Error> {
        let id = id.clone();
        self.read(move |conn| {
            check_known(conn, &id)?;
            rows(
                conn,
                "SELECT l.session FROM incident_sessions l JOIN sessions s ON s.id = l.session \
                 WHERE l.incident = ? AND s.deleted_at IS NULL ORDER BY l.key DESC LIMIT 100",
                [id.as_str()],
                |row| text(&row.get::<_, String>(0)?),
            )
        })
        .await
    }

    pub(crate) async fn incidents_of(&self, session: &SessionId) -> Result<Vec<Incident>, Error> {
        let session = session.clone();
        self.read(move |conn| {
            let sql = format!(
                "{INCIDENT} WHERE i.id IN (SELECT o.incident FROM incident_sessions o WHERE o.session = ?) \
                 ORDER BY i.severity, i.key LIMIT 100"
            );
            rows(conn, &sql, [session.as_str()], incident)
        })
        .await
    }

    pub(crate) async fn incident_news(
        &self,
        session: &SessionId,
        after: Timestamp,
    ) -> Result<Vec<IncidentNews>, Error> {
        let (session, after) = (session.clone(), nanoseconds(after)?);
        self.read(move |conn| news(conn, &session, after)).await
    }

    pub(crate) async fn incident_counts(&self) -> Result<IncidentCounts, Error> {
        self.read(counts).await
    }

    pub(crate) async fn move_incident(
        &self,
        id: &IncidentId,
        to: IncidentMove,
        by: &UserId,
        reason: &str,
        deed: Deed,
    ) -> Result<Incident, Error> {
        let (id, by, reason) = (id.clone(), by.clone(), reason.to_owned());
        let (at, details) = (nanoseconds(deed.at)?, json("the facts of a deed", &deed.details)?);
        self.write(true, move |conn| {
            move_to(conn, &id, to, &by, &reason, at)?;
            super::audit::audit(conn, &deed, at, &details)?;
            one(conn, &id)
        })
        .await
    }

    pub(crate) async fn note_incident(
        &self,
        id: &IncidentId,
        kind: IncidentEventKind,
        said: &str,
        at: Timestamp,
    ) -> Result<(), Error> {
        let (id, said, at) = (id.clone(), said.to_owned(), nanoseconds(at)?);
        self.write(true, move |conn| {
            let about = About {
                text: &said,
                ..About::default()
            };
            check_known(conn, &id)?;
            happened(conn, id.as_str(), kind, at, &about)
        })
        .await
    }

    pub(crate) async fn link_incident(&self, id: &IncidentId, resource: &ResourceId) -> Result<(), Error> {
        let (id, resource) = (id.clone(), resource.to_string());
        self.write(false, move |conn| {
            conn.prepare_cached("UPDATE incidents SET resource = ? WHERE id = ?")?
                .execute(params![resource, id.as_str()])?;
            Ok(())
        })
        .await
    }

    pub(crate) async fn keep_rejected(&self, alerts: Vec<RejectedAlert>) -> Result<(), Error> {
        let alerts: Vec<(i64, RejectedAlert)> = alerts
            .into_iter()
            .map(|alert| Ok((nanoseconds(alert.at)?, alert)))
            .collect::<Result<_, Error>>()?;
        self.write(true, move |conn| {
            for (at, alert) in &alerts {
                conn.prepare_cached(
                    "INSERT INTO rejected_alerts (at, source, reason, alert) VALUES (?, ?, ?, ?)",
                )?
                .execute(params![at, alert.source, alert.reason, alert.alert])?;
            }
            conn.prepare_cached(
                "DELETE FROM rejected_alerts WHERE key <= (SELECT max(key) FROM rejected_alerts) - ?",
            )?
            .execute([MOST_REJECTED])?;
            Ok(())
        })
        .await
    }

    pub(crate) async fn rejected_alerts(&self, limit: u32) -> Result<(Vec<RejectedAlert>, u64), Error> {
        self.read(move |conn| {
            let kept = rows(
                conn,
                "SELECT at, source, reason, alert FROM rejected_alerts ORDER BY key DESC LIMIT ?",
                [limit],
                |row| {
                    Ok(RejectedAlert {
                        at: time(row.get(0)?)?,
                        source: row.get(1)?,
                        reason: row.get(2)?,
                        alert: row.get(3)?,
                    })
                },
            )?;
            // Keys are never given out twice, so the last one counts them all.
            let all: Option<i64> = conn
                .prepare_cached("SELECT max(key) FROM rejected_alerts")?
                .query_row([], |row| row.get(0))?;
            Ok((kept, number(all.unwrap_or(0))?))
        })
        .await
    }

    pub(crate) async fn purge_incidents(&self, resolved_before: Timestamp) -> Result<u64, Error> {
        let before = nanoseconds(resolved_before)?;
        self.write(false, move |conn| purge(conn, before)).await
    }
}

fn one(conn: &Connection, id: &IncidentId) -> Result<Incident, Fault> {
    let sql = format!("{INCIDENT} WHERE i.id = ?");
    rows(conn, &sql, [id.as_str()], incident)?
        .pop()
        .ok_or_else(|| Fault::not_found("incident", id))
}
