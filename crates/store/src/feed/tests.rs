//! Every order in which transactions can take positions, commit or fail, with a reader in between.
//!
//! The log is a model of a database with several writers, as `PostgreSQL` is one: a transaction takes its positions when it
//! writes and shows them when it commits. The page and the cursor are those of the store.

use interlock_protocol::{Sequence, SessionId};

use super::{Cursor, FeedPage, Placed};

/// What became of a position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    InFlight(usize),
    Visible,
    Gone,
}

/// Positions from 1, in the order in which they were taken.
#[derive(Debug, Clone, Default)]
struct Log(Vec<State>);

impl Log {
    fn positions(&self) -> impl Iterator<Item = (u64, State)> {
        (1..).zip(self.0.iter().copied())
    }

    fn visible(&self) -> Vec<u64> {
        self.positions()
            .filter(|(_, state)| *state == State::Visible)
            .map(|(position, _)| position)
            .collect()
    }

    fn take(&mut self, transaction: usize, positions: usize) {
        self.0.extend(vec![State::InFlight(transaction); positions]);
    }

    fn end(&mut self, transaction: usize, becomes: State) {
        for state in &mut self.0 {
            if *state == State::InFlight(transaction) {
                *state = becomes;
            }
        }
    }

    /// The position before the lowest that is in flight.
    fn settled(&self) -> u64 {
        self.positions()
            .find(|(_, state)| matches!(state, State::InFlight(_)))
            .map_or(self.0.len() as u64, |(position, _)| position - 1)
    }

    fn rows(&self, after: u64, limit: u32) -> Vec<Placed> {
        let behind = self.visible().into_iter().filter(|position| *position > after);
        behind.take(limit as usize).map(placed).collect()
    }
}

fn placed(position: u64) -> Placed {
    Placed {
        position,
        session: SessionId::from_bytes([1; 16]),
        sequence: Sequence::new(position),
        kind: "x".to_owned(),
        json: String::new(),
    }
}

/// How a backend makes a page, out of the log before and after something happened.
type Backend = fn(before: &Log, now: &Log, after: u64, limit: u32) -> FeedPage;

/// As the store asks for it: rows and settled position of one moment.
fn of_one_moment(_: &Log, now: &Log, after: u64, limit: u32) -> FeedPage {
    FeedPage::of(now.rows(after, limit), after, now.settled(), limit)
}

/// Also right: the settled position is older than the rows.
fn settled_first(before: &Log, now: &Log, after: u64, limit: u32) -> FeedPage {
    FeedPage::of(now.rows(after, limit), after, before.settled(), limit)
}

/// Broken: whatever is visible is handed out, as if keys committed in their order.
fn naive(_: &Log, now: &Log, after: u64, limit: u32) -> FeedPage {
    let last = now.visible().last().copied().unwrap_or(0);
    FeedPage::of(now.rows(after, limit), after, last, limit)
}

/// Broken: what commits between the two statements is behind the cursor.
fn settled_later(before: &Log, now: &Log, after: u64, limit: u32) -> FeedPage {
    FeedPage::of(before.rows(after, limit), after, now.settled(), limit)
}

const TRANSACTIONS: usize = 3;
/// How many positions each takes.
const TAKES: [usize; TRANSACTIONS] = [2, 1, 2];

/// Every order of the begins and ends of all transactions: each is named twice, first for its begin.
fn orders() -> Vec<Vec<usize>> {
    fn grow(order: &mut Vec<usize>, all: &mut Vec<Vec<usize>>) {
        if order.len() == 2 * TRANSACTIONS {
            all.push(order.clone());
        }
        for transaction in 0..TRANSACTIONS {
            if order.iter().filter(|other| **other == transaction).count() < 2 {
                order.push(transaction);
                grow(order, all);
                order.pop();
            }
        }
    }
    let mut all = Vec::new();
    grow(&mut Vec::new(), &mut all);
    all
}

/// Whether transactions end in the order in which they began.
fn in_turn(order: &[usize]) -> bool {
    let mut begun = Vec::new();
    let mut ended = Vec::new();
    for transaction in order {
        if begun.contains(transaction) {
            ended.push(*transaction);
        } else {
            begun.push(*transaction);
        }
    }
    begun == ended
}

