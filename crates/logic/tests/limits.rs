//! Every question ends, within its limits, and leaves nothing behind.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test may panic, and the functions that tests share are test code too"
)]

mod support;

use std::sync::Arc;
use std::time::{Duration, Instant};

use interlock_logic::{DependencyFact, Facts, Id, Knowledge, Limits, LinkFact, Logic, NodeFact, Rules};
use support::{cluster, now};

fn knowledge(rules: &str) -> Knowledge {
    let rules = Rules::load([("test.pl", rules)]).unwrap();
    Knowledge::new(
        &Facts::from_yaml(support::CLUSTER).unwrap(),
        Arc::new(rules),
        1,
        now(),
    )
    .unwrap()
}

#[test]
fn questions_without_an_end_are_stopped() {
    let knowledge = knowledge(
        "loop :- loop.\n\
         left(X) :- left(Y), X = Y.\n\
         grow(X) :- grow([X | X]).\n\
         tree(X) :- tree(f(X, X)).\n\
         nat(0).\nnat(N) :- nat(M), N is M + 1.\n\
         double(0, x).\ndouble(N, f(T, T)) :- N > 0, M is N - 1, double(M, T).\n\
         deep(0, x).\ndeep(N, f(T)) :- N > 0, M is N - 1, deep(M, T).\n\
         sum(0, 0).\nsum(N, 1 + E) :- N > 0, M is N - 1, sum(M, E).\n",
    );
    let limits = Limits {
        inferences: 10_000,
        memory_bytes: 4 << 20,
        answers: 10,
        time: Duration::from_mins(1),
    };
    // The goal, and why it stops. Some run out of memory before they run out of steps.
    let cases: &[(&str, &[&str])] = &[
        ("loop", &["steps", "memory"]),
        ("left(X)", &["steps", "memory"]),
        ("grow(a)", &["steps", "memory"]),
        ("tree(a)", &["steps", "memory"]),
        ("nat(N), N < 0", &["steps", "memory"]),
        ("findall(N, nat(N), L)", &["steps", "memory"]),
        ("aggregate_all(count, nat(N), C)", &["steps", "memory"]),
        ("forall(nat(N), N >= 0)", &["steps", "memory"]),
        ("\\+ (nat(N), N < 0)", &["steps", "memory"]),
        ("nat(N)", &["answers"]),
        ("length(L, 1000000000)", &["memory"]),
        // Terms that are small in memory and endless as trees.
        ("double(60, T)", &["answer_size"]),
        ("double(60, T), double(60, S), T = S", &["steps"]),
        ("double(60, T), double(60, S), T == S", &["steps"]),
        (
            "double(60, T), double(60, S), msort([T, S, T, S], L), fail",
            &["steps"],
        ),
        ("double(60, T), X = g(h(X), T)", &["steps"]),
        ("deep(1500, T)", &["answer_size"]),
        ("sum(1500, E), X is E", &["error"]),
        ("append(X, Y, Z), fail", &["steps", "memory"]),
    ];
    for (text, codes) in cases {
        let goal = knowledge.check(text).unwrap();
        let answer = knowledge.ask(&goal, now(), limits);
        let code = answer.stopped.as_ref().map_or("complete", |stopped| stopped.code);
        assert!(codes.contains(&code), "{text}: {code}, {:?}", answer.stopped);
        assert!(!answer.complete);
        // An explanation is bounded as well.
        let explained = knowledge.explain(&goal, now(), limits);
        assert!(!explained.answer.complete, "{text}");
    }
    // Nothing of that is left.
    let goal = knowledge
        .check("node_health(pve2, H), ground(f(x)), deep(1000, T), T = f(_), ground(T)")
        .unwrap();
    let answer = knowledge.ask(&goal, now(), limits);
    assert!(answer.answers.is_empty() || answer.holds);
    let goal = knowledge.check("node_health(pve2, H)").unwrap();
    assert_eq!(knowledge.ask(&goal, now(), limits).lines, ["H = degraded"]);
}

#[test]
fn time_is_a_limit() {
    let knowledge = knowledge("loop :- loop.\n");
    let limits = Limits {
        inferences: u64::MAX / 64,
        memory_bytes: usize::MAX / 2,
        time: Duration::from_millis(50),
        ..Limits::default()
    };
    // A choice is taken back again and again, so memory does not grow.
    let goal = knowledge.check("between(1, 1000000000000, N), N < 0").unwrap();
    let begun = Instant::now();
    let answer = knowledge.ask(&goal, now(), limits);
    assert_eq!(answer.stopped.unwrap().code, "time");
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
}

