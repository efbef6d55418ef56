//! Goals and their answers on the example cluster.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::format_push_string,
    reason = "a test may panic, and the functions that tests share are test code too"
)]

mod support;

use support::{ask, cluster, lines};

#[test]
fn goals_have_these_answers() {
    let knowledge = cluster();
    let cases: &[(&str, &[&str])] = &[
        // The live state.
        ("known_node(pve1)", &["yes"]),
        ("known_node(ghost)", &[]),
        ("known_node(\"pve1\")", &["yes"]),
        ("node_health(pve2, Health)", &["Health = degraded"]),
        ("node_health(Node, critical)", &["Node = pve4"]),
        ("node_health(pve5, H)", &["H = unknown"]),
        ("live_state:node_health(pve1, S)", &["S = nominal"]),
        ("proxmox_topology:known_node(pve3)", &["yes"]),
        ("live_state:current_vm_host(101, H)", &["H = pve1"]),
        ("rules:overloaded(N)", &["N = pve2"]),
        (
            "node_metric(pve1, M, V)",
            &["M = cpu_percent, V = 41.5", "M = ram_free_mib, V = 20480"],
        ),
        ("live_link(pve1, X, C)", &["X = pve2, C = 10", "X = pve3, C = 25"]),
        ("live_link(pve3, pve4, _)", &[]),
        ("can_reach(pve2, pve3)", &["yes"]),
        ("can_reach(pve1, pve4)", &[]),
        ("can_reach(pve1, pve1)", &["yes"]),
        ("can_reach(pve4, pve4)", &[]),
        ("can_reach(pve1, pve5)", &[]),
        ("setof(X, can_reach(pve2, X), L)", &["L = [pve1, pve2, pve3]"]),
        (
            "shortest_path(pve2, pve3, Path, Cost)",
            &["Path = [pve2, pve1, pve3], Cost = 35"],
        ),
        (
            "shortest_path(pve1, pve1, Path, Cost)",
            &["Path = [pve1], Cost = 0"],
        ),
        ("shortest_path(pve1, pve4, P, C)", &[]),
        (
            "shortest_path(pve1, To, P, C)",
            &[
                "To = pve1, P = [pve1], C = 0",
                "To = pve2, P = [pve1, pve2], C = 10",
                "To = pve3, P = [pve1, pve3], C = 25",
            ],
        ),
        ("active_alerts(pve2, L)", &["L = [high_cpu, low_memory]"]),
        ("active_alerts(pve1, L)", &["L = []"]),
        ("active_alerts(ghost, L)", &[]),
        ("current_vm_host(102, H)", &["H = pve2"]),
        ("current_vm_host(G, pve2)", &["G = 102", "G = 103"]),
        ("guest_name(G, db)", &["G = 102"]),
        ("depends_on(101, X)", &["X = 102", "X = 103", "X = pve1"]),
        ("blast_radius(102, L)", &["L = [101, 103, billing, shop]"]),
        ("blast_radius(pve2, L)", &["L = [101, 102, 103, billing, shop]"]),
        ("blast_radius(shop, L)", &["L = [billing]"]),
        ("blast_radius(ghost, L)", &[]),
        ("now(T)", &["T = 1772334040"]),
        // Rules.
        ("at_risk(G)", &["G = 102", "G = 103", "G = 104"]),
        ("can_move(103, N)", &["N = pve1", "N = pve3"]),
        // Control.
        ("X = 1 ; X = 2", &["X = 1", "X = 2"]),
        ("member(X, [1, 2, 3]), X > 1, !", &["X = 2"]),
        ("(member(X, [1, 2]) -> true ; X = none)", &["X = 1"]),
        ("(fail -> X = 1 ; X = 2)", &["X = 2"]),
        ("(true -> fail ; true)", &[]),
        ("(true ; fail -> true), X = 1", &["X = 1"]),
        ("\\+ known_node(ghost)", &["yes"]),
        ("\\+ known_node(pve1)", &[]),
        ("not(known_node(ghost))", &["yes"]),
        ("once(member(X, [a, b]))", &["X = a"]),
        ("ignore(fail), X = 1", &["X = 1"]),
        ("ignore(member(X, [1, 2]))", &["X = 1"]),
        ("forall(known_node(N), node_health(N, _))", &["yes"]),
        ("forall(known_node(N), in_service(N))", &[]),
        ("findall(N, in_service(N), L)", &["L = [pve1, pve3, pve2]"]),
        (
            "findall(N, known_node(N), L), length(L, Count)",
            &["L = [pve1, pve2, pve3, pve4, pve5], Count = 5"],
        ),
        ("findall(X, (member(X, [1, 2, 3]), !), L)", &["L = [1]"]),
        ("aggregate_all(count, known_node(_), N)", &["N = 5"]),
        ("aggregate_all(count, fail, N)", &["N = 0"]),
        (
            "aggregate_all(sum(V), node_metric(_, ram_free_mib, V), S)",
            &["S = 61952"],
        ),
        (
            "aggregate_all(max(V), node_metric(_, cpu_percent, V), M)",
            &["M = 97"],
        ),
        ("aggregate_all(min(V), fail, M)", &[]),
        (
            "aggregate_all(set(H), current_vm_host(_, H), S)",
            &["S = [pve1, pve2, pve4]"],
        ),
        (
            "bagof(G, current_vm_host(G, H), L)",
            &[
                "H = pve1, L = [101]",
                "H = pve2, L = [102, 103]",
                "H = pve4, L = [104]",
            ],
        ),
        (
            "setof(H, G^current_vm_host(G, H), L)",
            &["L = [pve1, pve2, pve4]"],
        ),
        ("bagof(X, fail, L)", &[]),
        (
            "setof(H-N, node_health(N, H), [First | _])",
            &["First = critical - pve4"],
        ),
        // Comparison and arithmetic.
        ("X is 7 / 2", &["X = 3.5"]),
        ("X is 8 / 2", &["X = 4"]),
        ("X is -7 // 2", &["X = -3"]),
        ("X is -7 mod 2", &["X = 1"]),
        ("X is -7 rem 2", &["X = -1"]),
        ("X is -7 div 2", &["X = -4"]),
        ("X is 2 ** 10 + 2 ^ 3 - 1", &["X = 1031"]),
        ("X is max(3, 2.5) * min(1, 2)", &["X = 3"]),
        (
            "X is round(2.5) + truncate(-2.5) + ceiling(0.1) + floor(0.9)",
            &["X = 2"],
        ),
        ("X is sqrt(16) + abs(-1)", &["X = 5.0"]),
        ("1 =:= 1.0, 1 \\== 1.0, 1 =\\= 2", &["yes"]),
        ("compare(O, a, b)", &["O = (<)"]),
        (
            "msort([b, 2, a, 1.0, f(x), Z, 1], L)",
            &["Z = _1, L = [_1, 1.0, 1, 2, a, b, f(x)]"],
        ),
        ("X = f(X)", &[]),
        ("f(A, b) = f(a, B)", &["A = a, B = b"]),
        ("a \\= b, f(X) = f(_)", &["yes"]),
        ("between(1, 3, X)", &["X = 1", "X = 2", "X = 3"]),
        // Lists.
        ("append(X, [c], [a, b, c])", &["X = [a, b]"]),
        ("append(X, Y, [a])", &["X = [], Y = [a]", "X = [a], Y = []"]),
        ("length(L, 2)", &["L = [_1, _2]"]),
        ("length([a | T], 3)", &["T = [_1, _2]"]),
        ("reverse([1, 2, 3], L)", &["L = [3, 2, 1]"]),
        (
            "nth0(1, [a, b], X), nth1(1, [a, b], Y), last([a, b], Z)",
            &["X = b, Y = a, Z = b"],
        ),
        ("nth1(N, [a, b], b)", &["N = 2"]),
        ("select(b, [a, b, c], L)", &["L = [a, c]"]),
        ("subtract([a, b, c], [b], L)", &["L = [a, c]"]),
        ("intersection([a, b], [b, c], L)", &["L = [b]"]),
        ("union([a, b], [b, c], L)", &["L = [a, b, c]"]),
        ("list_to_set([a, b, a], L)", &["L = [a, b]"]),
        ("sort([c, a, b, a], L)", &["L = [a, b, c]"]),
        (
            "sort(2, @>=, [f(a, 1), f(b, 2), f(c, 1)], L)",
            &["L = [f(b, 2), f(a, 1), f(c, 1)]"],
        ),
        ("keysort([2-a, 1-b, 2-c], L)", &["L = [1 - b, 2 - a, 2 - c]"]),
        (
            "sum_list([1, 2.5], S), max_list([1, 3], M), min_list([1, 3], N)",
            &["S = 3.5, M = 3, N = 1"],
        ),
        ("max_list([], M)", &[]),
        ("memberchk(b, [a, b, b])", &["yes"]),
        ("atom_length('größe', N)", &["N = 5"]),
        ("X = 'it''s\\n', atom(X)", &["X = 'it\\'s\\n'"]),
        ("X = [a, B | C]", &["X = [a, _1 | _2], B = _1, C = _2"]),
        ("true. % and a comment", &["yes"]),
    ];
    let mut wrong = Vec::new();
    for (goal, expected) in cases {
        let found = lines(&knowledge, goal);
        if found != *expected {
            wrong.push(format!("{goal}\n  expected {expected:?}\n  found    {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn errors_while_a_goal_runs_are_named() {
    let knowledge = cluster();
    let cases = [
        ("X is 1 / 0", "division by zero"),
        ("X is Y + 1", "a variable has no value yet"),
        ("Y = pve1, X is Y + 1", "`pve1` is not a number"),
        (
            "X is 9223372036854775807 + 1",
            "does not fit in an integer of 64 bits",
        ),
        ("X is 2 ^ 64", "does not fit"),
        ("X is 2 ^ -1", "negative power"),
        ("X is 1.0e308 * 10", "not a finite number"),
        ("X is sqrt(-1)", "square root"),
        ("X is 1.5 mod 2", "takes integers"),
        ("length(L, N)", "either the list or the length must be known"),
        ("length(L, a)", "must be an integer"),
        ("length([a, b | c], N)", "must be a list"),
        ("compare(a, 1, 2)", "must be <, = or >"),
        ("nth0(a, [x], X)", "`a` is not a number"),
        ("between(1, 2, a)", "`a` is not a number"),
        ("memberchk(a, L)", "must be a list"),
        ("sort(a, L)", "must be a list"),
        ("keysort([a], L)", "must be a pair"),
        ("atom_length(1, N)", "must be an atom"),
    ];
    for (goal, message) in cases {
        let answer = ask(&knowledge, goal).unwrap();
        let stopped = answer
            .stopped
            .unwrap_or_else(|| panic!("{goal} has an answer: {:?}", answer.lines));
        assert_eq!(stopped.code, "error", "{goal}");
        assert!(stopped.message.contains(message), "{goal}: {}", stopped.message);
    }
}

#[test]
fn an_answer_says_it_in_words_and_in_json() {
    let knowledge = cluster();
    let mut text = String::new();
    for goal in [
        "node_health(pve2, Health)",
        "known_node(pve1)",
        "can_reach(pve1, pve4)",
        "known_node(N)",
        "between(1, 200, N)",
        "node_health(pve9, S)",
        "current_vm_host(db, Node)",
        "current_vm_host(999, Node)",
        "X = point(1, [a, 'B c'], Y)",
        "X is 1 / 0",
    ] {
        let answer = ask(&knowledge, goal).unwrap();
        text.push_str(&format!("?- {goal}\n{}\n", answer.sentence));
    }
    insta::assert_snapshot!(text);
    insta::assert_json_snapshot!(
        ask(&knowledge, "X = point(1, [a, 'B c'], Y), node_health(pve2, H)").unwrap()
    );
}

#[test]
fn explanations_name_facts_and_rules() {
    let knowledge = cluster();
    let mut text = String::new();
    for goal in [
        "at_risk(102)",
        "at_risk(104)",
        "can_reach(pve2, pve3)",
        "shortest_path(pve2, pve3, P, C)",
        "active_alerts(pve2, L)",
        "blast_radius(102, L)",
        "\\+ can_reach(pve1, pve4), member(X, [1, 2])",
        "findall(N, overloaded(N), L)",
        "known_node(ghost)",
    ] {
        let checked = knowledge.check(goal).unwrap();
        let explanation = knowledge.explain(&checked, support::now(), interlock_logic::Limits::default());
        text.push_str(&format!(
            "?- {goal}\n{}\n{}\n",
            explanation.answer.sentence,
            explanation.text()
        ));
    }
    insta::assert_snapshot!(text);
    let checked = knowledge.check("at_risk(104)").unwrap();
    insta::assert_json_snapshot!(
        knowledge
            .explain(&checked, support::now(), interlock_logic::Limits::default())
            .because
    );
}