/// What a reader got and what it should have got. Bits of `fail` name the transactions that fail, bits of `look` the steps
/// after which the reader looks. At the end it looks until there is nothing more.
fn run(backend: Backend, order: &[usize], fail: u32, look: u32, limit: u32) -> (Vec<u64>, Vec<u64>) {
    let (mut log, mut cursor, mut got) = (Log::default(), Cursor(0), Vec::new());
    let mut begun = [false; TRANSACTIONS];
    for (step, &transaction) in order.iter().enumerate() {
        let before = log.clone();
        if begun[transaction] {
            let failed = fail >> transaction & 1 == 1;
            log.end(transaction, if failed { State::Gone } else { State::Visible });
        } else {
            begun[transaction] = true;
            log.take(transaction, TAKES[transaction]);
        }
        if look >> step & 1 == 1 {
            let page = backend(&before, &log, cursor.0, limit);
            got.extend(cursor.take(page).iter().map(|event| event.position));
        }
    }
    loop {
        let page = backend(&log, &log, cursor.0, limit);
        let events = cursor.take(page);
        if events.is_empty() {
            return (got, log.visible());
        }
        got.extend(events.iter().map(|event| event.position));
    }
}

/// In how many of all runs a reader got something else than what was committed, once each and in order.
fn wrong(backend: Backend, orders: &[Vec<usize>]) -> (usize, usize) {
    let (mut wrong, mut runs) = (0, 0);
    for order in orders {
        for fail in 0..1 << TRANSACTIONS {
            for look in 0..1 << (2 * TRANSACTIONS) {
                for limit in [1, 2, 100] {
                    let (got, committed) = run(backend, order, fail, look, limit);
                    runs += 1;
                    wrong += usize::from(got != committed);
                }
            }
        }
    }
    (wrong, runs)
}

#[test]
fn no_order_of_commits_makes_a_reader_miss_an_event() {
    let orders = orders();
    assert_eq!(orders.len(), 90);
    for backend in [of_one_moment, settled_first] {
        assert_eq!(wrong(backend, &orders), (0, 138_240));
    }
}

#[test]
fn a_reader_of_whatever_is_visible_misses_events_that_commit_late() {
    // The first transaction takes positions 1 and 2, the second 3; the second commits first, and the reader looks.
    let (got, committed) = run(naive, &[0, 1, 1, 0, 2, 2], 0, 0b100, 100);
    assert_eq!((got, committed), (vec![3, 4, 5], vec![1, 2, 3, 4, 5]));
    let (missed, _) = wrong(naive, &orders());
    assert!(missed > 10_000, "{missed}");
    // With one writer at a time keys commit in their order, and it is right.
    let in_turn: Vec<Vec<usize>> = orders().into_iter().filter(|order| in_turn(order)).collect();
    assert_eq!((in_turn.len(), wrong(naive, &in_turn).0), (30, 0));
}

#[test]
fn a_settled_position_that_is_newer_than_the_rows_misses_events() {
    let (missed, _) = wrong(settled_later, &orders());
    assert!(missed > 1_000, "{missed}");
}

#[test]
fn a_page_says_where_to_go_on() {
    // (visible, after, settled, limit) -> (handed out, safe)
    type Case = (&'static [u64], u64, u64, u32, &'static [u64], u64);
    let cases: [Case; 7] = [
        (&[], 0, 0, 10, &[], 0),
        (&[2, 3], 1, 9, 10, &[2, 3], 9),
        (&[2, 3], 1, 9, 2, &[2, 3], 3),
        (&[2, 5], 1, 4, 10, &[2], 4),
        (&[2, 5], 1, 4, 2, &[2], 4),
        (&[5], 4, 4, 10, &[], 4),
        // A position of another store: it stays where it is.
        (&[], 99, 9, 10, &[], 99),
    ];
    for case @ (visible, after, settled, limit, events, safe) in cases {
        let visible = visible.iter().copied().map(placed).collect();
        let page = FeedPage::of(visible, after, settled, limit);
        let events = events.iter().copied().map(placed).collect();
        assert_eq!(page, FeedPage { events, safe }, "{case:?}");
    }
}
