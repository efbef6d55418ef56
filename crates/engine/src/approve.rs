//! What people decide about holds: opening one, saying yes with the token that was made for them, saying no.
//!
//! A token is drawn when somebody opens a hold. It goes to them alone and is kept as its hash: it is in no log, event,
//! trace or message. It approves one plan, once, for one person, and a newer one takes its place.

use interlock_gate::{Approval, ApprovalToken, Hold, HoldStatus, TokenRecord};
use interlock_protocol::{ContentHash, EventBody, UserId};
use interlock_store::{Error as StoreError, Record};
use jiff::Timestamp;
use serde_json::json;

use crate::approver::{Approver, Decider};
use crate::engine::Engine;
use crate::error::{Error, draw_token};
use crate::refused::Act;
use crate::work::event;
use crate::writes::deed;

/// How often opening is tried again when the same person opens the same hold at the same moment.
const OPEN_TRIES: u32 = 8;

/// A hold that was opened for one approver.
#[derive(Debug)]
pub struct Opened {
    /// The hold.
    pub hold: Hold,
    /// The secret with which this approver may approve it, once.
    pub token: ApprovalToken,
    /// Until when.
    pub expires_at: Timestamp,
}

impl Engine {
    /// Opens a hold for somebody who may approve it: draws the token with which they may, once, and keeps its hash. The
    /// token goes to them alone; an earlier one of theirs for this hold works no more.
    pub async fn open_hold(&self, approver: &Approver) -> Result<Opened, Error> {
        let mut tries = 0;
        loop {
            tries += 1;
            match self.draw_for(approver).await {
                // Their earlier token was used or replaced in this moment: looked at again, it is known which.
                Err(Error::Store(StoreError::TokenUsed(_))) if tries < OPEN_TRIES => {}
                Ok(opened) => return Ok(opened),
                Err(error) => return Err(self.not_approved(approver, error).await),
            }
        }
    }

    async fn draw_for(&self, approver: &Approver) -> Result<Opened, Error> {
        let inner = &self.inner;
        let store = &inner.store;
        let by = approver.decider().user();
        let hold = store.hold(approver.decider().hold()).await?;
        let now = Timestamp::now();
        let (token, record) = hold.open_for(by.clone(), draw_token()?, now);
        // Asked on copies: whoever could not approve it gets no token for it.
        self.accept(&mut hold.clone(), (by, &token, &mut record.clone()), now)?;
        let replaced = store
            .tokens(&hold.id)
            .await?
            .into_iter()
            .filter(|known| known.approver == *by && known.used_at.is_none())
            .map(|known| TokenRecord {
                used_at: Some(now),
                ..known
            });
        let mut records: Vec<Record> = replaced.map(Record::Token).collect();
        records.push(Record::Token(record.clone()));
        let facts = approver.facts(&hold);
        records.push(Record::Deed(deed(
            by,
            "hold.opened_for_approval",
            Some(hold.id.as_str()),
            facts,
        )));
        inner.append_unclaimed(&hold.plan.session, records).await?;
        Ok(Opened {
            hold,
            token,
            expires_at: record.expires_at,
        })
    }

    /// Approves a hold with the token that was made for this approver. Its session goes on when a worker takes it. Of
    /// several who approve at once one succeeds.
    pub async fn approve_with(&self, approver: &Approver, token: &ApprovalToken) -> Result<Hold, Error> {
        match self.accept_with(approver, token).await {
            Ok(hold) => Ok(hold),
            Err(error) => Err(self.not_approved(approver, error).await),
        }
    }

    /// Records that an approval was refused.
    async fn not_approved(&self, approver: &Approver, error: Error) -> Error {
        let decider = approver.decider();
        let facts = match self.inner.store.hold(decider.hold()).await {
            Ok(hold) => approver.facts(&hold),
            Err(_) => json!({}),
        };
        self.inner
            .refuse_person(
                decider.user(),
                Act::Approve,
                decider.hold().as_str(),
                facts,
                error,
            )
            .await
    }

