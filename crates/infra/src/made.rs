//! Connectors over several configurations: one whose options and files did not change stays as it is, with its open
//! connections and everything that was found out through it.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use interlock_protocol::ContentHash;

use crate::Error;
use crate::options::{Docker, Host, Http, Kubernetes, MailGateway, Proxmox, Ssh, Tls};

/// A number that nothing else in this process has, with room for as many behind it as a connector makes connections.
pub(crate) fn number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed) << 32
}

/// What files held when they were last read. What cannot be read holds nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FileContents(Vec<(PathBuf, Option<ContentHash>)>);

impl FileContents {
    /// What these files hold now.
    pub fn of<'p>(paths: impl IntoIterator<Item = &'p PathBuf>) -> Self {
        let hash = |path: &PathBuf| {
            let regular = path.metadata().is_ok_and(|data| data.is_file());
            regular.then(|| std::fs::read(path).ok()).flatten()
        };
        Self(
            paths
                .into_iter()
                .map(|path| (path.clone(), hash(path).map(ContentHash::of)))
                .collect(),
        )
    }
}

/// Options of a connector that may name files.
pub(crate) trait NamesFiles {
    /// The files: if one of them changes, the connector is made again.
    fn files(&self) -> Vec<&PathBuf>;
}

fn of_ssh(ssh: &Ssh) -> impl Iterator<Item = &PathBuf> {
    ssh.key_file.iter().chain([&ssh.known_hosts])
}

fn of_tls(tls: &Tls) -> impl Iterator<Item = &PathBuf> {
    tls.ca_file.iter()
}

impl NamesFiles for Proxmox {
    fn files(&self) -> Vec<&PathBuf> {
        of_tls(&self.tls)
            .chain(self.ssh.iter().flat_map(of_ssh))
            .collect()
    }
}

impl NamesFiles for Host {
    fn files(&self) -> Vec<&PathBuf> {
        of_ssh(&self.ssh).collect()
    }
}

impl NamesFiles for Docker {
    fn files(&self) -> Vec<&PathBuf> {
        Vec::new()
    }
}

impl NamesFiles for Kubernetes {
    fn files(&self) -> Vec<&PathBuf> {
        of_tls(&self.tls).chain(&self.kubeconfig).collect()
    }
}

impl NamesFiles for Http {
    fn files(&self) -> Vec<&PathBuf> {
        of_tls(&self.tls).collect()
    }
}

impl NamesFiles for MailGateway {
    fn files(&self) -> Vec<&PathBuf> {
        of_tls(&self.tls).collect()
    }
}

/// A connector, and what it was made from.
pub(crate) struct Made<Options, Connector> {
    options: Options,
    files: FileContents,
    /// Which making it was: what is remembered about it is remembered under this number.
    pub(crate) number: u64,
    pub(crate) connector: Connector,
}

/// How many connectors a new configuration kept, made and left behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Connections {
    /// Those that did not change.
    pub kept: usize,
    /// Those that are new or changed.
    pub made: usize,
    /// Those that are gone, or were replaced by a changed one.
    pub closed: usize,
}

/// Connectors for these options: those that were there with the same options and files, and new ones.
pub(crate) fn connect<Options, Connector>(
    options: &[Options],
    before: &[Made<Options, Connector>],
    count: &mut Connections,
    make: impl Fn(&Options) -> Result<Connector, Error>,
) -> Result<Vec<Made<Options, Connector>>, Error>
where
    Options: NamesFiles + Clone + PartialEq,
    Connector: Clone,
{
    let mut kept = 0;
    let all = options
        .iter()
        .map(|options| {
            // Read first: a file that changes in between makes the connector again next time.
            let files = FileContents::of(options.files());
            let same = before
                .iter()
                .find(|made| made.options == *options && made.files == files);
            let (number, connector) = match same {
                Some(same) => {
                    kept += 1;
                    (same.number, same.connector.clone())
                }
                None => (number(), make(options)?),
            };
            Ok(Made {
                options: options.clone(),
                files,
                number,
                connector,
            })
        })
        .collect::<Result<Vec<_>, Error>>()?;
    count.kept += kept;
    count.made += all.len() - kept;
    count.closed += before.len().saturating_sub(kept);
    Ok(all)
}

/// The connectors alone.
pub(crate) fn connectors<Options, Connector: Clone>(made: &[Made<Options, Connector>]) -> Vec<Connector> {
    made.iter().map(|made| made.connector.clone()).collect()
}
