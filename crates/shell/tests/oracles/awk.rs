//! awk: gawk, mawk, busybox awk and BWK awk.

use crate::arena::{Case, Language, called_a_read, nothing};
use crate::random::Random;
use crate::{former, quoted};

const PAYLOADS: &[&str] = &[
    "print \"touch M\"|\"sh\"",
    "system(\"touch M\")",
    "print > \"M\"",
    "print 1,2 > \"M\"",
    "printf(\"x\") > \"M\"",
    "\"touch M\" | getline",
    "print >> \"M\"",
];

/// What may stand before a slash.
const WORDS: &[&str] = &[
    "x",
    "NF",
    "$1",
    "$NF",
    "1",
    "\"s\"",
    "a[1]",
    "(x)",
    "case",
    "switch",
    "default",
    "func",
    "function",
    "length",
    "length()",
    "getline",
    "nextfile",
    "next",
    "strftime",
    "systime",
    "gensub",
    "asort",
    "fflush",
    "close",
    "BEGINFILE",
    "ENDFILE",
    "BEGIN",
    "END",
    "in",
    "x++",
    "--x",
    "x--",
    "!x",
    "-x",
    "return",
    "exit",
    "delete",
    "print",
    "do",
    "else",
    "/x/",
    "$x++",
    "srand()",
    "rand",
    "x in a",
    "toupper",
    "patsplit",
    "and",
    "or",
    "typeof",
    "eval",
    "include",
    "load",
    "namespace",
    "_",
    "x y",
    "x 1",
    "NR",
    "$",
    "$(1)",
    "ENVIRON",
    "]",
    ")",
    "}",
    "@x",
    "x::y",
    "split",
    "sub",
    "int",
    "x=",
    "x==",
    "~",
    "&&",
    ",",
    "?",
    ":",
    "x?y:",
    "%",
    "^",
    "if(1)",
    "while(0)",
    "for(;0;)",
    "else",
    ";",
    "\n",
];

/// What only some awks reserve.
const KEYWORDS: &[&str] = &[
    "case",
    "switch",
    "default",
    "func",
    "length",
    "nextfile",
    "strftime",
    "gensub",
    "BEGINFILE",
    "fflush",
    "return",
    "exit",
    "delete",
];

const BRACKETS: &[&str] = &[
    "[",
    "]",
    "[^",
    "[]",
    "[^]",
    "[[:alpha:]]",
    "[[:space:]",
    "[:",
    ":]",
    "/",
    "\\/",
    "\\]",
    "\\[",
    "\\",
    "#",
    "a",
    "\"",
    "[/]",
    "[\\/]",
    "[^/]",
    "[]/]",
    "x",
    ".",
    "*",
    "=",
    " ",
];

const STRINGS: &[&str] = &[
    "\"", "\\\"", "\\\\", "\\", "a", "\\n", "\\x22", "\\042", "\n", "\\\n", "#", "/", ";", "'", "\\/", "\\x",
    "\\u22",
];

const TOKENS: &[&str] = &[
    "print", "printf", "x", "$1", "\"a\"", "1", "(", ")", "[", "]", "{", "}", ";", "\n", ",", ">", ">>", "|",
    "||", "&&", "<", "/", "/a/", "!", "~", "=", "==", "+", "++", "-", "--", "?", ":", "in", "if", "else",
    "while", "for", "a", "getline", "length", " ", "#", "\\\n", "BEGIN", "END", "$", "\"M\"", "> \"M\"",
    "| \"sh\"", "^", "%", "*", "**", "/=", "next", "exit", "delete", "NF", "NR", "print 1", "function", "@",
    "split(", "substr(", "toupper(",
];

