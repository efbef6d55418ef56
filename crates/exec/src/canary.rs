//! Whether the sandbox holds here: a canary under the profile of a read must fail to write and to connect.

use std::fs;
use std::io;
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use interlock_confine::{CANARY, Profile};
use tokio_util::sync::CancellationToken;

use crate::helper::Helper;
use crate::{Error, Exit, Limits, Program, Runner, Sandbox};

/// How long the canary may take.
const WITHIN: Duration = Duration::from_secs(10);

/// What a canary under the profile of a read found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Canary {
    /// What held it.
    pub sandbox: Sandbox,
    /// What it could do and must not, each as a phrase. Empty where the sandbox holds.
    pub could: Vec<String>,
}

impl Runner {
    /// Runs a canary in the sandbox of a read.
    pub async fn canary(&self) -> Result<Canary, Error> {
        let program = match self.confine() {
            Some(program) => program.to_owned(),
            None => Helper::Confine.path()?,
        };
        let failed = |cause: io::Error| Error::Spawn {
            program: CANARY.to_owned(),
            cause,
        };
        // A process that was killed may have left its folder, and another one may have the same number.
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| since.as_nanos());
        let folder = std::env::temp_dir().join(format!("interlock-canary-{}-{now}", std::process::id()));
        fs::create_dir(&folder).map_err(failed)?;
        let _removed = Removed(folder.clone());
        for name in ["there", "spare"] {
            fs::write(folder.join(name), name).map_err(failed)?;
        }
        let _unix = UnixListener::bind(folder.join("socket")).map_err(failed)?;
        let tcp = TcpListener::bind(("127.0.0.1", 0)).map_err(failed)?;
        let port = tcp.local_addr().map_err(failed)?.port();
        let argv = [
            program.to_string_lossy().into_owned(),
            CANARY.to_owned(),
            folder.to_string_lossy().into_owned(),
            port.to_string(),
        ];
        let limits = Limits {
            wall: WITHIN,
            ..Limits::default()
        };
        let output = self
            .watch(
                Program::new(argv)?,
                Profile::ReadOnly,
                limits,
                &CancellationToken::new(),
            )
            .await?;
        if output.exit != Exit::Code(0) {
            return Err(failed(io::Error::other(format!(
                "the canary did not come to its end: {:?}",
                output.exit
            ))));
        }
        Ok(Canary {
            sandbox: output.sandbox,
            could: output.stdout.text().lines().map(str::to_owned).collect(),
        })
    }
}

/// A folder that is removed at the end.
struct Removed(std::path::PathBuf);

impl Drop for Removed {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
