//! What is looked at, one after the other. A check says what it found; it changes nothing but the store's own upkeep.

use interlock_config::{Config, Loaded};
use interlock_exec::{Canary, Protected, Runner, Sandbox, SandboxPolicy};
use interlock_gate::Hold;
use interlock_model::Models;
use interlock_protocol::Status;
use interlock_store::{Exposure, Filter, Holds, Store};
use jiff::{SignedDuration, Timestamp};
use rustix::process::{DumpableBehavior, dumpable_behavior};
use tokio_util::sync::CancellationToken;

use super::Check;
use crate::globals::Globals;
use crate::kill_switch::engaged;
use crate::model::Key;
use crate::settings;
use crate::steps::seconds;

const MIB: u64 = 1024 * 1024;
/// Below this a store has no room.
const LITTLE_SPACE: u64 = 100 * MIB;
const SOME_SPACE: u64 = 1024 * MIB;
/// Before this no clock of a machine that runs this can be.
const BUILT_AFTER: &str = "2026-01-01T00:00:00Z";
const MANY: u32 = 10_000;

/// Everything.
pub(super) async fn all(globals: &Globals, online: bool) -> Vec<Check> {
    let mut checks = Vec::new();
    let loaded = match settings::load(globals) {
        Ok(loaded) => {
            checks.push(configuration(&loaded));
            Some(loaded)
        }
        Err(failure) => {
            let remedy = "correct the file; `interlock config check` names every place";
            checks.push(Check::fail("configuration", failure.to_string(), remedy));
            None
        }
    };
    checks.extend(store(globals, loaded.as_ref()).await);
    if let Some(loaded) = &loaded {
        checks.extend(models(&loaded.config, online).await);
        checks.extend(super::connections::connections(&loaded.config, online).await);
    }
    checks.push(sandbox().await);
    checks.push(kernel());
    checks.push(hidden());
    checks.push(clock());
    checks
}

fn configuration(loaded: &Loaded) -> Check {
    let found = match &loaded.file {
        Some(file) => file.display().to_string(),
        None => {
            return Check::warn(
                "configuration",
                "no file: the built-in defaults",
                "write an interlock.yaml with at least one model; `interlock config schema` says what may stand in it",
            );
        }
    };
    match loaded.warnings.first() {
        None => Check::ok("configuration", found),
        Some(first) => Check::warn(
            "configuration",
            format!("{found}: {first}"),
            "`interlock config check` says more",
        ),
    }
}

async fn store(globals: &Globals, loaded: Option<&Loaded>) -> Vec<Check> {
    let options = match (&globals.store, loaded) {
        (Some(text), _) => text.parse::<interlock_store::Options>(),
        (None, Some(loaded)) => Ok(loaded.store()),
        (None, None) => {
            return vec![Check::warn(
                "store",
                "not looked at",
                "correct the configuration first",
            )];
        }
    };
    let remedy = "name another with `store` in interlock.yaml or --store sqlite:PATH";
    let folders = interlock_assembly::Folders::of_user();
    let config = loaded.map(|loaded| loaded.config.clone()).unwrap_or_default();
    let keyring = match interlock_assembly::keyring(&config, &folders) {
        Ok(keyring) => keyring,
        Err(failure) => {
            return vec![Check::fail(
                "record key",
                failure.to_string(),
                "set `record.key` in interlock.yaml to a file that only you can read",
            )];
        }
    };
    let public = keyring.signer().map(|signer| signer.public().to_string());
    let opened = options.and_then(|options| Store::open_signed(&options, keyring));
    let store = match opened {
        Ok(store) => store,
        // The error itself says what to do.
        Err(error) => return vec![Check::fail("store", error.to_string(), remedy)],
    };
    let mut checks = vec![Check::ok(
        "store",
        format!("{}: opened, writable, schema up to date", store.location()),
    )];
    checks.push(Check::ok(
        "record key",
        format!(
            "the record is signed; the public key is {}",
            public.unwrap_or_default()
        ),
    ));
    checks.push(match store.integrity().await {
        Ok(()) => Check::ok("integrity", "every page and row is whole"),
        Err(error) => Check::fail(
            "integrity",
            error.to_string(),
            "keep a copy of the file and restore a backup",
        ),
    });
    checks.extend(store.exposure().await.map(privacy));
    checks.extend(store.free_bytes().await.map(space));
    checks.push(
        queue(&store)
            .await
            .unwrap_or_else(|error| Check::fail("queue", error.to_string(), "see `store`")),
    );
    checks.push(match engaged(&store).await {
        Ok(false) => Check::ok("kill switch", "off"),
        Ok(true) => Check::warn(
            "kill switch",
            "on: no write begins",
            "`interlock kill-switch off` lets them go again",
        ),
        Err(failure) => Check::fail("kill switch", failure.to_string(), "see `store`"),
    });
    checks
}

