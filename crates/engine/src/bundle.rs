//! The evidence bundle: one file with everything about a session, from the alert to the verified receipt, signed.
//!
//! The file is JSON Lines. The first line is the header: it names each of the other lines with its hash and carries the
//! signature. So a change of any byte is found, and the line in which it is. Checking needs no server and no store.

mod approvals;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use interlock_gate::{CatalogueRecord, Hold};
use interlock_protocol::{ContentHash, Evidence, RunId, SessionId};
use interlock_seal::{Keyring, PublicKey, Purpose, Signature};
use interlock_store::{AuditEntry, AuditFilter, Call, Checkpoint, Holds, SealState, Session, Step, Store};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::rules::Catalogues;
use crate::trace::{Asked, Rows, RunFacts, SignatureState, Signed, Trace, Traced};

/// The form of a bundle.
const FORMAT: &str = "interlock-bundle/2";
/// How many entries of the audit log a bundle takes about one subject.
const ENTRIES: u32 = 10_000;

/// Why a bundle cannot be made or read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The store does not have it.
    #[error(transparent)]
    Store(#[from] interlock_store::Error),
    /// A trace cannot be made or checked.
    #[error(transparent)]
    Trace(#[from] crate::trace::Error),
    /// It cannot be written as JSON.
    #[error("the bundle cannot be written as JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// There is nothing to sign with.
    #[error("a bundle is signed, and there is no signing key; set `record.key`")]
    NoKey,
    /// The rows are not what was signed.
    #[error("no bundle was made: {0}")]
    Altered(String),
    /// A run does not prove itself.
    #[error(
        "no bundle was made: the record of {run} does not prove itself: {why}. Run `interlock trace {run} --check`"
    )]
    Unproven {
        /// The run.
        run: RunId,
        /// Everything that is wrong.
        why: String,
    },
    /// Nobody finished the session.
    #[error("no bundle was made: the session is in progress; wait until it has ended, or cancel it")]
    InProgress,
}

/// Where a bundle was touched, or why it proves nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Fault {
    /// The line of the file, 1 for the header; nothing where it is about the whole.
    pub line: Option<usize>,
    /// What is wrong.
    pub what: String,
}

/// The first line of a bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    format: String,
    session: SessionId,
    made_at: Timestamp,
    made_by: String,
    /// What each line is, and its hash, in order.
    lines: Vec<(String, ContentHash)>,
    public_key: PublicKey,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    signature: Option<Signature>,
}

/// A line of a bundle.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(
    tag = "line",
    content = "content",
    rename_all = "snake_case",
    deny_unknown_fields
)]
enum Line {
    /// The session as a whole: alert or question, answer, status.
    Session(Box<Session>),
    /// A catalogue of tools that the gate decided with.
    Catalogue(Box<CatalogueRecord>),
    /// A run: what follows belongs to it.
    Run(Box<RunHead>),
    /// A call to a model.
    ModelCall(Box<Asked>),
    /// A question to the gate, and its answer.
    Step(Box<Step>),
    /// What ran.
    Call(Box<Call>),
    /// What was read.
    Evidence(Box<Evidence>),
    /// What waited for a human.
    Hold(Box<Hold>),
    /// What somebody did.
    Audit(Box<AuditEntry>),
    /// Where the audit log ended, signed.
    Checkpoint(Box<Checkpoint>),
}

/// What a trace says besides its lists.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct RunHead {
    version: u32,
    #[serde(flatten)]
    run: RunFacts,
    rows: Rows,
    hash: ContentHash,
    signed: Option<Signed>,
}

impl Line {
    fn name(&self) -> String {
        match self {
            Self::Session(session) => format!("session {}", session.submitted.id),
            Self::Catalogue(_) => "tools".to_owned(),
            Self::Run(run) => format!("run {}", run.run.run_id),
            Self::ModelCall(asked) => format!("model call {} of {}", asked.number, asked.execution),
            Self::Step(step) => format!("step {}", step.number),
            Self::Call(call) => format!("call {}", call.started.permit),
            Self::Evidence(evidence) => format!("evidence {}", evidence.id),
            Self::Hold(hold) => format!("hold {}", hold.id),
            Self::Audit(entry) => format!("audit entry {}", entry.number),
            Self::Checkpoint(checkpoint) => format!("checkpoint {}", checkpoint.number),
        }
    }
}

