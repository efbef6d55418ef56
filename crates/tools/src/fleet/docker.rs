//! Docker hosts and their containers.

use interlock_gate::Started;
use tokio_util::sync::CancellationToken;

use super::Fleet;
use crate::Done;
use crate::failure::Failure;

impl Fleet {
    pub(super) async fn docker(
        &self,
        _started: &Started,
        _cancel: &CancellationToken,
    ) -> Result<Done, Failure> {
        Err(Failure::failed("nothing connected can do this"))
    }
}
