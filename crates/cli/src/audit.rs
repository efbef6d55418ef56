//! `interlock audit`: who did what, and whether the log of it was left alone.

use clap::{Args, Subcommand};
use interlock_protocol::UserId;
use interlock_store::{AuditEntry, AuditFilter};

use crate::Ending;
use crate::assemble::open_store;
use crate::failure::Failure;
use crate::globals::Globals;
use crate::table::Table;
use crate::terminal::{Tone, visible};

/// Show who did what, and check that nobody changed the log.
#[derive(Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Examples:
  interlock audit
  interlock audit --action hold. --limit 20
  interlock audit verify --json

Each entry carries the hash of the one before it: one that was changed, taken out or put in is found. Keep the last hash \
elsewhere, and nobody can cut off the end unseen either. Needs no server.

Exit codes: 0 done (verify: every entry fits), 1 an entry does not fit."
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
    /// Look at every entry and at how they hang together
    #[command(after_help = "Example:\n  interlock audit verify --json")]
    Verify,
}

/// Runs the command.
pub(crate) async fn run(globals: &Globals, arguments: &Arguments) -> Result<Ending, Failure> {
    let store = open_store(globals)?;
    if let Some(What::Verify) = arguments.what {
        let verified = store.verify_audit().await?;
        globals.print(&verified, |paint| match &verified.broken {
            None => format!(
                "{}: {} entries, each fits the one before it\nthe last hash is {}\n",
                paint.paint(Tone::Good, "intact"),
                verified.entries,
                verified.head
            ),
            Some((number, why)) => format!(
                "{}: entry {number} does not fit: {why}\n",
                paint.paint(Tone::Bad, "broken")
            ),
        })?;
        return Ok(match verified.broken {
            None => Ending::Done,
            Some(_) => Ending::Unsuccessful,
        });
    }
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
    let about = entry.deed.subject.as_deref().unwrap_or("-");
    vec![
        (entry.number.to_string(), None),
        (format!("{:.0}", entry.deed.at), None),
        (visible(who), None),
        (visible(&entry.deed.action), None),
        (visible(about), None),
    ]
}
