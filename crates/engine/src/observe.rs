//! Looks at what was written: the readings that code takes itself, what they leave, and how verifications end.

use std::sync::Arc;
use std::time::Duration;

use interlock_executor::Reading;
use interlock_gate::{DueReading, Moment, PendingVerification, State};
use interlock_protocol::{CallId, ContentHash, EventBody, Evidence, EvidenceId, Identity, Source, ToolName};
use interlock_store::Record;
use jiff::Timestamp;

use crate::agent::Agent;
use crate::error::{Error, draw};
use crate::work::Work;

/// How long code waits for a reading of its own.
const OBSERVE_WITHIN: Duration = Duration::from_secs(30);

impl Agent {
    /// Takes the readings that code must take itself because their time has come.
    pub(crate) async fn take_due_readings(&mut self, work: &Work) -> Result<(), Error> {
        let due: Vec<DueReading> = {
            let tape = work.tape();
            if tape.session().state(&self.record.id) != State::Verifying {
                return Ok(());
            }
            tape.due(Timestamp::now())
        };
        for reading in &due {
            if reading.execution == self.record.id {
                self.observe(work, reading, Moment::Deadline).await?;
            }
        }
        self.keep(work).await
    }

    /// Takes every reading that is still due, because the execution ends now. Nothing more is permitted.
    pub(crate) async fn close_verifications(&mut self, work: &Work) -> Result<(), Error> {
        let due = work.tape().conclude(&self.record.id, Timestamp::now());
        for reading in &due {
            self.observe(work, reading, Moment::ForcedConclusion).await?;
        }
        Ok(())
    }

    async fn observe(&mut self, work: &Work, due: &DueReading, moment: Moment) -> Result<(), Error> {
        let inventory = Arc::clone(&work.engine.settings().inventory);
        let look = async {
            let identity = inventory.identity(&due.resource).await;
            let reading = inventory.observe(&due.resource, &due.expectation).await;
            reading.map(|reading| (reading, identity))
        };
        let reading = tokio::time::timeout(OBSERVE_WITHIN, look).await.ok().flatten();
        let now = Timestamp::now();
        let evidence = match reading {
            None => None,
            Some((mut reading, identity)) => {
                let masker = &work.engine.masker();
                let bytes = crate::masking::weight(&reading.data);
                let room = work.engine.settings().limits.kept_bytes;
                crate::masking::aside(bytes, || crate::masking::result(masker, &mut reading.data, room));
                let call = CallId::from_bytes(draw()?);
                Some(self.evidence(work, (call, observer(), Source::Code), reading, identity)?)
            }
        };
        let ends = work.tape().observe(due, evidence, moment, now);
        match ends {
            Ok(ends) => self.verified(&ends),
            Err(error) => tracing::error!(session = %work.session(), %error, "a reading was not taken"),
        }
        Ok(())
    }

    /// Makes evidence of a reading whose data is masked, and writes it down.
    pub(crate) fn evidence(
        &mut self,
        work: &Work,
        (call, tool, source): (CallId, ToolName, Source),
        reading: Reading,
        identity: Identity,
    ) -> Result<Evidence, Error> {
        let Reading {
            resource,
            taken_at,
            data,
            observations,
            walls,
        } = reading;
        let evidence = Evidence {
            id: EvidenceId::from_bytes(draw()?),
            session: work.session().clone(),
            execution: self.record.id.clone(),
            call,
            tool,
            resource,
            identity,
            taken_at,
            hash: ContentHash::of_json(&data),
            data,
            observations,
            source: Some(source),
            walls,
        };
        self.event(EventBody::EvidenceRecorded {
            evidence: evidence.id.clone(),
            call: evidence.call.clone(),
            resource: evidence.resource.clone(),
            taken_at: evidence.taken_at,
            hash: evidence.hash,
        });
        self.pending.push(Record::Evidence(evidence.clone()));
        Ok(evidence)
    }

    /// A look at a written resource is due.
    pub(crate) fn verification_required(&mut self, pending: &PendingVerification) {
        self.event(EventBody::VerificationRequired {
            resource: pending.resource.clone(),
            permit: pending.permit.clone(),
            expectation: pending.expectation.clone(),
            deadline: pending.deadline,
        });
    }

    /// Verifications that ended.
    pub(crate) fn verified(&mut self, ends: &[interlock_gate::VerificationEnd]) {
        for end in ends {
            self.event(EventBody::VerificationCompleted {
                resource: end.resource.clone(),
                receipt: end.receipt.clone(),
                evidence: end.evidence.clone(),
                outcome: end.outcome,
            });
            self.pending.push(Record::Verified {
                permit: end.permit.clone(),
                outcome: end.outcome,
            });
        }
    }
}

/// The name under which code's own readings stand in the record.
#[expect(clippy::expect_used, reason = "a constant that is a valid name")]
fn observer() -> ToolName {
    ToolName::new("code.observe").expect("a valid name")
}
