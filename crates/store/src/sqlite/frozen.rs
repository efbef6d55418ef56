//! What was signed before work on a session began stays as it was while somebody works on it.
//!
//! A session in progress changes with every step, so it has no digest as a whole. But rows are only added to it. The seal that
//! says that work began therefore also says, for each part of the record, how many rows there were and the digest of these rows.
//! Later the first rows must still have this digest. The few changes that work makes to earlier rows are listed in [`ALLOWED`], each
//! with the condition that the row had to meet when work began.

use std::collections::HashSet;
use std::sync::LazyLock;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row};
use sha2::{Digest as _, Sha256};

use super::digest::{LENGTH, PARTS, Part, hash_value};
use super::fault::Fault;

/// The first byte of what a seal keeps of this. Another number means another form.
const FORM: u8 = 1;

/// What may change in a row that was there when work began.
struct Allowed {
    /// The name of the part.
    part: &'static str,
    /// What is true of the row when work begins. The first condition of a part that is true counts.
    open: &'static str,
    /// The columns that may change, and what of them stays.
    columns: &'static [(&'static str, Stays)],
}

/// What stays of a column that may change.
enum Stays {
    /// Nothing.
    Nothing,
    /// All of a JSON document but these members.
    Without(&'static [&'static str]),
}
use Stays::{Nothing, Without};

/// Every change that work on a session makes to rows that were there before. Everything else is only added.
const ALLOWED: &[Allowed] = &[
    Allowed {
        part: "session",
        open: "1",
        columns: &[
            ("status", Nothing),
            ("cancel_requested", Nothing),
            ("cancel_by", Nothing),
            ("completed_at", Nothing),
            ("last_interaction_at", Nothing),
            ("decided", Nothing),
            ("last_event", Nothing),
            ("writes", Nothing),
            ("writes_verified", Nothing),
            ("refusals", Nothing),
        ],
    },
    // The newest answer takes the place of the one before it, which is an entry of the timeline.
    Allowed {
        part: "title, input and answer",
        open: "1",
        columns: &[("answer", Nothing), ("error", Nothing)],
    },
    Allowed {
        part: "runs",
        open: "runs.body ->> '$.completed_at' IS NULL",
        columns: &[("body", Without(&["$.status", "$.completed_at"]))],
    },
    // A further question is put to the agents that are there.
    Allowed {
        part: "stages",
        open: "1",
        columns: &[("body", Without(&["$.status", "$.error", "$.completed_at"]))],
    },
    Allowed {
        part: "executions",
        open: "1",
        columns: &[(
            "body",
            Without(&["$.status", "$.error", "$.completed_at", "$.iterations", "$.model"]),
        )],
    },
    Allowed {
        part: "timeline",
        open: "timeline.status IN ('held', 'streaming')",
        columns: &[
            ("status", Nothing),
            ("updated_at", Nothing),
            ("content", Nothing),
            ("metadata", Nothing),
        ],
    },
    Allowed {
        part: "which call each entry of the timeline shows",
        open: "timeline.status IN ('held', 'streaming')",
        columns: &[
            ("call_kind", Nothing),
            ("permit", Nothing),
            ("hold", Nothing),
            ("rule", Nothing),
            ("code", Nothing),
        ],
    },
    Allowed {
        part: "calls",
        open: "calls.abandoned = 0 AND NOT EXISTS (SELECT 1 FROM receipts WHERE call = calls.key)",
        columns: &[("abandoned", Nothing)],
    },
    Allowed {
        part: "receipts",
        open: "receipts.call IS NULL AND calls.abandoned = 0",
        columns: &[
            ("body", Nothing),
            ("pending", Nothing),
            ("verification", Nothing),
            ("outcome", Nothing),
            ("took", Nothing),
        ],
    },
    Allowed {
        part: "receipts",
        open: "receipts.pending IS NOT NULL AND receipts.verification IS NULL",
        columns: &[("verification", Nothing)],
    },
    Allowed {
        part: "holds",
        open: "holds.status = 'pending'",
        columns: &[("status", Nothing), ("body", Without(&["$.status"]))],
    },
    Allowed {
        part: "approval tokens",
        open: "tokens.used_at IS NULL",
        columns: &[("used_at", Nothing)],
    },
];