#[test]
fn a_deep_recursion_needs_no_stack() {
    let knowledge = knowledge(
        "count(N, N).\ncount(M, N) :- M < N, L is M + 1, count(L, N).\n\
         len([], 0).\nlen([_ | T], N) :- len(T, M), N is M + 1.\n\
         nest(0).\nnest(N) :- N > 0, M is N - 1, findall(x, nest(M), _).\n",
    );
    let thread = std::thread::Builder::new().stack_size(1 << 20).spawn(move || {
        for text in [
            "count(0, 50000)",
            "length(L, 20000), len(L, N), N =:= 20000, copy = copy",
            "length(L, 20000), findall(L, true, [M]), length(M, K), msort(M, S), ground(K), L = M",
        ] {
            let goal = knowledge.check(text).unwrap();
            // The lists are longer than an answer may be, but they are found.
            let goal_holds = format!("once(({})), !", goal.text());
            let goal = knowledge.check(&format!("\\+ \\+ ({goal_holds})")).unwrap();
            let answer = knowledge.ask(&goal, now(), Limits::default());
            assert_eq!(answer.lines, ["yes"], "{text}: {:?}", answer.stopped);
        }
        // Proofs are cut, not nested without end.
        for text in ["count(0, 2000)", "nest(2000)"] {
            let goal = knowledge.check(text).unwrap();
            let explanation = knowledge.explain(&goal, now(), Limits::default());
            assert!(explanation.answer.holds && explanation.shortened, "{text}");
        }
        // The deepest goals that can be read.
        for text in [
            format!("{}true{}", "\\+ \\+ ".repeat(45), ""),
            format!("{}true{}", "(".repeat(95), ")".repeat(95)),
            format!("X = {}a{}", "f(".repeat(90), ")".repeat(90)),
            format!("X = {}a{}", "[".repeat(90), "]".repeat(90)),
            "true, ".repeat(95) + "true",
            format!("X = [{}b]", "a, ".repeat(2000)),
        ] {
            let goal = knowledge
                .check(&text)
                .unwrap_or_else(|refusal| panic!("{refusal}"));
            assert!(knowledge.ask(&goal, now(), Limits::default()).holds, "{text}");
            assert!(
                knowledge.explain(&goal, now(), Limits::default()).answer.holds,
                "{text}"
            );
        }
        for text in [
            "(".repeat(4000),
            "[".repeat(4000),
            "f(".repeat(2000),
            "- ".repeat(3000),
            "\\+ ".repeat(2000),
            "a:".repeat(2000),
        ] {
            let refusal = knowledge.check(&text).unwrap_err();
            assert!(
                refusal.message.contains("nested deeper") || refusal.message.contains("expected"),
                "{refusal}"
            );
        }
    });
    thread.unwrap().join().unwrap();
}

fn node(number: usize) -> String {
    format!("n{number:04}")
}

/// Facts of a graph: its nodes, and the pairs that are linked.
fn graph(nodes: usize, links: impl Iterator<Item = (usize, usize)>) -> Knowledge {
    let facts = Facts {
        nodes: (0..nodes)
            .map(|number| NodeFact {
                name: node(number),
                health: interlock_logic::Health::Nominal,
                metrics: std::collections::BTreeMap::default(),
            })
            .collect(),
        links: links
            .map(|(a, b)| LinkFact {
                a: node(a),
                b: node(b),
                cost: 1.into(),
                up: true,
            })
            .collect(),
        dependencies: (0..nodes)
            .map(|number| DependencyFact {
                resource: Id::Name(node(number)),
                needs: Id::Name(node((number + 1) % nodes)),
            })
            .collect(),
        ..Facts::default()
    };
    Knowledge::new(&facts, Arc::new(Rules::default()), 1, now()).unwrap()
}

#[test]
fn searches_end_on_cycles_and_dense_graphs() {
    let ring = graph(200, (0..200).map(|number| (number, (number + 1) % 200)));
    let clique = graph(40, (0..40).flat_map(|a| (0..a).map(move |b| (b, a))));
    let islands = graph(60, (0..30).flat_map(|a| (0..a).map(move |b| (b, a))));
    for (knowledge, goal, expected) in [
        (&ring, "can_reach(n0000, n0100)", "yes"),
        (
            &ring,
            "shortest_path(n0000, n0100, P, C), length(P, N), P = [_ | _]",
            "C = 100",
        ),
        (&ring, "aggregate_all(count, can_reach(n0000, X), N)", "N = 200"),
        (&ring, "blast_radius(n0000, L), length(L, N)", "N = 199"),
        (&clique, "aggregate_all(count, can_reach(n0000, X), N)", "N = 40"),
        (
            &clique,
            "shortest_path(n0000, n0039, P, C)",
            "P = [n0000, n0039], C = 1",
        ),
        // The hard case: no path, and very many ways to look for one.
        (&islands, "\\+ can_reach(n0000, n0040)", "yes"),
        (&islands, "\\+ shortest_path(n0000, n0040, P, C)", "yes"),
    ] {
        let checked = knowledge.check(goal).unwrap();
        let answer = knowledge.ask(
            &checked,
            now(),
            Limits {
                time: Duration::from_mins(2),
                ..Limits::default()
            },
        );
        assert!(answer.complete, "{goal}: {:?}", answer.stopped);
        assert!(
            answer.lines.len() == 1 && answer.lines[0].contains(expected),
            "{goal}: {:?}",
            answer.lines
        );
    }
}

