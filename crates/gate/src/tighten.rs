//! Rules that change while a session runs. They become stricter at once and never milder: a milder rule holds from the
//! next run on, which is opened with it.

use std::collections::BTreeSet;
use std::sync::Arc;

use interlock_protocol::{ControlLevel, ToolName};

use crate::gate::{Gate, Options};
use crate::resolution::StrictResolution;
use crate::sandbox::RequireSandbox;
use crate::session::{FourEyes, Session, ToolScope};

impl FourEyes {
    /// Required if either requires it.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Off, Self::Off) => Self::Off,
            (Self::On, _) | (_, Self::On) => Self::On,
        }
    }
}

impl RequireSandbox {
    /// Required wherever either requires it.
    #[must_use]
    pub fn or(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::Always, _) | (_, Self::Always) => Self::Always,
            (Self::Never, other) => other.clone(),
            (this, Self::Never) => this.clone(),
            (Self::Tagged(one), Self::Tagged(two)) => Self::Tagged(one | two),
        }
    }
}

impl Options {
    /// The stricter of both, setting by setting.
    #[must_use]
    pub fn tightened_by(&self, other: &Self) -> Self {
        let strict =
            self.strict_resolution == StrictResolution::On || other.strict_resolution == StrictResolution::On;
        Self {
            strict_resolution: if strict {
                StrictResolution::On
            } else {
                StrictResolution::Off
            },
            egress: &self.egress & &other.egress,
            permit_ttl: self.permit_ttl.min(other.permit_ttl),
            hold_ttl: self.hold_ttl.min(other.hold_ttl),
            redeem_within: self.redeem_within.min(other.redeem_within),
            verify_within: self.verify_within.min(other.verify_within),
            repetition_threshold: self.repetition_threshold.min(other.repetition_threshold),
            read_sandbox: self.read_sandbox.or(&other.read_sandbox),
            data_files: &self.data_files & &other.data_files,
            evidence_rules: self.evidence_rules.max(other.evidence_rules),
        }
    }
}

impl Gate {
    /// A gate over the same tools with other options.
    #[must_use]
    pub fn with_options(&self, options: Options) -> Self {
        Self {
            catalogue: Arc::clone(&self.catalogue),
            options,
            analyse: self.analyse,
            #[cfg(test)]
            sabotage: self.sabotage,
        }
    }
}

impl Session {
    /// Takes rights away, from now on: a level above this one, tools that are not among these, approval by the owner where
    /// four eyes are required. Gives none.
    pub fn tighten(&mut self, level: ControlLevel, four_eyes: FourEyes, tools: &BTreeSet<ToolName>) {
        self.options.level = self.options.level.min(level);
        self.options.four_eyes = self.options.four_eyes.or(four_eyes);
        self.options.tools = ToolScope::Only(match &self.options.tools {
            ToolScope::All => tools.clone(),
            ToolScope::Only(own) => own & tools,
        });
    }
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;
    use proptest::collection::btree_set;
    use proptest::prelude::*;

    use super::*;
    use crate::answer::EvidenceRules;

    fn words() -> impl Strategy<Value = BTreeSet<String>> {
        btree_set("[a-d]", 0..4)
    }

    fn sandbox() -> impl Strategy<Value = RequireSandbox> {
        prop_oneof![
            Just(RequireSandbox::Never),
            Just(RequireSandbox::Always),
            words().prop_map(RequireSandbox::Tagged),
        ]
    }

    fn options() -> impl Strategy<Value = Options> {
        let times = (1_i64..9, 1_i64..9, 1_i64..9, 1_i64..9);
        (any::<bool>(), words(), words(), sandbox(), times, 1_u32..5).prop_map(
            |(strict, egress, data_files, read_sandbox, (a, b, c, d), repetition_threshold)| Options {
                strict_resolution: if strict {
                    StrictResolution::On
                } else {
                    StrictResolution::Off
                },
                egress,
                permit_ttl: SignedDuration::from_secs(a),
                hold_ttl: SignedDuration::from_secs(b),
                redeem_within: SignedDuration::from_secs(c),
                verify_within: SignedDuration::from_secs(d),
                repetition_threshold,
                read_sandbox,
                data_files,
                evidence_rules: if strict {
                    EvidenceRules::ByReading
                } else {
                    EvidenceRules::ByWord
                },
            },
        )
    }

    fn required(sandbox: &RequireSandbox, tag: &str) -> bool {
        match sandbox {
            RequireSandbox::Never => false,
            RequireSandbox::Always => true,
            RequireSandbox::Tagged(tags) => tags.contains(tag),
        }
    }

    /// Whether the first allows nothing that the second does not.
    fn at_most(strict: &Options, than: &Options) -> bool {
        let resolution = strict.strict_resolution == StrictResolution::On
            || than.strict_resolution == StrictResolution::Off;
        resolution
            && strict.evidence_rules >= than.evidence_rules
            && strict.egress.is_subset(&than.egress)
            && strict.data_files.is_subset(&than.data_files)
            && strict.permit_ttl <= than.permit_ttl
            && strict.hold_ttl <= than.hold_ttl
            && strict.redeem_within <= than.redeem_within
            && strict.verify_within <= than.verify_within
            && strict.repetition_threshold <= than.repetition_threshold
            && ["a", "b", "c", "d", "untagged"]
                .iter()
                .all(|tag| required(&strict.read_sandbox, tag) || !required(&than.read_sandbox, tag))
    }

    proptest! {
        #[test]
        fn the_stricter_of_two_allows_nothing_that_either_refuses(one in options(), two in options()) {
            let both = one.tightened_by(&two);
            prop_assert!(at_most(&both, &one) && at_most(&both, &two));
            prop_assert_eq!(&both.tightened_by(&two), &both);
            prop_assert_eq!(one.tightened_by(&one), one);
        }
    }
}
