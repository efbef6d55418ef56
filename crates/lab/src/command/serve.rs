//! `interlock lab serve`: the lab until it is interrupted.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use console::Style;
use interlock_lab::{Access, Isolation, Lab, Options, Wish, write_private};
use serde::Serialize;
use tokio::signal::unix::{SignalKind, signal};

use super::{ACCESS_FILE, Failure, Globals, connect, folder_of_user};

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

    /// Where keys, sockets and the configuration are put; left out, a folder in the user's data folder. Only a lab there is
    /// found by `inject`, `clear` and `verdict`
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,

    /// End when standard input ends, and print everything as one line of JSON: for a program that starts the lab
    #[arg(long)]
    until_input_ends: bool,
}

/// A speed that makes sense.
fn speed(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|speed: &f64| (0.01..=1000.0).contains(speed))
        .ok_or_else(|| "a number between 0.01 and 1000".to_owned())
}

#[derive(Serialize)]
struct Served<'a> {
    folder: &'a Path,
    /// The credentials, by the environment variables that the configuration names.
    environment: BTreeMap<&'static str, &'a str>,
    /// What people should know about how machines are kept apart.
    warning: Option<String>,
    #[serde(flatten)]
    access: &'a Access,
}

pub(super) async fn run(globals: &Globals, serve: &Serve) -> Result<ExitCode, Failure> {
    let folder = match &serve.folder {
        Some(folder) => std::path::absolute(folder)?,
        None => folder_of_user(),
    };
    std::fs::create_dir_all(&folder).map_err(|error| {
        Failure::Wrong(format!(
            "the folder `{}` cannot be made: {error}; name another one with --folder",
            folder.display()
        ))
    })?;
    let quiet = serve.until_input_ends;
    let ended = Ended::new(quiet)?;
    if !quiet {
        globals.tell("starting the lab");
    }
    let lab = Lab::start(Options {
        program: std::env::current_exe()?,
        folder: folder.clone(),
        speed: serve.speed,
        port: serve.port,
        isolation: if serve.folders { Wish::Folders } else { Wish::Best },
    })
    .await
    .map_err(Failure::unsuccessful)?;
    let access = lab.access();
    let access_file = folder.join(ACCESS_FILE);
    let text = serde_json::to_string_pretty(access).map_err(Failure::unsuccessful)?;
    write_private(&access_file, &text).map_err(Failure::unsuccessful)?;
    connect::write(access, &folder)?;
    let served = Served {
        folder: &folder,
        environment: connect::credentials(access),
        warning: warning(&access.isolation),
        access,
    };
    if quiet {
        let line = serde_json::to_string(&served).map_err(Failure::unsuccessful)?;
        let mut out = io::stdout().lock();
        writeln!(out, "{line}")?;
        out.flush()?;
    } else {
        globals.print(&served, |globals| people(&served, globals))?;
    }
    ended.wait().await;
    if !quiet {
        globals.tell("stopping the lab");
    }
    // What is gone already need not be removed.
    let _ = std::fs::remove_file(access_file);
    lab.stop().await;
    Ok(ExitCode::SUCCESS)
}

/// What ends the lab.
enum Ended {
    /// Ctrl-C, or a polite request of the system.
    Signals(tokio::signal::unix::Signal, tokio::signal::unix::Signal),
    /// Whoever started it closes its standard input, or is gone.
    Input(tokio::sync::oneshot::Receiver<()>),
}

impl Ended {
    fn new(by_input: bool) -> io::Result<Self> {
        if by_input {
            let (sender, receiver) = tokio::sync::oneshot::channel();
            std::thread::spawn(move || {
                // An input that cannot be read has ended too.
                let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
                let _ = sender.send(());
            });
            return Ok(Self::Input(receiver));
        }
        Ok(Self::Signals(
            signal(SignalKind::interrupt())?,
            signal(SignalKind::terminate())?,
        ))
    }

    async fn wait(self) {
        match self {
            Self::Signals(mut interrupt, mut terminate) => {
                tokio::select! {
                    _ = interrupt.recv() => {}
                    _ = terminate.recv() => {}
                }
            }
            Self::Input(receiver) => {
                // A sender that is gone says the same.
                let _ = receiver.await;
            }
        }
    }
}

/// What people read about how machines are kept apart, where that is not as it should be.
fn warning(isolation: &Isolation) -> Option<String> {
    match isolation {
        Isolation::Namespaces => None,
        Isolation::Folders { why } => Some(format!(
            "this system does not allow namespaces ({why}): guests are plain folders, and only the lab's own programs run in \
             them (systemctl, journalctl, pct, qm, docker). Commands that a model writes are refused, because they would \
             read your own files"
        )),
    }
}

fn people(served: &Served<'_>, globals: &Globals) -> String {
    let access = served.access;
    let mut text = String::new();
    let mut line = |name: &str, value: &str| {
        text.push_str(&globals.style(Style::new().bold(), &format!("{name:<14}")));
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
    line("Folder", &served.folder.display().to_string());
    if let Some(warning) = &served.warning {
        line("Note", warning);
    }
    text.push_str(
        "\nBreak something with `interlock lab inject NAME`, from another terminal. Ctrl-C ends the lab.\n",
    );
    text
}
