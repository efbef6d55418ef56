//! How much each address and each user may ask in a minute.

use std::hash::Hash;
use std::net::{IpAddr, Ipv6Addr};
use std::num::NonZeroU32;

use governor::clock::{Clock as _, DefaultClock};
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};
use interlock_config::ServerLimits;
use interlock_protocol::UserId;

use crate::problem::{Code, Problem};

/// How many are remembered before those that were quiet are forgotten.
const MOST: usize = 10_000;

/// How much is asked.
pub(crate) struct Limits {
    addresses: DefaultKeyedRateLimiter<IpAddr>,
    users: DefaultKeyedRateLimiter<UserId>,
}

impl Limits {
    /// As configured.
    pub(crate) fn new(limits: &ServerLimits) -> Self {
        let quota = |number: u32| Quota::per_minute(NonZeroU32::new(number).unwrap_or(NonZeroU32::MIN));
        Self {
            addresses: RateLimiter::keyed(quota(limits.anonymous_per_minute)),
            users: RateLimiter::keyed(quota(limits.requests_per_minute)),
        }
    }

    /// One more request of an address without a signed-in user.
    pub(crate) fn address(&self, address: IpAddr) -> Result<(), Problem> {
        check(&self.addresses, &network(address))
    }

    /// One more request of a user.
    pub(crate) fn user(&self, user: &UserId) -> Result<(), Problem> {
        check(&self.users, user)
    }
}

fn check<K: Hash + Eq + Clone>(limiter: &DefaultKeyedRateLimiter<K>, key: &K) -> Result<(), Problem> {
    if limiter.len() > MOST {
        limiter.retain_recent();
    }
    limiter.check_key(key).map_err(|until| {
        let wait = until.wait_time_from(DefaultClock::default().now());
        Problem::new(Code::RateLimited, "that was too much at once")
            .hint("ask less often; an admin sets how often with `server.limits`")
            .retry_after(wait.as_secs() + 1)
    })
}

/// Somebody who has one address of IPv6 has 2^64 of them.
pub(crate) fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => IpAddr::V4(address),
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
        }
    }
}
