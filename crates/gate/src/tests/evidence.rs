//! Evidence: what a model wrote itself backs nothing, and a fact counts for the resource that it was read of.

use interlock_protocol::{Evidence, RunState, Source, Support, UnitActivity, Verification};
use serde_json::{Value, json};

use super::fixture::*;
use crate::*;

/// A reading of this resource, by a call with these arguments.
fn called(stage: &mut Stage, resource: Option<&str>, arguments: Value, data: Value) -> Evidence {
    let Value::Object(arguments) = arguments else {
        panic!("arguments are an object")
    };
    Evidence {
        source: Some(Source::Call { arguments }),
        ..stage.evidence(resource.map(id), Vec::new(), data)
    }
}

fn ran(stage: &mut Stage, resource: &str, command: &str, stdout: &str) -> Evidence {
    called(
        stage,
        Some(resource),
        exec(resource, command),
        json!({ "stdout": stdout, "exit_code": 0 }),
    )
}

fn released(stage: &mut Stage, text: &str, evidence: &[&Evidence]) -> Answer {
    match stage.answer(text, evidence) {
        AnswerDecision::Release(answer) => *answer,
        AnswerDecision::Block(refusal) => panic!("{text}: {refusal:?}"),
    }
}

/// What of an answer is marked as shown.
fn marked(answer: &Answer) -> Vec<&str> {
    let shown = answer.spans.iter().filter(|span| !span.evidence.is_empty());
    shown.map(|span| &answer.text[span.at.clone()]).collect()
}

#[test]
fn what_the_model_wrote_into_its_command_backs_nothing() {
    const OUTPUT: &str = "nginx active";
    let text = "nginx is active on jellyfin.";
    for command in [
        "echo 'nginx active'",
        "printf 'nginx active\\n'",
        "printf '%s %s\\n' nginx active",
        "awk 'BEGIN{print \"nginx active\"}'",
        "jq -n '\"nginx active\"'",
        "cat /dev/null; printf 'nginx active\\n'",
        "cat <<< 'nginx active'",
        "grep . <<< 'nginx active'",
        "uptime; echo 'nginx active'",
        "uptime; echo nginx act\"\"ive",
        "uptime; printf 'nginx acti%s\\n' ve",
        "uptime; rev <<< 'evitca xnign'",
        "uptime | sed 's/.*/nginx active/'",
        "systemctl is-active nginx | sed 's/in//'",
        "systemctl is-active nginx | cut -c3-",
        "cat /etc/hostname; echo nginx:active | tr : ' '",
        "stat -c 'nginx active' /",
        "find / -maxdepth 0 -printf 'nginx active\\n'",
    ] {
        let mut stage = Stage::discovered();
        let evidence = ran(&mut stage, "lxc:delly:105", command, OUTPUT);
        let answer = released(&mut stage, text, &[&evidence]);
        assert_eq!(marked(&answer), [] as [&str; 0], "{command}");
        assert_ne!(answer.head.support, Some(Support::Matched), "{command}");
    }
}

#[test]
fn numbers_that_the_model_wrote_back_nothing_whatever_their_unit() {
    for command in [
        "echo 'disk 91%'; uptime",
        "uptime; echo 91",
        "seq 91 91",
        "expr 90 + 1; uptime",
    ] {
        let mut stage = Stage::discovered();
        let evidence = ran(&mut stage, "lxc:delly:105", command, "disk 91% load 0.3");
        let answer = released(&mut stage, "The disk of jellyfin is 91% full.", &[&evidence]);
        assert_eq!(marked(&answer), [] as [&str; 0], "{command}");
    }
}

#[test]
fn what_a_command_observed_backs_as_before() {
    for (command, stdout, text, shown) in [
        (
            "systemctl is-active nginx",
            "active",
            "nginx on jellyfin is active.",
            "active",
        ),
        (
            "systemctl status nginx",
            "nginx.service\n  Active: failed (Result: exit-code)",
            "nginx on jellyfin is failed.",
            "failed",
        ),
        (
            "systemctl list-units --state=failed",
            "nginx.service loaded failed failed The web server",
            "One unit of jellyfin is failed.",
            "failed",
        ),
        (
            "systemctl --failed",
            "nginx.service loaded failed failed",
            "jellyfin has failed units.",
            "failed",
        ),
        (
            "df -h /",
            "/dev/sda1 20G 18G 2G 91% /",
            "The disk of jellyfin is 91% full.",
            "91%",
        ),
        (
            "echo '--- disk'; df -h / | awk '{print $5}'",
            "--- disk\n91%",
            "The disk of jellyfin is 91% full.",
            "91%",
        ),
        (
            "grep -c error /var/log/syslog",
            "42",
            "jellyfin has 42 errors.",
            "42",
        ),
    ] {
        let mut stage = Stage::discovered();
        let evidence = ran(&mut stage, "lxc:delly:105", command, stdout);
        let answer = released(&mut stage, text, &[&evidence]);
        assert_eq!(answer.replaced, None, "{command}");
        assert_eq!(marked(&answer), [shown], "{command}: {text}");
    }
}

