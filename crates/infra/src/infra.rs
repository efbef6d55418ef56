//! Every connection, and the graph of what they know.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::{Error, Graph, Options, Secrets, Source};

/// Everything that Interlock is connected to. Cheap to clone.
#[derive(Clone)]
pub struct Infra {
    inner: Arc<Inner>,
}

struct Inner {
    sources: Vec<Arc<dyn Source>>,
}

impl fmt::Debug for Infra {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(self.inner.sources.iter().map(|source| source.connection()))
            .finish()
    }
}

impl Infra {
    /// Prepares every connection; nothing is reached yet. `further` are sources of other rooms, such as this machine.
    pub fn new(_options: &Options, _secrets: &Secrets, further: Vec<Arc<dyn Source>>) -> Result<Self, Error> {
        Ok(Self {
            inner: Arc::new(Inner { sources: further }),
        })
    }

    /// What all connections know, not older than this.
    pub async fn graph(&self, _not_older: Duration) -> Arc<Graph> {
        Arc::new(Graph::default())
    }
}
