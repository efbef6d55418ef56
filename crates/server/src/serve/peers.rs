//! How many connections each address has. One address never has all of them.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Which part of all connections one address may have.
const PART: usize = 4;

/// Who has how many connections.
#[derive(Debug, Clone)]
pub(super) struct Peers {
    most: usize,
    open: Arc<Mutex<HashMap<IpAddr, usize>>>,
}

/// One connection of an address. Counts until it is dropped.
#[derive(Debug)]
pub(super) struct Seat {
    peers: Peers,
    address: IpAddr,
}

impl Peers {
    /// Of so many connections in all.
    pub(super) fn new(connections: usize) -> Self {
        Self {
            most: (connections / PART).max(1),
            open: Arc::default(),
        }
    }

    /// One more connection of this address; nothing if it has its part already.
    pub(super) fn take(&self, address: IpAddr) -> Option<Seat> {
        let address = crate::http::network(address);
        let mut open = self.open();
        let count = open.entry(address).or_default();
        if *count >= self.most {
            return None;
        }
        *count += 1;
        Some(Seat {
            peers: self.clone(),
            address,
        })
    }

    /// What a panic elsewhere left is still only numbers.
    fn open(&self) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut open = self.peers.open();
        if let Some(count) = open.get_mut(&self.address) {
            *count -= 1;
            if *count == 0 {
                open.remove(&self.address);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_its_part_and_gets_it_back() {
        let peers = Peers::new(9);
        let address = |text: &str| text.parse::<IpAddr>().unwrap();
        let one = address("2001:db8::1");
        let seats: Vec<Seat> = (0..2).filter_map(|_| peers.take(one)).collect();
        assert_eq!(seats.len(), 2);
        // The whole network of somebody with IPv6 is one address; IPv4 within IPv6 is IPv4.
        for (other, fine) in [
            ("2001:db8::1", false),
            ("2001:db8::ffff:1", false),
            ("2001:db8:0:1::1", true),
            ("192.0.2.1", true),
        ] {
            assert_eq!(peers.take(address(other)).is_some(), fine, "{other}");
        }
        drop(seats);
        assert!(peers.take(one).is_some());
        assert!(peers.open().is_empty(), "nobody who left is remembered");
        assert!(Peers::new(1).take(one).is_some(), "one is always allowed");
    }
}
