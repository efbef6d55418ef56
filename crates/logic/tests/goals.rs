//! Which goals may run, and what is said about the others.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::format_collect,
    reason = "a test may panic, and the functions that tests share are test code too"
)]

mod support;

use interlock_logic::{Code, Rules};
use support::{ask, cluster};

#[test]
fn every_goal_of_a_term_is_checked() {
    use Code::{
        ActsOnSystem, Aggregate, Arithmetic, ChangesFacts, InputOutput, LoadsCode, MetaCall, NotAGoal,
        Syntax, UnknownModule, UnknownPredicate, VariableGoal, WrongArity,
    };
    let knowledge = cluster();
    // The goal, why it is refused, and which part of it is named.
    let cases: &[(&str, Code, &str)] = &[
        // What a check of the first word lets through.
        ("node_health(a,S), assertz(x)", ChangesFacts, "assertz(x)"),
        ("node_health(a,S) ; assertz(x)", ChangesFacts, "assertz(x)"),
        (
            "node_health(a,S) -> assertz(x) ; true",
            ChangesFacts,
            "assertz(x)",
        ),
        ("(assertz(x) -> true ; true)", ChangesFacts, "assertz(x)"),
        ("(true -> true ; assertz(x))", ChangesFacts, "assertz(x)"),
        ("\\+ assertz(x)", ChangesFacts, "assertz(x)"),
        ("not(assertz(x))", ChangesFacts, "assertz(x)"),
        ("\\+ \\+ (true, assertz(x))", ChangesFacts, "assertz(x)"),
        (
            "findall(X, (member(X, [1]), assertz(X)), _)",
            ChangesFacts,
            "assertz(X)",
        ),
        ("bagof(X, Y^assertz(X), _)", ChangesFacts, "assertz(X)"),
        ("setof(X, Y^Z^(true, retract(X)), _)", ChangesFacts, "retract(X)"),
        (
            "forall(known_node(N), retract(known_node(N)))",
            ChangesFacts,
            "retract(known_node(N))",
        ),
        ("forall(retractall(x), true)", ChangesFacts, "retractall(x)"),
        ("aggregate_all(count, assertz(x), _)", ChangesFacts, "assertz(x)"),
        ("once(assertz(x))", ChangesFacts, "assertz(x)"),
        ("ignore(asserta(x))", ChangesFacts, "asserta(x)"),
        (
            "once(ignore(findall(_, forall(true, \\+ abolish(x/1)), _)))",
            ChangesFacts,
            "abolish(x / 1)",
        ),
        ("live_state:assertz(x)", ChangesFacts, "assertz(x)"),
        ("user:assertz(x)", ChangesFacts, "assertz(x)"),
        ("'assertz'(x)", ChangesFacts, "assertz(x)"),
        ("\"assertz\"(x)", ChangesFacts, "assertz(x)"),
        ("'\\x61\\ssertz'(x)", ChangesFacts, "assertz(x)"),
        ("node_health/*(*/(a,S), assertz(x)", Syntax, ""),
        ("true, % , fail\n assertz(x)", ChangesFacts, "assertz(x)"),
        ("true, nb_setval(a, 1)", ChangesFacts, "nb_setval(a, 1)"),
        (
            "set_prolog_flag(double_quotes, codes)",
            ChangesFacts,
            "set_prolog_flag(double_quotes, codes)",
        ),
        ("a :- b", ChangesFacts, "a :- b"),
        // Variables and meta-calls.
        ("X", VariableGoal, "X"),
        ("X = assertz(y), X", VariableGoal, "X"),
        ("findall(1, G, L)", VariableGoal, "G"),
        ("setof(X, X^G, L)", VariableGoal, "G"),
        ("live_state:G", VariableGoal, "G"),
        ("M:known_node(pve1)", UnknownModule, "M:known_node(pve1)"),
        ("call(known_node(pve1))", MetaCall, "call(known_node(pve1))"),
        ("call(G, x)", MetaCall, "call(G, x)"),
        ("maplist(assertz, [x])", MetaCall, "maplist(assertz, [x])"),
        ("catch(true, _, halt)", MetaCall, "catch(true, _, halt)"),
        ("(true *-> true ; true)", MetaCall, "true *-> true"),
        ("X^known_node(X)", MetaCall, "X ^ known_node(X)"),
        // Code, streams, the machine.
        ("consult('/etc/passwd')", LoadsCode, "consult('/etc/passwd')"),
        (
            "use_module(library(process))",
            LoadsCode,
            "use_module(library(process))",
        ),
        ("['/etc/passwd']", LoadsCode, "['/etc/passwd']"),
        ("[user]", LoadsCode, "[user]"),
        (
            "open('/etc/shadow', read, S)",
            InputOutput,
            "open('/etc/shadow', read, S)",
        ),
        ("true, write(x), nl", InputOutput, "write(x)"),
        ("format(\"~w\", [x])", InputOutput, "format('~w', [x])"),
        ("halt", ActsOnSystem, "halt"),
        ("halt(1)", ActsOnSystem, "halt(1)"),
        ("shell('rm -rf /')", ActsOnSystem, "shell('rm -rf /')"),
        (
            "known_node(N), process_create(path(sh), [], [])",
            ActsOnSystem,
            "process_create(path(sh), [], [])",
        ),
        ("X =.. [assertz, y]", UnknownPredicate, "X =.. [assertz, y]"),
        (
            "functor(X, assertz, 1)",
            UnknownPredicate,
            "functor(X, assertz, 1)",
        ),
        (
            "clause(can_reach(_, _), B)",
            UnknownPredicate,
            "clause(can_reach(_, _), B)",
        ),
        // The parts of the library are not for people.
        (
            "'$$spread'([], [], [], E)",
            UnknownPredicate,
            "'$$spread'([], [], [], E)",
        ),
        ("'$links_hold'([a])", UnknownPredicate, "'$links_hold'([a])"),
        // What is not a goal, or not one of ours.
        ("1", NotAGoal, "1"),
        ("true, 1.5", NotAGoal, "1.5"),
        ("[]", UnknownPredicate, "[]"),
        ("{known_node(N)}", UnknownPredicate, "{}(known_node(N))"),
        ("node_health(pve1)", WrongArity, "node_health(pve1)"),
        ("\\+(a, b)", WrongArity, "\\+(a, b)"),
        ("overloaded(a, b)", WrongArity, "overloaded(a, b)"),
        ("node_helth(pve1, S)", UnknownPredicate, "node_helth(pve1, S)"),
        ("known_nodes(N)", UnknownPredicate, "known_nodes(N)"),
        ("lists:append(A, B, C)", UnknownModule, "lists:append(A, B, C)"),
        (
            "live_state:overloaded(N)",
            UnknownModule,
            "live_state:overloaded(N)",
        ),
        (
            "live_state:(known_node(N), true)",
            UnknownModule,
            "live_state:(known_node(N), true)",
        ),
        ("rules:known_node(N)", UnknownModule, "rules:known_node(N)"),
        // Arithmetic.
        ("X is foo", Arithmetic, "X is foo"),
        ("X is 1 + system(ls)", Arithmetic, "X is 1 + system(ls)"),
        ("X is random(10)", Arithmetic, "X is random(10)"),
        ("1 < cputime", Arithmetic, "1 < cputime"),
        (
            "aggregate_all(sum(foo(X)), member(X, [1]), S)",
            Arithmetic,
            "aggregate_all(sum(foo(X)), member(X, [1]), S)",
        ),
        (
            "aggregate_all(F, member(X, [1]), S)",
            Aggregate,
            "aggregate_all(F, member(X, [1]), S)",
        ),
        (
            "aggregate_all(max(X, Y), member(X-Y, [1-2]), S)",
            Aggregate,
            "aggregate_all(max(X, Y), member(X - Y, [1 - 2]), S)",
        ),
        // What cannot be read.
        ("", Syntax, ""),
        ("node_health(pve1, S", Syntax, ""),
        ("known_node(a). assertz(x)", Syntax, ""),
        ("known_node('a)", Syntax, ""),
        ("known_node(a) known_node(b)", Syntax, ""),
        ("/* known_node(a)", Syntax, ""),
        ("known_node(`a`)", Syntax, ""),
        ("a || b", Syntax, ""),
        ("X is 12abc", Syntax, ""),
        ("X is 99999999999999999999", Syntax, ""),
    ];
    for (goal, code, part) in cases {
        let refusal = match ask(&knowledge, goal) {
            Err(refusal) => refusal,
            Ok(answer) => panic!("{goal} was answered: {}", answer.sentence),
        };
        assert_eq!(
            (refusal.code, refusal.goal.as_str()),
            (*code, *part),
            "{goal}: {refusal}"
        );
        assert!(refusal.message.contains(part), "{goal}: {refusal}");
    }
}