/// Everything about a session, as it was read from a bundle.
#[derive(Debug)]
pub struct Bundle {
    /// The session.
    pub session: Session,
    /// The traces of its runs.
    pub traces: Vec<Trace>,
    /// What waited for a human.
    pub holds: Vec<Hold>,
    /// What people did to it.
    pub audit: Vec<AuditEntry>,
    /// Where the audit log ended when the bundle was made.
    pub checkpoint: Option<Checkpoint>,
    /// When it was made.
    pub made_at: Timestamp,
    /// What signed it.
    pub public_key: PublicKey,
}

/// What checking a bundle came to.
#[derive(Debug)]
pub struct Verified {
    /// What it holds, as far as it could be read.
    pub bundle: Option<Bundle>,
    /// What each run's trace came to.
    pub traces: Vec<Traced>,
    /// What is wrong.
    pub faults: Vec<Fault>,
}

impl Bundle {
    /// Whether nothing proves that the rows were not changed before the bundle was made: the session is older than signing.
    pub fn is_older_than_signing(&self) -> bool {
        self.traces
            .iter()
            .any(|trace| !matches!(trace.rows, Rows::Intact { .. }))
    }

    /// What the seal of the session says, in one sentence.
    fn rows(&self) -> String {
        let sealed = self.traces.iter().find_map(|trace| match &trace.rows {
            Rows::Intact { seal, .. } => Some(seal),
            _ => None,
        });
        match sealed {
            _ if self.is_older_than_signing() => "NOT SEALED: the session is older than the signing of its store. This \
                bundle shows what the store held when the bundle was made; nothing proves that it was not changed before."
                .to_owned(),
            Some(seal) => format!("sealed in the store before the bundle was made (seal {seal})"),
            None => "nobody worked on the session".to_owned(),
        }
    }
}

impl Verified {
    /// Whether the bundle proves what it says.
    pub fn holds(&self) -> bool {
        self.bundle.is_some() && self.faults.is_empty()
    }
}

/// The bundle of a session that has ended or waits, as the text of a file.
pub async fn bundle(store: &Store, session: &SessionId, now: Timestamp) -> Result<String, Error> {
    let signer = store.keyring().and_then(Keyring::signer).ok_or(Error::NoKey)?;
    match store.seal_of(session).await? {
        SealState::Intact(_) | SealState::Older => {}
        SealState::InProgress => return Err(Error::InProgress),
        state @ (SealState::Unsigned | SealState::Altered { .. }) => {
            return Err(Error::Altered(state.sentence()));
        }
    }
    let mut lines = vec![Line::Session(Box::new(store.session(session).await?))];
    let mut traces = Vec::new();
    for run in store.runs(session).await? {
        let trace = Trace::of(store, session, run).await?;
        let checked = trace.check(store.keyring())?;
        if !checked.holds() {
            return Err(Error::Unproven {
                run: trace.run.run_id,
                why: checked.sentences().join("; "),
            });
        }
        traces.push(trace);
    }
    let catalogues: Catalogues = traces.iter().flat_map(|trace| trace.catalogues.clone()).collect();
    lines.extend(
        catalogues
            .into_values()
            .map(|catalogue| Line::Catalogue(Box::new(catalogue))),
    );
    for trace in traces {
        let head = RunHead {
            version: trace.version,
            run: trace.run,
            rows: trace.rows,
            hash: trace.hash,
            signed: trace.signed,
        };
        lines.push(Line::Run(Box::new(head)));
        lines.extend(
            trace
                .asked
                .into_iter()
                .map(|asked| Line::ModelCall(Box::new(asked))),
        );
        lines.extend(trace.steps.into_iter().map(|step| Line::Step(Box::new(step))));
        lines.extend(trace.calls.into_iter().map(|call| Line::Call(Box::new(call))));
        lines.extend(
            trace
                .evidence
                .into_iter()
                .map(|evidence| Line::Evidence(Box::new(evidence))),
        );
    }
    let holds = store.holds(Holds::Of(session.clone())).await?;
    let mut subjects = vec![session.to_string()];
    subjects.extend(holds.iter().map(|hold| hold.id.to_string()));
    lines.extend(holds.into_iter().map(|hold| Line::Hold(Box::new(hold))));
    let mut entries = Vec::new();
    for subject in subjects {
        let filter = AuditFilter {
            subject: Some(subject),
            limit: ENTRIES,
            ..AuditFilter::default()
        };
        entries.extend(store.audit_entries(&filter).await?);
    }
    entries.sort_by_key(|entry| entry.number);
    lines.extend(entries.into_iter().map(|entry| Line::Audit(Box::new(entry))));
    let checkpoint = store.last_checkpoint().await?;
    lines.extend(checkpoint.map(|checkpoint| Line::Checkpoint(Box::new(checkpoint))));
    write(session, &lines, signer, now)
}

