//! The ways in which the tests break the gate, one per promise: a check that cannot fail proves nothing.
//!
//! Outside the tests nothing can switch one on: the field that would hold it does not exist.

use crate::rule::Rule;

/// One thing that is broken on purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sabotage {
    /// The rule is not asked.
    Skip(Rule),
    /// What is not said clearly, and every other write, is taken for a read.
    WriteIsRead,
    /// A reading of any resource ends every verification.
    AnyResourceVerifies,
    /// A write may put the placeholder of a masked secret in its place.
    MaskedContentPasses,
    /// Files that run code, the power of hosts and images are changed without a human.
    HarmIsIgnored,
    /// A reading of another machine under the same name ends a verification.
    AnotherMachineVerifies,
    /// An approved plan runs on another machine under the same name.
    AnotherMachineRuns,
    /// A log or a list ends the verification of a free-form write.
    AnyReadingObserves,
    /// What a name stands for is not looked up before routing.
    NamesAreNotResolved,
    /// A reading that was permitted before the write ended counts.
    EarlierReadingVerifies,
    /// A write that failed is not looked at.
    FailedWriteNeedsNoReading,
    /// A reset forgets what was not looked at yet.
    ResetDropsVerification,
    /// Any token approves any hold.
    AnyTokenApproves,
    /// The owner of a session approves where someone else must.
    OwnerApproves,
    /// Whoever edited a plan approves it where someone else must.
    EditorApproves,
    /// Commands that print secrets or reach unlisted hosts wait for nobody.
    SecretsNeedNobody,
    /// Tools that require approval wait for nobody.
    ToolsNeedNobody,
    /// What governance wants approved waits for nobody.
    GovernanceNeedsNobody,
    /// A permit does not look at the kill switch again.
    BeginIgnoresKillSwitch,
    /// Finding many resources counts as asking for each.
    BulkIsExplicit,
    /// A hold can be approved again.
    HoldApprovesTwice,
    /// A hold can be approved after its time.
    ExpiredHoldApproves,
    /// An approved plan may be another than the one held.
    ApprovesAnotherPlan,
    /// Two permits carry the same id.
    PermitIdsRepeat,
    /// Refusals speak to the model instead of stating facts.
    RefusalsTellStories,
    /// A write whose permit is lost is forgotten.
    LostIsForgotten,
    /// A conclusion can be forced without ending the execution.
    AnyTimeIsConclusion,
    /// Phantom detection is off.
    PhantomsPass,
}

/// What is broken on purpose in something that the gate hands out. Holds nothing outside the tests.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Flaw {
    #[cfg(test)]
    pub(crate) sabotage: Option<Sabotage>,
}

impl Flaw {
    /// Whether the tests broke this on purpose.
    #[cfg(test)]
    pub(crate) fn is(self, sabotage: Sabotage) -> bool {
        self.sabotage == Some(sabotage)
    }

    /// Nothing is broken on purpose outside the tests.
    #[cfg(not(test))]
    #[expect(
        clippy::unused_self,
        reason = "a broken permit of the tests answers differently"
    )]
    pub(crate) const fn is(self, _sabotage: Sabotage) -> bool {
        false
    }
}
