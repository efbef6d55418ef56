//! How often somebody may get it wrong: a few times freely, then after a wait that doubles.
//!
//! An attempt counts before it is looked at, so that many at the same time count as many. One that succeeds is forgiven.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use interlock_protocol::ContentHash;

use crate::problem::{Code, Problem};

/// The longest wait.
const LONGEST: Duration = Duration::from_mins(15);
/// After how much quiet everything is forgotten.
const FORGET: Duration = Duration::from_hours(1);
/// How many are remembered.
const MOST: usize = 10_000;
/// How many users may come from one address: it may be a whole office.
const USERS_OF_AN_ADDRESS: u32 = 4;

/// Counts attempts by name and by address.
pub(super) struct Throttle {
    free: AtomicU32,
    names: Mutex<Attempts<ContentHash>>,
    addresses: Mutex<Attempts<IpAddr>>,
}

/// What an attempt is counted under.
#[derive(Debug, Clone, Copy)]
pub(super) struct Attempt {
    name: Option<ContentHash>,
    address: IpAddr,
}

impl Throttle {
    /// With so many free attempts for each user.
    pub(super) fn new(free: u32) -> Self {
        Self {
            free: AtomicU32::new(free),
            names: Mutex::default(),
            addresses: Mutex::default(),
        }
    }

    /// From now on so many attempts are free.
    pub(super) fn allow(&self, free: u32) {
        self.free.store(free, Ordering::Relaxed);
    }

    /// One more attempt: to be somebody of this name, from this address. A problem if it comes too early.
    pub(super) fn attempt(
        &self,
        name: Option<&str>,
        address: IpAddr,
        now: Instant,
    ) -> Result<Attempt, Problem> {
        let attempt = Attempt {
            name: name.map(ContentHash::of),
            address: crate::http::network(address),
        };
        let free = self.free.load(Ordering::Relaxed);
        let many = free.saturating_mul(USERS_OF_AN_ADDRESS);
        let mut addresses = held(&self.addresses);
        let mut names = held(&self.names);
        let wait = addresses
            .wait(&attempt.address, many, now)
            .into_iter()
            .chain(attempt.name.and_then(|name| names.wait(&name, free, now)))
            .max();
        if let Some(wait) = wait {
            return Err(
                Problem::new(Code::RateLimited, "too many attempts to sign in have failed")
                    .hint("wait; whoever runs the server can make a sign-in link with `interlock user link`")
                    .retry_after(wait.as_secs() + 1),
            );
        }
        addresses.count(attempt.address, now);
        if let Some(name) = attempt.name {
            names.count(name, now);
        }
        Ok(attempt)
    }

    /// That attempt succeeded.
    pub(super) fn forgive(&self, attempt: Attempt) {
        held(&self.addresses).one_less(&attempt.address);
        if let Some(name) = attempt.name {
            held(&self.names).seen.remove(&name);
        }
    }
}

/// What a panic elsewhere left is still only numbers.
fn held<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

struct Attempts<K> {
    seen: HashMap<K, (u32, Instant)>,
}

impl<K> Default for Attempts<K> {
    fn default() -> Self {
        Self { seen: HashMap::new() }
    }
}

impl<K: Hash + Eq> Attempts<K> {
    /// How long to wait yet.
    fn wait(&self, key: &K, free: u32, now: Instant) -> Option<Duration> {
        let &(count, last) = self.seen.get(key)?;
        let since = now.saturating_duration_since(last);
        if count < free || since >= FORGET {
            return None;
        }
        let doublings = (count - free).min(10);
        let wait = Duration::from_secs(1 << doublings).min(LONGEST);
        wait.checked_sub(since).filter(|left| !left.is_zero())
    }

    fn count(&mut self, key: K, now: Instant) {
        if self.seen.len() >= MOST {
            self.make_room(now);
        }
        let entry = self.seen.entry(key).or_insert((0, now));
        if now.saturating_duration_since(entry.1) >= FORGET {
            entry.0 = 0;
        }
        *entry = (entry.0.saturating_add(1), now);
    }

