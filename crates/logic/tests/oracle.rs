//! SWI-Prolog gives the same answers, where it is installed: to generated goals, with its own built-ins and list library, and
//! to our rules about the live state.
//!
//! `SWIPL` names the program, if it is not in the path. `ORACLE_GOALS` and `ORACLE_SEED` try more goals, and other ones.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test may panic, and the functions that tests share are test code too"
)]

#[allow(dead_code, reason = "only its generator of numbers is used here")]
#[path = "support/hostile.rs"]
mod hostile;
mod support;

use std::fmt::Write as _;

use hostile::Random;
use interlock_logic::{Knowledge, Limits, Term, parse_goal};
use support::with_variables;

/// The variables of generated goals.
const VARIABLES: &[&str] = &["X", "Y", "Z"];

struct Generator(Random);

impl Generator {
    fn variable(&mut self) -> String {
        self.0.pick(VARIABLES).to_owned()
    }

    fn atomic(&mut self) -> String {
        self.0
            .pick(&[
                "a", "b", "c", "pve1", "pve2", "pve3", "pve4", "101", "102", "shop", "0", "1", "2", "3",
                "-1", "2.5", "[]",
            ])
            .to_owned()
    }

    fn term(&mut self, depth: usize) -> String {
        match self.0.below(8) {
            0..=2 => self.atomic(),
            3 | 4 => self.variable(),
            5 if depth < 2 => format!("f({}, {})", self.term(depth + 1), self.term(depth + 1)),
            6 if depth < 2 => format!("({} - {})", self.term(depth + 1), self.term(depth + 1)),
            _ if depth < 2 => self.list(),
            _ => self.atomic(),
        }
    }

    fn list(&mut self) -> String {
        let count = self.0.below(4);
        let items: Vec<String> = (0..count).map(|_| self.term(2)).collect();
        format!("[{}]", items.join(", "))
    }

    fn numbers(&mut self) -> String {
        let count = self.0.below(4);
        let items: Vec<String> = (0..count).map(|_| self.number()).collect();
        format!("[{}]", items.join(", "))
    }

    fn number(&mut self) -> String {
        self.0
            .pick(&["0", "1", "2", "3", "7", "-2", "2.5", "0.5"])
            .to_owned()
    }

    fn expression(&mut self, depth: usize) -> String {
        if depth > 2 || self.0.below(3) == 0 {
            return if self.0.below(5) == 0 {
                self.variable()
            } else {
                self.number()
            };
        }
        let (a, b) = (self.expression(depth + 1), self.expression(depth + 1));
        match self.0.below(14) {
            0 => format!("({a} + {b})"),
            1 => format!("({a} - {b})"),
            2 => format!("({a} * {b})"),
            3 => format!("({a} / {b})"),
            4 => format!("({a} // {b})"),
            5 => format!("({a} mod {b})"),
            6 => format!("({a} rem {b})"),
            7 => format!("({a} div {b})"),
            8 => format!("min({a}, {b})"),
            9 => format!("max({a}, {b})"),
            10 => format!("abs({a})"),
            11 => format!("sign({a})"),
            12 => format!("round({a})"),
            _ => format!("truncate({a})"),
        }
    }