fn write(
    session: &SessionId,
    lines: &[Line],
    signer: &interlock_seal::Signer,
    now: Timestamp,
) -> Result<String, Error> {
    let mut texts = Vec::with_capacity(lines.len());
    let mut named = Vec::with_capacity(lines.len());
    for line in lines {
        let text = serde_json::to_string(line)?;
        named.push((line.name(), ContentHash::of(&text)));
        texts.push(text);
    }
    let mut header = Header {
        format: FORMAT.to_owned(),
        session: session.clone(),
        made_at: now,
        made_by: format!("interlock {}", env!("CARGO_PKG_VERSION")),
        lines: named,
        public_key: signer.public(),
        signature: None,
    };
    let unsigned = serde_json::to_string(&header)?;
    header.signature = Some(signer.sign(Purpose::Bundle, unsigned.as_bytes()));
    let mut file = serde_json::to_string(&header)?;
    file.push('\n');
    for text in texts {
        file.push_str(&text);
        file.push('\n');
    }
    Ok(file)
}

/// Checks a bundle with nothing but the public keys that are trusted.
pub fn verify(file: &str, keyring: &Keyring) -> Verified {
    let mut faults = Vec::new();
    let fault = |line: usize, what: String| Fault {
        line: Some(line),
        what,
    };
    let mut lines = file.split_inclusive('\n');
    let first = lines.next().unwrap_or_default();
    let header = match header(first, keyring) {
        Ok(header) => header,
        Err(what) => {
            return Verified {
                bundle: None,
                traces: Vec::new(),
                faults: vec![fault(1, what)],
            };
        }
    };
    let mut parts = Vec::new();
    let mut expected = header.lines.iter();
    for (index, text) in lines.enumerate() {
        let number = index + 2;
        let Some((name, hash)) = expected.next() else {
            faults.push(fault(number, "the header does not name this line".to_owned()));
            continue;
        };
        let Some(text) = text.strip_suffix('\n') else {
            faults.push(fault(number, format!("{name}: the end of the line is missing")));
            continue;
        };
        if ContentHash::of(text) != *hash {
            faults.push(fault(number, format!("{name}: the line was changed")));
            continue;
        }
        match serde_json::from_str::<Line>(text) {
            Ok(line) if line.name() == *name => parts.push(line),
            Ok(_) => faults.push(fault(number, format!("{name}: the line is something else"))),
            Err(error) => faults.push(fault(number, format!("{name}: cannot be read: {error}"))),
        }
    }
    for (name, _) in expected {
        faults.push(Fault {
            line: None,
            what: format!("{name} is missing"),
        });
    }
    if !faults.is_empty() {
        return Verified {
            bundle: None,
            traces: Vec::new(),
            faults,
        };
    }
    match assemble(&header, parts) {
        // A bundle is made with one key. Whoever has an earlier one cannot put a part of it under the newest.
        Ok(bundle) => {
            let own = Keyring::checking([bundle.public_key]);
            inspect(bundle, &own)
        }
        Err(what) => Verified {
            bundle: None,
            traces: Vec::new(),
            faults: vec![Fault { line: None, what }],
        },
    }
}

fn header(first: &str, keyring: &Keyring) -> Result<Header, String> {
    let text = first
        .strip_suffix('\n')
        .ok_or("the header is not a whole line; this is not a bundle, or it was cut")?;
    let header: Header =
        serde_json::from_str(text).map_err(|error| format!("this is not a bundle of Interlock: {error}"))?;
    if header.format != FORMAT {
        return Err(format!(
            "the bundle has the form `{}`, and this version of Interlock reads `{FORMAT}`",
            header.format
        ));
    }
    if !keyring.trusts(&header.public_key) {
        return Err(format!(
            "the bundle is signed by the key {}, which is not the one that you named",
            header.public_key
        ));
    }
    let Some(signature) = header.signature else {
        return Err("the bundle is not signed".to_owned());
    };
    let unsigned = Header {
        signature: None,
        ..header.clone()
    };
    let written = |header: &Header| serde_json::to_string(header).map_err(|error| error.to_string());
    // Byte for byte: another way to write the same header is another header.
    if written(&header)? != text {
        return Err("the header is not written as Interlock writes it".to_owned());
    }
    if !keyring.verifies(
        &header.public_key,
        Purpose::Bundle,
        written(&unsigned)?.as_bytes(),
        &signature,
    ) {
        return Err("the signature does not fit: the header was changed".to_owned());
    }
    Ok(header)
}

