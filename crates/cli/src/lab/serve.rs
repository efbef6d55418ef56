//! `interlock lab serve`: the lab until it is interrupted.

use std::path::{Path, PathBuf};

use clap::Args;
use interlock_lab::{Access, Isolation, Lab, Options, Wish};
use serde::Serialize;

use super::connect;
use crate::Ending;
use crate::drive::Interrupt;
use crate::failure::Failure;
use crate::globals::Globals;
use crate::settings::Folders;
use crate::terminal::{Paint, Tone};

/// Run the lab until it is interrupted, and print its addresses and credentials.
#[derive(Args)]
#[command(after_help = "\
Examples:
  interlock lab serve
  interlock lab serve --port 8006 --json > lab.json

Everything listens on loopback only, with credentials that are made up at each start. The folder that is printed has a
configuration for Interlock and the credentials for a shell:

  . FOLDER/credentials.sh
  interlock --config FOLDER/interlock.yaml tools
")]
pub(super) struct Serve {
    /// The port of the Proxmox API; left out, a free one. Everything else has free ports, which are printed
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,

    /// How much faster than a real cluster its tasks are
    #[arg(long, value_name = "X", default_value_t = 1.0, value_parser = speed)]
    speed: f64,

    /// Plain folders and a restricted set of programs, even where namespaces are to be had
    #[arg(long)]
    folders: bool,
}

/// A speed that makes sense.
pub(crate) fn speed(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|speed: &f64| (0.01..=1000.0).contains(speed))
        .ok_or_else(|| "a number between 0.01 and 1000".to_owned())
}

/// Where the running lab of this user is written down.
pub(super) fn access_file() -> PathBuf {
    Folders::of_user().data.join("lab").join("access.json")
}

#[derive(Serialize)]
struct Served<'a> {
    folder: &'a Path,
    #[serde(flatten)]
    access: &'a Access,
}

/// How to start the lab from this binary.
pub(crate) fn options(folder: PathBuf, speed: f64) -> Result<Options, Failure> {
    Ok(Options {
        program: std::env::current_exe()?,
        folder,
        speed,
        port: None,
        isolation: Wish::Best,
    })
}

pub(super) async fn run(globals: &Globals, serve: &Serve) -> Result<Ending, Failure> {
    let mut interrupt = Interrupt::new()?;
    let folder = access_file()
        .parent()
        .map(Path::to_owned)
        .ok_or_else(|| Failure::unsuccessful("there is no folder for data"))?;
    std::fs::create_dir_all(&folder)?;
    let options = Options {
        port: serve.port,
        isolation: if serve.folders { Wish::Folders } else { Wish::Best },
        ..options(folder.clone(), serve.speed)?
    };
    globals.say("starting the lab");
    let lab = Lab::start(options).await.map_err(Failure::unsuccessful)?;
    let access = lab.access();
    let text = serde_json::to_string_pretty(access).map_err(Failure::unsuccessful)?;
    connect::private(&access_file(), &text)?;
    connect::write(access, &folder)?;
    let served = Served {
        folder: &folder,
        access,
    };
    globals.print(&served, |paint| people(&folder, access, paint))?;
    interrupt.recv().await;
    globals.say("stopping the lab");
    // What is gone already need not be removed.
    let _ = std::fs::remove_file(access_file());
    lab.stop().await;
    Ok(Ending::Done)
}

/// What people read about how machines are kept apart, where that is not as it should be.
pub(crate) fn warning(isolation: &Isolation) -> Option<String> {
    match isolation {
        Isolation::Namespaces => None,
        Isolation::Folders { why } => Some(format!(
            "this system does not allow namespaces ({why}): guests are plain folders, and only the lab's own programs run in \
             them (systemctl, journalctl, pct, qm, docker). Commands that a model writes are refused, because they would \
             read your own files"
        )),
    }
}

fn people(folder: &Path, access: &Access, paint: Paint) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: &str| {
        text.push_str(&paint.paint(Tone::Strong, &format!("{name:<14}")));
        text.push_str(value);
        text.push('\n');
    };
    let proxmox = &access.proxmox;
    line("Proxmox VE", &format!("{}/api2/json", proxmox.url));
    line(
        "",
        &format!("token {}={}", proxmox.token_id, proxmox.token_secret),
    );
    line(
        "",
        &format!("user {} password {}", proxmox.user, proxmox.password),
    );
    for (node, address) in &access.ssh.addresses {
        let (host, port) = address.rsplit_once(':').unwrap_or((address, "22"));
        line(
            &format!("SSH {node}"),
            &format!(
                "ssh -p {port} -i {} -o UserKnownHostsFile={} {}@{host}",
                access.ssh.key_file.display(),
                access.ssh.known_hosts.display(),
                access.ssh.user
            ),
        );
    }
    for engine in &access.docker {
        line(
            "Docker",
            &format!("{} ({}, in {})", engine.url, engine.name, engine.runs_on),
        );
    }
    line(
        "Kubernetes",
        &format!("kubectl --kubeconfig {}", access.kubernetes.kubeconfig.display()),
    );
    line("Prometheus", &access.prometheus.url);
    line("Alertmanager", &access.alertmanager.url);
    let mail = &access.mail_gateway;
    line(
        "Mail Gateway",
        &format!("{} user {} password {}", mail.url, mail.user, mail.password),
    );
    line("Folder", &folder.display().to_string());
    if let Some(warning) = warning(&access.isolation) {
        line("Note", &warning);
    }
    text.push_str(
        "\nBreak something with `interlock lab inject NAME`, from another terminal. Ctrl-C ends the lab.\n",
    );
    text
}