/// Whether others can read what is kept.
fn privacy(exposure: Exposure) -> Check {
    match exposure {
        Exposure::OwnerOnly { rights } => {
            Check::ok("privacy", format!("only its owner reads the store ({rights})"))
        }
        Exposure::Others { rights, remedy } => {
            Check::warn("privacy", format!("others can read the store ({rights})"), remedy)
        }
    }
}

fn space(free: u64) -> Check {
    let found = format!("{} MiB free where the store is", free / MIB);
    if free < LITTLE_SPACE {
        Check::fail("disk", found, "make room, or move the store")
    } else if free < SOME_SPACE {
        Check::warn("disk", found, "make room soon, or shorten `retention`")
    } else {
        Check::ok("disk", found)
    }
}

async fn queue(store: &Store) -> Result<Check, interlock_store::Error> {
    let now = Timestamp::now();
    let stale = SignedDuration::from_secs(60);
    let of = |statuses: Vec<Status>| Filter {
        statuses,
        limit: MANY,
        ..Filter::default()
    };
    let pending = store.sessions(&of(vec![Status::Pending])).await?.len();
    let held = store.sessions(&of(vec![Status::Held])).await?.len();
    let working = store
        .sessions(&of(vec![Status::InProgress, Status::Cancelling]))
        .await?;
    let silent = working
        .iter()
        .filter(|session| now.duration_since(session.last_interaction_at) > stale)
        .count();
    let open: Vec<Hold> = store.holds(Holds::Open).await?;
    let waiting = open.iter().filter(|hold| hold.is_open(now)).count();
    let found = format!(
        "{pending} pending, {} in progress ({silent} silent for a minute), {held} held, {waiting} open approvals",
        working.len()
    );
    Ok(if silent > 0 {
        Check::warn(
            "queue",
            found,
            "a process that worked on them may be gone; carry on with `interlock resume ID`, or `interlock cancel ID`",
        )
    } else {
        Check::ok("queue", found)
    })
}

async fn models(config: &Config, online: bool) -> Vec<Check> {
    if config.models.is_empty() {
        return vec![Check::warn(
            "models",
            "none",
            "add one under `models` in interlock.yaml: a question needs one",
        )];
    }
    let models = match Models::new(config.models.clone()) {
        Ok(models) => models,
        Err(error) => {
            return vec![Check::fail(
                "models",
                error.to_string(),
                "correct its entry in interlock.yaml",
            )];
        }
    };
    let mut checks = Vec::new();
    for (name, options) in &config.models {
        let title = format!("model {name}");
        let key = Key::of(options);
        let about = format!("{} {}", options.provider, options.model);
        let about = about.trim();
        if let (true, Some(variable)) = (key.is_missing(), &key.variable) {
            let remedy = format!("set {variable}, or name another variable with `api_key_env`");
            checks.push(Check::warn(
                title,
                format!("{about}: {variable} is not set"),
                remedy,
            ));
            continue;
        }
        let client = match models.get(name) {
            Ok(client) => client,
            Err(error) => {
                checks.push(Check::fail(
                    title,
                    error.to_string(),
                    "correct its entry in interlock.yaml",
                ));
                continue;
            }
        };
        let has = match &key.variable {
            Some(variable) => format!("{about}: its key is in {variable}"),
            None => format!("{about}: needs no key"),
        };
        checks.push(if online {
            answers(&title, &has, &client).await
        } else {
            Check::ok(title, format!("{has}; not asked without --online"))
        });
    }
    checks
}

