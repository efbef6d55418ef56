//! The client of Proxmox VE against a server that says what Proxmox says, and what it should not.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails where it likes")]

#[path = "../support/raw.rs"]
mod raw;
mod reads;
mod refusals;
#[path = "../links/stage.rs"]
mod stage;
mod tls;

use interlock_infra::Secrets;
use interlock_infra::options::{Proxmox as Settings, Tls};
use interlock_infra::proxmox::{Guest, GuestKind, Proxmox};

const SECRET: &str = "b1946ac9-2ad2-4c5e-9fdb-1c2d3e4f5a6b";

fn settings(url: &str) -> Settings {
    Settings {
        name: "home".to_owned(),
        url: url.to_owned(),
        token_id: Some("interlock@pve!agent".to_owned()),
        token_secret_env: Some("PVE_SECRET".to_owned()),
        user: None,
        password_env: None,
        tls: Tls::default(),
        ssh: None,
        ssh_addresses: std::collections::BTreeMap::new(),
    }
}

fn with_password(url: &str) -> Settings {
    Settings {
        token_id: None,
        token_secret_env: None,
        user: Some("root@pam".to_owned()),
        password_env: Some("PVE_SECRET".to_owned()),
        ..settings(url)
    }
}

fn client(settings: &Settings) -> Proxmox {
    Proxmox::new(settings, &Secrets::given([("PVE_SECRET", SECRET)])).unwrap()
}

fn jellyfin() -> Guest {
    Guest {
        kind: GuestKind::Lxc,
        node: "delly".to_owned(),
        vmid: 141,
    }
}
