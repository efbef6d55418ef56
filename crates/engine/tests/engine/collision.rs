//! The collision of two turns: what was asked and done before is history, and what is asked now is the instruction.

use interlock_dialect::Dialect;
use interlock_protocol::Status;
use serde_json::Value;

use crate::fixture::{Lab, Wish, asker};

const NATIVE: &str = r#"
replies:
  - calls: [{tool: infra_query, arguments: {action: list}}]
  - calls: [{tool: infra_read, arguments: {action: exec, target_resource_id: "host:web", command: "ls ."}}]
  - text: "Here are the files."
  - text: "I cannot create files in this mode."
"#;

const FENCED: &str = r#"
replies:
  - when: {contains: "list files"}
    raw: "```json\n{\"tool_name\":\"infra_query\",\"arguments\":{\"action\":\"list\"}}\n```"
  - when: {contains: "resources"}
    raw: "```json\n{\"tool_name\":\"infra_read\",\"arguments\":{\"action\":\"exec\",\"target_resource_id\":\"host:web\",\"command\":\"ls .\"}}\n```"
  - when: {contains: "output of ls"}
    raw: "Here are the files."
  - when: {contains: "create a file"}
    raw: "I cannot create files in this mode."
"#;

fn messages(body: &Value) -> Vec<(String, String)> {
    body["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| {
            (
                message["role"].as_str().unwrap_or_default().to_owned(),
                message["text"].as_str().unwrap_or_default().to_owned(),
            )
        })
        .collect()
}

#[tokio::test]
async fn the_second_turn_sees_the_first_as_history_and_its_own_instruction_last() {
    for (script, dialect) in [(NATIVE, Dialect::Native), (FENCED, Dialect::Fenced)] {
        let mut wish = Wish::script(script);
        wish.dialect = Some(dialect);
        let lab = Lab::new(wish);
        let (session, first) = lab.ask("list files in .").await;
        assert_eq!(first.status, Status::Completed, "{dialect}: {first:?}");
        lab.engine
            .ask_again(&session, &asker(), "create a file foo.txt")
            .await
            .unwrap();
        let second = lab.engine.work_on(&session).await.unwrap();
        assert_eq!(second.status, Status::Completed, "{dialect}: {second:?}");

        let bodies = lab.requests(&session).await;
        let last = messages(bodies.last().unwrap());
        let (role, text) = last.last().unwrap();
        assert_eq!(
            (role.as_str(), text.as_str()),
            ("user", "create a file foo.txt"),
            "{dialect}"
        );
        let users: Vec<&str> = last
            .iter()
            .filter(|(role, _)| role == "user")
            .map(|(_, text)| text.as_str())
            .collect();
        assert_eq!(users, ["list files in .", "create a file foo.txt"], "{dialect}");
        let answers = last
            .iter()
            .filter(|(role, text)| role == "assistant" && text.contains("Here are the files."));
        assert_eq!(
            answers.count(),
            1,
            "{dialect}: the first turn's answer is the assistant's"
        );
        for (role, text) in &last {
            if role == "user" {
                assert!(
                    !text.contains("output of ls"),
                    "{dialect}: a tool's output came back as a person's words"
                );
            }
        }
        lab.prove(&session).await;
    }
}
