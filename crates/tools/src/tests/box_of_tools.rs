//! The toolbox: finds, lists, bounds and contains.

use std::sync::Arc;

use interlock_executor::{Filter, Toolbox};
use interlock_gate::Started;
use interlock_protocol::{CategoryName, ErrorCode, Mode, Outcome, ToolName};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::stage::Stage;
use crate::{BoxFuture, Done, Error, Executor, Options};

enum Bad {
    Panics,
    PanicsAtOnce,
    NeverEnds,
}

impl Executor for Bad {
    fn run<'a>(&'a self, _: &'a Started, _: &'a CancellationToken) -> BoxFuture<'a, Done> {
        match self {
            Self::Panics => Box::pin(async { panic!("in the future") }),
            Self::PanicsAtOnce => panic!("before the future"),
            Self::NeverEnds => Box::pin(std::future::pending()),
        }
    }
}

fn name(text: &str) -> ToolName {
    ToolName::new(text).unwrap()
}

fn bad(executor: Bad) -> Toolbox {
    Toolbox::builder()
        .register(name("infra_query"), Arc::new(executor))
        .unwrap()
        .build()
}

async fn run(toolbox: &Toolbox, cancel: &CancellationToken) -> Done {
    let mut stage = Stage::new();
    let started = stage.begin("infra_query", json!({"action": "search"}));
    toolbox.run(&started, cancel).await
}

#[tokio::test]
async fn a_panic_is_a_failed_call() {
    for executor in [Bad::Panics, Bad::PanicsAtOnce] {
        let done = run(&bad(executor), &CancellationToken::new()).await;
        assert_eq!(done.outcome, Outcome::Failed);
        assert_eq!(done.response.error().unwrap().code, ErrorCode::ExecutionFailed);
    }
}

#[tokio::test(start_paused = true)]
async fn what_never_ends_is_ended() {
    let done = run(&bad(Bad::NeverEnds), &CancellationToken::new()).await;
    assert_eq!(done.outcome, Outcome::TimedOut);
    assert_eq!(done.response.error().unwrap().code, ErrorCode::Timeout);
    let cancel = CancellationToken::new();
    cancel.cancel();
    let done = run(&bad(Bad::NeverEnds), &cancel).await;
    assert_eq!(done.outcome, Outcome::Cancelled);
}

#[tokio::test]
async fn a_tool_that_nothing_runs_is_not_found() {
    let done = run(&Toolbox::builder().build(), &CancellationToken::new()).await;
    assert_eq!(done.response.error().unwrap().code, ErrorCode::NotFound);
}

#[test]
fn a_tool_has_one_executor() {
    let stage = Stage::new();
    let twice = stage
        .host
        .register(Toolbox::builder())
        .and_then(|builder| stage.host.register(builder));
    assert_eq!(twice.unwrap_err(), Error::Duplicate(name("infra_query")));
}

#[test]
fn tools_are_listed_by_mode_and_category() {
    let stage = Stage::new();
    let listed = |filter: Filter| -> Vec<&str> {
        stage
            .toolbox
            .list(stage.gate.catalogue(), &filter)
            .iter()
            .map(|tool| tool.name.as_str())
            .collect()
    };
    let all = listed(Filter::default());
    assert_eq!(
        all,
        stage.toolbox.names().map(ToolName::as_str).collect::<Vec<_>>()
    );
    assert!(stage.toolbox.has(&name("infra_read")) && !stage.toolbox.has(&name("infra_mail")));
    let writes = listed(Filter {
        category: Some(CategoryName::new("system_write").unwrap()),
        mode: None,
    });
    assert_eq!(
        writes,
        ["delete_file", "infra_control", "infra_file_edit", "write_file"]
    );
    for mode in Mode::ALL {
        let allowed = listed(Filter {
            mode: Some(*mode),
            category: None,
        });
        assert!(allowed.iter().all(|tool| all.contains(tool)));
    }
}

#[test]
fn unknown_options_are_errors() {
    let options: Options = serde_json::from_value(json!({"output_bytes": 10})).unwrap();
    assert_eq!(options.output_bytes.get(), 10);
    assert!(serde_json::from_value::<Options>(json!({"output": 10})).is_err());
    assert!(serde_json::from_value::<Options>(json!({"lines": 0})).is_err());
}