fn assemble(header: &Header, parts: Vec<Line>) -> Result<Bundle, String> {
    let mut session = None;
    let mut bundle = (Vec::<Trace>::new(), Vec::new(), Vec::new(), None);
    let mut catalogues = Catalogues::new();
    for part in parts {
        let outside = || "a part of a run comes before its run".to_owned();
        match part {
            Line::Session(found) => session = Some(*found),
            Line::Catalogue(catalogue) => {
                let hash = catalogue.hash();
                catalogues.insert(hash, *catalogue);
            }
            Line::Run(head) => bundle.0.push(Trace {
                version: head.version,
                run: head.run,
                rows: head.rows,
                catalogues: Catalogues::new(),
                asked: Vec::new(),
                steps: Vec::new(),
                calls: Vec::new(),
                evidence: Vec::new(),
                hash: head.hash,
                signed: head.signed,
            }),
            Line::ModelCall(asked) => bundle.0.last_mut().ok_or_else(outside)?.asked.push(*asked),
            Line::Step(step) => bundle.0.last_mut().ok_or_else(outside)?.steps.push(*step),
            Line::Call(call) => bundle.0.last_mut().ok_or_else(outside)?.calls.push(*call),
            Line::Evidence(evidence) => bundle.0.last_mut().ok_or_else(outside)?.evidence.push(*evidence),
            Line::Hold(hold) => bundle.1.push(*hold),
            Line::Audit(entry) => bundle.2.push(*entry),
            Line::Checkpoint(checkpoint) => bundle.3 = Some(*checkpoint),
        }
    }
    let session: Session = session.ok_or("the session is missing")?;
    if session.submitted.id != header.session {
        return Err("the session is not the one that the header names".to_owned());
    }
    let (mut traces, holds, audit, checkpoint) = bundle;
    let mut used = BTreeSet::new();
    for trace in &mut traces {
        let named = trace.named_catalogues();
        trace.catalogues = catalogues
            .iter()
            .filter(|(hash, _)| named.contains(*hash))
            .map(|(hash, catalogue)| (*hash, catalogue.clone()))
            .collect();
        used.extend(named);
    }
    if let Some(hash) = catalogues.keys().find(|hash| !used.contains(*hash)) {
        return Err(format!("no step was decided with the catalogue of tools {hash}"));
    }
    Ok(Bundle {
        session,
        traces,
        holds,
        audit,
        checkpoint,
        made_at: header.made_at,
        public_key: header.public_key,
    })
}

/// Replays every run and compares what the parts say about each other.
fn inspect(bundle: Bundle, keyring: &Keyring) -> Verified {
    let mut faults = Vec::new();
    let mut whole = |what: String| faults.push(Fault { line: None, what });
    let mut checked = Vec::new();
    for trace in &bundle.traces {
        let run = &trace.run.run_id;
        match trace.check(Some(keyring)) {
            Ok(traced) => {
                for sentence in traced.sentences() {
                    whole(format!("{run}: {sentence}"));
                }
                checked.push(traced);
            }
            Err(error) => whole(format!("{run}: {error}")),
        }
        if trace.run.session_id != bundle.session.submitted.id {
            whole(format!("{run} belongs to another session"));
        }
    }
    approvals::faults(&bundle).into_iter().for_each(&mut whole);
    for entry in &bundle.audit {
        if !entry.fits() {
            whole(format!("audit entry {} is not what was written", entry.number));
        }
    }
    match &bundle.checkpoint {
        Some(checkpoint) if !checkpoint.verifies(keyring) => {
            whole(format!(
                "the signature of checkpoint {} does not fit",
                checkpoint.number
            ));
        }
        Some(checkpoint) => {
            for entry in bundle
                .audit
                .iter()
                .filter(|entry| entry.number > checkpoint.audit_number)
            {
                whole(format!(
                    "audit entry {} is newer than the checkpoint",
                    entry.number
                ));
            }
        }
        None if bundle.audit.is_empty() => {}
        None => whole("the checkpoint of the audit log is missing".to_owned()),
    }
    Verified {
        bundle: Some(bundle),
        traces: checked,
        faults,
    }
}

