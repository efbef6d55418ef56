//! `interlock audit`: who did what, and whether the log of it was left alone.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use interlock_protocol::{ContentHash, UserId};
use interlock_seal::PublicKey;
use interlock_store::{AuditEntry, AuditFilter, Checkpoint, Compared, HeadFound, MarkState, RecordVerified};
use serde::Serialize;

use crate::Ending;
use crate::assemble::{changed, open_existing_store, open_store_to_verify};
use crate::checkpoints;
use crate::failure::Failure;
use crate::globals::Globals;
use crate::table::Table;
use crate::terminal::{Paint, Tone, visible};

/// Show who did what, and check that nobody changed the log.
#[derive(Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Examples:
  interlock audit
  interlock audit --action hold. --limit 20
  interlock audit verify --json

Each entry carries the hash of the entry before it, and the end of the log is signed with a key that is kept outside the \
store. Needs no server; verify also works on a read-only copy.

Exit codes: 0 done (verify: everything is as it was signed), 1 something was changed."
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    what: Option<What>,

    /// Only what this user did
    #[arg(long, value_name = "USER")]
    actor: Option<UserId>,

    /// Only actions that begin like this
    #[arg(long, value_name = "WORD")]
    action: Option<String>,

    /// Only about this: a hold, a session, a user
    #[arg(long, value_name = "ID")]
    subject: Option<String>,

    /// At most so many, the newest first
    #[arg(long, default_value_t = 50, value_name = "N")]
    limit: u32,
}

#[derive(Subcommand)]
enum What {
    /// Check the log, its signed checkpoints, and the signed rows of every session
    #[command(after_help = "\
Examples:
  interlock audit verify
  interlock audit verify --checkpoint /mnt/elsewhere/checkpoints.jsonl
  interlock audit verify --head 3f1c…  # a hash that you kept elsewhere
  interlock audit verify --store sqlite:copy.db --key ed25519:… --json

A rewritten log is found by its checkpoints. A store whose end was cut off is found by the mark that this machine keeps beside \
the signing key, and by checkpoints that were kept elsewhere: `record.ship` in interlock.yaml sends them on a schedule, and \
`interlock record head --json` prints one. --checkpoint compares the signature, the audit entry and the seal: everything up to \
that moment is then in the store and unchanged. --head says only that one entry, or one seal, and all before it are there.")]
    Verify(VerifyArguments),
}

#[derive(Args)]
struct VerifyArguments {
    /// A checkpoint that was kept elsewhere: a file with one or many lines, or a folder of such files; may be given several
    /// times
    #[arg(long, value_name = "FILE")]
    checkpoint: Vec<PathBuf>,

    /// The hash of an audit entry or of a seal that must be in the store; may be given several times
    #[arg(long, value_name = "HASH")]
    head: Vec<ContentHash>,

    /// A public key whose signature counts; may be given several times, the newest first. Left out, the configured key
    #[arg(long, value_name = "KEY")]
    key: Vec<PublicKey>,

    /// Only the log and its checkpoints, not the rows of every session
    #[arg(long)]
    log_only: bool,
}

#[derive(Serialize)]
struct VerifyForm<'a> {
    intact: bool,
    #[serde(flatten)]
    verified: &'a RecordVerified,
    heads: &'a [Head],
    missing_heads: Vec<ContentHash>,
    shipped: &'a [Shipped],
    shipped_lines: &'a Lines,
}

/// A hash that was kept elsewhere, and what has it.
#[derive(Serialize)]
struct Head {
    hash: ContentHash,
    found: Option<HeadFound>,
}

/// A checkpoint that was kept elsewhere, and what the store says to it.
#[derive(Serialize)]
struct Shipped {
    /// The file and the line.
    place: String,
    #[serde(flatten)]
    compared: Compared,
}

/// What the store was compared with.
struct Against {
    heads: Vec<Head>,
    shipped: Vec<Shipped>,
    lines: Lines,
}

/// The lines of shipped files that hold no checkpoint that could be compared.
#[derive(Default, Serialize)]
struct Lines {
    /// Checkpoints that cannot be read any more.
    damaged: Vec<String>,
    /// Last lines that end in the middle.
    unfinished: Vec<String>,
    /// How many other lines were skipped.
    other: usize,
}

