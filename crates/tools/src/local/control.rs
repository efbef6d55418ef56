//! Changing this machine: a command, a service, the machine itself.

use interlock_exec::{Program, UnitName};
use interlock_gate::Started;
use interlock_protocol::AnalysisWall;
use jiff::Timestamp;
use tokio_util::sync::CancellationToken;

use super::{LocalHost, arguments, unit};
use crate::Done;
use crate::Failure;
use crate::sockets;

impl LocalHost {
    pub(crate) async fn control(
        &self,
        started: &Started,
        cancel: &CancellationToken,
    ) -> Result<Done, Failure> {
        let plan = started.plan();
        self.is_meant_by(plan)?;
        match plan.action.as_deref() {
            Some("command") => {
                let command = plan
                    .command
                    .as_deref()
                    .ok_or_else(|| Failure::missing("command"))?;
                let program = Program::command(command, sockets::needed);
                self.run_program(started, program, AnalysisWall::Read, cancel)
                    .await
            }
            Some("service_start") => self.service(started, "start", cancel).await,
            Some("service_stop") => self.service(started, "stop", cancel).await,
            Some("service_restart") => self.service(started, "restart", cancel).await,
            Some("restart") => self.whole(started, "reboot", cancel).await,
            Some("shutdown") => self.whole(started, "poweroff", cancel).await,
            Some(action @ ("start" | "stop" | "delete")) => Err(Failure::invalid(format!(
                "`{action}` is for guests; this is the machine that Interlock runs on"
            ))),
            _ => Err(Failure::invalid("`action` is none that this tool has")),
        }
    }

    async fn service(
        &self,
        started: &Started,
        verb: &str,
        cancel: &CancellationToken,
    ) -> Result<Done, Failure> {
        let name = UnitName::new(arguments::needed(started.plan(), "unit")?)?;
        unit::require_systemd()?;
        let program = Program::new(["systemctl", "--no-ask-password", verb, "--", name.as_str()])?;
        let done = self
            .run_program(started, program, AnalysisWall::FixedForm, cancel)
            .await
            .map_err(|failure| failure.summary(format!("systemd did not {verb} the unit")))?;
        let taken_at = Timestamp::now();
        // What it is doing now is for people: only a later, separate reading verifies.
        match self.unit(&name).await {
            Ok(seen) => {
                let reading = self.reading(taken_at, seen.data(&name), seen.observations(&name));
                Ok(done.with_reading(reading))
            }
            Err(_) => Ok(done),
        }
    }

    async fn whole(
        &self,
        started: &Started,
        verb: &str,
        cancel: &CancellationToken,
    ) -> Result<Done, Failure> {
        unit::require_systemd()?;
        let program = Program::new(["systemctl", "--no-ask-password", verb])?;
        self.run_program(started, program, AnalysisWall::FixedForm, cancel)
            .await
    }
}
