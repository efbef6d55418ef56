//! What would be if: a host is drained, fails, or is added.

use crate::input::{Cluster, Error, HostSpec, HostState, Problem};

/// A change to try.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// The host goes into maintenance: its guests are migrated away.
    Drain(String),
    /// The host fails: its guests are started elsewhere.
    Fail(String),
    /// A host is added.
    Add(Box<HostSpec>),
}

impl Cluster {
    /// This cluster after some changes.
    pub fn what_if(&self, changes: &[Change]) -> Result<Self, Error> {
        let mut spec = self.spec().clone();
        let mut problems = Vec::new();
        for change in changes {
            let (name, state) = match change {
                Change::Drain(name) => (name, HostState::Maintenance),
                Change::Fail(name) => (name, HostState::Down),
                Change::Add(host) => {
                    spec.hosts.push(HostSpec::clone(host));
                    continue;
                }
            };
            let known = spec
                .hosts
                .iter()
                .map(|h| h.name.as_str())
                .collect::<Vec<_>>()
                .join(", ");
            match spec.hosts.iter_mut().find(|h| h.name == *name) {
                Some(host) => host.state = state,
                None => problems.push(Problem::NoSuchHost {
                    host: name.clone(),
                    known,
                }),
            }
        }
        if problems.is_empty() {
            Self::new(spec)
        } else {
            Err(Error::Invalid(problems))
        }
    }
}
