//! `interlock user`: who may sign in. Works on the store, for whoever may write to its file.

use clap::{Args, Subcommand};
use interlock_protocol::{Role, UserId, UserName};
use interlock_server::sign_in_link;
use interlock_store::{Deed, NewUser, Store, User, UserChange};
use jiff::Timestamp;
use serde::Serialize;
use serde_json::json;

use crate::Ending;
use crate::address;
use crate::assemble::open_store;
use crate::failure::Failure;
use crate::globals::Globals;
use crate::person::whoami;
use crate::serve::link;
use crate::settings;
use crate::table::Table;
use crate::terminal::Tone;

/// Say who may sign in, and give them links to do so.
#[derive(Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Examples:
  interlock user
  interlock user add zoe --role approver
  interlock user link zoe
  interlock user role zoe operator
  interlock user disable zoe

Roles, each with what those before it may do: viewer (look), operator (ask, submit, stop), approver (decide about what \
waits), admin (people and tokens). What is changed here is in the audit log, under the name of whoever runs the command.

Exit codes: 0 done, 1 not done, 2 wrong usage."
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    what: Option<What>,
}

#[derive(Subcommand)]
enum What {
    /// Make a user, and a link with which they sign in once
    #[command(after_help = "Example:\n  interlock user add zoe --role approver --json")]
    Add {
        /// Their name: letters, digits and `.`, `_`, `-`, `@`
        #[arg(value_name = "NAME")]
        user: UserName,
        /// What they may do: viewer, operator, approver or admin
        #[arg(long, value_name = "ROLE", value_parser = role)]
        role: Role,
    },
    /// Make a link with which a user signs in once
    #[command(after_help = "Example:\n  interlock user link zoe")]
    Link {
        /// Their name
        #[arg(value_name = "NAME")]
        user: UserId,
    },
    /// Change what a user may do
    #[command(after_help = "Example:\n  interlock user role zoe operator")]
    Role {
        /// Their name
        #[arg(value_name = "NAME")]
        user: UserId,
        /// What they may do
        #[arg(value_name = "ROLE", value_parser = role)]
        role: Role,
    },
    /// Let a user sign in no more, and sign them out everywhere
    #[command(after_help = "Example:\n  interlock user disable zoe")]
    Disable {
        /// Their name
        #[arg(value_name = "NAME")]
        user: UserId,
    },
    /// Let a user sign in again
    #[command(after_help = "Example:\n  interlock user enable zoe")]
    Enable {
        /// Their name
        #[arg(value_name = "NAME")]
        user: UserId,
    },
    /// Remove a user with their tokens; what they did stays in the record
    #[command(after_help = "Example:\n  interlock user remove zoe")]
    Remove {
        /// Their name
        #[arg(value_name = "NAME")]
        user: UserId,
    },
}

fn role(word: &str) -> Result<Role, String> {
    word.parse().map_err(|_| {
        let known: Vec<&str> = Role::ALL.iter().map(|role| role.as_str()).collect();
        format!("there is no role `{word}`; there are {}", known.join(", "))
    })
}

/// A user, for programs. No hash of a password leaves the store.
#[derive(Serialize)]
struct Form {
    id: UserId,
    role: Role,
    enabled: bool,
    created_at: Timestamp,
    seen_at: Option<Timestamp>,
}

impl From<&User> for Form {
    fn from(user: &User) -> Self {
        Self {
            id: user.id.clone(),
            role: user.role,
            enabled: user.enabled,
            created_at: user.created_at,
            seen_at: user.seen_at,
        }
    }
}

#[derive(Serialize)]
struct Linked {
    user: UserId,
    link: String,
}

