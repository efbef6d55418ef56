//! Every predicate that exists: one table for the checker, the engine and the documentation.
//!
//! The engine runs what stands here, what the library defines and what rules define, and has no other built-in. So a
//! predicate that writes, opens or loads something is not only refused: there is no code for it.

/// What a predicate is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Topic {
    /// The live state: facts and what follows from them.
    State,
    /// Combining goals.
    Control,
    /// Comparing terms and numbers.
    Comparison,
    /// Looking at what kind of term something is.
    Kinds,
    /// Lists.
    Lists,
}

/// A predicate, in words.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub struct Predicate {
    /// Its name.
    pub name: &'static str,
    /// How many arguments it has.
    pub arity: usize,
    /// How it is written.
    pub form: &'static str,
    /// What it says.
    pub summary: &'static str,
    /// What it is about.
    pub topic: Topic,
}

/// Goals that contain goals.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Control {
    True,
    Fail,
    Cut,
    And,
    Or,
    Then,
    Not,
    Once,
    Ignore,
    Forall,
    Findall,
    Bagof,
    Setof,
    Aggregate,
}

/// Goals that the engine computes by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Builtin {
    Unify,
    NotUnify,
    Identical,
    NotIdentical,
    Before,
    After,
    NotAfter,
    NotBefore,
    Compare,
    Is,
    Equal,
    NotEqual,
    Less,
    More,
    AtMost,
    AtLeast,
    IsVar,
    IsNonvar,
    IsAtom,
    IsNumber,
    IsInteger,
    IsFloat,
    IsAtomic,
    IsCompound,
    IsGround,
    IsList,
    Now,
    Length,
    Msort,
    Sort,
    Sort4,
    Keysort,
    OrdSubtract,
    OrdUnion,
    OrdMemberchk,
    SumList,
    MaxList,
    MinList,
    AtomLength,
    Memberchk,
}

/// The control construct of this name.
pub(crate) fn control(name: &str, arity: usize) -> Option<Control> {
    Some(match (name, arity) {
        ("true", 0) => Control::True,
        ("fail" | "false", 0) => Control::Fail,
        ("!", 0) => Control::Cut,
        (",", 2) => Control::And,
        (";", 2) => Control::Or,
        ("->", 2) => Control::Then,
        ("\\+" | "not", 1) => Control::Not,
        ("once", 1) => Control::Once,
        ("ignore", 1) => Control::Ignore,
        ("forall", 2) => Control::Forall,
        ("findall", 3) => Control::Findall,
        ("bagof", 3) => Control::Bagof,
        ("setof", 3) => Control::Setof,
        ("aggregate_all", 3) => Control::Aggregate,
        _ => return None,
    })
}

/// The built-in of this name.
pub(crate) fn builtin(name: &str, arity: usize) -> Option<Builtin> {
    Some(match (name, arity) {
        ("=", 2) => Builtin::Unify,
        ("\\=", 2) => Builtin::NotUnify,
        ("==", 2) => Builtin::Identical,
        ("\\==", 2) => Builtin::NotIdentical,
        ("@<", 2) => Builtin::Before,
        ("@>", 2) => Builtin::After,
        ("@=<", 2) => Builtin::NotAfter,
        ("@>=", 2) => Builtin::NotBefore,
        ("compare", 3) => Builtin::Compare,
        ("is", 2) => Builtin::Is,
        ("=:=", 2) => Builtin::Equal,
        ("=\\=", 2) => Builtin::NotEqual,
        ("<", 2) => Builtin::Less,
        (">", 2) => Builtin::More,
        ("=<", 2) => Builtin::AtMost,
        (">=", 2) => Builtin::AtLeast,
        ("var", 1) => Builtin::IsVar,
        ("nonvar", 1) => Builtin::IsNonvar,
        ("atom", 1) => Builtin::IsAtom,
        ("number", 1) => Builtin::IsNumber,
        ("integer", 1) => Builtin::IsInteger,
        ("float", 1) => Builtin::IsFloat,
        ("atomic", 1) => Builtin::IsAtomic,
        ("compound", 1) => Builtin::IsCompound,
        ("ground", 1) => Builtin::IsGround,
        ("is_list", 1) => Builtin::IsList,
        ("now", 1) => Builtin::Now,
        ("length", 2) => Builtin::Length,
        ("msort", 2) => Builtin::Msort,
        ("sort", 2) => Builtin::Sort,
        ("sort", 4) => Builtin::Sort4,
        ("keysort", 2) => Builtin::Keysort,
        ("ord_subtract", 3) => Builtin::OrdSubtract,
        ("ord_union", 3) => Builtin::OrdUnion,
        ("ord_memberchk", 2) => Builtin::OrdMemberchk,
        ("sum_list", 2) => Builtin::SumList,
        ("max_list", 2) => Builtin::MaxList,
        ("min_list", 2) => Builtin::MinList,
        ("atom_length", 2) => Builtin::AtomLength,
        ("memberchk", 2) => Builtin::Memberchk,
        _ => return None,
    })
}

