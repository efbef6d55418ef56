//! The configuration that connects Interlock to the lab. It is a document like any that a user writes: the lab knows nothing
//! of how Interlock reads it.

use std::collections::BTreeMap;
use std::path::Path;

use interlock_lab::{Access, CLUSTER, Incident, write_private};
use serde_json::{Value, json};

use super::Failure;

const PROXMOX_TOKEN: &str = "LAB_PROXMOX_TOKEN";
const KUBERNETES_TOKEN: &str = "LAB_KUBERNETES_TOKEN";
const MAIL_PASSWORD: &str = "LAB_MAIL_PASSWORD";

/// The credentials, by the environment variables that the configuration names.
pub(super) fn credentials(access: &Access) -> BTreeMap<&'static str, &str> {
    BTreeMap::from([
        (PROXMOX_TOKEN, access.proxmox.token_secret.as_str()),
        (KUBERNETES_TOKEN, access.kubernetes.token.as_str()),
        (MAIL_PASSWORD, access.mail_gateway.password.as_str()),
    ])
}

/// Writes the configuration, and the credentials for a shell; only their owner may read them.
pub(super) fn write(access: &Access, folder: &Path) -> Result<(), Failure> {
    // JSON is YAML, and says the same to both.
    let text = format!(
        "# Connects Interlock to the lab. Add your model under `models`.\n{:#}\n",
        config(access, folder)
    );
    write_private(&folder.join("interlock.yaml"), &text).map_err(Failure::unsuccessful)?;
    let lines: Vec<String> = credentials(access)
        .iter()
        .map(|(name, value)| format!("export {name}='{value}'\n"))
        .collect();
    write_private(&folder.join("credentials.sh"), &lines.concat()).map_err(Failure::unsuccessful)
}

fn config(access: &Access, folder: &Path) -> Value {
    let alerts: Vec<&str> = Incident::ALL.iter().map(|incident| incident.alert()).collect();
    json!({
        // A store of its own: what was recorded and approved in the lab never meets other infrastructure.
        "store": format!("sqlite:{}", folder.join("interlock.db").display()),
        "control": { "level": "controlled" },
        "chains": {
            "incident": {
                "description": "An incident of the lab",
                "alert_types": alerts,
                "stages": [{ "name": "investigate", "agents": ["operator"] }],
            },
        },
        "infrastructure": infrastructure(access),
    })
}

fn infrastructure(access: &Access) -> Value {
    let docker: Vec<Value> = access
        .docker
        .iter()
        .map(|engine| json!({ "name": engine.name, "url": engine.url, "runs_on": engine.runs_on }))
        .collect();
    json!({
        "local": false,
        "proxmox": [{
            "name": CLUSTER,
            "url": access.proxmox.url,
            "token_id": access.proxmox.token_id,
            "token_secret_env": PROXMOX_TOKEN,
            "tls": { "fingerprint": access.proxmox.fingerprint },
            "ssh": {
                "user": access.ssh.user,
                "key_file": access.ssh.key_file,
                "known_hosts": access.ssh.known_hosts,
            },
            "ssh_addresses": access.ssh.addresses,
        }],
        "docker": docker,
        "kubernetes": [{
            "name": access.kubernetes.name,
            "url": access.kubernetes.url,
            "token_env": KUBERNETES_TOKEN,
            "tls": { "ca_file": access.kubernetes.ca_file },
        }],
        "prometheus": [{ "name": "metrics", "url": access.prometheus.url }],
        "alertmanager": [{ "name": "alerts", "url": access.alertmanager.url }],
        "mail_gateways": [{
            "name": "mail",
            "url": access.mail_gateway.url,
            "user": access.mail_gateway.user,
            "password_env": MAIL_PASSWORD,
            "runs_on": access.mail_gateway.runs_on,
        }],
    })
}
