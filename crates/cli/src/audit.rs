//! `interlock audit`: who did what, and whether the log of it was left alone.

use std::fmt::Write as _;

use clap::{Args, Subcommand};
use interlock_protocol::{ContentHash, UserId};
use interlock_seal::{Keyring, PublicKey};
use interlock_store::{AuditEntry, AuditFilter, RecordVerified};
use serde::Serialize;

use crate::Ending;
use crate::assemble::{open_store, open_store_to_read};
use crate::failure::Failure;
use crate::globals::Globals;
use crate::settings;
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
  interlock audit verify --head 3f1c…  # a hash that you kept elsewhere
  interlock audit verify --store sqlite:copy.db --key ed25519:… --json

A rewritten log is found by its checkpoints. A log whose end was cut off is found by a hash that was kept elsewhere: \
`record.ship` in interlock.yaml sends one on a schedule, and `interlock record head` prints it.")]
    Verify(VerifyArguments),
}

#[derive(Args)]
struct VerifyArguments {
    /// The hash of an entry that must be in the log; may be given several times
    #[arg(long, value_name = "HASH")]
    head: Vec<ContentHash>,

    /// A public key whose signature counts; may be given several times. Left out, the configured key
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
    missing_heads: &'a [ContentHash],
}

async fn verify(globals: &Globals, arguments: &VerifyArguments) -> Result<Ending, Failure> {
    let (store, config) = open_store_to_read(globals)?;
    let keyring = if arguments.key.is_empty() {
        settings::keyring(&config, &settings::Folders::of_user())?
    } else {
        Keyring::checking(arguments.key.iter().copied())
    };
    let verified = store.verify_record(&keyring, !arguments.log_only).await?;
    let mut missing = Vec::new();
    for head in &arguments.head {
        if !store.has_audit_entry(head).await? {
            missing.push(*head);
        }
    }
    let intact = verified.holds() && missing.is_empty();
    let form = VerifyForm {
        intact,
        verified: &verified,
        missing_heads: &missing,
    };
    globals.print(&form, |paint| report(&verified, &missing, paint))?;
    Ok(if intact {
        Ending::Done
    } else {
        Ending::Unsuccessful
    })
}

fn report(verified: &RecordVerified, missing: &[ContentHash], paint: Paint) -> String {
    let mut text = String::new();
    let intact = verified.holds() && missing.is_empty();
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
    for head in missing {
        let _ = writeln!(
            text,
            "  no entry has the hash {head}: the log was rewritten or cut"
        );
    }
    if verified.seals == 0 {
        text.push_str("This store is not signed: a log that was rewritten as a whole is not noticed.\n");
    }
    let _ = writeln!(text, "the last hash is {}", verified.audit.head);
    text
}

/// Runs the command.
pub(crate) async fn run(globals: &Globals, arguments: &Arguments) -> Result<Ending, Failure> {
    if let Some(What::Verify(wanted)) = &arguments.what {
        return verify(globals, wanted).await;
    }
    let store = open_store(globals)?;
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
            return "nobody did anything yet\n".to_owned();
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
    // A sign-in under a name that nobody has is about no user: the name that was tried stands in its place.
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