#[test]
fn new_facts_replace_old_ones_while_questions_run() {
    let facts = |count: i64| Facts {
        taken_at: Some(now()),
        nodes: vec![NodeFact {
            name: "pve1".to_owned(),
            health: interlock_logic::Health::Nominal,
            metrics: [("load".to_owned(), count.into())].into(),
        }],
        ..Facts::default()
    };
    let logic = Arc::new(Logic::new(&facts(1), Rules::default(), now()).unwrap());
    let old = logic.current();
    let askers: Vec<_> = (0..2)
        .map(|_| {
            let logic = logic.clone();
            std::thread::spawn(move || {
                let mut last = 0;
                while last < 50 {
                    let current = logic.current();
                    let goal = current.check("node_metric(pve1, load, Load)").unwrap();
                    let answer = current.ask(&goal, now(), Limits::default());
                    // The value and the version of the snapshot belong together.
                    assert_eq!(answer.lines, [format!("Load = {}", answer.snapshot.version)]);
                    assert!(answer.snapshot.version >= last);
                    last = answer.snapshot.version;
                }
            })
        })
        .collect();
    for version in 2..=50_u64 {
        let info = logic
            .replace(&facts(i64::try_from(version).unwrap()), now())
            .unwrap();
        assert_eq!(info.version, version);
    }
    for asker in askers {
        asker.join().unwrap();
    }
    // A question that holds on to what it began with gets the old answer.
    let goal = old.check("node_metric(pve1, load, Load)").unwrap();
    assert_eq!(old.ask(&goal, now(), Limits::default()).lines, ["Load = 1"]);
    // Facts that cannot be used change nothing.
    let broken = Facts {
        links: vec![LinkFact {
            a: "x".into(),
            b: "y".into(),
            cost: 1.into(),
            up: true,
        }],
        ..Facts::default()
    };
    assert!(logic.replace(&broken, now()).is_err());
    assert_eq!(logic.current().info().version, 50);
}

#[test]
fn facts_are_checked() {
    let cases = [
        ("nodes: [{name: a}, {name: a}]", "node \"a\" is there twice"),
        ("nodes: [{name: ''}]", "the name of a node is empty"),
        (
            "nodes: [{name: a}]\nlinks: [{a: a, b: b}]",
            "mentions node \"b\", which is not in `nodes`",
        ),
        ("nodes: [{name: a}]\nlinks: [{a: a, b: a}]", "to itself"),
        (
            "nodes: [{name: a}, {name: b}]\nlinks: [{a: a, b: b, cost: -1}]",
            "must not be negative",
        ),
        (
            "guests: [{id: 1, node: a}]",
            "guest 1 is on node \"a\", which is not in `nodes`",
        ),
        (
            "nodes: [{name: a}]\nguests: [{id: 1, node: a}, {id: 1, node: a}]",
            "guest 1 is there twice",
        ),
        (
            "nodes: [{name: a}]\nguests: [{id: 1, name: db, node: a}]\ndependencies: [{resource: web, needs: db}]",
            "which is the name of guest 1; write the id",
        ),
        ("nodes: [{name: a, helth: nominal}]", "cannot be read"),
        ("nodes: [{name: a, health: great}]", "cannot be read"),
    ];
    for (text, message) in cases {
        let result = Facts::from_yaml(text)
            .and_then(|facts| Knowledge::new(&facts, Arc::new(Rules::default()), 1, now()));
        let error = result
            .err()
            .unwrap_or_else(|| panic!("{text} was taken"))
            .to_string();
        assert!(error.contains(message), "{text}: {error}");
    }
}

#[test]
fn equal_facts_have_equal_hashes_in_every_order() {
    let mut facts = Facts::from_yaml(support::CLUSTER).unwrap();
    let hash = |facts: &Facts| {
        Knowledge::new(facts, Arc::new(Rules::default()), 1, now())
            .unwrap()
            .info()
            .hash
            .clone()
    };
    let first = hash(&facts);
    facts.nodes.reverse();
    facts.links.reverse();
    facts.alerts.reverse();
    facts.guests.reverse();
    facts.dependencies.reverse();
    for link in &mut facts.links {
        std::mem::swap(&mut link.a, &mut link.b);
    }
    assert_eq!(hash(&facts), first);
    facts.nodes[0].health = interlock_logic::Health::Critical;
    assert_ne!(hash(&facts), first);
}

/// A fact is data, whatever its text is.
#[test]
fn names_of_facts_are_never_read_as_prolog() {
    let evil = "x), assertz(known_node(evil)). known_node(y";
    let facts = Facts {
        nodes: vec![NodeFact {
            name: evil.to_owned(),
            health: interlock_logic::Health::Nominal,
            metrics: std::collections::BTreeMap::default(),
        }],
        ..Facts::default()
    };
    let knowledge = Knowledge::new(&facts, Arc::new(Rules::default()), 1, now()).unwrap();
    let answer = support::ask(&knowledge, "known_node(N)").unwrap();
    assert_eq!(answer.answers.len(), 1);
    assert_eq!(answer.answers[0]["N"], evil);
    // The written facts give the same facts when they are read.
    let text = knowledge.facts_as_text();
    let clauses = interlock_logic::parse_clauses(&text).unwrap();
    assert_eq!(clauses.len(), knowledge.info().facts);
    let _ = cluster();
}