impl Against {
    fn fits(&self) -> bool {
        self.lines.damaged.is_empty()
            && self.heads.iter().all(|head| head.found.is_some())
            && self
                .shipped
                .iter()
                .all(|shipped| shipped.compared.fault.is_none())
    }
}

async fn verify(globals: &Globals, arguments: &VerifyArguments) -> Result<Ending, Failure> {
    // Read before the store: a store that goes on in between is ahead of them, never behind.
    let checkpoints::Read {
        checkpoints: shipped,
        damaged,
        unfinished,
        other_lines: other,
    } = checkpoints::read(&arguments.checkpoint)?;
    let (store, config) = open_store_to_verify(globals)?;
    let keyring =
        interlock_assembly::checking(&config, &interlock_assembly::Folders::of_user(), &arguments.key)?;
    let verified = store
        .verify_record(&keyring, !arguments.log_only)
        .await
        .map_err(changed)?;
    let (places, read): (Vec<String>, Vec<Checkpoint>) = shipped.into_iter().unzip();
    let compared = store.compare(&keyring, read).await?;
    let mut against = Against {
        heads: Vec::new(),
        shipped: places
            .into_iter()
            .zip(compared)
            .map(|(place, compared)| Shipped { place, compared })
            .collect(),
        lines: Lines {
            damaged,
            unfinished,
            other,
        },
    };
    for hash in &arguments.head {
        against.heads.push(Head {
            hash: *hash,
            found: store.find_head(hash).await?,
        });
    }
    let intact = verified.holds() && against.fits();
    let missing = against.heads.iter().filter(|head| head.found.is_none());
    let form = VerifyForm {
        intact,
        verified: &verified,
        heads: &against.heads,
        missing_heads: missing.map(|head| head.hash).collect(),
        shipped: &against.shipped,
        shipped_lines: &against.lines,
    };
    globals.print(&form, |paint| report(&verified, &against, paint))?;
    Ok(if intact {
        Ending::Done
    } else {
        Ending::Unsuccessful
    })
}

fn report(verified: &RecordVerified, against: &Against, paint: Paint) -> String {
    let mut text = String::new();
    let intact = verified.holds() && against.fits();
    let (tone, word) = if intact {
        (Tone::Good, "intact")
    } else {
        (Tone::Bad, "changed")
    };
    // Writing into a String cannot fail.
    let _ = writeln!(
        text,
        "{}: {} entries, {} checkpoints, {} session seals",
        paint.paint(tone, word),
        verified.audit.entries,
        verified.checkpoints,
        verified.seals
    );
    let _ = writeln!(
        text,
        "sessions: {} intact, {} in progress, {} older than signing",
        verified.sessions_intact, verified.sessions_in_progress, verified.sessions_older
    );
    if let Some((number, why)) = &verified.audit.broken {
        let _ = writeln!(text, "  entry {number} of the audit log: {}", visible(why));
    }
    for problem in &verified.problems {
        let _ = writeln!(text, "  {}: {}", visible(&problem.place), visible(&problem.what));
    }
    let listed = verified.problems.len() as u64;
    if verified.problems_found > listed {
        let _ = writeln!(text, "  and {} more", verified.problems_found - listed);
    }
    compared(&mut text, against);
    if verified.seals == 0 {
        text.push_str("This store is not signed: a log that was rewritten as a whole is not noticed.\n");
    }
    covered(&mut text, verified, against);
    let _ = writeln!(text, "the last hash is {}", verified.audit.head);
    text
}

/// What does not fit what was kept elsewhere.
fn compared(text: &mut String, against: &Against) {
    for head in against.heads.iter().filter(|head| head.found.is_none()) {
        let _ = writeln!(
            text,
            "  no audit entry and no seal has the hash {}: the store was rewritten or cut off",
            head.hash
        );
    }
    let faults = || {
        let faulty = |shipped: &&Shipped| shipped.compared.fault.is_some();
        against.shipped.iter().filter(faulty)
    };
    for shipped in faults().take(RecordVerified::MOST) {
        let why = shipped.compared.fault.as_deref().unwrap_or_default();
        let checkpoint = &shipped.compared.checkpoint;
        let _ = writeln!(
            text,
            "  {}: checkpoint {} of {:.0}: {}",
            visible(&shipped.place),
            checkpoint.number,
            checkpoint.at,
            visible(why)
        );
    }
    for place in against.lines.damaged.iter().take(RecordVerified::MOST) {
        let _ = writeln!(
            text,
            "  {}: this checkpoint is damaged and was not compared",
            visible(place)
        );
    }
    let more = against.lines.damaged.len().saturating_sub(RecordVerified::MOST);
    if more > 0 {
        let _ = writeln!(text, "  and {more} more damaged checkpoints");
    }
    let more = faults().count().saturating_sub(RecordVerified::MOST);
    if more > 0 {
        let _ = writeln!(text, "  and {more} more checkpoints");
    }
}