    fn one_less(&mut self, key: &K) {
        if let Some((count, _)) = self.seen.get_mut(key) {
            *count = count.saturating_sub(1);
        }
    }

    /// Forgets those who were quiet, and if that is not enough, the older half.
    fn make_room(&mut self, now: Instant) {
        self.seen
            .retain(|_, (_, last)| now.saturating_duration_since(*last) < FORGET);
        if self.seen.len() >= MOST {
            let mut times: Vec<Instant> = self.seen.values().map(|&(_, last)| last).collect();
            let middle = times.len() / 2;
            let (_, &mut middle, _) = times.select_nth_unstable(middle);
            self.seen.retain(|_, (_, last)| *last > middle);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn home() -> IpAddr {
        "192.0.2.1".parse().unwrap()
    }

    fn seconds(problem: &Problem) -> u64 {
        use axum::response::IntoResponse as _;
        let response = problem.clone().into_response();
        let value = response.headers().get("retry-after").unwrap();
        value.to_str().unwrap().parse().unwrap()
    }

    #[test]
    fn the_wait_doubles_and_ends() {
        let throttle = Throttle::new(3);
        let mut now = Instant::now();
        for _ in 0..3 {
            throttle.attempt(Some("zoe"), home(), now).unwrap();
        }
        let mut waits = Vec::new();
        for _ in 0..12 {
            let wait = seconds(&throttle.attempt(Some("zoe"), home(), now).unwrap_err());
            waits.push(wait);
            now += Duration::from_secs(wait);
            throttle.attempt(Some("zoe"), home(), now).unwrap();
        }
        assert_eq!(waits, [2, 3, 5, 9, 17, 33, 65, 129, 257, 513, 901, 901]);
    }

    #[test]
    fn an_attempt_counts_before_it_is_looked_at_and_success_forgives() {
        let throttle = Throttle::new(2);
        let now = Instant::now();
        throttle.attempt(Some("zoe"), home(), now).unwrap();
        let second = throttle.attempt(Some("zoe"), home(), now).unwrap();
        assert!(throttle.attempt(Some("zoe"), home(), now).is_err());
        throttle.forgive(second);
        assert!(throttle.attempt(Some("zoe"), home(), now).is_ok());
    }

    #[test]
    fn others_are_not_kept_out_until_the_address_has_tried_too_many() {
        let throttle = Throttle::new(2);
        let now = Instant::now();
        for name in ["a", "b", "c", "d"] {
            for _ in 0..2 {
                throttle.attempt(Some(name), home(), now).unwrap();
            }
            assert!(throttle.attempt(Some(name), home(), now).is_err());
        }
        assert!(throttle.attempt(Some("fresh"), home(), now).is_err());
        assert!(throttle.attempt(None, home(), now).is_err());
        assert!(
            throttle
                .attempt(Some("fresh"), "192.0.2.2".parse().unwrap(), now)
                .is_ok()
        );
    }

    #[test]
    fn one_network_of_ipv6_is_one_address() {
        let throttle = Throttle::new(1);
        let now = Instant::now();
        for host in 1..=4 {
            let address = format!("2001:db8::{host}").parse().unwrap();
            throttle.attempt(None, address, now).unwrap();
        }
        let fifth = "2001:db8::5".parse().unwrap();
        assert!(throttle.attempt(None, fifth, now).is_err());
        assert!(
            throttle
                .attempt(None, "2001:db8:0:1::5".parse().unwrap(), now)
                .is_ok()
        );
    }

    #[test]
    fn memory_is_bounded() {
        let throttle = Throttle::new(1);
        let now = Instant::now();
        for number in 0..(MOST * 2) {
            let number = u32::try_from(number).unwrap();
            let [_, a, b, c] = number.to_be_bytes();
            let address = IpAddr::from([10, a, b, c]);
            let at = now + Duration::from_millis(u64::from(number));
            throttle.attempt(Some(&number.to_string()), address, at).unwrap();
        }
        assert!(held(&throttle.names).seen.len() <= MOST);
        assert!(held(&throttle.addresses).seen.len() <= MOST);
    }
}
