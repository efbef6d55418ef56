//! Who may use what: every route there is, for everybody there can be.

use interlock_protocol::Role;
use interlock_server::{Access, Rule, rules};

use crate::place::{PEOPLE, Place, Wish, WithJson as _};

#[test]
fn the_public_routes_are_these_and_no_others() {
    let public: Vec<String> = rules()
        .iter()
        .filter(|rule| rule.access == Access::Public)
        .map(|rule| format!("{} {}", rule.method, rule.path))
        .collect();
    insta::assert_snapshot!(public.join("\n"));
}

#[test]
fn every_operation_of_the_description_has_its_rule() {
    let description = serde_json::to_value(interlock_server::openapi()).unwrap();
    let mut described = Vec::new();
    for (path, item) in description["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let access = operation["x-access"].as_str().unwrap_or_default().to_owned();
            assert_eq!(
                operation["security"].as_array().is_some_and(Vec::is_empty),
                access == "public",
                "{method} {path}"
            );
            assert!(operation["operationId"].is_string(), "{method} {path}");
            described.push((path.clone(), method.to_uppercase(), access));
        }
    }
    described.sort();
    let ruled: Vec<(String, String, String)> = rules()
        .into_iter()
        .map(|rule| (rule.path, rule.method.to_owned(), rule.access.as_str().to_owned()))
        .collect();
    let mut ruled = ruled;
    ruled.sort();
    assert_eq!(described, ruled);
}

/// The path with something in place of each name.
fn path(rule: &Rule) -> String {
    let mut path = String::new();
    for part in rule.path.split('/').skip(1) {
        path.push('/');
        path.push_str(if part.starts_with('{') { "nothing" } else { part });
    }
    path
}

#[tokio::test(flavor = "multi_thread")]
async fn every_route_refuses_nobody_and_every_lower_role() {
    let place = Place::new(Wish::default()).await;
    let guarded: Vec<Rule> = rules()
        .into_iter()
        .filter(|rule| rule.access != Access::Public)
        .collect();
    assert!(guarded.len() > 40, "{guarded:?}");
    for rule in &guarded {
        let path = path(rule);
        let request = |who| {
            place
                .request(who, rule.method, &path)
                .json(&serde_json::json!({}))
        };
        let answer = place.send(request(None)).await;
        assert_eq!(answer.problem(), (401, "UNAUTHENTICATED".to_owned()), "{rule:?}");
        let least = rule.access.role().unwrap_or(Role::Admin);
        for (name, role) in PEOPLE.iter().filter(|(name, _)| *name != "reader") {
            if *role < least {
                let answer = place.send(request(Some(*name))).await;
                assert_eq!(answer.problem(), (403, "FORBIDDEN".to_owned()), "{name} {rule:?}");
            }
        }
        // A token never may more than it was made for, whoever made it.
        if rule.access > Access::Read {
            let answer = place.send(request(Some("reader"))).await;
            assert_eq!(answer.problem(), (403, "FORBIDDEN".to_owned()), "{rule:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_may_look_at_something_is_let_in() {
    let place = Place::new(Wish::default()).await;
    let looks = rules().into_iter().filter(|rule| {
        let streams = rule.path.ends_with("/ws") || rule.path.ends_with("/stream");
        rule.method == "GET" && rule.access != Access::Public && !streams
    });
    for rule in looks {
        let who = if rule.access == Access::Read {
            "vera"
        } else {
            "root"
        };
        let answer = place.send(place.request(Some(who), "GET", &path(&rule))).await;
        assert!(matches!(answer.status, 200 | 404), "{rule:?}: {answer:?}");
    }
}