/// The page that an auditor reads.
pub fn page(verified: &Verified) -> String {
    let mut text = String::new();
    // Writing into a String cannot fail.
    if verified.holds() {
        let _ = writeln!(
            text,
            "VERIFIED: this bundle is as it was signed, and every decision replays."
        );
    } else {
        let _ = writeln!(text, "NOT VERIFIED");
        for fault in &verified.faults {
            let place = fault
                .line
                .map_or_else(String::new, |line| format!("line {line}: "));
            // It may quote the file, which anybody can have written.
            let _ = writeln!(
                text,
                "  {place}{}",
                interlock_protocol::visible::line(&fault.what)
            );
        }
    }
    let Some(bundle) = &verified.bundle else {
        return text;
    };
    let session = &bundle.session;
    let _ = write!(
        text,
        "\nSession    {}\nStatus     {}\nSubmitted  {:.0}{}\nBundle     made {:.0}, signed by {}\nRecord     {}\n",
        session.submitted.id,
        session.status,
        session.submitted.at,
        session
            .submitted
            .owner
            .as_ref()
            .map_or_else(String::new, |owner| format!(" by {owner}")),
        bundle.made_at,
        bundle.public_key,
        bundle.rows(),
    );
    let _ = write!(
        text,
        "\nAlert or question\n{}\n",
        quoted(&session.submitted.input)
    );
    for (trace, traced) in bundle.traces.iter().zip(&verified.traces) {
        run_page(&mut text, trace, traced);
    }
    if !bundle.audit.is_empty() {
        text.push_str("\nWhat people did\n");
        for entry in &bundle.audit {
            let who = entry
                .deed
                .actor
                .as_ref()
                .map_or("-", interlock_protocol::UserId::as_str);
            let about = shown(entry.deed.subject.as_deref().unwrap_or("-"));
            let (who, action) = (shown(who), shown(&entry.deed.action));
            let _ = writeln!(text, "  {:.0}  {who}  {action}  {about}", entry.deed.at);
        }
    }
    if let Some(checkpoint) = &bundle.checkpoint {
        let _ = writeln!(
            text,
            "\nThe audit log had {} entries then; the hash of the last one is {}.",
            checkpoint.audit_number, checkpoint.audit_hash
        );
    }
    if let Some(answer) = &session.answer {
        let _ = write!(
            text,
            "\nWhat the model answered (not checked by this bundle)\n{}\n",
            quoted(answer)
        );
    }
    text
}

fn run_page(text: &mut String, trace: &Trace, traced: &Traced) {
    let signed = match &traced.signature {
        SignatureState::Valid { .. } => "signed",
        _ => "not signed",
    };
    let _ = write!(
        text,
        "\nRun {}: {}, {signed}\n  {} model calls, {} questions to the gate, {} of them decisions, {} readings\n",
        trace.run.run_id,
        trace.run.status,
        trace.asked.len(),
        traced.replayed.steps,
        traced.replayed.decisions,
        trace.evidence.len(),
    );
    for call in &trace.calls {
        let plan = &call.started.plan;
        if plan.kind != interlock_protocol::ToolKind::Write {
            continue;
        }
        let on = plan
            .resource()
            .map_or_else(String::new, |resource| format!(" on {resource}"));
        let action = match (&plan.command, &plan.action) {
            (None, Some(action)) => format!(" {}", shown(action)),
            _ => String::new(),
        };
        let came = call
            .receipt
            .as_ref()
            .map_or("left no receipt", |receipt| receipt.outcome.as_str());
        let verification = call
            .verification
            .map_or_else(|| "not verified".to_owned(), |outcome| outcome.to_string());
        let by = call.started.approved_by.as_ref().map_or_else(
            || "no approval needed".to_owned(),
            |by| format!("approved by {by}"),
        );
        let _ = writeln!(
            text,
            "  {:.0}  {}{action}{on}: {came}, {verification}; {by}",
            call.started.started_at, plan.tool,
        );
        // A model wrote it: on lines of its own, behind the mark.
        if let Some(command) = &plan.command {
            let _ = writeln!(text, "{}", quoted(command));
        }
    }
    if !trace
        .calls
        .iter()
        .any(|call| call.started.plan.kind == interlock_protocol::ToolKind::Write)
    {
        text.push_str("  nothing was changed\n");
    }
}

/// Text of others, so that no line of it can pass for one of ours.
fn quoted(text: &str) -> String {
    text.lines()
        .map(|line| format!("  | {}", shown(line)))
        .collect::<Vec<_>>()
        .join("\n")
}

/// With everything written out that moves, hides or reorders what a terminal shows.
fn shown(text: &str) -> String {
    interlock_protocol::visible::line(text)
}
