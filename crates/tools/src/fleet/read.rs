//! Reading inside a resource: a command, a file, a search, a log.

use interlock_gate::Started;
use tokio_util::sync::CancellationToken;

use super::Fleet;
use crate::Done;
use crate::failure::Failure;

impl Fleet {
    pub(super) async fn read(
        &self,
        _started: &Started,
        _cancel: &CancellationToken,
    ) -> Result<Done, Failure> {
        Err(Failure::failed("nothing connected can do this"))
    }

    pub(super) async fn system_logs(
        &self,
        _started: &Started,
        _cancel: &CancellationToken,
    ) -> Result<Done, Failure> {
        Err(Failure::failed("nothing connected can do this"))
    }
}