#[test]
fn refusals_say_what_is_allowed() {
    let knowledge = cluster();
    let text: String = [
        "node_health(a, S), assertz(x)",
        "X = halt, X",
        "call(known_node(N))",
        "node_helth(pve1, S)",
        "node_health(pve1)",
        "lists:append(A, B, C)",
        "X is foo + 1",
        "aggregate_all(avg(X), member(X, [1]), A)",
        "known_node(a",
        "a :- b",
    ]
    .iter()
    .map(|goal| format!("?- {goal}\n{}\n", ask(&knowledge, goal).unwrap_err()))
    .collect();
    insta::assert_snapshot!(text);
}

#[test]
fn what_runs_is_what_was_checked() {
    let knowledge = cluster();
    // Quotes, comments, strings and module names do not reach the engine; the tree does.
    for (goal, text) in [
        (
            "live_state : 'node_health' ( \"pve1\" , S ) .",
            "live_state:node_health(pve1, S)",
        ),
        ("node_health(pve1, S) % , assertz(x)", "node_health(pve1, S)"),
        (
            "node_health('x), assertz(y', S)",
            "node_health('x), assertz(y', S)",
        ),
        ("a = 'b c', (true;fail)", "a = 'b c', (true ; fail)"),
        ("X = \"it's\"", "X = 'it\\'s'"),
        ("X = 'a\\x202e\\b'", "X = 'a\\x202e\\b'"),
    ] {
        let text = text.replace("live_state:", "");
        assert_eq!(
            knowledge
                .check(&goal.replace("live_state : 'node_health' (", "live_state:'node_health'("))
                .unwrap()
                .text(),
            text
        );
    }
}

