//! Which key signed when.
//!
//! Keys are in order: the one that signs now, the one before it, and so on. A key signs until its successor has signed. What
//! an earlier key signs after that does not count: whoever found a key that was replaced would otherwise sign for ever.
//!
//! A seal by an earlier key counts only as the newest key found it: the seals from there to the first checkpoint of the newest
//! key are one chain. So an earlier key cannot exchange a seal either.

use std::cell::OnceCell;

use interlock_protocol::ContentHash;
use interlock_seal::{Keyring, PublicKey};
use rusqlite::Connection;

use super::checkpoint::{CHECKPOINT, to_checkpoint};
use super::{COLUMNS, Kept};
use crate::mark::Mark;
use crate::seal::Checkpoint;
use crate::sqlite::fault::Fault;

/// What is known about the keys besides the store.
#[derive(Debug, Clone, Copy)]
pub(in crate::sqlite) enum Outside<'a> {
    /// The end of the store that was signed last, where one is kept.
    Mark(Option<&'a Mark>),
    /// This process signs with the newest key, and has done so in this store.
    SignsHere,
}

/// The keys that sign and check a store. What each of them signed is read when it is first needed.
pub(super) struct Signers<'a> {
    pub(super) keyring: &'a Keyring,
    outside: Outside<'a>,
    order: OnceCell<Order>,
}

impl<'a> Signers<'a> {
    pub(super) const fn new(keyring: &'a Keyring, outside: Outside<'a>) -> Self {
        Self {
            keyring,
            outside,
            order: OnceCell::new(),
        }
    }

    pub(super) fn order(&self, conn: &Connection) -> Result<&Order, Fault> {
        if let Some(order) = self.order.get() {
            return Ok(order);
        }
        let mut order = Order::of(conn, self.keyring)?;
        match self.outside {
            Outside::SignsHere => order.newest_has_signed = true,
            Outside::Mark(mark) => {
                // A mark that cannot be read refuses a start, and is a problem of its own for `audit verify`.
                let marks = mark.and_then(|mark| mark.read(self.keyring).ok());
                for (_, checkpoint) in marks.into_iter().flatten() {
                    order.add(&checkpoint);
                }
            }
        }
        Ok(self.order.get_or_init(|| order))
    }

    /// Why a seal does not count.
    pub(super) fn fault(&self, conn: &Connection, row: &Kept) -> Result<Option<String>, Fault> {
        if let Some(why) = row.fault(self.keyring) {
            return Ok(Some(why));
        }
        let age = PublicKey::from_bytes(&row.public_key)
            .ok()
            .and_then(|key| self.keyring.age(&key));
        match age {
            None | Some(0) => Ok(None),
            Some(age) => self.order(conn)?.retired(conn, row.number, age),
        }
    }
}

/// The least and the greatest of some numbers.
type Range = Option<(i64, i64)>;

fn widen(range: &mut Range, number: i64) {
    *range = Some(range.map_or((number, number), |(least, most)| {
        (least.min(number), most.max(number))
    }));
}

/// What one key signed.
#[derive(Debug, Clone, Default)]
struct Span {
    /// The numbers of its seals.
    seals: Range,
    /// The numbers of its checkpoints.
    checkpoints: Range,
    /// Up to which seal its checkpoints sign.
    signs: Range,
}

impl Span {
    fn of(checkpoint: &Checkpoint) -> Self {
        let mut span = Self::default();
        span.add(checkpoint);
        span
    }

    fn add(&mut self, checkpoint: &Checkpoint) {
        let whole = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        widen(&mut self.checkpoints, whole(checkpoint.number));
        widen(&mut self.signs, whole(checkpoint.seal_number));
    }

    const fn is_empty(&self) -> bool {
        self.seals.is_none() && self.checkpoints.is_none()
    }

    /// What the earlier key signed after this one, which is its successor.
    fn outlived_by(&self, earlier: &Self) -> Option<String> {
        let after = |earlier: Range, newer: Range| match (earlier, newer) {
            (Some((_, last)), Some((first, _))) if last > first => Some(last),
            _ => None,
        };
        if let Some(seal) = after(earlier.seals, self.seals).or_else(|| after(earlier.seals, self.signs)) {
            return Some(format!("seal {seal}"));
        }
        // A checkpoint that is kept outside can have the number of one in the store.
        if let (Some((_, last)), Some((first, _))) = (earlier.checkpoints, self.checkpoints)
            && last >= first
        {
            return Some(format!("checkpoint {last}"));
        }
        // A checkpoint that signs a seal of the successor was made after that seal.
        match (earlier.signs, self.seals, earlier.checkpoints) {
            (Some((_, to)), Some((first, _)), Some((_, last))) if to >= first => {
                Some(format!("checkpoint {last}"))
            }
            _ => None,
        }
    }
}

