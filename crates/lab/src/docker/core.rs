//! The state of an engine: containers, images, and what is being run in containers.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::docker::container::{Container, Settings};
use crate::docker::event::{Event, Events};
use crate::docker::image::{Reference, find, with_id};
use crate::docker::spec::{ContainerSpec, HostSpec, ImageSpec};
use crate::docker::wire::digest;
use crate::docker::{ContainerView, Error, socket_in};
use crate::machine::{Machine, Machines, Runs, Spec};

const MOST_CONTAINERS: usize = 200;
const MOST_NAME: usize = 128;

/// Locks; what a thread left behind that died holding it is as good as anything, since no lock is held over half a change.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A program that is run in a container for somebody.
#[derive(Debug, Clone, Default)]
pub(super) struct Program {
    pub(super) container: String,
    pub(super) argv: Vec<String>,
    pub(super) env: BTreeMap<String, String>,
    pub(super) folder: Option<String>,
    pub(super) tty: bool,
    pub(super) stdin: bool,
    pub(super) running: bool,
    pub(super) exit_code: Option<i32>,
}

#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) containers: BTreeMap<String, Container>,
    pub(super) images: Vec<ImageSpec>,
    pub(super) execs: BTreeMap<String, Program>,
    pub(super) up: bool,
    /// Counts ids that were made up.
    made: u64,
}

impl State {
    /// Finds a container by id, name or the beginning of its id.
    pub(super) fn find(&self, text: &str) -> Option<&Container> {
        let name = text.trim_start_matches('/');
        self.containers
            .get(text)
            .or_else(|| self.containers.values().find(|one| one.name == name))
            .or_else(|| {
                let mut begins = self
                    .containers
                    .values()
                    .filter(|one| !text.is_empty() && one.id.starts_with(text));
                begins.next().filter(|_| begins.next().is_none())
            })
    }
}

#[derive(Debug)]
pub(super) struct Core {
    pub(super) name: String,
    pub(super) machines: Arc<Machines>,
    pub(super) events: Events,
    pub(super) began: Timestamp,
    pub(super) alive: CancellationToken,
    state: Mutex<State>,
    registry: Vec<ImageSpec>,
    /// The machines that containers of some name get, however often they are recreated.
    templates: BTreeMap<String, Spec>,
    folder: TempDir,
}

