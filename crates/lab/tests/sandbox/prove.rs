//! The second wall alone: every command is run as if the analysis had called it a read, and no file of the guest changes.
//!
//! Only in namespaces without a network and without devices, never in the fallback without them.

use std::time::Duration;

use futures_util::StreamExt as _;
use interlock_protocol::WallKind;

use super::examples::refused;
use super::hold::SNAPSHOT;
use super::stage::{NO_BWRAP, Stage, WHOLE};

/// How many examples are run: every n-th, from a fixed place. All of them where this is set.
const ALL: &str = "INTERLOCK_ALL_EXAMPLES";
const SAMPLE: usize = 60;
const AT_ONCE: usize = 6;
const WALL: Duration = Duration::from_secs(2);

#[tokio::test]
async fn no_command_that_must_be_refused_changes_a_guest_from_inside_the_sandbox() {
    let Some(stage) = Stage::set().await else { return };
    let examples = refused();
    let step = if std::env::var_os(ALL).is_some() {
        1
    } else {
        examples.len().div_ceil(SAMPLE)
    };
    for (resource, kind) in [(WHOLE, WallKind::Bubblewrap), (NO_BWRAP, WallKind::Unshare)] {
        let before = stage.outside(resource, SNAPSHOT).await;
        assert!(before.contains("/srv/data/one"), "{before}");
        let stage = &stage;
        let commands: Vec<&String> = examples.iter().step_by(step).collect();
        let ran = futures_util::stream::iter(&commands)
            .map(|command| async move {
                let output = stage.read(resource, command, &[], WALL).await;
                let wall = output.as_ref().ok().and_then(|output| output.sandbox.clone());
                assert!(
                    wall.is_some_and(|wall| wall.is_enforced()),
                    "{kind:?} {command}: {output:?}"
                );
            })
            .buffer_unordered(AT_ONCE)
            .count()
            .await;
        eprintln!("{kind:?}: {ran} of {} examples ran", examples.len());
        let after = stage.outside(resource, SNAPSHOT).await;
        assert_eq!(after, before, "{kind:?}: a file changed");
        assert_eq!(stage.outside(resource, "echo there").await, "there\n");
    }
}
