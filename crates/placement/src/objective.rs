//! What makes one placement better than another, in integers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::input::{self, MAX_WEIGHT, Problem};

/// What to prefer among the placements that keep every rule: first the lowest cost of moves, then the best balance.
/// With the default weights the cost is the number of moves, and balance is the fullest host's RAM.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Objective {
    /// What a move costs.
    pub moves: MoveWeights,
    /// Which resources count for balance.
    pub balance: BalanceWeights,
}

/// What a move costs. A migration costs `migration` × the guest's `move_weight` + `migrated_gib` × its RAM in GiB,
/// rounded up. A start costs `start`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MoveWeights {
    /// The cost of one migration.
    pub migration: u64,
    /// The cost of one start. Every guest that does not run is started, so it never changes which placement is best.
    pub start: u64,
    /// The added cost of each GiB of RAM that is migrated.
    pub migrated_gib: u64,
}

impl Default for MoveWeights {
    fn default() -> Self {
        Self {
            migration: 1,
            start: 1,
            migrated_gib: 0,
        }
    }
}

/// How much each resource counts for balance, in percent. Balance is the largest weighted use of one resource on one
/// host, in hundredths of a percent of what that host offers; lower is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BalanceWeights {
    /// RAM.
    pub ram: u32,
    /// CPU.
    pub cpu: u32,
    /// Disk.
    pub disk: u32,
    /// Network.
    pub net: u32,
}

impl Default for BalanceWeights {
    fn default() -> Self {
        Self {
            ram: 100,
            cpu: 0,
            disk: 0,
            net: 0,
        }
    }
}

impl BalanceWeights {
    /// The weights in the order of [`crate::Resource::ALL`].
    pub fn as_array(self) -> [u32; 4] {
        [self.ram, self.cpu, self.disk, self.net]
    }
}

impl Objective {
    pub(crate) fn check(&self, problems: &mut Vec<Problem>) {
        let mut range = |field, value, min, max| {
            input::check_range("objective", field, value, (min, max), problems);
        };
        range("migration", self.moves.migration, 0, MAX_WEIGHT);
        range("start", self.moves.start, 0, MAX_WEIGHT);
        range("migrated_gib", self.moves.migrated_gib, 0, MAX_WEIGHT);
        for weight in self.balance.as_array() {
            range("balance", weight.into(), 0, 100);
        }
    }
}