impl Core {
    pub(super) fn new(
        machines: Arc<Machines>,
        host: HostSpec,
        alive: CancellationToken,
    ) -> Result<Arc<Self>, Error> {
        let folder = tempfile::Builder::new()
            .prefix("lab-docker-")
            .tempdir()
            .map_err(|cause| Error::Io {
                what: "a folder for the socket".to_owned(),
                cause,
            })?;
        let templates = host
            .containers
            .iter()
            .map(|one| (one.name.clone(), one.machine.clone()))
            .collect();
        let core = Arc::new(Self {
            name: host.name,
            machines,
            events: Events::default(),
            began: Timestamp::now(),
            alive,
            state: Mutex::new(State {
                up: true,
                ..State::default()
            }),
            registry: host.registry.images.into_iter().map(with_id).collect(),
            templates,
            folder,
        });
        core.state().images = host.images.into_iter().map(with_id).collect();
        for container in host.containers {
            let ContainerSpec {
                name,
                image,
                machine: _,
                env,
                ports,
                restart,
                labels,
                volumes,
                health,
            } = container;
            let settings = Settings {
                argv: Vec::new(),
                env,
                labels,
                ports,
                volumes,
                restart,
                health,
                tty: false,
            };
            core.create(Some(&name), &image, settings)?;
        }
        Ok(core)
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    pub(super) fn socket_path(&self) -> PathBuf {
        socket_in(self.folder.path())
    }

    pub(super) fn views(&self) -> Vec<ContainerView> {
        let mut views: Vec<_> = self.state().containers.values().map(Container::view).collect();
        views.sort_by(|one, other| one.name.cmp(&other.name));
        views
    }

    pub(super) fn running_machine(&self, name: &str) -> Option<Machine> {
        self.state()
            .find(name)
            .and_then(|container| container.machine.clone())
    }

    pub(super) fn find(&self, text: &str) -> Result<Container, Error> {
        self.state()
            .find(text)
            .cloned()
            .ok_or_else(|| Error::NoContainer(text.to_owned()))
    }

    /// Changes a container, if it is still there.
    pub(super) fn change<T>(&self, id: &str, change: impl FnOnce(&mut Container) -> T) -> Option<T> {
        self.state().containers.get_mut(id).map(change)
    }

    /// An id that is the same each time the lab runs the same way.
    pub(super) fn make_id(&self, what: &str) -> String {
        let mut state = self.state();
        state.made += 1;
        digest(&[self.name.as_bytes(), what.as_bytes(), &state.made.to_be_bytes()])
    }

    /// Makes a container from an image that the host has. What the settings leave open, the image gives.
    pub(super) fn create(
        &self,
        name: Option<&str>,
        image: &str,
        mut settings: Settings,
    ) -> Result<Container, Error> {
        let found = find(&self.state().images, image)
            .cloned()
            .ok_or_else(|| Error::NoImage(named(image)))?;
        let id = self.make_id(name.unwrap_or_default());
        let name = match name {
            Some(name) => name.trim_start_matches('/').to_owned(),
            None => format!("quiet_{}", id.get(..6).unwrap_or_default()),
        };
        check_name(&name)?;
        let asked = settings.clone();
        if settings.argv.is_empty() {
            settings.argv.clone_from(&found.argv);
        }
        let mut env = found.env.clone();
        env.append(&mut settings.env);
        settings.env = env;
        let spec = self.machine_of(&name, &id, &found, &settings);
        let container = Container::new(id, name, (image.to_owned(), found.id), (asked, settings), spec);
        let mut state = self.state();
        if state.containers.len() >= MOST_CONTAINERS {
            return Err(Error::Invalid(format!(
                "this host has {MOST_CONTAINERS} containers already"
            )));
        }
        if let Some(other) = state.containers.values().find(|one| one.name == container.name) {
            return Err(Error::Conflict(format!(
                "Conflict. The container name \"/{}\" is already in use by container \"{}\". You have to remove (or rename) that container to be able to reuse that name.",
                container.name, other.id
            )));
        }
        state.containers.insert(container.id.clone(), container.clone());
        drop(state);
        self.tell(&container, "create");
        Ok(container)
    }

    fn machine_of(&self, name: &str, id: &str, image: &ImageSpec, settings: &Settings) -> Spec {
        let template = self.templates.get(name);
        let mut spec = template.cloned().unwrap_or_default();
        // A disk is kept under its machine's name, and a new container has a new disk.
        let base = if spec.name.is_empty() {
            format!("{}-{name}", self.name)
        } else {
            spec.name.clone()
        };
        // Paths of sockets are short, and a machine's name is in some of them.
        let base: String = base.chars().take(40).collect();
        spec.name = format!("{base}-{}", id.get(..6).unwrap_or_default());
        if spec.disk_bytes == 0 {
            spec.disk_bytes = 64 << 20;
        }
        // An image's own files win over those of the template with the same path: that is what another image changes.
        spec.files
            .retain(|file| !image.files.iter().any(|own| own.path == file.path));
        spec.files.extend(image.files.iter().cloned());
        spec.env.extend(settings.env.clone());
        spec.runs = Runs::Program(settings.argv.clone());
        spec
    }

    /// Gets an image from the registry. The answer says whether it was there already.
    pub(super) fn pull(&self, image: &str) -> Result<(ImageSpec, bool), Error> {
        let reference = Reference::parse(image);
        let found = self.offered(image);
        let mut state = self.state();
        let have = state.images.iter().find(|one| reference.names(one)).cloned();
        match (found, have) {
            (None, None) => Err(Error::NoImage(format!(
                "{}:{}",
                reference.repository, reference.tag
            ))),
            (None, Some(have)) => Ok((have, true)),
            (Some(found), Some(have)) if found.id == have.id => Ok((have, true)),
            (Some(found), _) => {
                state.images.retain(|one| !reference.names(one));
                state.images.push(found.clone());
                drop(state);
                let attributes = BTreeMap::from([("name".to_owned(), found.reference())]);
                self.tell_of("image", "pull", &found.reference(), attributes);
                Ok((found, false))
            }
        }
    }

    /// An image that can be pulled.
    pub(super) fn offered(&self, image: &str) -> Option<ImageSpec> {
        let reference = Reference::parse(image);
        self.registry.iter().find(|one| reference.names(one)).cloned()
    }

    pub(super) fn tell(&self, container: &Container, action: &str) {
        let mut attributes = container.settings.labels.clone();
        attributes.insert("image".to_owned(), container.image.clone());
        attributes.insert("name".to_owned(), container.name.clone());
        if action == "die" {
            attributes.insert("exitCode".to_owned(), container.exit_code.to_string());
        }
        self.tell_of("container", action, &container.id, attributes);
    }

    pub(super) fn tell_of(
        &self,
        kind: &'static str,
        action: &str,
        id: &str,
        attributes: BTreeMap<String, String>,
    ) {
        let (action, id) = (action.to_owned(), id.to_owned());
        self.events.tell(Event {
            kind,
            action,
            id,
            attributes,
            at: Timestamp::now(),
        });
    }
}

fn named(image: &str) -> String {
    let reference = Reference::parse(image);
    format!("{}:{}", reference.repository, reference.tag)
}

pub(super) fn check_name(name: &str) -> Result<(), Error> {
    let fine = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
    let begins_well = name
        .bytes()
        .next()
        .is_some_and(|byte| byte.is_ascii_alphanumeric());
    if begins_well && name.len() >= 2 && name.len() <= MOST_NAME && name.bytes().all(fine) {
        return Ok(());
    }
    Err(Error::Invalid(format!(
        "Invalid container name ({name}), only [a-zA-Z0-9][a-zA-Z0-9_.-] are allowed"
    )))
}