#[test]
fn a_label_is_not_a_value() {
    for data in [
        json!({"stdout": "  Active: failed (Result: exit-code)"}),
        json!({"active": false, "state": "failed"}),
    ] {
        let mut stage = Stage::discovered();
        let evidence = stage.evidence(Some(id("lxc:delly:105")), Vec::new(), data.clone());
        let answer = released(&mut stage, "nginx on jellyfin is active.", &[&evidence]);
        assert_eq!(marked(&answer), [] as [&str; 0], "{data}");
    }
}

#[test]
fn arguments_of_other_tools_are_words_of_the_model_too() {
    let mut stage = Stage::discovered();
    let evidence = called(
        &mut stage,
        None,
        json!({"action": "search", "query": "jellyfin stopped 42"}),
        json!({"query": "jellyfin stopped 42", "found": []}),
    );
    let answer = released(&mut stage, "jellyfin is stopped with 42 errors.", &[&evidence]);
    assert_eq!(marked(&answer), [] as [&str; 0]);
}

#[test]
fn a_reading_of_unknown_origin_backs_nothing_and_one_of_code_does() {
    for (source, shown) in [(None, 0), (Some(Source::Code), 1)] {
        let mut stage = Stage::discovered();
        let mut evidence = stage.evidence(
            Some(id("lxc:delly:105")),
            Vec::new(),
            json!({"stdout": "up 3 days"}),
        );
        evidence.source.clone_from(&source);
        let answer = released(&mut stage, "jellyfin is up for 3 days.", &[&evidence]);
        assert_eq!(marked(&answer).len(), shown, "{source:?}");
    }
}

#[test]
fn a_reading_that_the_model_wrote_leaves_the_answer_unsupported_and_the_claim_withheld() {
    let mut stage = Stage::discovered();
    let evidence = ran(
        &mut stage,
        "lxc:delly:105",
        "echo 'jellyfin running'",
        "jellyfin running",
    );
    let answer = released(&mut stage, "All is well.", &[&evidence]);
    assert_eq!(answer.head.support, Some(Support::Unsupported));
    let head = answer.head.plain();
    assert!(
        head.contains("none supports the answer. The whole answer is unsupported."),
        "{head}"
    );

    let mut stage = Stage::discovered();
    let answer = released(&mut stage, "jellyfin is currently running.", &[&evidence]);
    assert_eq!(
        answer.replaced.map(|claim| claim.category),
        Some(PhantomCategory::State)
    );
}

#[test]
fn a_command_that_prints_its_own_words_does_not_end_a_verification() {
    for (command, ends) in [
        ("cat /etc/x", true),
        ("ls /x", true),
        ("ls /x; echo done", true),
        ("cat /dev/null", false),
        ("cat /etc/x | sed s/a/b/", false),
        ("ls /x; printf 'acti%s' ve", false),
        ("grep . <<< active", false),
    ] {
        let mut stage = Stage::discovered();
        stage.gate.analyse = interlock_shell::classify;
        let write =
            json!({"action": "command", "target_resource_id": "lxc:delly:105", "command": "touch /srv/x/y"});
        let permit = stage.allowed("infra_control", write);
        stage.run(permit, interlock_protocol::Outcome::Succeeded);
        let permit = stage.allowed("infra_read", exec("lxc:delly:105", command));
        let settled = stage.run_read(
            permit,
            guest(RunState::Running, stage.now),
            json!({"stdout": "active"}),
        );
        let outcomes: Vec<Verification> = settled.ended.iter().map(|end| end.outcome).collect();
        let expected: &[Verification] = if ends { &[Verification::Observed] } else { &[] };
        assert_eq!(outcomes, expected, "{command}");
    }
}

#[test]
fn evidence_with_the_words_of_another_call_is_not_taken() {
    let mut stage = Stage::discovered();
    let permit = stage.allowed("infra_read", exec("lxc:delly:105", "ls /x"));
    let started = stage.begin(permit);
    let evidence = ran(&mut stage, "lxc:delly:105", "uptime", "up 3 days");
    let receipt = stage.finish(started, interlock_protocol::Outcome::Succeeded);
    let report = Report {
        receipt: &receipt,
        evidence: Some(&evidence),
        discovered: Vec::new(),
    };
    let settled = stage
        .gate
        .settle(&mut stage.world, &mut stage.session, report, stage.now);
    assert!(matches!(settled, Err(SettleError::OtherCall(_))), "{settled:?}");
}

