//! Hostile goals: generated terms and generated text.

/// A generator of numbers with a seed (xorshift64*).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() >> 33).unwrap_or(0) % end
    }

    pub(crate) fn pick<'l, T: ?Sized>(&mut self, list: &[&'l T]) -> &'l T {
        list[self.below(list.len())]
    }
}

/// What a goal must never call.
pub(crate) const DANGEROUS: &[&str] = &[
    "assertz(known_node(evil))",
    "asserta(x)",
    "retract(known_node(pve1))",
    "retractall(node_health(_, _))",
    "abolish(known_node/1)",
    "consult('/tmp/x')",
    "use_module(library(process))",
    "open('/tmp/interlock-hostile', write, S)",
    "tell('/tmp/interlock-hostile')",
    "see('/etc/passwd')",
    "shell('touch /tmp/interlock-hostile')",
    "process_create(path(touch), ['/tmp/x'], [])",
    "halt",
    "halt(0)",
    "call(halt)",
    "call(assertz, x)",
    "X = halt, X",
    "G",
    "maplist(assertz, [x, y])",
    "catch(halt, _, true)",
    "['/tmp/x']",
    "X =.. [halt]",
    "format(user_error, x, [])",
    "nb_setval(k, v)",
    "set_prolog_flag(unknown, fail)",
    "op(200, xfy, known_node)",
    "'$$spread'([], [], [], _)",
    "system:halt",
    "user:assertz(x)",
    "live_state:shell(ls)",
    "M:halt",
    "thread_create(halt, _)",
    "read(X)",
    "load_files(x, [])",
    "X is system(ls)",
    "http_open('http://example.org', S, [])",
];

/// Goals that are allowed.
pub(crate) const HARMLESS: &[&str] = &[
    "known_node(N)",
    "node_health(pve1, S)",
    "live_state:node_health(N, S)",
    "can_reach(A, B)",
    "shortest_path(pve1, B, P, C)",
    "blast_radius(R, L)",
    "active_alerts(N, L)",
    "current_vm_host(G, H)",
    "member(X, [1, 2, 3])",
    "append(X, Y, [a, b])",
    "length(L, 3)",
    "X = f(Y)",
    "X is 1 + 2",
    "N > 1",
    "a @< b",
    "true",
    "fail",
    "!",
    "between(1, 1000000, N)",
    "overloaded(N)",
    "at_risk(G)",
    "sort([b, a], L)",
];

/// Pieces of text, to be put together without any order.
const PIECES: &[&str] = &[
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ",",
    ";",
    "->",
    "*->",
    "|",
    "||",
    ":-",
    "?-",
    "-->",
    "\\+",
    "\\",
    ":",
    "::",
    ".",
    ". ",
    "!",
    "=",
    "\\=",
    "==",
    "=..",
    "is",
    "<",
    ">",
    "^",
    "-",
    "- ",
    "+",
    "*",
    "/",
    "/*",
    "*/",
    "%",
    "\n",
    " ",
    "'",
    "\"",
    "`",
    "\\'",
    "''",
    "\\x61\\",
    "\\n",
    "0'a",
    "0'",
    "0x1F",
    "1",
    "1.5",
    "1e9",
    "99999999999999999999",
    "_",
    "X",
    "_G1",
    "a",
    "known_node",
    "node_health",
    "assertz",
    "halt",
    "call",
    "findall",
    "setof",
    "forall",
    "aggregate_all",
    "count",
    "live_state:",
    "user:",
    "system:",
    "[]",
    "{}",
    "(x)",
    "(X)",
    "(X,Y)",
    "\u{0}",
    "\u{202e}",
    "\u{200b}",
    "é",
    "Ω",
    "日本",
    "\u{a0}",
    "\u{feff}",
    "\r",
    "\t",
    "'$$spread'",
    "$",
    "\\e",
    "#",
];

/// A goal: a term with harmless and dangerous goals in it, or text without any order.
pub(crate) fn goal(random: &mut Random) -> String {
    match random.below(10) {
        0..=5 => term(random, 0),
        6..=7 => {
            // A goal with something put into it.
            let mut text = term(random, 2);
            for _ in 0..=random.below(3) {
                let at = random.below(text.chars().count() + 1);
                let byte = text.char_indices().nth(at).map_or(text.len(), |(byte, _)| byte);
                text.insert_str(byte, random.pick(PIECES));
            }
            text
        }
        _ => (0..=random.below(30)).map(|_| random.pick(PIECES)).collect(),
    }
}

fn term(random: &mut Random, depth: usize) -> String {
    if depth > 4 || random.below(4) == 0 {
        let list = if random.below(3) == 0 { DANGEROUS } else { HARMLESS };
        return random.pick(list).to_owned();
    }
    let a = term(random, depth + 1);
    let b = term(random, depth + 1);
    match random.below(16) {
        0..=3 => format!("{a}, {b}"),
        4 => format!("({a} ; {b})"),
        5 => format!("({a} -> {b} ; true)"),
        6 => format!("\\+ ({a})"),
        7 => format!("findall(X, ({a}), L)"),
        8 => format!("setof(X, Y^({a}), L)"),
        9 => format!("bagof(X, ({a}), L)"),
        10 => format!("forall(({a}), ({b}))"),
        11 => format!("aggregate_all(count, ({a}), C)"),
        12 => format!("once(({a}))"),
        13 => format!("ignore(({a}))"),
        14 => format!("findall(({a}), ({b}), _)"),
        _ => format!("not(({a}))"),
    }
}