fn program(random: &mut Random) -> (String, &'static str) {
    let payload = random.pick(PAYLOADS);
    match random.below(8) {
        0 if random.one_in(2) => {
            let word = if random.one_in(2) {
                random.pick(KEYWORDS)
            } else {
                random.pick(WORDS)
            };
            let before = random.pick(&["y=", "y=x "]);
            (format!("BEGIN{{{before}{word} /2;{payload};z=1/3}}"), "slashes")
        }
        // A slash that divides for one and opens a regular expression for another.
        0 | 1 => {
            let word = random.pick(WORDS);
            let before = random.pick(&["y=", "", "y=x ", "print ", "y=(", "x=1;y=", "if(1) ", "y=z="]);
            let space = random.pick(&["", " "]);
            let opens = random.pick(&["2;", "#/;", "2\n", "\"/;", "[/;", "2};{", "=2;", "\\/;", "2)"]);
            let close = random.pick(&[";z=1/3", "", ";\"/\"", ";/#/", "#/", ";z=1/3;\"\"", "\nz=1/3/2"]);
            let frame = random.pick(&["BEGIN{@}", "{@}", "@", "END{@}", "BEGIN{if(1){@}}"]);
            let inner = format!("{before}{word}{space}/{opens}{payload}{close}");
            (frame.replace('@', &inner), "slashes")
        }
        2 => {
            let regex = random.soup(BRACKETS, 1, 6);
            let frame = random.pick(&[
                "!/@R@/ {@P@}",
                "/@R@/ || 1 {@P@}",
                "{x = $0 ~ /@R@/; @P@}",
                "{sub(/@R@/, \"\"); @P@; y = 1/2}",
                "!/@R@#/ {@P@}",
                "$0 !~ /@R@/ {@P@} /]/",
                "!/@R@/ {print} #/ {@P@}",
            ]);
            (frame.replace("@R@", &regex).replace("@P@", payload), "brackets")
        }
        3 => {
            let string = random.soup(STRINGS, 1, 5);
            let frame = random.pick(&[
                "BEGIN{s=\"@S@\";@P@;t=\"\"}",
                "BEGIN{s=\"@S@\n@P@}",
                "BEGIN{print \"@S@\" ;@P@;\"\"}",
                "BEGIN{#@S@\n@P@}",
                "BEGIN{x=1 #@S@\"\n;@P@}",
                "{print \"@S@\" \"@P@\"}",
                "{print \"a\" # @P@ @S@\n}",
            ]);
            (frame.replace("@S@", &string).replace("@P@", payload), "strings")
        }
        // What prints, and whether its `>` compares.
        4 => {
            let value = random.soup(
                &[
                    "x", "$1", "(1)", "(1,2)", "a[1]", "\"s\"", " ", ",", ",\n", "(x > 1)", "? 1 : 2",
                    "in a", "==1", "-1", "(", ")", "!x", "/x/",
                ],
                1,
                4,
            );
            let tail = random.pick(&[
                " > \"M\"",
                ">\"M\"",
                ")> \"M\"",
                "\n> \"M\"",
                " > \"M\" ? 1 : 2",
                "",
                ") > \"M\")",
                "] > \"M\"",
                " > (\"M\")",
            ]);
            let frame = random.pick(&[
                "{print @}",
                "{print(@}",
                "{printf \"x\" @}",
                "{if (1) print @; else x}",
                "{print @;}",
                "1 {print a[@}",
                "{print; @}",
                "{x = print @}",
            ]);
            (frame.replace('@', &format!("{value}{tail}")), "printing")
        }
        5 => {
            let frame = random.pick(&["@", "{@}", "BEGIN{@}", "1;@", "{@};1"]);
            let inner = format!(
                "{}{payload}{}",
                random.soup(TOKENS, 0, 5),
                random.soup(TOKENS, 0, 3)
            );
            (frame.replace('@', &inner), "tokens")
        }
        6 => {
            let frame = random.pick(&[
                "BEGIN{ARGV[1]=\"s\"} {@P@}",
                "function f(x){@P@} BEGIN{f(1)}",
                "func f(x){@P@} BEGIN{f(1)}",
                "BEGIN\n{@P@}",
                "NR==1\n{@P@}",
                "BEGIN{if(1)\n@P@\nelse\nx}",
                "BEGIN{x\\\n;@P@}",
                "BEGIN{getline x;@P@}",
                "@include \"s\"\nBEGIN{@P@}",
                "BEGIN{switch(1){case 1:@P@}}",
                "BEGIN{do @P@; while(0)}",
                "BEGIN{f=\"system\";@f(\"touch M\")}",
                "BEGIN{PROCINFO[\"sorted_in\"]=\"f\";for(k in a);}",
                "BEGIN{while((\"touch M\"|getline x)>0);}",
                "BEGIN { print \"touch M\" | \"cat 1>&2; sh\" }",
                "END{@P@}",
            ]);
            (frame.replace("@P@", payload), "statements")
        }
        // What people write, with the payload where it is only text.
        _ => {
            let frame = random.pick(&[
                "{print $1, \"@T@\"}",
                "$1 ~ /@T@/ {n++} END {print n/2}",
                "{s += $1} END {print s / NR \"@T@\"}",
                "!seen[$0]++ # @T@",
                "{a[$1]++} END {for (k in a) print a[k] / 2, k}",
                "length > 3 {print ($2 > 1 ? \"@T@\" : \"/\")}",
                "/a/,/b/ {gsub(/[^\\/]/, \"@T@\"); print x/2}",
                "{if ($2 > 1) print $1 / 2; else print \"@T@\"}",
                "{x = (NF + 1) / 2; y = a[1]/b/2; print x y}",
                "BEGIN{for(i=1;i<3;i++) print i/2 \"@T@\"}",
            ]);
            let text = random.pick(&["system(touch M)", ";e", " > M", "|sh", "a", "#", "\\\\", "\\/"]);
            (frame.replace("@T@", text), "ordinary")
        }
    }
}

fn generate(random: &mut Random) -> Case {
    let (program, family) = program(random);
    let program = quoted(&program);
    let text = match random.below(12) {
        0 => format!("awk -F: -v x=1 {program} f"),
        1 => format!("awk -e {program} f"),
        2 => format!("awk -- {program} f"),
        3 => format!(
            "awk {program} f {}",
            random.pick(&["x=1", "-f s", "/dev/null", "- -f s", "s", "ARGC=1"])
        ),
        _ => format!("awk {program} f"),
    };
    Case { text, family }
}

pub(crate) const AWK: Language = Language {
    name: "awk",
    generate,
    implementations: &[
        ("gawk", "gawk"),
        ("mawk", "mawk"),
        ("busybox", "busybox"),
        ("original-awk", "original-awk"),
    ],
    run: r#"
run() {
  case $how in
    gawk) awk() { limit gawk "$@"; } ;;
    mawk) awk() { limit mawk "$@"; } ;;
    busybox) awk() { limit busybox awk "$@"; } ;;
    original-awk) awk() { limit original-awk "$@"; } ;;
  esac
  (eval "$text") </dev/null >/dev/null 2>&1
}
"#,
    prepare: |base| {
        if base.is_dir() {
            std::fs::write(base.join("s"), "BEGIN { system(\"touch M\") }\n").unwrap();
        }
        nothing(base);
    },
    reads: called_a_read,
    cases: 12_000,
    most: 120,
    families: &[
        "slashes",
        "brackets",
        "strings",
        "printing",
        "tokens",
        "statements",
    ],
    former: Some(former::awk_reads),
    rules: &[],
};

#[test]
fn no_awk_program_that_is_called_a_read_writes_or_runs() {
    AWK.check();
}
