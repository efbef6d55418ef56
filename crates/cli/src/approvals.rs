//! `interlock approvals`: what waits for a human, and the human's decision.

use clap::{Args, Subcommand};
use interlock_gate::Hold;
use interlock_protocol::SessionId;
use interlock_store::{Holds, Store};
use jiff::Timestamp;

use crate::Ending;
use crate::assemble::{assemble, open_existing_store};
use crate::decide::{Typed, typed};
use crate::drive::Driver;
use crate::failure::Failure;
use crate::globals::{Globals, say};
use crate::plan::{self, HoldForm};
use crate::remote;
use crate::run::tell;
use crate::sessions::short;
use crate::table::Table;
use crate::terminal::{Tone, visible};

/// List what waits for a human, and decide.
#[derive(Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Examples:
  interlock approvals
  interlock approvals show hold_1f2e
  interlock approvals approve hold_1f2e
  interlock approvals approve hold_1f2e --plan-hash 9f86d081… --json
  interlock approvals deny hold_1f2e --reason 'not before the backup'
  interlock approvals edit hold_1f2e --set unit=jellyfin
  interlock approvals --server https://interlock.example.org

With --server (or INTERLOCK_SERVER) a server is asked through its API, with the token in INTERLOCK_TOKEN.

With --json the list is JSON Lines, one hold on each line.

What is approved is exactly the plan that was shown: its hash binds it. It is checked again against live state before it \
runs, and it runs once."
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    what: Option<What>,

    /// Also those that were decided or expired
    #[arg(long)]
    all: bool,
}

#[derive(Subcommand)]
enum What {
    /// Show the whole plan of a hold
    #[command(after_help = "Example:\n  interlock approvals show hold_1f2e --json")]
    Show {
        /// The hold
        #[arg(value_name = "ID")]
        hold: String,
    },
    /// Approve a hold, and carry on with its session here
    #[command(after_help = "\
Examples:
  interlock approvals approve hold_1f2e
  interlock approvals approve hold_1f2e --plan-hash \"$(interlock approvals show hold_1f2e --json | jq -r .plan_hash)\"

On a terminal the plan is shown and you are asked. Elsewhere --plan-hash is needed, so that a script approves exactly what \
it saw.

Exit codes: 0 the session completed (with --no-run: it is approved); 1 it did not, or the hold cannot be approved; 2 wrong \
usage.")]
    Approve {
        /// The hold
        #[arg(value_name = "ID")]
        hold: String,
        /// The hash of the plan that you have seen
        #[arg(long, value_name = "HASH")]
        plan_hash: Option<String>,
        /// Leave the session to another process
        #[arg(long)]
        no_run: bool,
    },
    /// Change the arguments of a held plan; the changed plan passes the whole gate and waits as a hold of its own
    #[command(after_help = "\
Examples:
  interlock approvals edit hold_1f2e --set unit=jellyfin --set timeout_seconds=30
  interlock approvals edit hold_1f2e --arguments '{\"action\":\"service_restart\",\"unit\":\"jellyfin\"}'

Exit codes: 0 the changed plan waits; 1 the gate refuses it, and the old one still waits; 2 wrong usage.")]
    Edit {
        /// The hold
        #[arg(value_name = "ID")]
        hold: String,
        /// One argument; the value is JSON, or else a text
        #[arg(
            long,
            value_name = "NAME=VALUE",
            required_unless_present = "arguments",
            conflicts_with = "arguments"
        )]
        set: Vec<String>,
        /// All arguments, as a JSON object
        #[arg(long, value_name = "JSON")]
        arguments: Option<String>,
    },
    /// Deny a hold, and carry on with its session here
    #[command(after_help = "Example:\n  interlock approvals deny hold_1f2e --reason 'not before the backup'")]
    Deny {
        /// The hold
        #[arg(value_name = "ID")]
        hold: String,
        /// Why; the model is told
        #[arg(long, default_value = "", value_name = "WHY", hide_default_value = true)]
        reason: String,
        /// Leave the session to another process
        #[arg(long)]
        no_run: bool,
    },
}

