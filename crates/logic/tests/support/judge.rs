//! A second opinion about goals that passed the checker, written without looking at it.

use interlock_logic::Term;

/// What may be called, besides the rules of the test.
const ALLOWED: &str = " true/0 fail/0 false/0 !/0 known_node/1 node_health/2 in_service/1 node_metric/3 link/4 live_link/3 can_reach/2 \
    shortest_path/4 alert/3 active_alerts/2 current_vm_host/2 guest_name/2 dependency/2 depends_on/2 blast_radius/2 resource/1 now/1 \
    =/2 \\=/2 ==/2 \\==/2 @</2 @>/2 @=</2 @>=/2 compare/3 is/2 =:=/2 =\\=/2 </2 >/2 =</2 >=/2 between/3 var/1 nonvar/1 atom/1 number/1 \
    integer/1 float/1 atomic/1 compound/1 ground/1 is_list/1 atom_length/2 member/2 memberchk/2 append/3 length/2 reverse/2 nth0/3 nth1/3 \
    last/2 select/3 subtract/3 intersection/3 union/3 list_to_set/2 sort/2 sort/4 msort/2 keysort/2 pairs_keys/2 pairs_values/2 \
    ord_subtract/3 ord_union/3 ord_memberchk/2 sum_list/2 max_list/2 min_list/2 overloaded/1 at_risk/1 can_move/2 ";

/// The first goal in a term that must not run.
pub(crate) fn forbidden(goal: &Term) -> Option<String> {
    let (name, arguments): (&str, &[Term]) = match goal {
        Term::Atom(name) => (name, &[]),
        Term::Compound(name, arguments) => (name, arguments),
        other => return Some(format!("{other:?} as a goal")),
    };
    let first = |goals: &[&Term]| goals.iter().find_map(|goal| forbidden(goal));
    match (name, arguments) {
        ("," | ";" | "->" | "forall", [a, b]) => first(&[a, b]),
        ("\\+" | "not" | "once" | "ignore", [a]) | ("findall" | "aggregate_all", [_, a, _]) => first(&[a]),
        ("bagof" | "setof", [_, a, _]) => {
            let mut inner = a;
            while let Term::Compound(name, parts) = inner {
                if &**name != "^" || parts.len() != 2 {
                    break;
                }
                inner = &parts[1];
            }
            first(&[inner])
        }
        _ => (!ALLOWED.contains(&format!(" {name}/{} ", arguments.len())))
            .then(|| format!("{name}/{}", arguments.len())),
    }
}
