//! How free the system is at the moment.

use crate::word::words;

words! {
    /// The operational mode that governance sets.
    Mode {
        /// Everything works.
        Normal = "normal",
        /// Something is wrong; changes are watched more closely.
        Alert = "alert",
        /// Part of the system is down.
        Degraded = "degraded",
        /// Nothing may change.
        Lockdown = "lockdown",
        /// Coming back from a failure.
        Recovery = "recovery",
    }
}

words! {
    /// How much may happen without a human.
    ControlLevel {
        /// A write is refused.
        ReadOnly = "read_only",
        /// A write waits for a human.
        Controlled = "controlled",
        /// A write may run where risk and policies let it.
        Autonomous = "autonomous",
    }
}

words! {
    /// What a person may do. Each role may do what those before it may.
    Role {
        /// Look at everything.
        Viewer = "viewer",
        /// Also ask, submit alerts, stop sessions and stop all writes.
        Operator = "operator",
        /// Also decide about what waits for a human.
        Approver = "approver",
        /// Also people, tokens, and letting writes go again.
        Admin = "admin",
    }
}

impl Default for ControlLevel {
    /// Nobody who has not chosen gets changes.
    fn default() -> Self {
        Self::ReadOnly
    }
}