/// What each key signed in a store.
pub(in crate::sqlite) struct Order {
    keys: Vec<PublicKey>,
    /// By age: the newest key first.
    spans: Vec<Span>,
    /// Whether this process has signed with the newest key.
    newest_has_signed: bool,
    /// Checkpoints that are kept outside.
    outside: Vec<Checkpoint>,
    /// From which seal on the chain to the first checkpoint of the newest key is whole.
    chained: OnceCell<Result<i64, String>>,
}

impl Order {
    pub(in crate::sqlite) fn of(conn: &Connection, keyring: &Keyring) -> Result<Self, Fault> {
        let keys = keyring.keys().to_vec();
        let mut spans = vec![Span::default(); keys.len()];
        if keys.len() > 1 {
            let mut seals = conn.prepare_cached(
                "SELECT public_key, min(number), max(number) FROM main.seals NOT INDEXED GROUP BY public_key",
            )?;
            let mut rows = seals.query([])?;
            while let Some(row) = rows.next()? {
                if let Some(span) = span(&keys, &mut spans, &row.get::<_, Vec<u8>>(0)?) {
                    span.seals = Some((row.get(1)?, row.get(2)?));
                }
            }
            let mut checkpoints = conn.prepare_cached(
                "SELECT public_key, min(number), max(number), min(seal_number), max(seal_number) \
                 FROM main.checkpoints NOT INDEXED GROUP BY public_key",
            )?;
            let mut rows = checkpoints.query([])?;
            while let Some(row) = rows.next()? {
                if let Some(span) = span(&keys, &mut spans, &row.get::<_, Vec<u8>>(0)?) {
                    span.checkpoints = Some((row.get(1)?, row.get(2)?));
                    span.signs = Some((row.get(3)?, row.get(4)?));
                }
            }
        }
        Ok(Self {
            keys,
            spans,
            newest_has_signed: false,
            outside: Vec::new(),
            chained: OnceCell::new(),
        })
    }

    /// A checkpoint that is kept outside the store, and whose signature is known to fit.
    pub(super) fn add(&mut self, checkpoint: &Checkpoint) {
        if self.keys.len() < 2 {
            return;
        }
        if let Some(span) = span(&self.keys, &mut self.spans, checkpoint.public_key.as_bytes()) {
            span.add(checkpoint);
            self.outside.push(checkpoint.clone());
        }
    }

    /// Each statement by a key that was replaced before: what it is, and why it does not count.
    pub(super) fn faults(&self) -> Vec<(String, String)> {
        let mut faults = Vec::new();
        for (age, earlier) in self.spans.iter().enumerate() {
            let mut newer = self.spans.iter().take(age).enumerate();
            let outlived = newer.find_map(|(newer, span)| Some((newer, span.outlived_by(earlier)?)));
            if let Some((newer, what)) = outlived {
                faults.push((what, self.why(age, newer)));
            }
        }
        faults
    }

    /// Why a checkpoint that is kept elsewhere and the store cannot both be.
    pub(in crate::sqlite) fn clash(&self, checkpoint: &Checkpoint) -> Option<String> {
        let own = self.keys.iter().position(|key| *key == checkpoint.public_key)?;
        let one = Span::of(checkpoint);
        self.spans.iter().enumerate().find_map(|(age, span)| {
            let (earlier, newer, what) = match age.cmp(&own) {
                std::cmp::Ordering::Less => (own, age, span.outlived_by(&one)),
                std::cmp::Ordering::Equal => return None,
                std::cmp::Ordering::Greater => (age, own, one.outlived_by(span)),
            };
            what.map(|what| format!("{what}: {}", self.why(earlier, newer)))
        })
    }

    /// Why the end of the store does not count: an earlier key signed it, and a successor has signed something, in the store or
    /// outside.
    pub(super) fn end_fault(&self, last: &Checkpoint) -> Option<String> {
        let age = self.keys.iter().position(|key| *key == last.public_key)?;
        let newer = self.spans.iter().take(age).position(|span| !span.is_empty())?;
        Some(format!("checkpoint {}: {}", last.number, self.why(age, newer)))
    }

