//! The disks of a node, and how they are.

use serde_json::{Value, json};

use super::answer::Refusal;
use super::routes::Ask;
use crate::cluster::Health;

pub(super) async fn list(ask: Ask<'_>, node: &str) -> Value {
    let size: u64 = ask
        .cluster
        .storages()
        .await
        .iter()
        .filter(|view| view.node == node && !view.storage.shared)
        .map(|view| view.storage.total_bytes)
        .sum();
    let (health, wearout) = match ask.cluster.health(node) {
        Some(Health::DiskFailing) => ("FAILED", 1),
        Some(Health::Online | Health::Offline) | None => ("PASSED", 94),
    };
    json!([{
        "devpath": "/dev/nvme0n1", "by_id_link": format!("/dev/disk/by-id/{}", id(node)), "type": "nvme",
        "used": "LVM", "gpt": 1, "size": size.max(1 << 30), "model": "Samsung SSD 970 EVO Plus",
        "serial": serial(node), "vendor": "unknown", "wwn": format!("eui.{}", serial(node).to_lowercase()),
        "rpm": 0, "osdid": -1, "osdid-list": null, "mounted": 0, "health": health, "wearout": wearout,
    }])
}

pub(super) fn smart(ask: Ask<'_>, node: &str) -> Result<Value, Refusal> {
    let disk = ask.params.required("disk")?;
    if disk != "/dev/nvme0n1" {
        return Err(Refusal::Failed(format!("disk '{disk}' not found")));
    }
    let failing = ask.cluster.health(node) == Some(Health::DiskFailing);
    let (health, warning, spare, used, errors) = if failing {
        ("FAILED", "0x04", 1, 99, 4213)
    } else {
        ("PASSED", "0x00", 100, 6, 0)
    };
    let result = if failing { "FAILED!" } else { "PASSED" };
    let text = format!(
        "SMART overall-health self-assessment test result: {result}\n\
         SMART/Health Information (NVMe Log 0x02)\n\
         Critical Warning:                   {warning}\n\
         Temperature:                        41 Celsius\n\
         Available Spare:                    {spare}%\n\
         Available Spare Threshold:          10%\n\
         Percentage Used:                    {used}%\n\
         Media and Data Integrity Errors:    {errors}\n"
    );
    if ask.params.flag("healthonly")? {
        return Ok(json!({ "health": health }));
    }
    Ok(json!({ "health": health, "type": "text", "text": text, "wearout": 100 - used }))
}

fn serial(node: &str) -> String {
    let hash = node.bytes().fold(7_u32, |hash, byte| {
        hash.wrapping_mul(31).wrapping_add(u32::from(byte))
    });
    format!("S4EWNX{hash:08X}")
}

fn id(node: &str) -> String {
    format!("nvme-Samsung_SSD_970_EVO_Plus_{}", serial(node))
}
