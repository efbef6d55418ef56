//! Keeps the graph: asks all sources at once, each within its time, and remembers what a failing one knew.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use jiff::Timestamp;

use crate::{Error, Graph, Health, Resource, Source};

/// How long one source may take.
const SOURCE_TIME: Duration = Duration::from_secs(10);

#[derive(Default)]
pub(crate) struct Keeper {
    last: Mutex<Option<Taken>>,
    /// Held while sources are asked: one at a time, and everyone who waits shares the answer.
    asking: Arc<tokio::sync::Mutex<Memory>>,
}

/// A source, and the number under which it is remembered. A source that was made again has another one.
pub(crate) struct Numbered {
    pub(crate) number: u64,
    pub(crate) source: Arc<dyn Source>,
}

#[derive(Clone)]
struct Taken {
    began: Instant,
    graph: Arc<Graph>,
}

/// What each source knew when it last answered, by its number.
type Memory = BTreeMap<u64, Known>;

struct Known {
    resources: Vec<Resource>,
    at: Timestamp,
}

impl Keeper {
    /// For other sources: what those of them knew that were there before is remembered.
    pub(crate) fn for_other_sources(&self) -> Self {
        Self {
            last: Mutex::default(),
            asking: Arc::clone(&self.asking),
        }
    }

    pub(crate) async fn graph(&self, sources: &[Numbered], not_older: Duration) -> Arc<Graph> {
        let asked = Instant::now();
        if let Some(graph) = self.fresh(asked, not_older) {
            return graph;
        }
        let mut memory = self.asking.lock().await;
        // Someone else may have asked while this one waited.
        if let Some(graph) = self.fresh(asked, not_older) {
            return graph;
        }
        let began = Instant::now();
        let graph = Arc::new(ask(sources, &mut memory).await);
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(Taken {
            began,
            graph: Arc::clone(&graph),
        });
        graph
    }

    /// What was taken after this was asked, or is not too old for it.
    fn fresh(&self, asked: Instant, not_older: Duration) -> Option<Arc<Graph>> {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.as_ref()
            .filter(|taken| taken.began >= asked || asked - taken.began < not_older)
            .map(|taken| Arc::clone(&taken.graph))
    }
}

async fn ask(sources: &[Numbered], memory: &mut Memory) -> Graph {
    memory.retain(|number, _| sources.iter().any(|source| source.number == *number));
    let taken_at = Timestamp::now();
    let answers = join_all(sources.iter().map(|source| within_time(source.source.as_ref()))).await;
    let mut resources = Vec::new();
    let mut health = Vec::new();
    for (Numbered { number, source }, answer) in sources.iter().zip(answers) {
        let (known, problem) = match answer {
            Ok(found) => {
                memory.insert(
                    *number,
                    Known {
                        resources: found.clone(),
                        at: taken_at,
                    },
                );
                (found, None)
            }
            Err(error) => {
                tracing::warn!(connection = source.connection(), %error, "a source does not answer");
                let known = memory.get(number).map(stale).unwrap_or_default();
                (known, Some(error.to_string()))
            }
        };
        health.push(Health {
            connection: source.connection().to_owned(),
            kind: source.kind(),
            problem,
            resources: known.len(),
        });
        resources.extend(known);
    }
    Graph::new(resources, health, taken_at)
}

async fn within_time(source: &dyn Source) -> Result<Vec<Resource>, Error> {
    tokio::time::timeout(SOURCE_TIME, source.discover())
        .await
        .unwrap_or_else(|_| {
            Err(Error::TimedOut {
                connection: source.connection().to_owned(),
                seconds: SOURCE_TIME.as_secs(),
            })
        })
}

/// What a source knew, marked as no longer certain.
fn stale(known: &Known) -> Vec<Resource> {
    let mut resources = known.resources.clone();
    for resource in &mut resources {
        resource
            .facts
            .insert("stale_since".to_owned(), known.at.to_string().into());
    }
    resources
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    use super::*;
    use crate::BoxFuture;

    struct Fake {
        works: AtomicBool,
        asked: AtomicUsize,
    }

    impl Source for Fake {
        fn connection(&self) -> &'static str {
            "fake"
        }

        fn kind(&self) -> &'static str {
            "test"
        }

        fn discover(&self) -> BoxFuture<'_, Result<Vec<Resource>, Error>> {
            Box::pin(async {
                self.asked.fetch_add(1, Ordering::SeqCst);
                tokio::task::yield_now().await;
                if !self.works.load(Ordering::SeqCst) {
                    return Err(Error::Cancelled);
                }
                Ok(vec![Resource {
                    id: "node:delly".parse().unwrap(),
                    name: "delly".to_owned(),
                    aliases: Vec::new(),
                    parent: None,
                    state: Some("online".to_owned()),
                    identity: interlock_protocol::Identity::default(),
                    source: "fake".to_owned(),
                    facts: serde_json::Map::new(),
                }])
            })
        }
    }

    fn fake() -> (Arc<Fake>, Vec<Numbered>) {
        let fake = Arc::new(Fake {
            works: AtomicBool::new(true),
            asked: AtomicUsize::new(0),
        });
        let source = Arc::clone(&fake) as Arc<dyn Source>;
        let sources = vec![Numbered { number: 1, source }];
        (fake, sources)
    }

    #[tokio::test]
    async fn what_is_fresh_enough_is_not_asked_again() {
        let (fake, sources) = fake();
        let keeper = Keeper::default();
        let first = keeper.graph(&sources, Duration::ZERO).await;
        let second = keeper.graph(&sources, Duration::from_mins(1)).await;
        assert!(Arc::ptr_eq(&first, &second));
        keeper.graph(&sources, Duration::ZERO).await;
        assert_eq!(fake.asked.load(Ordering::SeqCst), 2);
    }

    #[tokio::test]
    async fn those_who_ask_at_once_share_an_answer() {
        let (fake, sources) = fake();
        let keeper = Keeper::default();
        join_all((0..10).map(|_| keeper.graph(&sources, Duration::ZERO))).await;
        assert!(fake.asked.load(Ordering::SeqCst) <= 2);
    }

    #[tokio::test]
    async fn what_is_remembered_belongs_to_one_making_of_a_source() {
        let (fake, mut sources) = fake();
        let keeper = Keeper::default();
        keeper.graph(&sources, Duration::ZERO).await;
        fake.works.store(false, Ordering::SeqCst);
        let kept = keeper.for_other_sources();
        assert_eq!(kept.graph(&sources, Duration::ZERO).await.resources().len(), 1);
        sources[0].number = 2;
        let made_again = kept.for_other_sources();
        assert_eq!(
            made_again.graph(&sources, Duration::ZERO).await.resources().len(),
            0
        );
    }

    #[tokio::test]
    async fn what_a_failing_source_knew_stays_and_is_marked() {
        let (fake, sources) = fake();
        let keeper = Keeper::default();
        keeper.graph(&sources, Duration::ZERO).await;
        fake.works.store(false, Ordering::SeqCst);
        let graph = keeper.graph(&sources, Duration::ZERO).await;
        assert!(graph.resources()[0].facts.contains_key("stale_since"));
        assert!(graph.health()[0].problem.is_some());
        fake.works.store(true, Ordering::SeqCst);
        let graph = keeper.graph(&sources, Duration::ZERO).await;
        assert!(!graph.resources()[0].facts.contains_key("stale_since"));
        assert_eq!(graph.health()[0].problem, None);
    }
}