    async fn accept_with(&self, approver: &Approver, token: &ApprovalToken) -> Result<Hold, Error> {
        let inner = &self.inner;
        let store = &inner.store;
        let by = approver.decider().user();
        let mut hold = store.hold(approver.decider().hold()).await?;
        let now = Timestamp::now();
        let mut record = unknown(&hold, by, now);
        // Every one is compared, in constant time, whichever fits.
        for known in store.tokens(&hold.id).await? {
            if known.matches(token) && known.approver == *by {
                record = known;
            }
        }
        if let Err(refused) = self.accept(&mut hold, (by, token, &mut record), now) {
            // Somebody may have decided it between the two looks: that says more than that the token is used.
            return match store.hold(&hold.id).await?.status {
                HoldStatus::Pending => Err(refused),
                _ if hold.status != HoldStatus::Pending => Err(refused),
                _ => Err(StoreError::HoldDecided(hold.id).into()),
            };
        }
        let session = hold.plan.session.clone();
        let facts = approver.facts(&hold);
        let records = vec![
            Record::Token(record),
            Record::Hold(hold.clone()),
            Record::Deed(deed(by, "hold.approved", Some(hold.id.as_str()), facts)),
            event(
                None,
                Some(&hold.plan.execution),
                EventBody::HoldApproved {
                    hold: hold.id.clone(),
                    by: by.clone(),
                    plan_hash: hold.plan_hash,
                },
            ),
        ];
        inner.append_unclaimed(&session, records).await?;
        Ok(hold)
    }

    /// Opens a hold and approves it: for whoever has just seen its plan and said yes. The token lives inside this call.
    pub async fn approve(&self, approver: &Approver) -> Result<Hold, Error> {
        let opened = self.open_hold(approver).await?;
        self.approve_with(approver, &opened.token).await
    }

    /// Denies a hold. Its session goes on when a worker takes it, and its model is told why.
    pub async fn deny(&self, decider: &Decider, reason: &str) -> Result<Hold, Error> {
        let inner = &self.inner;
        let hold = inner.store.hold(decider.hold()).await?;
        let facts = decider.facts(&hold);
        match self.reject(decider, hold, reason).await {
            Ok(hold) => Ok(hold),
            Err(error) => {
                let (by, subject) = (decider.user(), decider.hold().as_str());
                Err(inner.refuse_person(by, Act::Decide, subject, facts, error).await)
            }
        }
    }

    async fn reject(&self, decider: &Decider, mut hold: Hold, reason: &str) -> Result<Hold, Error> {
        let inner = &self.inner;
        let by = decider.user();
        let session = hold.plan.session.clone();
        let reason = inner.settings().masker.mask_text(reason).into_owned();
        inner
            .tools()
            .gate()
            .reject(&mut hold, by, &reason, Timestamp::now())
            .map_err(|refusal| Error::refused(&refusal, &hold))?;
        let mut facts = decider.facts(&hold);
        facts["reason"] = json!(reason);
        let records = vec![
            Record::Hold(hold.clone()),
            Record::Deed(deed(by, "hold.denied", Some(hold.id.as_str()), facts)),
            event(
                None,
                Some(&hold.plan.execution),
                EventBody::HoldDenied {
                    hold: hold.id.clone(),
                    by: by.clone(),
                    reason,
                },
            ),
        ];
        inner.append_unclaimed(&session, records).await?;
        Ok(hold)
    }

    fn accept(
        &self,
        hold: &mut Hold,
        (by, token, record): (&UserId, &ApprovalToken, &mut TokenRecord),
        now: Timestamp,
    ) -> Result<(), Error> {
        let mut approval = Approval { by, token, record };
        // The record keeps what was required when the hold was opened.
        let opened_with = hold.four_eyes;
        hold.four_eyes = self.eyes_for(hold);
        let accepted = self.inner.tools().gate().accept(hold, &mut approval, now);
        hold.four_eyes = opened_with;
        accepted.map_err(|refusal| Error::refused(&refusal, hold))
    }
}

/// What stands for a token that nobody drew: it is over, and no token has its hash.
fn unknown(hold: &Hold, by: &UserId, now: Timestamp) -> TokenRecord {
    TokenRecord {
        hold: hold.id.clone(),
        plan_hash: hold.plan_hash,
        approver: by.clone(),
        hash: ContentHash::of(""),
        expires_at: now,
        used_at: None,
    }
}