/// Runs the command.
pub(crate) async fn run(globals: &Globals, arguments: &Arguments) -> Result<Ending, Failure> {
    if let Some(client) = remote::Client::of(globals)? {
        return elsewhere(globals, &client, arguments).await;
    }
    match &arguments.what {
        None => list(globals, &open_existing_store(globals)?, arguments.all).await,
        Some(What::Show { hold }) => {
            let store = open_existing_store(globals)?;
            let (hold, now) = (store.find_hold(hold).await?, Timestamp::now());
            store.check_session(&hold.plan.session, now).await?;
            globals.print(&HoldForm::new(&hold, now), |paint| {
                plan::render(&hold, now, paint)
            })?;
            Ok(Ending::Done)
        }
        Some(What::Approve {
            hold,
            plan_hash,
            no_run,
        }) => {
            let assembled = assemble(globals)?;
            let hold = assembled.store().find_hold(hold).await?;
            check_open(&hold)?;
            let approver = assembled.engine.approver(&hold.id, &assembled.person()).await?;
            let mut driver = Driver::new(globals, &assembled)?;
            if !seen(&mut driver, &hold, plan_hash.as_deref()).await? {
                say("not approved");
                return Ok(Ending::Unsuccessful);
            }
            let hold = assembled.engine.approve(&approver).await?;
            Box::pin(carry_on(driver, &hold, *no_run)).await
        }
        Some(What::Edit { hold, set, arguments }) => {
            let assembled = assemble(globals)?;
            let hold = assembled.store().find_hold(hold).await?;
            check_open(&hold)?;
            let decider = assembled.engine.decider(&hold.id, &assembled.person()).await?;
            let before = serde_json::Value::Object(hold.plan.arguments.clone());
            let serde_json::Value::Object(changed) = changed(before, set, arguments.as_deref())? else {
                return Err(Failure::wrong("the arguments are no JSON object"));
            };
            let edited = assembled.engine.edit(&decider, changed).await?;
            let now = Timestamp::now();
            globals.print(&HoldForm::new(&edited, now), |paint| {
                format!(
                    "the changed plan waits as a hold of its own:\n{}",
                    plan::render(&edited, now, paint)
                )
            })?;
            Ok(Ending::Done)
        }
        Some(What::Deny { hold, reason, no_run }) => {
            let assembled = assemble(globals)?;
            let hold = assembled.store().find_hold(hold).await?;
            check_open(&hold)?;
            let denied = assembled.deny(&hold.id, reason).await?;
            Box::pin(carry_on(Driver::new(globals, &assembled)?, &denied, *no_run)).await
        }
    }
}

/// The same, of a server.
async fn elsewhere(
    globals: &Globals,
    client: &remote::Client,
    arguments: &Arguments,
) -> Result<Ending, Failure> {
    match &arguments.what {
        None => remote::list(globals, client, arguments.all).await,
        Some(What::Show { hold }) => remote::show(globals, client, hold).await,
        Some(What::Approve { hold, plan_hash, .. }) => {
            let decision = remote::Decision::Approve(plan_hash.as_deref());
            remote::decide(globals, client, hold, decision).await
        }
        Some(What::Deny { hold, reason, .. }) => {
            remote::decide(globals, client, hold, remote::Decision::Deny(reason)).await
        }
        Some(What::Edit { hold, set, arguments }) => {
            remote::edit(globals, client, hold, |before| {
                changed(before, set, arguments.as_deref())
            })
            .await
        }
    }
}

/// The arguments as they shall be.
fn changed(
    before: serde_json::Value,
    set: &[String],
    whole: Option<&str>,
) -> Result<serde_json::Value, Failure> {
    if let Some(text) = whole {
        return serde_json::from_str(text)
            .map_err(|error| Failure::wrong(format!("--arguments is no JSON: {error}")));
    }
    let mut after = before;
    for one in set {
        let (name, value) = one
            .split_once('=')
            .filter(|(name, _)| !name.is_empty())
            .ok_or_else(|| Failure::wrong(format!("`{}` is not NAME=VALUE", visible(one))))?;
        let value = serde_json::from_str(value).unwrap_or_else(|_| serde_json::Value::from(value));
        if let Some(arguments) = after.as_object_mut() {
            arguments.insert(name.to_owned(), value);
        }
    }
    Ok(after)
}

