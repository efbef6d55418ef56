//! Questions about nodes, storages, disks and the cluster.

use serde_json::{Map, Value};

use super::facts::rows;
use super::guest::{Guest, GuestKind};
use super::{Proxmox, Upid};
use crate::Error;
use crate::http::segment;

impl Proxmox {
    /// Everything in the cluster, in short.
    pub async fn cluster_resources(&self) -> Result<Value, Error> {
        self.get("/cluster/resources").await
    }

    /// The cluster and its nodes: names, addresses, quorum.
    pub async fn cluster_status(&self) -> Result<Value, Error> {
        self.get("/cluster/status").await
    }

    /// Every guest, where it is now.
    pub async fn guests(&self) -> Result<Vec<Guest>, Error> {
        let data = self.get_with("/cluster/resources", &[("type", "vm")]).await?;
        if !data.is_array() {
            // No list is not an empty one: a guest would count as gone.
            return Err(Error::Protocol {
                connection: self.name().to_owned(),
                message: "the list of guests is none".to_owned(),
            });
        }
        Ok(rows(&data)
            .filter_map(|row| {
                let kind = match row.text("type")? {
                    "qemu" => GuestKind::Vm,
                    "lxc" => GuestKind::Lxc,
                    _ => return None,
                };
                Some(Guest {
                    kind,
                    node: row.text("node")?.to_owned(),
                    vmid: u32::try_from(row.whole("vmid")?).ok()?,
                })
            })
            .collect())
    }

    /// The nodes and how they are doing.
    pub async fn nodes(&self) -> Result<Value, Error> {
        self.get("/nodes").await
    }

    /// How a node is doing.
    pub async fn node_status(&self, node: &str) -> Result<Value, Error> {
        self.get(&format!("/nodes/{}/status", segment(node))).await
    }

    /// How a node did: `hour`, `day`, `week`, `month` or `year`.
    pub async fn node_history(&self, node: &str, timeframe: &str) -> Result<Value, Error> {
        let path = format!("/nodes/{}/rrddata", segment(node));
        self.get_with(&path, &[("timeframe", timeframe), ("cf", "AVERAGE")])
            .await
    }

    /// The newest tasks of a node.
    pub async fn tasks(&self, node: &str, limit: u32) -> Result<Value, Error> {
        let path = format!("/nodes/{}/tasks", segment(node));
        self.get_with(&path, &[("limit", &limit.to_string())]).await
    }

    /// What a task printed.
    pub async fn task_log(&self, upid: &Upid, limit: u32) -> Result<Vec<String>, Error> {
        let path = format!("{}/log", upid.path());
        let data = self.get_with(&path, &[("limit", &limit.to_string())]).await?;
        Ok(rows(&data)
            .filter_map(|row| row.text("t").map(str::to_owned))
            .collect())
    }

    /// The storages of a node.
    pub async fn storages(&self, node: &str) -> Result<Value, Error> {
        self.get(&format!("/nodes/{}/storage", segment(node))).await
    }

    /// What is on a storage: all of it, or only `backup`, `images`, `rootdir`…
    pub async fn storage_content(
        &self,
        node: &str,
        storage: &str,
        content: Option<&str>,
    ) -> Result<Value, Error> {
        let path = format!("/nodes/{}/storage/{}/content", segment(node), segment(storage));
        match content {
            Some(content) => self.get_with(&path, &[("content", content)]).await,
            None => self.get(&path).await,
        }
    }

    /// The disks of a node.
    pub async fn disks(&self, node: &str) -> Result<Value, Error> {
        self.get(&format!("/nodes/{}/disks/list", segment(node))).await
    }

    /// What a disk says about its own health.
    pub async fn disk_health(&self, node: &str, device: &str) -> Result<Value, Error> {
        let path = format!("/nodes/{}/disks/smart", segment(node));
        self.get_with(&path, &[("disk", device)]).await
    }

    /// What a node replicates, and how that went.
    pub async fn replication(&self, node: &str) -> Result<Value, Error> {
        self.get(&format!("/nodes/{}/replication", segment(node))).await
    }

    /// How Ceph is doing. Nothing where there is none.
    pub async fn ceph(&self) -> Result<Option<Map<String, Value>>, Error> {
        match self.get("/cluster/ceph/status").await {
            Ok(Value::Object(status)) => Ok(Some(status)),
            Ok(_) | Err(Error::NotFound { .. } | Error::Refused { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}
