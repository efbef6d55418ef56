//! Ids for calls that came without one.

use interlock_protocol::CallId;

/// Names the calls of one reply. The bytes come from the caller, who draws new ones for each reply: this room draws none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallIds {
    seed: [u8; 16],
    next: u32,
}

impl CallIds {
    /// The ids that follow from these bytes. The same bytes give the same ids, so that a recorded reply replays.
    pub const fn from_bytes(seed: [u8; 16]) -> Self {
        Self { seed, next: 0 }
    }

    /// The next id: different from every one before, for as many calls as any reply may have.
    pub(crate) fn draw(&mut self) -> CallId {
        let mut bytes = self.seed;
        for (byte, number) in bytes.iter_mut().rev().zip(self.next.to_le_bytes()) {
            *byte ^= number;
        }
        self.next = self.next.wrapping_add(1);
        CallId::from_bytes(bytes)
    }
}
