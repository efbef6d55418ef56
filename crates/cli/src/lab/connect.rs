//! The configuration that connects Interlock to a lab.

use std::collections::BTreeMap;
use std::path::Path;

use interlock_config::Config;
use interlock_infra::Secrets;
use interlock_infra::options::{self, Tls};
use interlock_lab::{Access, Incident};
use interlock_protocol::ResourceId;

use crate::failure::Failure;

/// The chain that alerts of the lab are given to.
const CHAIN: &str = "incident";

/// What has to be secret, by the environment variable that the configuration names.
fn secrets(access: &Access) -> [(&'static str, &str); 3] {
    [
        ("LAB_PROXMOX_TOKEN", access.proxmox.token_secret.as_str()),
        ("LAB_KUBERNETES_TOKEN", access.kubernetes.token.as_str()),
        ("LAB_MAIL_PASSWORD", access.mail_gateway.password.as_str()),
    ]
}

/// The lab's credentials.
pub(crate) fn credentials(access: &Access) -> Secrets {
    Secrets::given(secrets(access))
}

/// The same, as lines for a shell.
pub(crate) fn credential_lines(access: &Access) -> String {
    secrets(access)
        .map(|(name, value)| format!("export {name}='{value}'\n"))
        .concat()
}

/// A configuration with the lab in place of other infrastructure.
pub(crate) fn config(access: &Access, base: Config) -> Result<Config, Failure> {
    let mut config = base;
    config.infrastructure = infrastructure(access)?;
    let chain = serde_json::from_value(serde_json::json!({
        "description": "An incident of the lab",
        "alert_types": Incident::ALL.iter().map(|incident| incident.alert()).collect::<Vec<_>>(),
        "stages": [{ "name": "investigate", "agents": [interlock_engine::OPERATOR] }],
    }))
    .map_err(Failure::unsuccessful)?;
    config.chains = BTreeMap::from([(CHAIN.to_owned(), chain)]);
    config.control.level = interlock_protocol::ControlLevel::Controlled;
    Ok(config)
}

fn infrastructure(access: &Access) -> Result<options::Options, Failure> {
    let id = |text: &str| text.parse::<ResourceId>().map_err(Failure::unsuccessful);
    let http = |name: &str, url: &str| options::Http {
        name: name.to_owned(),
        url: url.to_owned(),
        token_env: None,
        user: None,
        password_env: None,
        tls: Tls::default(),
    };
    let docker = access
        .docker
        .iter()
        .map(|engine| {
            Ok(options::Docker {
                name: engine.name.clone(),
                url: engine.url.clone(),
                runs_on: Some(id(&engine.runs_on)?),
            })
        })
        .collect::<Result<Vec<_>, Failure>>()?;
    let proxmox = options::Proxmox {
        name: interlock_lab::CLUSTER.to_owned(),
        url: access.proxmox.url.clone(),
        token_id: Some(access.proxmox.token_id.clone()),
        token_secret_env: Some("LAB_PROXMOX_TOKEN".to_owned()),
        user: None,
        password_env: None,
        tls: Tls {
            fingerprint: Some(access.proxmox.fingerprint.clone()),
            ..Tls::default()
        },
        ssh: Some(options::Ssh {
            user: access.ssh.user.clone(),
            key_file: Some(access.ssh.key_file.clone()),
            password_env: None,
            known_hosts: access.ssh.known_hosts.clone(),
        }),
        ssh_addresses: access.ssh.addresses.clone(),
    };
    Ok(options::Options {
        local: false,
        proxmox: vec![proxmox],
        docker,
        kubernetes: vec![options::Kubernetes {
            name: access.kubernetes.name.clone(),
            kubeconfig: None,
            context: None,
            url: Some(access.kubernetes.url.clone()),
            token_env: Some("LAB_KUBERNETES_TOKEN".to_owned()),
            tls: Tls {
                ca_file: Some(access.kubernetes.ca_file.clone()),
                ..Tls::default()
            },
        }],
        prometheus: vec![http("metrics", &access.prometheus.url)],
        alertmanager: vec![http("alerts", &access.alertmanager.url)],
        mail_gateways: vec![options::MailGateway {
            name: "mail".to_owned(),
            url: access.mail_gateway.url.clone(),
            user: access.mail_gateway.user.clone(),
            password_env: "LAB_MAIL_PASSWORD".to_owned(),
            tls: Tls::default(),
            runs_on: Some(id(&access.mail_gateway.runs_on)?),
        }],
        hosts: Vec::new(),
        tags: BTreeMap::new(),
    })
}

/// Writes a configuration and a file with the credentials for a shell; only their owner may read them.
pub(crate) fn write(access: &Access, folder: &Path) -> Result<(), Failure> {
    let config = config(access, Config::default())?;
    // A store of its own: what was recorded and approved in the lab never meets other infrastructure.
    let store = format!("sqlite:{}", folder.join("interlock.db").display());
    let document = serde_json::json!({
        "store": store,
        "infrastructure": config.infrastructure,
        "chains": config.chains,
        "control": { "level": config.control.level },
    });
    // JSON is YAML, and says the same to both.
    let text = format!(
        "# Connects Interlock to the lab. Add your model under `models`.\n{}\n",
        serde_json::to_string_pretty(&document).map_err(Failure::unsuccessful)?
    );
    private(&folder.join("interlock.yaml"), &text)?;
    private(&folder.join("credentials.sh"), &credential_lines(access))
}

/// Writes a file that only its owner may read.
pub(crate) fn private(path: &Path, text: &str) -> Result<(), Failure> {
    use std::io::Write as _;
    use std::os::unix::fs::OpenOptionsExt as _;
    // One that is there may be readable for others, or lead elsewhere.
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
        Ok(()) | Err(_) => {}
    }
    let mut file = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    file.write_all(text.as_bytes())?;
    Ok(())
}