    fn plain(&mut self) -> String {
        let (x, y) = (self.variable(), self.variable());
        match self.0.below(46) {
            0 => format!("{x} = {}", self.term(0)),
            1 => format!("{} = {}", self.term(0), self.term(0)),
            2 => format!("{} \\= {}", self.term(0), self.term(0)),
            3 => format!("{} == {}", self.term(0), self.term(0)),
            4 => format!("{} \\== {}", self.term(0), self.term(0)),
            5 => format!("{} @< {}", self.atomic(), self.term(1)),
            6 => format!("compare({x}, {}, {})", self.atomic(), self.atomic()),
            7 | 8 => format!("{x} is {}", self.expression(0)),
            9 => format!("{} < {}", self.expression(1), self.expression(1)),
            10 => format!("{} =:= {}", self.expression(1), self.expression(1)),
            11 => format!("between({}, 3, {x})", self.0.pick(&["0", "1", "3", "4"])),
            12 | 13 => format!("member({x}, {})", self.list()),
            14 => format!("memberchk({}, {})", self.term(1), self.list()),
            15 => format!("append({x}, {y}, {})", self.list()),
            16 => format!("append({}, {}, {x})", self.list(), self.list()),
            17 => format!("length({}, {x})", self.list()),
            18 => format!("length({x}, {})", self.0.pick(&["0", "1", "2"])),
            19 => format!("reverse({}, {x})", self.list()),
            20 => format!("nth0({x}, {}, {y})", self.list()),
            21 => format!("nth1(1, {}, {x})", self.list()),
            22 => format!("last({}, {x})", self.list()),
            23 => format!("select({x}, {}, {y})", self.list()),
            24 => format!("subtract({}, {}, {x})", self.list(), self.list()),
            25 => format!("intersection({}, {}, {x})", self.list(), self.list()),
            26 => format!("union({}, {}, {x})", self.list(), self.list()),
            27 => format!("list_to_set({}, {x})", self.list()),
            28 => format!(
                "sort([{}, {}, {}], {x})",
                self.atomic(),
                self.atomic(),
                self.atomic()
            ),
            29 => format!(
                "msort([{}, {}, {}], {x})",
                self.atomic(),
                self.atomic(),
                self.atomic()
            ),
            30 => format!(
                "sort(0, {}, [{}, {}, {}], {x})",
                self.0.pick(&["@<", "@>", "@=<", "@>="]),
                self.atomic(),
                self.atomic(),
                self.atomic()
            ),
            31 => format!(
                "keysort([({} - 1), ({} - 2), ({} - 3)], {x})",
                self.atomic(),
                self.atomic(),
                self.atomic()
            ),
            32 => format!("sum_list({}, {x})", self.numbers()),
            33 => format!("max_list({}, {x})", self.numbers()),
            34 => format!("pairs_keys([({} - {})], {x})", self.term(1), self.term(1)),
            35 => format!(
                "{}({})",
                self.0.pick(&[
                    "atom", "number", "integer", "float", "atomic", "compound", "var", "nonvar", "ground",
                    "is_list"
                ]),
                self.term(0)
            ),
            36 => format!("known_node({x})"),
            37 => format!("node_health({x}, {y})"),
            38 => format!("live_link({x}, {y}, _)"),
            39 => format!(
                "can_reach({}, {x})",
                self.0.pick(&["pve1", "pve2", "pve3", "pve4", "Y"])
            ),
            40 => format!(
                "shortest_path({}, {y}, {x}, _)",
                self.0.pick(&["pve1", "pve2", "pve3", "pve4"])
            ),
            41 => format!("current_vm_host({x}, {y})"),
            42 => format!("depends_on({x}, {y})"),
            43 => format!("blast_radius({x}, {y})"),
            44 => format!("active_alerts({x}, {y})"),
            _ => self.0.pick(&["true", "fail", "!"]).to_owned(),
        }
    }

    fn goal(&mut self, depth: usize) -> String {
        if depth > 3 || self.0.below(3) == 0 {
            return self.plain();
        }
        let (x, y) = (self.variable(), self.variable());
        let (a, b) = (self.goal(depth + 1), self.goal(depth + 1));
        match self.0.below(20) {
            0..=7 => format!("({a}, {b})"),
            8 => format!("({a} ; {b})"),
            9 => format!("({a} -> {b} ; {})", self.goal(depth + 1)),
            10 => format!("({a} -> {b})"),
            11 => format!("\\+ ({a})"),
            12 => format!("findall({x}, ({a}), {y})"),
            13 => format!("once(({a}))"),
            14 => format!("ignore(({a}))"),
            15 => format!("forall(({a}), ({b}))"),
            16 => format!(
                "aggregate_all({}, ({a}), {y})",
                self.0.pick(&["count", "bag(X)", "set(Y)"])
            ),
            17 => format!("setof({x}, {y}^({a}), Z)"),
            18 => format!("bagof({x}, ({a}), {y})"),
            _ => format!("setof({x}-{y}, ({a}), Z)"),
        }
    }
}

/// All answers in one list, with variables as `'$VAR'(N)`, or the word `error`.
fn ours(knowledge: &Knowledge, goal: &str) -> Option<Term> {
    let checked = knowledge
        .check(&format!("findall([X, Y, Z], ({goal}), Answers)"))
        .unwrap_or_else(|refusal| panic!("{goal}: {refusal}"));
    let limits = Limits {
        inferences: 200_000,
        ..Limits::default()
    };
    let answer = knowledge.ask(&checked, support::now(), limits);
    match &answer.stopped {
        Some(stopped) if stopped.code == "error" => return Some(Term::atom("error")),
        Some(_) => return None,
        None => {}
    }
    let line = answer.lines.first()?;
    let Term::Compound(_, sides) = parse_goal(line).ok()?.term else {
        return None;
    };
    Some(with_numbers(&sides[1]))
}