/// How far each thing that was kept outside the store reaches: what came after it could have been cut off.
fn covered(text: &mut String, verified: &RecordVerified, against: &Against) {
    for head in &against.heads {
        let _ = match head.found {
            Some(HeadFound::Entry(number)) => writeln!(
                text,
                "hash {}: audit entries 1 to {number} are there; it says nothing about later entries, nor about sessions",
                head.hash
            ),
            Some(HeadFound::Seal(number)) => writeln!(
                text,
                "hash {}: seals 1 to {number} are there; it says nothing about later seals, nor about the audit log",
                head.hash
            ),
            None => Ok(()),
        };
    }
    for place in &against.lines.unfinished {
        let _ = writeln!(
            text,
            "{}: the line ends in the middle; it was skipped",
            visible(place)
        );
    }
    if against.lines.other > 0 {
        let _ = writeln!(
            text,
            "{} lines that hold no checkpoint were skipped",
            against.lines.other
        );
    }
    let fitting = against
        .shipped
        .iter()
        .filter(|shipped| shipped.compared.fault.is_none())
        .map(|shipped| &shipped.compared.checkpoint);
    if let Some(newest) = fitting.max_by_key(|one| (one.audit_number, one.seal_number)) {
        let _ = writeln!(
            text,
            "{} checkpoints from elsewhere; the newest that fits is of {:.0}: audit entries 1 to {} and seals 1 to {} are there",
            against.shipped.len(),
            newest.at,
            newest.audit_number,
            newest.seal_number
        );
    }
    let _ = match &verified.mark {
        MarkState::Kept { checkpoint, .. } => writeln!(
            text,
            "the mark beside the signing key is of {:.0}: audit entry {} and seal {}",
            checkpoint.at, checkpoint.audit_number, checkpoint.seal_number
        ),
        MarkState::None => writeln!(
            text,
            "this machine keeps no mark of this store: that its end was not cut off is known only from a checkpoint that was \
             kept elsewhere (--checkpoint)"
        ),
    };
}

/// Runs the command.
pub(crate) async fn run(globals: &Globals, arguments: &Arguments) -> Result<Ending, Failure> {
    if let Some(What::Verify(wanted)) = &arguments.what {
        return verify(globals, wanted).await;
    }
    let store = open_existing_store(globals)?;
    let filter = AuditFilter {
        actor: arguments.actor.clone(),
        action: arguments.action.clone(),
        subject: arguments.subject.clone(),
        before: None,
        limit: arguments.limit,
    };
    let entries = store.audit_entries(&filter).await?;
    globals.print_lines(&entries, |paint| {
        if entries.is_empty() {
            return "the audit log is empty\n".to_owned();
        }
        let mut table = Table::new(&["number", "when", "who", "what", "about"]);
        for entry in &entries {
            table.row(row(entry));
        }
        table.render(paint)
    })?;
    Ok(Ending::Done)
}

fn row(entry: &AuditEntry) -> Vec<(String, Option<Tone>)> {
    let who = entry.deed.actor.as_ref().map_or("-", UserId::as_str);
    // A sign-in with an unknown name has no user as its subject: show the name that was tried.
    let tried = entry.deed.details.get("name").and_then(serde_json::Value::as_str);
    let about = entry.deed.subject.as_deref().or(tried).unwrap_or("-");
    vec![
        (entry.number.to_string(), None),
        (format!("{:.0}", entry.deed.at), None),
        (visible(who), None),
        (visible(&entry.deed.action), None),
        (visible(about), None),
    ]
}