/// Where the rows of a part do not only grow at their end in the order of its digest, the order in which they do.
const ORDERED: &[(&str, &str)] = &[
    // The receipt of an interrupted call comes after those of later calls.
    (
        "receipts",
        "FROM calls LEFT JOIN receipts ON receipts.call = calls.key WHERE calls.session = ?1 ORDER BY calls.key",
    ),
    (
        "which call each receipt belongs to",
        "FROM calls WHERE calls.session = ?1 ORDER BY calls.key",
    ),
    (
        "which call each entry of the timeline shows",
        "FROM timeline WHERE session = ?1 ORDER BY key",
    ),
];

/// Rows that have no order: each is looked for by what it says.
const UNORDERED: &str = "approval tokens";
/// The part that says which runs are over.
const RUNS: &str = "runs";

/// How the rows of a part are read.
struct Reading {
    part: &'static Part,
    sql: String,
    /// For each column: its place, and the place of what stays of it under each condition; nothing where all of it stays, or
    /// where nothing does.
    columns: Vec<Column>,
    /// The places of the conditions.
    open: Vec<usize>,
    /// The place of the column that names the run of a row.
    run: Option<usize>,
}

struct Column {
    whole: usize,
    /// By condition.
    under: Vec<Under>,
}

#[derive(Clone, Copy)]
enum Under {
    Whole,
    Nothing,
    At(usize),
}

static READINGS: LazyLock<Vec<Reading>> = LazyLock::new(|| PARTS.iter().map(Reading::of).collect());

impl Reading {
    fn of(part: &'static Part) -> Self {
        let mut selected = Vec::new();
        let mut place = |expression: String| {
            selected.push(expression);
            selected.len() - 1
        };
        let allowed: Vec<&Allowed> = ALLOWED
            .iter()
            .filter(|allowed| allowed.part == part.name)
            .collect();
        let mut run = None;
        let columns = part
            .columns
            .iter()
            .map(|column| {
                let name = format!("{}.{column}", part.table);
                let whole = place(name.clone());
                if *column == "run" {
                    run = Some(whole);
                }
                let under = allowed.iter().map(|allowed| {
                    match allowed.columns.iter().find(|(of, _)| of == column) {
                        None => Under::Whole,
                        Some((_, Nothing)) => Under::Nothing,
                        Some((_, Without(members))) => {
                            let members: Vec<String> =
                                members.iter().map(|member| format!("'{member}'")).collect();
                            Under::At(place(format!(
                                "CASE WHEN json_valid({name}) THEN json_remove({name}, {}) ELSE {name} END",
                                members.join(", ")
                            )))
                        }
                    }
                });
                let under = under.collect();
                Column { whole, under }
            })
            .collect();
        let open = allowed
            .iter()
            .map(|allowed| place(format!("coalesce({}, 0)", valid(part, allowed.open))))
            .collect();
        if part.name == RUNS {
            run = Some(0);
        }
        let rest = ORDERED
            .iter()
            .find(|(name, _)| *name == part.name)
            .map_or(part.rest, |(_, rest)| rest);
        Self {
            part,
            sql: format!("SELECT {} {rest}", selected.join(", ")),
            columns,
            open,
            run,
        }
    }

    /// Which condition a row meets, counted from 1; 0 for none.
    fn state(&self, row: &Row<'_>) -> Result<u8, Fault> {
        for (index, place) in self.open.iter().enumerate() {
            if row.get::<_, bool>(*place)? {
                return Ok(u8::try_from(index + 1).unwrap_or(u8::MAX));
            }
        }
        Ok(0)
    }