    /// Two earlier keys of which the one that is listed as newer signed everything before the other.
    pub(super) fn swapped(&self) -> Option<String> {
        let before = |one: Range, other: Range| match (one, other) {
            (Some((_, last)), Some((first, _))) => last < first,
            _ => true,
        };
        (1..self.spans.len()).find_map(|age| {
            let earlier = self.spans.get(age)?;
            let newer = (1..age).find(|newer| {
                self.spans.get(*newer).is_some_and(|newer| {
                    newer.outlived_by(earlier).is_some()
                        && before(newer.seals, earlier.seals)
                        && before(newer.checkpoints, earlier.checkpoints)
                })
            })?;
            let what = self.spans.get(newer)?.outlived_by(earlier)?;
            Some(format!("{what}: {}", self.why(age, newer)))
        })
    }

    fn why(&self, earlier: usize, newer: usize) -> String {
        match (self.keys.get(earlier), self.keys.get(newer)) {
            (Some(earlier), Some(newer)) => format!(
                "it is signed by the key {earlier} after the key {newer}, which replaced it, had signed"
            ),
            _ => "it is signed by a key that was replaced".to_owned(),
        }
    }

    /// Why a seal by a key of this age, which is not the newest, does not count.
    fn retired(&self, conn: &Connection, number: i64, age: usize) -> Result<Option<String>, Fault> {
        let mut own = Span::default();
        widen(&mut own.seals, number);
        let newer = self
            .spans
            .iter()
            .take(age)
            .position(|newer| newer.outlived_by(&own).is_some());
        if let Some(newer) = newer {
            return Ok(Some(self.why(age, newer)));
        }
        let Some(newest) = self.spans.iter().position(|span| !span.is_empty()) else {
            return Ok(None);
        };
        if self.newest_has_signed && newest != 0 {
            return Ok(Some(
                "everything that the newest key signed was removed".to_owned(),
            ));
        }
        if newest >= age {
            return Ok(None);
        }
        if self.chained.get().is_none() {
            let chained = self.chained_from(conn, newest)?;
            let _ = self.chained.set(chained);
        }
        Ok(match self.chained.get() {
            Some(Ok(from)) if *from <= number => None,
            Some(Ok(from)) => Some(format!(
                "it is signed by an earlier key, and seal {} is not the one that the newest key found",
                from - 1
            )),
            Some(Err(why)) => Some(why.clone()),
            None => None,
        })
    }

    /// From which seal on all are as the key of this age found them when it first signed.
    fn chained_from(&self, conn: &Connection, newest: usize) -> Result<Result<i64, String>, Fault> {
        let Some(key) = self.keys.get(newest) else {
            return Ok(Ok(0));
        };
        let first = crate::sqlite::read::rows(
            conn,
            &format!("{CHECKPOINT} WHERE public_key = ? ORDER BY number LIMIT 1"),
            [key.as_bytes()],
            to_checkpoint,
        )?;
        let kept = self.outside.iter().filter(|kept| kept.public_key == *key);
        let Some(anchor) = first.first().or_else(|| kept.min_by_key(|kept| kept.number)) else {
            return Ok(Err(format!(
                "it is signed by an earlier key, and the first checkpoint by the key {key} is missing"
            )));
        };
        if !anchor.verifies(&Keyring::checking([*key])) {
            return Ok(Err(format!(
                "it is signed by an earlier key, and the signature of checkpoint {} does not fit",
                anchor.number
            )));
        }
        let mut next = i64::try_from(anchor.seal_number).unwrap_or(i64::MAX);
        let mut expected = anchor.seal_hash.as_bytes().to_vec();
        let mut statement = conn.prepare_cached(&format!(
            "SELECT {COLUMNS} FROM main.seals NOT INDEXED WHERE number <= ? ORDER BY number DESC"
        ))?;
        let mut rows = statement.query([next])?;
        while let Some(row) = rows.next()? {
            let row = Kept::read(row)?;
            let own: ContentHash = row.own_hash();
            if row.number != next || own.as_bytes() != expected.as_slice() {
                break;
            }
            expected = row.previous;
            next -= 1;
        }
        Ok(Ok(next + 1))
    }
}

fn span<'a>(keys: &[PublicKey], spans: &'a mut [Span], key: &[u8]) -> Option<&'a mut Span> {
    let age = keys.iter().position(|known| known.as_bytes() == key)?;
    spans.get_mut(age)
}