/// What may stand in an arithmetic expression, by name and number of arguments.
pub(crate) fn is_arithmetic(name: &str, arity: usize) -> bool {
    matches!(
        (name, arity),
        ("pi" | "e", 0)
            | (
                "-" | "+"
                    | "abs"
                    | "sign"
                    | "sqrt"
                    | "float"
                    | "integer"
                    | "floor"
                    | "ceiling"
                    | "round"
                    | "truncate",
                1
            )
            | (
                "+" | "-" | "*" | "/" | "//" | "mod" | "rem" | "div" | "min" | "max" | "**" | "^",
                2
            )
    )
}

/// Modules whose name may stand before a predicate of the live state. They hold the same predicates.
pub(crate) const MODULES: &[&str] = &["interlock", "live_state", "proxmox_topology"];
/// The module of operator rules.
pub(crate) const RULES_MODULE: &str = "rules";

/// Every predicate that a goal may call, besides operator rules.
pub const PREDICATES: &[Predicate] = &[
    state(
        "known_node",
        1,
        "known_node(Node)",
        "Node is a node of the cluster.",
    ),
    state(
        "node_health",
        2,
        "node_health(Node, Health)",
        "Health is nominal, degraded, critical or unknown.",
    ),
    state(
        "in_service",
        1,
        "in_service(Node)",
        "The health of Node is nominal or degraded.",
    ),
    state(
        "node_metric",
        3,
        "node_metric(Node, Metric, Value)",
        "The last value of a metric of a node.",
    ),
    state(
        "link",
        4,
        "link(A, B, Cost, State)",
        "A link between two nodes, in both directions. State is up or down.",
    ),
    state(
        "live_link",
        3,
        "live_link(A, B, Cost)",
        "A link that is up, between two nodes that are in service.",
    ),
    state(
        "can_reach",
        2,
        "can_reach(From, To)",
        "A path of live links leads from From to To. A node in service reaches itself.",
    ),
    state(
        "shortest_path",
        4,
        "shortest_path(From, To, Path, Cost)",
        "Path is the list of nodes on the cheapest path of live links, and Cost the sum of its costs.",
    ),
    state(
        "alert",
        3,
        "alert(Resource, Condition, Time)",
        "An alert that was seen at Time, in seconds since 1970.",
    ),
    state(
        "active_alerts",
        2,
        "active_alerts(Resource, Conditions)",
        "The conditions that alerted in the last 300 seconds, as a sorted list without duplicates.",
    ),
    state(
        "current_vm_host",
        2,
        "current_vm_host(Guest, Node)",
        "The guest with this id (a VM or a container) is on Node.",
    ),
    state("guest_name", 2, "guest_name(Guest, Name)", "The name of a guest."),
    state("dependency", 2, "dependency(A, B)", "A is declared to need B."),
    state(
        "depends_on",
        2,
        "depends_on(A, B)",
        "A needs B directly: it is declared to, or A is a guest and B its node.",
    ),
    state(
        "blast_radius",
        2,
        "blast_radius(Resource, Affected)",
        "Everything that depends on Resource, directly or through others, as a sorted list.",
    ),
    state(
        "resource",
        1,
        "resource(Resource)",
        "A node, a guest, or a name that a dependency or an alert mentions.",
    ),
    state(
        "now",
        1,
        "now(Time)",
        "The time of the question, in seconds since 1970.",
    ),
    control_form("true", 0, "true", "Always holds."),
    control_form("fail", 0, "fail", "Never holds."),
    control_form("!", 0, "!", "Keeps the choices made so far in this goal or rule."),
    control_form(",", 2, "A, B", "A and B hold."),
    control_form(";", 2, "A ; B", "A or B holds."),
    control_form("->", 2, "If -> Then ; Else", "Then if If holds, otherwise Else."),
    control_form("\\+", 1, "\\+ A", "A does not hold."),
    control_form("not", 1, "not(A)", "The same as \\+ A."),
    control_form("once", 1, "once(A)", "The first answer of A."),
    control_form(
        "ignore",
        1,
        "ignore(A)",
        "The first answer of A, if there is one.",
    ),
    control_form("forall", 2, "forall(A, B)", "B holds for every answer of A."),
    control_form(
        "findall",
        3,
        "findall(T, A, List)",
        "List has T for every answer of A.",
    ),
    control_form(
        "bagof",
        3,
        "bagof(T, A, List)",
        "As findall/3, for each value of the other variables; fails if there is none.",
    ),
    control_form(
        "setof",
        3,
        "setof(T, A, List)",
        "As bagof/3, sorted and without duplicates.",
    ),
    control_form(
        "aggregate_all",
        3,
        "aggregate_all(count, A, N)",
        "How many answers A has. Also sum(E), max(E), min(E), bag(T), set(T).",
    ),
    comparison("=", 2, "A = B", "A and B are made equal."),
    comparison("\\=", 2, "A \\= B", "A and B cannot be made equal."),
    comparison("==", 2, "A == B", "A and B are the same term."),
    comparison("\\==", 2, "A \\== B", "A and B are not the same term."),
    comparison("@<", 2, "A @< B", "A stands before B in the standard order."),
    comparison("@>", 2, "A @> B", "A stands after B in the standard order."),
    comparison(
        "@=<",
        2,
        "A @=< B",
        "A does not stand after B in the standard order.",
    ),
    comparison(
        "@>=",
        2,
        "A @>= B",
        "A does not stand before B in the standard order.",
    ),
    comparison("compare", 3, "compare(Order, A, B)", "Order is <, = or >."),
    comparison("is", 2, "N is Expression", "N is the value of Expression."),
    comparison("=:=", 2, "A =:= B", "The values are equal."),
    comparison("=\\=", 2, "A =\\= B", "The values differ."),
    comparison("<", 2, "A < B", "The value of A is less."),
    comparison(">", 2, "A > B", "The value of A is greater."),
    comparison("=<", 2, "A =< B", "The value of A is less or equal."),
    comparison(">=", 2, "A >= B", "The value of A is greater or equal."),
    comparison(
        "between",
        3,
        "between(Low, High, N)",
        "N is an integer from Low to High.",
    ),
    kind("var", "var(T)", "T has no value yet."),
    kind("nonvar", "nonvar(T)", "T has a value."),
    kind("atom", "atom(T)", "T is an atom."),
    kind("number", "number(T)", "T is a number."),
    kind("integer", "integer(T)", "T is an integer."),
    kind("float", "float(T)", "T is a floating-point number."),
    kind("atomic", "atomic(T)", "T is an atom or a number."),
    kind("compound", "compound(T)", "T has arguments."),
    kind("ground", "ground(T)", "T has no variable."),
    kind("is_list", "is_list(T)", "T is a list."),
    Predicate {
        name: "atom_length",
        arity: 2,
        form: "atom_length(Atom, N)",
        summary: "How many characters Atom has.",
        topic: Topic::Kinds,
    },
    list("member", 2, "member(X, List)", "X is an element of List."),
    list(
        "memberchk",
        2,
        "memberchk(X, List)",
        "X is an element of List; the first one only.",
    ),
    list("append", 3, "append(A, B, List)", "List is A followed by B."),
    list("length", 2, "length(List, N)", "List has N elements."),
    list(
        "reverse",
        2,
        "reverse(List, Reversed)",
        "The elements in the other order.",
    ),
    list("nth0", 3, "nth0(N, List, X)", "X is element N, from 0."),
    list("nth1", 3, "nth1(N, List, X)", "X is element N, from 1."),
    list("last", 2, "last(List, X)", "X is the last element."),
    list(
        "select",
        3,
        "select(X, List, Rest)",
        "Rest is List without one X.",
    ),
    list(
        "subtract",
        3,
        "subtract(List, Without, Rest)",
        "The elements of List that are not in Without.",
    ),
    list(
        "intersection",
        3,
        "intersection(A, B, Both)",
        "The elements of A that are also in B.",
    ),
    list(
        "union",
        3,
        "union(A, B, Either)",
        "The elements of A that are not in B, followed by B.",
    ),
    list(
        "list_to_set",
        2,
        "list_to_set(List, Set)",
        "The elements without duplicates, in the order of List.",
    ),
    list("sort", 2, "sort(List, Sorted)", "Sorted, without duplicates."),
    list(
        "sort",
        4,
        "sort(Key, Order, List, Sorted)",
        "Sorted by an argument, in order @<, @>, @=< or @>=.",
    ),
    list("msort", 2, "msort(List, Sorted)", "Sorted, with duplicates."),
    list(
        "keysort",
        2,
        "keysort(Pairs, Sorted)",
        "Pairs sorted by their key.",
    ),
    list("pairs_keys", 2, "pairs_keys(Pairs, Keys)", "The keys of pairs."),
    list(
        "pairs_values",
        2,
        "pairs_values(Pairs, Values)",
        "The values of pairs.",
    ),
    list(
        "ord_subtract",
        3,
        "ord_subtract(A, B, Rest)",
        "A without B, both sorted.",
    ),
    list(
        "ord_union",
        3,
        "ord_union(A, B, Either)",
        "A and B together, both sorted.",
    ),
    list(
        "ord_memberchk",
        2,
        "ord_memberchk(X, Sorted)",
        "X is in a sorted list.",
    ),
    list("sum_list", 2, "sum_list(Numbers, Sum)", "The sum."),
    list("max_list", 2, "max_list(Numbers, Max)", "The greatest number."),
    list("min_list", 2, "min_list(Numbers, Min)", "The least number."),
];