    /// Adds what stays of a row that met this condition when work began.
    fn add(&self, hash: &mut Sha256, row: &Row<'_>, state: u8) -> Result<(), Fault> {
        hash.update([b'r', state]);
        for column in &self.columns {
            let under = match state {
                0 => Under::Whole,
                state => column
                    .under
                    .get(usize::from(state) - 1)
                    .copied()
                    .unwrap_or(Under::Whole),
            };
            match under {
                Under::Whole => hash_value(hash, row.get_ref(column.whole)?),
                Under::Nothing => hash.update([b'x']),
                Under::At(place) => hash_value(hash, row.get_ref(place)?),
            }
        }
        Ok(())
    }

    fn is_unordered(&self) -> bool {
        self.part.name == UNORDERED
    }

    fn one(&self, row: &Row<'_>, state: u8) -> Result<[u8; LENGTH], Fault> {
        let mut hash = Sha256::new();
        self.add(&mut hash, row, state)?;
        Ok(hash.finalize().into())
    }
}

/// A condition on a JSON document that anybody may have written.
fn valid(part: &Part, condition: &str) -> String {
    if condition.contains("->>") {
        format!("CASE WHEN json_valid({}.body) THEN {condition} END", part.table)
    } else {
        condition.to_owned()
    }
}

/// What a seal says about the rows of one part when work began.
#[derive(Debug, PartialEq, Eq)]
enum Began {
    Ordered {
        rows: u32,
        /// Which rows met which condition.
        open: Vec<(u32, u8)>,
        digest: [u8; LENGTH],
    },
    Unordered(Vec<(u8, [u8; LENGTH])>),
}

/// What is kept of a session in the seal that says that work on it began.
pub(super) fn began(conn: &Connection, key: i64) -> Result<Vec<u8>, Fault> {
    let mut bytes = vec![FORM];
    for reading in READINGS.iter() {
        let mut statement = conn.prepare_cached(&reading.sql)?;
        let mut rows = statement.query([key])?;
        let began = if reading.is_unordered() {
            let mut each = Vec::new();
            while let Some(row) = rows.next()? {
                let state = reading.state(row)?;
                each.push((state, reading.one(row, state)?));
            }
            Began::Unordered(each)
        } else {
            let (mut count, mut open, mut hash) = (0_u32, Vec::new(), Sha256::new());
            while let Some(row) = rows.next()? {
                let state = reading.state(row)?;
                if state > 0 {
                    open.push((count, state));
                }
                reading.add(&mut hash, row, state)?;
                count = count.saturating_add(1);
            }
            Began::Ordered {
                rows: count,
                open,
                digest: hash.finalize().into(),
            }
        };
        began.write(&mut bytes);
    }
    Ok(bytes)
}

/// The parts in which rows that were there when work began are not as they were. `began` is empty in a seal of an earlier
/// version, which says nothing about them.
pub(super) fn changed(conn: &Connection, key: i64, began: &[u8]) -> Result<Vec<&'static str>, Fault> {
    let Some((form, mut rest)) = began.split_first() else {
        return Ok(Vec::new());
    };
    if *form != FORM {
        return Ok(vec!["a seal of a newer version"]);
    }
    let mut names = Vec::new();
    // The runs that were over.
    let mut over: HashSet<String> = HashSet::new();
    for reading in READINGS.iter() {
        // A part that did not exist when the seal was made.
        if rest.is_empty() {
            break;
        }
        let Some(began) = Began::read(&mut rest) else {
            names.push(reading.part.name);
            break;
        };
        let mut statement = conn.prepare_cached(&reading.sql)?;
        let mut rows = statement.query([key])?;
        let is_same = match began {
            Began::Unordered(each) => {
                let mut found = HashSet::new();
                while let Some(row) = rows.next()? {
                    for state in 0..=u8::try_from(reading.open.len()).unwrap_or(u8::MAX) {
                        found.insert((state, reading.one(row, state)?));
                    }
                }
                each.iter().all(|one| found.contains(one))
            }
            Began::Ordered {
                rows: count,
                open,
                digest,
            } => {
                let (mut at, mut hash, mut open) = (0_u32, Sha256::new(), open.into_iter().peekable());
                let mut added_to_what_is_over = false;
                while let Some(row) = rows.next()? {
                    let run = reading
                        .run
                        .map(|place| row.get_ref(place))
                        .transpose()?
                        .and_then(|run| match run {
                            ValueRef::Text(run) => Some(String::from_utf8_lossy(run).into_owned()),
                            _ => None,
                        });
                    if at < count {
                        let state = open
                            .next_if(|(place, _)| *place == at)
                            .map_or(0, |(_, state)| state);
                        reading.add(&mut hash, row, state)?;
                        if reading.part.name == RUNS && state == 0 {
                            over.extend(run);
                        }
                    } else {
                        added_to_what_is_over |= run.is_some_and(|run| over.contains(&run));
                    }
                    at = at.saturating_add(1);
                }
                at >= count && hash.finalize().as_slice() == digest && !added_to_what_is_over
            }
        };
        if !is_same {
            names.push(reading.part.name);
        }
    }
    Ok(names)
}

