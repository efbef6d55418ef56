//! A call that waits for a human, in the form in which it is stored; and the token with which one decides.
//!
//! Nothing here can make a permit: a hold that is read back from a store is a request to look again, and only
//! [`crate::Gate::approve`] turns it into one, after asking every rule once more.

use interlock_protocol::{CallId, ContentHash, HoldId, UserId};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq as _;

use crate::plan::Plan;
use crate::session::FourEyes;

/// The longest an approval token lives.
pub const TOKEN_TTL: SignedDuration = SignedDuration::from_mins(10);

/// Where a hold stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case", deny_unknown_fields)]
pub enum HoldStatus {
    /// Nobody has decided.
    Pending,
    /// Someone approved it, and its permit was issued.
    Approved {
        /// Who.
        by: UserId,
        /// When.
        at: Timestamp,
    },
    /// Someone refused it.
    Denied {
        /// Who.
        by: UserId,
        /// When.
        at: Timestamp,
        /// Why.
        reason: String,
    },
    /// Someone changed the plan; another hold stands for the new one.
    Edited {
        /// Who.
        by: UserId,
        /// When.
        at: Timestamp,
        /// The hold of the new plan; nothing if the gate refused the new plan.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        into: Option<HoldId>,
    },
    /// Nobody decided in time.
    Expired {
        /// When that was noticed.
        at: Timestamp,
    },
    /// The execution concluded without it.
    Withdrawn {
        /// When.
        at: Timestamp,
    },
}

/// What an edited plan came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EditedFrom {
    /// The hold that was edited.
    pub hold: HoldId,
    /// The plan as it was.
    pub plan_hash: ContentHash,
    /// Who edited it.
    pub by: UserId,
}

/// A call that waits for a human.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hold {
    /// This hold.
    pub id: HoldId,
    /// The call.
    pub call: CallId,
    /// The exact plan.
    pub plan: Plan,
    /// Its hash.
    pub plan_hash: ContentHash,
    /// Why a human must see it.
    pub reasons: Vec<String>,
    /// Who owns the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<UserId>,
    /// Whether the owner may approve.
    pub four_eyes: FourEyes,
    /// Since when it waits.
    pub opened_at: Timestamp,
    /// Until when it can be decided.
    pub expires_at: Timestamp,
    /// What it was edited from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edited_from: Option<EditedFrom>,
    /// Where it stands.
    pub status: HoldStatus,
}

impl Hold {
    /// Whether it can still be decided.
    pub fn is_open(&self, now: Timestamp) -> bool {
        self.status == HoldStatus::Pending && now < self.expires_at
    }

    /// The resources that code must discover again before the plan can be approved after a restart.
    pub fn resources(&self) -> impl Iterator<Item = &interlock_protocol::ResourceId> {
        self.plan.resource().into_iter()
    }

    /// Makes the token with which `approver` may approve this hold, from random bytes that the caller drew.
    ///
    /// The token goes to the approver alone; the record, which holds only its hash, to the store.
    pub fn open_for(
        &self,
        approver: UserId,
        random: [u8; 32],
        now: Timestamp,
    ) -> (ApprovalToken, TokenRecord) {
        let record = TokenRecord {
            hold: self.id.clone(),
            plan_hash: self.plan_hash,
            approver,
            hash: ContentHash::of(random),
            expires_at: self.expires_at.min(now.saturating_add(TOKEN_TTL).unwrap_or(now)),
            used_at: None,
        };
        (ApprovalToken(random), record)
    }
}

/// The secret with which one approver may approve one hold once. Shows itself to nobody but through
/// [`ApprovalToken::reveal`].
pub struct ApprovalToken([u8; 32]);

impl ApprovalToken {
    /// The token as an approver sends it back.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The bytes, for handing them to the approver.
    pub const fn reveal(&self) -> &[u8; 32] {
        &self.0
    }
}

impl std::fmt::Debug for ApprovalToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ApprovalToken(hidden)")
    }
}

/// What is stored of a token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenRecord {
    /// The hold.
    pub hold: HoldId,
    /// The plan that the approver was shown.
    pub plan_hash: ContentHash,
    /// Who it was made for.
    pub approver: UserId,
    /// The hash of the token.
    pub hash: ContentHash,
    /// Until when it works.
    pub expires_at: Timestamp,
    /// When it was used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used_at: Option<Timestamp>,
}

impl TokenRecord {
    /// Whether it is the record of this token. Compares in constant time.
    pub fn matches(&self, token: &ApprovalToken) -> bool {
        ContentHash::of(token.0)
            .as_bytes()
            .ct_eq(self.hash.as_bytes())
            .into()
    }
}