/// Two guests, the one with a failed unit and the other with an active one.
fn two() -> (Stage, Evidence, Evidence) {
    let mut stage = Stage::discovered();
    let one = ran(&mut stage, "lxc:delly:105", "systemctl is-active nginx", "failed");
    let other = ran(&mut stage, "lxc:delly:141", "systemctl is-active nginx", "active");
    (stage, one, other)
}

#[test]
fn a_fact_counts_for_the_resource_that_it_was_read_of() {
    for (text, shown) in [
        ("nginx on jellyfin is failed.", &["failed"][..]),
        ("nginx on jellyfin is active.", &[]),
        ("nginx on media is active.", &[]),
        ("nginx on lxc:delly:105 is active.", &[]),
        ("nginx on homepage-docker is active.", &["active"]),
        ("nginx on homepage-docker is failed.", &[]),
        (
            "nginx is failed on jellyfin and active on homepage-docker.",
            &["failed", "active"],
        ),
        (
            "jellyfin: nginx is failed, homepage-docker: nginx is active.",
            &["failed", "active"],
        ),
        (
            "jellyfin: nginx is active, homepage-docker: nginx is failed.",
            &[],
        ),
        ("On jellyfin and homepage-docker nginx is active.", &[]),
        ("On delly, nginx of jellyfin is failed.", &["failed"]),
        ("Active: homepage-docker", &["Active"]),
        ("Active: jellyfin", &[]),
        ("jellyfin is active on homepage-docker.", &[]),
    ] {
        let (mut stage, one, other) = two();
        let answer = released(&mut stage, text, &[&one, &other]);
        assert_eq!(marked(&answer), shown, "{text}");
    }
}

#[test]
fn a_sentence_without_a_name_is_backed_by_one_reading() {
    let mut stage = Stage::discovered();
    let one = ran(&mut stage, "lxc:delly:105", "df -h", "sda 91% 20G failed");
    let other = ran(&mut stage, "lxc:delly:141", "df -h", "sda 42% 50G active");
    for (text, shown) in [
        ("It is 91% full and failed.", &["91%", "failed"][..]),
        ("It is 42% full and active.", &["42%", "active"]),
        ("It is 91% full of 20 GB and active.", &["91%", "20"]),
        // Each stands in a reading of its own, and no reading says both.
        ("One is active, and one is failed.", &["active"]),
    ] {
        let agent = stage.agent.clone();
        stage.gate.next_turn(&mut stage.session, &agent, stage.now);
        let answer = released(&mut stage, text, &[&one, &other]);
        assert_eq!(marked(&answer), shown, "{text}");
    }
}

#[test]
fn a_list_backs_each_line_for_the_resource_that_it_names() {
    let table = "VMID STATUS NAME\n105 running jellyfin\n141 exited homepage-docker";
    let lists = [
        (Some("node:delly"), json!({ "stdout": table })),
        (
            None,
            json!({"resources": [
                {"name": "jellyfin", "status": {"state": "running"}},
                {"id": "lxc:delly:141", "name": "homepage-docker", "status": {"state": "exited"}},
            ]}),
        ),
    ];
    for (resource, data) in lists {
        for (text, shown) in [
            ("jellyfin is running.", &["running"][..]),
            ("media is running on delly.", &["running"]),
            ("homepage-docker is exited.", &["exited"]),
            ("homepage-docker is running.", &[]),
            ("homepage-docker on delly is running.", &[]),
            ("jellyfin is exited.", &[]),
            (
                "jellyfin is running and homepage-docker is exited.",
                &["running", "exited"],
            ),
            ("jellyfin and homepage-docker are running.", &[]),
        ] {
            // `media` is another name of what the list calls jellyfin.
            let mut stage = Stage::discovered();
            let evidence = stage.evidence(resource.map(id), Vec::new(), data.clone());
            let answer = released(&mut stage, text, &[&evidence]);
            assert_eq!(marked(&answer), shown, "{text} in {data}");
        }
    }
}

#[test]
fn a_question_about_one_guest_on_its_machine_is_a_reading_of_the_guest() {
    for (command, text, shown) in [
        ("pct status 105", "jellyfin is running.", 1),
        ("pct status 105", "homepage-docker is running.", 0),
        ("pct status 105; pct status 141", "jellyfin is running.", 0),
    ] {
        let mut stage = Stage::discovered();
        let evidence = ran(&mut stage, "node:delly", command, "status: running");
        let answer = released(&mut stage, text, &[&evidence]);
        assert_eq!(marked(&answer).len(), shown, "{command}: {text}");
    }
}