const fn state(name: &'static str, arity: usize, form: &'static str, summary: &'static str) -> Predicate {
    Predicate {
        name,
        arity,
        form,
        summary,
        topic: Topic::State,
    }
}
const fn control_form(
    name: &'static str,
    arity: usize,
    form: &'static str,
    summary: &'static str,
) -> Predicate {
    Predicate {
        name,
        arity,
        form,
        summary,
        topic: Topic::Control,
    }
}
const fn comparison(
    name: &'static str,
    arity: usize,
    form: &'static str,
    summary: &'static str,
) -> Predicate {
    Predicate {
        name,
        arity,
        form,
        summary,
        topic: Topic::Comparison,
    }
}
const fn kind(name: &'static str, form: &'static str, summary: &'static str) -> Predicate {
    Predicate {
        name,
        arity: 1,
        form,
        summary,
        topic: Topic::Kinds,
    }
}
const fn list(name: &'static str, arity: usize, form: &'static str, summary: &'static str) -> Predicate {
    Predicate {
        name,
        arity,
        form,
        summary,
        topic: Topic::Lists,
    }
}

/// The entry of a predicate.
pub(crate) fn predicate(name: &str, arity: usize) -> Option<&'static Predicate> {
    PREDICATES
        .iter()
        .find(|entry| entry.name == name && entry.arity == arity)
}