async fn list(globals: &Globals, store: &Store, all: bool) -> Result<Ending, Failure> {
    let now = Timestamp::now();
    let which = if all { Holds::All } else { Holds::Open };
    let holds: Vec<Hold> = store
        .holds(which)
        .await?
        .into_iter()
        .filter(|hold| all || hold.is_open(now))
        .collect();
    let forms: Vec<HoldForm<'_>> = holds.iter().map(|hold| HoldForm::new(hold, now)).collect();
    globals.print_lines(&forms, |paint| {
        if holds.is_empty() {
            return "nothing waits for a human\n".to_owned();
        }
        let mut table = Table::new(&["hold", "status", "left", "risk", "resource", "plan"]);
        for hold in &holds {
            let resource = hold
                .plan
                .resource()
                .map_or_else(|| "-".to_owned(), ToString::to_string);
            table.row(vec![
                (short(hold.id.as_str()).to_owned(), None),
                (plan::word(hold, now).to_owned(), Some(Tone::Careful)),
                (plan::left(hold, now), None),
                (hold.plan.risk.to_string(), None),
                (resource, None),
                (plan::line(hold), None),
            ]);
        }
        table.render(paint)
            + "\n`interlock approvals show ID` shows all of it; `approve ID` and `deny ID` decide\n"
    })?;
    Ok(Ending::Done)
}

/// A hold that cannot be decided any more is said so before anyone reads it.
fn check_open(hold: &Hold) -> Result<(), Failure> {
    let now = Timestamp::now();
    if hold.is_open(now) {
        return Ok(());
    }
    let by =
        crate::decide::decider(hold).map_or_else(String::new, |by| format!(" by {}", visible(by.as_str())));
    Err(Failure::Unsuccessful(format!(
        "`{}` was {} already{by}; it cannot be decided again",
        hold.id,
        plan::word(hold, now)
    )))
}

/// Makes sure that whoever approves has seen the plan.
async fn seen(driver: &mut Driver<'_>, hold: &Hold, hash: Option<&str>) -> Result<bool, Failure> {
    if let Some(hash) = hash {
        let same = hash == hold.plan_hash.to_string();
        return if same {
            Ok(true)
        } else {
            Err(Failure::Unsuccessful(format!(
                "the plan of `{}` has another hash, {}: look at it with `interlock approvals show {}`",
                hold.id, hold.plan_hash, hold.id
            )))
        };
    }
    if !driver.globals.can_ask() {
        return Err(Failure::Wrong(format!(
            "without a terminal an approval needs the hash of the plan that was seen; \
             `interlock approvals show {} --json` has it as `plan_hash`, and --plan-hash takes it",
            hold.id
        )));
    }
    let paint = driver.globals.paint(&std::io::stderr());
    say(&plan::render(hold, Timestamp::now(), paint));
    loop {
        say("Approve exactly this? [y]es, [n]o");
        let line = tokio::select! {
            line = driver.keyboard.line() => line,
            () = driver.interrupt.recv() => return Err(Failure::Interrupted),
        };
        let Some(line) = line else {
            return Ok(false);
        };
        match typed(&line) {
            Typed::Yes => return Ok(true),
            Typed::No(_) => return Ok(false),
            Typed::Details | Typed::Unclear => {}
        }
    }
}

async fn carry_on(mut driver: Driver<'_>, hold: &Hold, no_run: bool) -> Result<Ending, Failure> {
    let globals = driver.globals;
    let session: SessionId = hold.plan.session.clone();
    if no_run {
        let now = Timestamp::now();
        globals.print(&HoldForm::new(hold, now), |_| {
            format!(
                "{} is {}; its session {session} goes on when a worker takes it\n",
                hold.id,
                plan::word(hold, now)
            )
        })?;
        return Ok(Ending::Done);
    }
    globals.say(&format!("{} is {}", hold.id, plan::word(hold, Timestamp::now())));
    driver.work_to_end(&session).await?;
    tell(&mut driver, &session).await
}
