//! The second wall before a read: a sandbox on the machine where it runs, chosen by trying.
//!
//! What a machine offers is asked once for each connection to it and each boot of it. Each profile that fits is tried with a
//! canary, the best first; the first one that holds is used. A command that meets another boot than the one that was tried
//! does not run: the machine is asked again first.

mod canary;
mod offer;
mod profile;
mod seccomp;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use interlock_protocol::{ResourceId, SandboxWall, SocketKind, WallKind};
use tokio_util::sync::CancellationToken;

use self::offer::Machine;
use self::profile::Profile;
use super::{Job, Way};
use crate::output::{Exit, Limits, Output};
use crate::{Error, Infra};

pub(super) use offer::QUESTION;

/// How long a machine that offered nothing is not asked again.
const NOTHING_FOR: Duration = Duration::from_mins(10);
/// The bounds of the question and of the canary.
const TRY: Limits = Limits {
    wall: Duration::from_secs(15),
    output_bytes: 64 * 1024,
    drain_bytes: 1024 * 1024,
};

/// What was found out about each machine.
#[derive(Default)]
pub(crate) struct Sandboxes {
    /// Each has a lock of its own: those who ask at the same time share the answer.
    known: Mutex<BTreeMap<ResourceId, Arc<tokio::sync::Mutex<Option<Known>>>>>,
}

#[derive(Clone)]
struct Known {
    offer: Offer,
    /// The connection that it was found out through.
    connection: u64,
    at: Instant,
}

/// What a machine offers.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Offer {
    /// This profile holds.
    Holds(Profile, Machine),
    /// None does.
    Nothing(String),
}

impl Offer {
    /// As evidence says it, for a command that needs these sockets.
    fn wall(&self, sockets: &[SocketKind]) -> SandboxWall {
        match self {
            Self::Holds(profile, _) => SandboxWall::Enforced {
                by: profile.kind(),
                sockets: profile.opened(sockets),
                missing: Vec::new(),
            },
            Self::Nothing(reason) => SandboxWall::None {
                reason: reason.clone(),
            },
        }
    }
}

impl Infra {
    /// Which sandbox commands that read get on a resource. Asks the machine where that is not known.
    pub async fn read_sandbox(&self, resource: &ResourceId) -> Result<SandboxWall, Error> {
        let way = self.way(resource).await?;
        let offer = Box::pin(self.offer(resource, &way, &CancellationToken::new())).await?;
        Ok(offer.wall(&[]))
    }

    /// Which sandbox commands that read got on a resource when it was last tried. Nothing is asked.
    pub fn known_sandbox(&self, resource: &ResourceId) -> Option<SandboxWall> {
        let slot = {
            let known = self
                .sandboxes()
                .known
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            Arc::clone(known.get(resource)?)
        };
        // Somebody asks at this moment: then it is not known yet.
        let known = slot.try_lock().ok()?;
        known.as_ref().map(|known| known.offer.wall(&[]))
    }

    /// Runs a command that only reads, in the sandbox that its machine offers.
    pub(super) async fn read_through(
        &self,
        way: &Way,
        resource: &ResourceId,
        job: &Job<'_>,
        needed: bool,
        cancel: &CancellationToken,
    ) -> Result<Output, Error> {
        // The second time the machine was asked after it had been started again.
        for _ in 0..3 {
            let offer = self.offer(resource, way, cancel).await?;
            let wrapped = match &offer {
                Offer::Holds(profile, machine) if job.stages.is_empty() => {
                    profile.wrap(machine, job.sockets, job.argv, job.limits.wall)
                }
                Offer::Holds(profile, machine) => profile.wrap_pipeline(machine, job.stages, job.limits.wall),
                Offer::Nothing(reason) if needed => {
                    return Err(Error::NoSandbox {
                        resource: resource.to_string(),
                        reason: reason.clone(),
                    });
                }
                Offer::Nothing(_) => job.argv.to_vec(),
            };
            let inner = Job {
                argv: &wrapped,
                ..*job
            };
            let mut output = Box::pin(super::through(way, &inner, cancel)).await?;
            if is_other_boot(&output) {
                self.forget_sandbox(resource).await;
                continue;
            }
            output.sandbox = Some(offer.wall(&sockets_of(job)));
            return Ok(output);
        }
        Err(Error::Unsupported(format!(
            "`{resource}` was started again while the command was prepared; try again"
        )))
    }