/// Variables as SWI-Prolog writes them after `numbervars/3`.
fn with_numbers(term: &Term) -> Term {
    let variable = |place| Term::compound("$VAR", vec![Term::Int(i64::try_from(place).unwrap())]);
    with_variables(term, &mut Vec::new(), &variable)
}

/// The part of our library that is about the live state.
fn live_state() -> &'static str {
    let library = Knowledge::library();
    &library[..library.find("\nbetween(Low").unwrap()]
}

#[test]
#[expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a test that runs SWI-Prolog beside the engine"
)]
fn swi_prolog_gives_the_same_answers() {
    let program = std::env::var("SWIPL").unwrap_or_else(|_| "swipl".to_owned());
    if std::process::Command::new(&program)
        .arg("--version")
        .output()
        .is_err()
    {
        println!("skipped: the same answers as SWI-Prolog ({program} is not installed)");
        return;
    }
    let number =
        |name: &str, otherwise: u64| std::env::var(name).map_or(otherwise, |text| text.parse().unwrap());
    let count = number("ORACLE_GOALS", 1500);
    let mut generator = Generator(Random::new(number("ORACLE_SEED", 7)));
    let knowledge = support::cluster();
    let mut goals: Vec<String> = (0..count).map(|_| generator.goal(0)).collect();
    goals.extend(
        [
            "overloaded(X)",
            "at_risk(X)",
            "can_move(X, Y)",
            "findall(X-Y, can_reach(X, Y), Z)",
        ]
        .map(str::to_owned),
    );

    let mut script = String::from(
        ":- set_prolog_flag(double_quotes, atom).\n:- set_prolog_flag(occurs_check, true).\n:- style_check(-singleton).\n\
         :- style_check(-discontiguous).\n:- use_module(library(lists)).\n:- use_module(library(aggregate)).\n\
         :- use_module(library(pairs)).\n:- use_module(library(ordsets)).\n",
    );
    let _ = writeln!(script, "now({}).", support::now().as_second());
    script.push_str(&knowledge.facts_as_text());
    script.push_str(live_state());
    script.push_str(support::RULES);
    for (number, goal) in goals.iter().enumerate() {
        let _ = writeln!(script, "test({number}, [X, Y, Z], ({goal})).");
    }
    script.push_str(
        "run(N) :- test(N, T, G), catch(call_with_inference_limit(findall(T, G, L0), 2000000, R), _, L0 = error), \
         (R == inference_limit_exceeded -> L = limit ; L = L0), \
         (acyclic_term(L) -> numbervars(L, 0, _) ; true), \
         write_term(L, [quoted(true), ignore_ops(true), numbervars(false), max_depth(0)]), nl.\n\
         main :- forall(test(N, _, _), run(N)), halt.\n:- initialization(main).\n",
    );
    let folder = std::env::temp_dir().join(format!("interlock-oracle-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("goals.pl");
    std::fs::write(&file, &script).unwrap();
    let output = std::process::Command::new(&program)
        .arg("-q")
        .arg(&file)
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    let text = String::from_utf8(output.stdout).unwrap();
    let theirs: Vec<&str> = text.lines().collect();
    assert_eq!(theirs.len(), goals.len(), "{errors}");

    let mut wrong = Vec::new();
    let (mut compared, mut own_order) = (0, 0);
    for (goal, theirs) in goals.iter().zip(theirs) {
        let Some(ours) = ours(&knowledge, goal) else {
            continue;
        };
        if theirs == "limit" {
            continue;
        }
        let theirs =
            parse_goal(theirs).map_or_else(|error| panic!("{theirs}: {error}"), |clause| clause.term);
        compared += 1;
        // The order of variables among themselves is each system's own.
        let sorts = ["setof", "bagof", "set(", "sort"]
            .iter()
            .any(|word| goal.contains(word));
        if ours != theirs && sorts && interlock_logic::write_term(&theirs, &[]).contains("$VAR") {
            own_order += 1;
            continue;
        }
        if ours != theirs {
            wrong.push(format!(
                "{goal}\n  ours   {}\n  theirs {}",
                interlock_logic::write_term(&ours, &[]),
                interlock_logic::write_term(&theirs, &[])
            ));
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
    println!("{compared} of {} goals compared with SWI-Prolog", goals.len());
    assert!(
        wrong.is_empty(),
        "{} of {compared} differ:\n{}",
        wrong.len(),
        wrong[..wrong.len().min(15)].join("\n")
    );
    assert!(own_order * 50 < goals.len(), "{own_order} goals sort variables");
    assert!(
        compared * 10 > goals.len() * 8,
        "only {compared} of {} goals were compared",
        goals.len()
    );
}
