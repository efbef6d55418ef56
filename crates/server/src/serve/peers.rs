//! How many connections each address has. One address never has all of them.

use std::net::IpAddr;

use crate::seats::{Seat, Seats};

/// Which part of all connections one address may have.
const PART: usize = 4;

/// Who has how many connections.
#[derive(Debug, Clone)]
pub(super) struct Peers(Seats<IpAddr>);

impl Peers {
    /// Of so many connections in all.
    pub(super) fn new(connections: usize) -> Self {
        Self(Seats::new(connections / PART))
    }

    /// One more connection of this address; nothing if it has its part already.
    pub(super) fn take(&self, address: IpAddr) -> Option<Seat<IpAddr>> {
        self.0.take(crate::http::network(address))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_its_part() {
        let peers = Peers::new(9);
        let address = |text: &str| text.parse::<IpAddr>().unwrap();
        let one = address("2001:db8::1");
        let seats: Vec<Seat<IpAddr>> = (0..3).filter_map(|_| peers.take(one)).collect();
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
    }
}
