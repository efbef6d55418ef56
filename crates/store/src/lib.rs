//! Keeps everything: sessions, queue, events, approvals, receipts, evidence, traces, notes, incidents.
//!
//! A session leaves [`Record`]s behind. They come in [`Batch`]es, which are kept together or not at all, and only
//! the newest [`Claim`] on a session may bring them. What must happen once happens once because the database says
//! so, not because callers are careful: one writer for each resource, one receipt for each permit, one decision for
//! each hold, one use for each token, one worker for each session.
//!
//! This room must never decide whether something may run (the gate does), never run anything, and never lose what it
//! said it kept. It asks nobody for the time: that comes in.
//!
//! Data walks: [`Store::submit`] puts a session into the queue; [`Store::claim_next`] gives it to a worker, with a
//! number that fences off whoever had it before; [`Store::append`] turns records into rows in the caller's own
//! time and hands them to the one thread that writes, which keeps whatever waits in one transaction and answers when
//! it is kept; [`Store::snapshot`] and its neighbours read, on connections of their own.
//!
//! The public API is typed operations and plain values. No database, no connection and no file path is in it or in
//! [`Error`]; a store is named by its [`Location`]. What keeps it is behind `backend.rs`, and `SQLite` is the one
//! implementation so far.
//!
//! Receipts, beginnings of writes, holds, tokens and ends of sessions are on the disk before `append` returns; the
//! rest is with the system by then, and survives the end of the process, though not that of the machine.

mod audit;
mod backend;
mod catalogues;
mod derive;
mod error;
mod exposure;
mod feed;
mod incidents;
mod lists;
mod location;
mod mark;
mod notes;
mod options;
mod outline;
mod people;
mod prepare;
mod queue;
mod reads;
mod record;
mod row;
mod schema;
mod seal;
mod sqlite;
mod store;
mod switch;
mod used;
mod work;

pub use audit::{AuditEntry, AuditFilter, AuditVerified, Deed};
pub use error::Error;
pub use exposure::Exposure;
pub use feed::{Feed, FeedPage, Placed};
pub use incidents::{
    Filed, Incident, IncidentCounts, IncidentEvent, IncidentMove, IncidentNews, IncidentQuery,
    IncidentSession, NewAlert, RejectedAlert,
};
pub use lists::{
    Counts, DecisionFilter, DecisionRow, FilterOptions, ListedSession, SessionPage, SessionQuery, SortBy,
    Tally, ToolUse, UsageBy, UsageRow,
};
pub use location::Location;
pub use notes::Note;
pub use options::{Open, Options};
pub use outline::Outline;
pub use people::{ApiToken, LOCAL, Link, Login, NewUser, SavedView, User, UserChange};
pub use prepare::is_terminal;
pub use queue::{Cancelled, Concurrency, QueueLimits, Retained, Retention, Submitted};
pub use record::{
    Batch, Call, Claim, Execution, Filter, HoldRef, Holds, Interaction, Kept, Message, NewSession, Record,
    Run, Session, ShownCall, Snapshot, Stage, StartedCall, Step, TimelineEntry,
};
pub use schema::{SchemaChange, SchemaFault};
pub use seal::{
    Checkpoint, Compared, HeadFound, MarkState, Problem, RecordVerified, Seal, SealState, SessionsVerified,
};
pub use store::Store;
pub use switch::{Switch, SwitchMove};
pub use used::{ModelHealth, SessionUse};
pub use work::Work;