/// One short question.
async fn answers(title: &str, has: &str, client: &interlock_model::Client) -> Check {
    let request = interlock_model::Request {
        system: "You are being tested. Answer briefly.".to_owned(),
        messages: vec![interlock_model::Message::user("Say ok.")],
        ..interlock_model::Request::default()
    };
    let began = Timestamp::now();
    let answered = client
        .generate(&request, &CancellationToken::new(), &mut |_| {
            interlock_model::Flow::Continue
        })
        .await;
    match answered {
        Ok(_) => Check::ok(
            title,
            format!(
                "{has}; answers ({})",
                seconds(Timestamp::now().duration_since(began))
            ),
        ),
        Err(failure) => Check::fail(
            title,
            format!("{has}; {failure}"),
            "`interlock model check NAME` says more",
        ),
    }
}

/// Whether the sandbox of a read holds: a canary in it tries to write and to connect.
async fn sandbox() -> Check {
    let runner = Runner::new(Protected::default(), SandboxPolicy::WhereAvailable);
    sandbox_by(runner.canary().await)
}

fn sandbox_by(canary: Result<Canary, interlock_exec::Error>) -> Check {
    let remedy = "boot a kernel of 6.12 or newer with `landlock` in its `lsm=` list; until then what a command may change is \
                  decided by the gate and by file permissions alone";
    match canary {
        Err(error @ interlock_exec::Error::NoConfine { .. }) => Check::fail(
            "sandbox",
            error.to_string(),
            "put `interlock-confine` beside `interlock`: no command runs on this machine without it",
        ),
        Err(error) => Check::fail("sandbox", error.to_string(), remedy),
        Ok(Canary {
            sandbox: Sandbox::None { reason },
            ..
        }) => Check::warn(
            "sandbox",
            format!("reads run without a sandbox: {reason}"),
            remedy,
        ),
        Ok(Canary { could, .. }) if !could.is_empty() && !only_signals(&could) => Check::fail(
            "sandbox",
            format!("a canary in the sandbox of a read could {}", could.join(", ")),
            remedy,
        ),
        Ok(Canary {
            sandbox: Sandbox::Enforced { missing, .. },
            ..
        }) if !missing.is_empty() => Check::warn(
            "sandbox",
            format!(
                "Landlock and seccomp: a canary could neither write nor connect; not enforced: {}",
                missing.join(", ")
            ),
            remedy,
        ),
        Ok(_) => Check::ok(
            "sandbox",
            "Landlock and seccomp: a canary could neither write nor connect; our own files are out of reach",
        ),
    }
}

/// An older kernel keeps no signals; the sandbox says so itself.
fn only_signals(could: &[String]) -> bool {
    could.iter().all(|what| what.contains("signal"))
}

fn kernel() -> Check {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    Check::ok("kernel", format!("Linux {}", release.trim()))
}

fn hidden() -> Check {
    match dumpable_behavior() {
        Ok(DumpableBehavior::NotDumpable) => Check::ok("process", "others of this user cannot look into it"),
        Ok(_) | Err(_) => Check::warn(
            "process",
            "others of this user can look into it, and find keys in its environment",
            "run it as a user of its own",
        ),
    }
}

fn clock() -> Check {
    let now = Timestamp::now();
    let plausible = BUILT_AFTER.parse::<Timestamp>().is_ok_and(|then| now > then);
    if plausible {
        Check::ok("clock", format!("{now:.0}"))
    } else {
        Check::fail(
            "clock",
            format!("{now:.0} cannot be"),
            "set the clock; permits and approvals live by it",
        )
    }
}