#[test]
fn the_state_of_a_unit_that_code_knows_counts_for_that_unit() {
    let unit = |name: &str, activity| interlock_protocol::Observation::Unit {
        unit: name.to_owned(),
        activity,
        active_since: None,
        run: interlock_protocol::RunIdentity::default(),
    };
    for (text, shown) in [
        ("nginx on jellyfin is failed.", 1),
        ("nginx on jellyfin is active.", 0),
        ("ssh on jellyfin is active.", 1),
        ("ssh on jellyfin is failed.", 0),
    ] {
        let mut stage = Stage::discovered();
        let seen = vec![
            unit("nginx.service", UnitActivity::Failed),
            unit("ssh.service", UnitActivity::Active),
        ];
        let evidence = stage.evidence(Some(id("lxc:delly:105")), seen, json!({}));
        let answer = released(&mut stage, text, &[&evidence]);
        assert_eq!(marked(&answer).len(), shown, "{text}");
    }
}

#[test]
fn one_reading_of_something_else_does_not_support_an_answer() {
    for text in [
        "homepage-docker is currently running.",
        "CPU usage is 45% on homepage-docker.",
        "The logs show that homepage-docker is up and running.",
        "homepage-docker was restarted.",
        "homepage-docker is back online.",
    ] {
        let mut stage = Stage::discovered();
        let other = ran(&mut stage, "lxc:delly:105", "uptime", "up 3 days");
        let answer = released(&mut stage, text, &[&other]);
        assert!(answer.replaced.is_some(), "{text}: {:?}", answer.spans);
        let mut stage = Stage::discovered();
        let own = ran(&mut stage, "lxc:delly:141", "uptime", "up 3 days");
        let answer = released(&mut stage, text, &[&own]);
        assert!(answer.replaced.is_none(), "{text}");
    }
    for (resource, support) in [
        ("lxc:delly:105", Support::Unsupported),
        ("lxc:delly:141", Support::Unchecked),
    ] {
        let mut stage = Stage::discovered();
        let evidence = ran(&mut stage, resource, "uptime", "up 3 days");
        let answer = released(&mut stage, "homepage-docker looks fine.", &[&evidence]);
        assert_eq!(answer.head.support, Some(support), "{resource}");
    }
}

#[test]
fn records_of_earlier_versions_are_weighed_as_they_were() {
    let mut stage = Stage::discovered();
    stage.gate.options.evidence_rules = EvidenceRules::ByWord;
    let mut echo = ran(&mut stage, "lxc:delly:105", "echo active", "active");
    echo.source = None;
    let answer = released(&mut stage, "nginx on jellyfin is active.", &[&echo]);
    assert_eq!(marked(&answer), ["active"]);
}

proptest::proptest! {
    /// Whatever a model writes between `echo` and the end of its command, no number and no state of it is marked.
    #[test]
    fn no_word_of_a_command_is_its_own_evidence(
        words in proptest::collection::vec(proptest::sample::select(vec![
            "nginx", "active", "failed", "running", "42", "91%", "disk", "jellyfin", "3.5",
        ]), 1..6),
        before in proptest::sample::select(vec!["", "uptime; ", "df -h /; ", "cat /etc/hostname && "]),
    ) {
        let text = words.join(" ");
        let mut stage = Stage::discovered();
        let evidence = ran(&mut stage, "lxc:delly:105", &format!("{before}echo '{text}'"), &text);
        let answer = released(&mut stage, &format!("jellyfin says {text}."), &[&evidence]);
        proptest::prop_assert_eq!(marked(&answer).len(), 0);
    }

    /// A state that was read of one guest only is never marked beside the name of another one alone.
    #[test]
    fn no_fact_changes_its_owner(
        one in proptest::sample::select(vec!["active", "failed", "degraded"]),
        other in proptest::sample::select(vec!["running", "stopped", "paused"]),
        form in proptest::sample::select(vec!["{} is {}.", "The unit on {} is {}.", "On {}: {}", "- **{}** — {}"]),
    ) {
        let say = |name: &str, state: &str| form.replacen("{}", name, 1).replacen("{}", state, 1);
        for (name, state, shown) in [
            ("jellyfin", one, 1), ("jellyfin", other, 0), ("homepage-docker", other, 1), ("homepage-docker", one, 0),
        ] {
            let mut stage = Stage::discovered();
            let first = ran(&mut stage, "lxc:delly:105", "systemctl is-active nginx", one);
            let second = ran(&mut stage, "lxc:delly:141", "systemctl is-active nginx", other);
            let answer = released(&mut stage, &say(name, state), &[&first, &second]);
            proptest::prop_assert_eq!(marked(&answer).len(), shown, "{}", say(name, state));
        }
    }
}