    async fn offer(
        &self,
        resource: &ResourceId,
        way: &Way,
        cancel: &CancellationToken,
    ) -> Result<Offer, Error> {
        if let Way::Engine { .. } = way {
            return Ok(Offer::Nothing("Docker exec offers no sandbox".to_owned()));
        }
        let slot = self.sandbox_slot(resource);
        let mut known = slot.lock().await;
        if let Some(known) = known
            .as_ref()
            .filter(|known| known.connection == connection_of(way))
        {
            let lasting = match &known.offer {
                Offer::Holds(..) => true,
                Offer::Nothing(_) => known.at.elapsed() < NOTHING_FOR,
            };
            if lasting {
                return Ok(known.offer.clone());
            }
        }
        let offer = try_all(way, cancel).await?;
        tracing::info!(%resource, sandbox = ?offer.wall(&[]), "found out which read sandbox holds");
        *known = Some(Known {
            offer: offer.clone(),
            // The question opened it, if it was not open.
            connection: connection_of(way),
            at: Instant::now(),
        });
        Ok(offer)
    }

    fn sandbox_slot(&self, resource: &ResourceId) -> Arc<tokio::sync::Mutex<Option<Known>>> {
        let mut known = self
            .sandboxes()
            .known
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        Arc::clone(known.entry(resource.clone()).or_default())
    }

    async fn forget_sandbox(&self, resource: &ResourceId) {
        *self.sandbox_slot(resource).lock().await = None;
    }
}

/// Which connection a way goes through: another number after it was made again.
fn connection_of(way: &Way) -> u64 {
    match way {
        Way::Ssh(ssh) => ssh.connections(),
        Way::Container { node, .. } => node.connections(),
        Way::Agent { proxmox, .. } => proxmox.number(),
        Way::Engine { .. } => 0,
    }
}

/// Asks a machine what it is, and tries what fits.
async fn try_all(way: &Way, cancel: &CancellationToken) -> Result<Offer, Error> {
    let question = super::Probe::Sandbox.argv();
    let output = ask(way, &question, cancel).await?;
    let Some(machine) = Machine::read(&output.stdout.text()).filter(|_| output.is_success()) else {
        return Ok(Offer::Nothing(
            "the machine did not say what it offers".to_owned(),
        ));
    };
    let canary = ["sh", "-c", canary::CANARY].map(str::to_owned);
    let mut failures: Vec<String> = Vec::new();
    for profile in Profile::ALL.into_iter().filter(|profile| profile.fits(&machine)) {
        let wrapped = profile.wrap(&machine, &[], &canary, TRY.wall);
        let output = ask(way, &wrapped, cancel).await?;
        match canary::judge(&machine, profile, &output.stdout.text()) {
            Ok(()) => return Ok(Offer::Holds(profile, machine)),
            Err(why) => {
                let said = output.stderr.text();
                let said = said.lines().next().map(str::trim).filter(|line| !line.is_empty());
                let said = said.map_or_else(String::new, |line| format!(" ({})", crate::http::message(line)));
                let failure = format!("{}: {why}{said}", word(profile.kind()));
                tracing::debug!(?profile, failure, "a read sandbox does not hold");
                // Two profiles of one program mostly fail for one reason.
                failures.retain(|other| !other.starts_with(word(profile.kind())));
                failures.push(failure);
            }
        }
    }
    Ok(Offer::Nothing(if failures.is_empty() {
        "it has neither systemd-run, bwrap nor unshare".to_owned()
    } else {
        failures.join("; ")
    }))
}

const fn word(kind: WallKind) -> &'static str {
    match kind {
        WallKind::LandlockSeccomp => "interlock-confine",
        WallKind::SystemdRun => "systemd-run",
        WallKind::Bubblewrap => "bwrap",
        WallKind::Unshare => "unshare",
    }
}

async fn ask(way: &Way, argv: &[String], cancel: &CancellationToken) -> Result<Output, Error> {
    let job = Job {
        argv,
        stdin: None,
        sockets: &[],
        stages: &[],
        form: super::Form::Fixed,
        limits: TRY,
    };
    Box::pin(super::through(way, &job, cancel)).await
}

/// The kinds of sockets that one of the programs could open.
fn sockets_of(job: &Job<'_>) -> Vec<SocketKind> {
    let of_stages = job.stages.iter().flat_map(|stage| &stage.sockets);
    job.sockets.iter().chain(of_stages).copied().collect()
}

fn is_other_boot(output: &Output) -> bool {
    output.exit == Exit::Code(profile::OTHER_BOOT)
        && output.stdout.total == 0
        && output
            .stderr
            .text()
            .lines()
            .all(|line| line == profile::OTHER_BOOT_TEXT)
}
