//! Files inside resources.

use interlock_gate::Started;
use tokio_util::sync::CancellationToken;

use super::Fleet;
use crate::Done;
use crate::failure::Failure;

impl Fleet {
    pub(super) async fn edit_file(
        &self,
        _started: &Started,
        _cancel: &CancellationToken,
    ) -> Result<Done, Failure> {
        Err(Failure::failed("nothing connected can do this"))
    }

    pub(super) async fn read_file(
        &self,
        _started: &Started,
        _cancel: &CancellationToken,
    ) -> Result<Done, Failure> {
        Err(Failure::failed("nothing connected can do this"))
    }

    pub(super) async fn list_directory(
        &self,
        _started: &Started,
        _cancel: &CancellationToken,
    ) -> Result<Done, Failure> {
        Err(Failure::failed("nothing connected can do this"))
    }

    pub(super) async fn write_file(
        &self,
        _started: &Started,
        _cancel: &CancellationToken,
    ) -> Result<Done, Failure> {
        Err(Failure::failed("nothing connected can do this"))
    }

    pub(super) async fn delete_file(
        &self,
        _started: &Started,
        _cancel: &CancellationToken,
    ) -> Result<Done, Failure> {
        Err(Failure::failed("nothing connected can do this"))
    }
}