impl Began {
    fn write(&self, bytes: &mut Vec<u8>) {
        let length = |count: usize| u32::try_from(count).unwrap_or(u32::MAX).to_be_bytes();
        match self {
            Self::Ordered { rows, open, digest } => {
                bytes.push(b'o');
                bytes.extend_from_slice(&rows.to_be_bytes());
                bytes.extend_from_slice(&length(open.len()));
                for (row, state) in open {
                    bytes.extend_from_slice(&row.to_be_bytes());
                    bytes.push(*state);
                }
                bytes.extend_from_slice(digest);
            }
            Self::Unordered(each) => {
                bytes.push(b'u');
                bytes.extend_from_slice(&length(each.len()));
                for (state, digest) in each {
                    bytes.push(*state);
                    bytes.extend_from_slice(digest);
                }
            }
        }
    }

    /// The next one; nothing where the bytes are something else.
    fn read(bytes: &mut &[u8]) -> Option<Self> {
        fn taken<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
            let (first, rest) = bytes.split_first_chunk::<N>()?;
            *bytes = rest;
            Some(*first)
        }
        let count = |bytes: &mut &[u8]| taken(bytes).map(u32::from_be_bytes);
        match taken::<1>(bytes)? {
            [b'o'] => {
                let (rows, opened) = (count(bytes)?, count(bytes)?);
                let mut open = Vec::new();
                for _ in 0..opened {
                    let (row, [state]) = (count(bytes)?, taken::<1>(bytes)?);
                    open.push((row, state));
                }
                let digest = taken(bytes)?;
                Some(Self::Ordered { rows, open, digest })
            }
            [b'u'] => {
                let mut each = Vec::new();
                for _ in 0..count(bytes)? {
                    let ([state], digest) = (taken::<1>(bytes)?, taken(bytes)?);
                    each.push((state, digest));
                }
                Some(Self::Unordered(each))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_exception_names_a_part_and_columns_of_it() {
        for allowed in ALLOWED {
            let part = PARTS.iter().find(|part| part.name == allowed.part);
            let part = part.unwrap_or_else(|| panic!("there is no part `{}`", allowed.part));
            for (column, _) in allowed.columns {
                assert!(part.columns.contains(column), "{}.{column}", part.name);
            }
        }
        for name in ORDERED.iter().map(|(name, _)| *name).chain([UNORDERED, RUNS]) {
            assert!(PARTS.iter().any(|part| part.name == name), "{name}");
        }
    }

    #[test]
    fn what_is_written_is_read_back() {
        let cases = [
            Began::Ordered {
                rows: 7,
                open: vec![(0, 1), (6, 2)],
                digest: [3; LENGTH],
            },
            Began::Unordered(vec![(0, [1; LENGTH]), (1, [2; LENGTH])]),
            Began::Unordered(Vec::new()),
        ];
        let mut bytes = Vec::new();
        for case in &cases {
            case.write(&mut bytes);
        }
        let mut rest = bytes.as_slice();
        for case in &cases {
            assert_eq!(Began::read(&mut rest).as_ref(), Some(case));
        }
        assert!(rest.is_empty());
        for end in 0..bytes.len() {
            let mut rest = &bytes[..end];
            while !rest.is_empty() && Began::read(&mut rest).is_some() {}
        }
    }
}