#[test]
fn rules_are_checked_when_they_are_loaded() {
    let errors = Rules::load([
        ("a.pl", "fine(N) :- known_node(N).\n\nbad(N) :-\n    known_node(N),\n    assertz(seen(N)).\n:- initialization(halt).\n"),
        ("b.pl", "node_health(N, nominal) :- known_node(N).\nmember(X, Y) :- true.\nassertz(X) :- true.\nx :- X.\nm:y :- true.\n1 :- true.\nz --> w.\na + b.\nok :- fine(_), later.\nlater.\n"),
        ("c.pl", "good(a).\nunfinished :- known_node(\n"),
        ("d.pl", "ok2 :- no_such_rule(1)."),
    ])
    .unwrap_err();
    let text: String = errors.iter().map(|error| format!("{error}\n")).collect();
    insta::assert_snapshot!(text);
}

#[test]
fn rules_may_call_each_other_and_themselves() {
    let rules = Rules::load([
        ("x.pl", "even(0).\neven(N) :- N > 0, M is N - 1, odd(M).\n"),
        ("y.pl", "odd(N) :- N > 0, M is N - 1, even(M).\n"),
    ])
    .unwrap();
    assert_eq!(
        rules.predicates(),
        [("even/1".to_owned(), 2), ("odd/1".to_owned(), 1)]
    );
    let facts = interlock_logic::Facts::default();
    let knowledge = interlock_logic::Knowledge::new(&facts, rules.into(), 1, support::now()).unwrap();
    assert_eq!(support::lines(&knowledge, "even(100), \\+ odd(100)"), ["yes"]);
}

/// The crate has no code that could do what goals must not do.
#[test]
fn there_is_no_code_for_files_processes_or_the_network() {
    fn sources(folder: &std::path::Path, found: &mut Vec<std::path::PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                sources(&path, found);
            } else if path.extension().is_some_and(|end| end == "rs") {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    sources(
        &std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src"),
        &mut found,
    );
    assert!(found.len() > 10);
    for path in found {
        let text = std::fs::read_to_string(&path).unwrap();
        for word in [
            "std::fs",
            "std::net",
            "std::process",
            "std::io",
            "std::env",
            "std::thread",
            "std::os",
            "unsafe",
            "File::",
            "print!",
            "println!",
        ] {
            assert!(!text.contains(word), "{} mentions {word}", path.display());
        }
    }
}