/// Runs the command.
pub(crate) async fn run(globals: &Globals, arguments: &Arguments) -> Result<Ending, Failure> {
    let store = open_store(globals)?;
    match &arguments.what {
        None => list(globals, &store).await?,
        Some(What::Add { user, role }) => {
            let new = NewUser {
                name: user.clone(),
                role: *role,
                password: None,
                identity: None,
                created_at: Timestamp::now(),
            };
            store.create_user(new).await?;
            let details = json!({ "role": role.as_str() });
            note(&store, "user.created", user.id(), details).await?;
            give_link(globals, &store, user.id()).await?;
        }
        Some(What::Link { user }) => {
            known(&store, user).await?;
            give_link(globals, &store, user).await?;
        }
        Some(What::Role { user, role }) => {
            let change = UserChange {
                role: Some(*role),
                ..UserChange::default()
            };
            changed(globals, &store, user, change, json!({ "role": role.as_str() })).await?;
        }
        Some(What::Disable { user }) => {
            enable(globals, &store, user, false).await?;
            store.remove_logins(user, None).await?;
        }
        Some(What::Enable { user }) => enable(globals, &store, user, true).await?,
        Some(What::Remove { user }) => {
            let gone = known(&store, user).await?;
            store.remove_user(user).await?;
            note(&store, "user.removed", user, json!({})).await?;
            globals.print(&Form::from(&gone), |_| format!("{user} is removed\n"))?;
        }
    }
    store.close().await;
    Ok(Ending::Done)
}

async fn list(globals: &Globals, store: &Store) -> Result<(), Failure> {
    let users = store.users().await?;
    let forms: Vec<Form> = users.iter().map(Form::from).collect();
    globals.print_lines(&forms, |paint| {
        if users.is_empty() {
            return "nobody may sign in yet; `interlock serve` makes the first admin\n".to_owned();
        }
        let mut table = Table::new(&["user", "role", "may sign in", "last seen"]);
        for user in &users {
            let (may, tone) = if user.enabled {
                ("yes", None)
            } else {
                ("no", Some(Tone::Careful))
            };
            let seen = user
                .seen_at
                .map_or_else(|| "never".to_owned(), |at| at.to_string());
            table.row(vec![
                (user.id.to_string(), None),
                (user.role.to_string(), None),
                (may.to_owned(), tone),
                (seen, None),
            ]);
        }
        table.render(paint)
    })
}

async fn enable(globals: &Globals, store: &Store, user: &UserId, enabled: bool) -> Result<(), Failure> {
    let change = UserChange {
        enabled: Some(enabled),
        ..UserChange::default()
    };
    changed(globals, store, user, change, json!({ "enabled": enabled })).await
}

async fn changed(
    globals: &Globals,
    store: &Store,
    user: &UserId,
    change: UserChange,
    details: serde_json::Value,
) -> Result<(), Failure> {
    let now = store.change_user(user, change).await?;
    note(store, "user.changed", user, details).await?;
    globals.print(&Form::from(&now), |_| {
        let may = if now.enabled {
            "may sign in"
        } else {
            "may not sign in"
        };
        format!("{user} is {} and {may}\n", now.role)
    })
}

async fn known(store: &Store, user: &UserId) -> Result<User, Failure> {
    store.user(user).await?.ok_or_else(|| {
        Failure::unsuccessful(format!(
            "there is no user `{user}`; `interlock user` lists them, `interlock user add {user} --role ROLE` makes one"
        ))
    })
}

async fn give_link(globals: &Globals, store: &Store, user: &UserId) -> Result<(), Failure> {
    let (user, secret) = sign_in_link(store, Some(user)).await?;
    let running = address::find(store).await?;
    let url = match &running {
        Some(url) => url.clone(),
        None => configured(globals)?,
    };
    let linked = Linked {
        link: link(&url, &secret),
        user,
    };
    globals.print(&linked, |_| {
        format!(
            "{} signs in with this, once, within 15 minutes:\n\n  {}\n\n",
            linked.user, linked.link
        )
    })?;
    if running.is_none() {
        globals.say(&format!(
            "no server of this store answers at present; the link works while `interlock serve` listens on {url}"
        ));
    }
    Ok(())
}

/// Where a server would listen.
fn configured(globals: &Globals) -> Result<String, Failure> {
    let server = match &globals.store {
        Some(_) => interlock_config::Server::default(),
        None => settings::load(globals)?.config.server,
    };
    let scheme = if server.tls.is_some() { "https" } else { "http" };
    let listen = server.listen;
    Ok(server
        .public_url
        .unwrap_or_else(|| format!("{scheme}://{listen}")))
}

async fn note(store: &Store, action: &str, user: &UserId, details: serde_json::Value) -> Result<(), Failure> {
    let deed = Deed {
        at: Timestamp::now(),
        actor: Some(whoami()?),
        action: action.to_owned(),
        subject: Some(user.to_string()),
        details,
    };
    store.audit(deed).await?;
    Ok(())
}
