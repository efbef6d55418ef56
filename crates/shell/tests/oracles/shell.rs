//! The shell itself: bash, bash in POSIX mode, dash and busybox ash.

use std::fs;

use crate::arena::{Case, Language, called_a_read};
use crate::former;
use crate::random::Random;

/// Commands that change something; and the beginnings of some that do it only with more words behind them.
const PAYLOADS: &[&str] = &[
    "touch M",
    "rm f",
    "> M",
    "uniq f M",
    "sort -o M f",
    "mkdir M",
    "tee M",
    "ln f M",
];

const READS: &[&str] = &[
    "ls",
    "echo x",
    "cat f",
    "true",
    "false",
    "test -f f",
    "[ -f f ]",
    "wc f",
    "echo a b",
];

const TESTS: &[&str] = &[
    "-n x", "-f f", "x = x", "! -n x", "x == x", "a != b", "-z x", "x =~ x", "1 -eq 1", "$x = y", "-n", "x",
    "! x", "x < f", "#", "a =~ #", "( x", "x )",
];

const JOINS: &[&str] = &[
    "&&", "||", "\n", "\n&&", "&& !", ";", "|", "&", "-a", "-o", "&&\n", " && ( ", ">", "<",
];

const NUMBERS: &[&str] = &[
    "1)>2",
    "1)|(2>3",
    "(1)>(2)>3",
    "1)&&(2>3",
    "1",
    "2",
    "1+1",
    "(1)",
    "1)",
    "(1",
    "1 + 2",
    "1>2",
    "1)>M",
    "(1)>M",
    "1)|(2",
    "1;2",
    "x",
    "-1",
    "!1",
    "1?2:3",
    "1,2",
    "1**2",
    "1&&2",
    "1)&&(2",
    "08",
    "1) ; touch M; ((2",
    "touch M",
    "1) | (touch M",
];

const WORDS: &[&str] = &[
    "x",
    "f",
    "'x y'",
    "\"x\"",
    "$x",
    "\"$x\"",
    "${x}",
    "${x:-y}",
    "${#x}",
    "${x%y}",
    "${x/y/z}",
    "${x^^}",
    "${x:0:1}",
    "${!x}",
    "${x@Q}",
    "$'x'",
    "$'\\''",
    "$\"x\"",
    "{a,b}",
    "{1..3}",
    "~",
    "~+",
    "~-",
    "*",
    "[a-z]",
    "a#b",
    "#",
    "$((1))",
    "\\x",
    "\\'",
    "}",
    "{",
    "!",
    "'\\'",
    "\"\\\\\"",
    "$#",
    "$@",
    "${x-'}",
    "\"${x-'}\"",
    "\"${x-\"y\"}\"",
    "10",
    "2",
    "-",
    "--",
    "é",
    "é\\",
    "in",
    "do",
    "then",
    "=",
    "x=1",
    "[[",
    "]]",
    "((",
    "))",
];

const REDIRECTS: &[&str] = &[
    "2>/dev/null",
    ">/dev/null",
    "10>/dev/null",
    "01>/dev/null",
    "&>/dev/null",
    ">&2",
    "2>&1",
    "&>>/dev/null",
    "<f",
    "<<<x",
    "<&0",
    "3<f",
    "12<f",
    ">&-",
    "{x}>/dev/null",
    ">|/dev/null",
    "<>/dev/null",
    ">&/dev/null",
    "2>&1-",
];

fn words(random: &mut Random) -> String {
    let count = random.below(4);
    (0..count).flat_map(|_| [" ", random.pick(WORDS)]).collect()
}

fn read(random: &mut Random) -> String {
    format!("{}{}", random.pick(READS), words(random))
}

fn command(random: &mut Random) -> (String, &'static str) {
    let payload = random.pick(PAYLOADS);
    match random.below(9) {
        0 => {
            let first = random.pick(TESTS);
            let join = random.pick(JOINS);
            let second = if random.one_in(3) {
                random.pick(TESTS)
            } else {
                payload
            };
            let bang = random.pick(&["", "! ", "if ", "time ", "! ! "]);
            let tail = random.pick(&["", " && ls", " || ls", "; ls", "; then ls; fi"]);
            (format!("{bang}[[ {first} {join} {second} ]]{tail}"), "tests")
        }
        1 => {
            let number = random.pick(NUMBERS);
            let frame = random.pick(&[
                "echo \"$((@))\"",
                "echo $((@))",
                "echo $(( @ ))",
                "((@))",
                "echo $((@) )",
                "echo \"$((@)\" \")\"",
                "for ((@;@;@)); do ls; done",
                "[[ @ -eq 1 ]]",
                "cat <<E\n$((@))\nE",
                "echo ${x:-$((@))}",
                "echo ${x:@}",
                "echo $[@]",
                "( (@) )",
                "echo \"$(((@)))\"",
            ]);
            (frame.replace('@', number), "arithmetic")
        }
        2 => {
            let program = random.pick(&[
                "uniq f",
                "ls",
                "sort f",
                "cat f",
                "echo",
                "cd d",
                "test -f f",
                "wc",
                "head f",
            ]);
            let redirect = random.pick(REDIRECTS);
            let tail = random.pick(&[
                "",
                " f",
                " M",
                " touch M",
                " rm f",
                "; ls",
                " && ls",
                " | cat",
                " uniq f M",
            ]);
            let front = random.one_in(5);
            if front {
                (format!("{redirect} {program}{tail}"), "redirects")
            } else {
                (format!("{program} {redirect}{tail}"), "redirects")
            }
        }
        3 => {
            let first = random.pick(&[
                "$'\\''",
                "$'\\\\'",
                "$'a\\'b'",
                "\"${x-'}\"",
                "\"${x#'}\"",
                "${x-\\'}",
                "'\\'",
                "\"\\\"\"",
                "$'\\c''",
                "\"$'\"",
                "a\\",
                "#'",
                "x#'",
                "$\"'\"",
                "\"`'`\"",
                "${x:-\"'\"}",
            ]);
            let tail = random.pick(&[
                "; @ #'",
                "; @; echo '",
                "\n@\n#'",
                " ; @ ; echo \"'",
                " '; @ ; '",
                "; @",
                " \"; @; \"",
            ]);
            (format!("echo {first}{}", tail.replace('@', payload)), "quotes")
        }
        4 => {
            let words = random.pick(&[
                "{p,w}",
                "{a,-delete}",
                "{,x}",
                "'p;w M'{,x}",
                "{1..2}",
                "'s/a/'{b/w,x}' M'",
                "'w '{,M}",
                "'s/a/'{/w,/}' M'",
                "{,'w'}",
                "x{p,'#'}'\nw M'",
            ]);
            let frame = random.pick(&[
                "sed @ f",
                "sed -n @ f",
                "find . @",
                "sort @ f",
                "echo @",
                "sed -e @ f",
                "awk @ f",
                "uniq f @",
            ]);
            (frame.replace('@', words), "braces")
        }
        5 => {
            let frame = random.pick(&[
                "function ls { @; }; ls",
                "ls() { @; }; ls",
                "coproc @",
                "select x in a; do @; done",
                "time @",
                "time -p @",
                "! @",
                "{ @; }",
                "( @ )",
                "if true; then @; fi",
                "case x in x) @;; esac",
                "case x in x) ls;& y) @;; esac",
                "for i in 1; do @; done",
                "for i in 1; { @; }",
                "while @; do break; done",
                "until @; do break; done",
                "ls |& @",
                "ls & @",
                "ls &\n@",
                "echo `@`",
                "echo $(@)",
                "cat <(@)",
                "echo >(@)",
                "eval '@'",
                "x='@'; $x",
                "a=(@)",
                "x=$(@) ls",
                "x[$(@)]=1",
                "ls\n@",
                "ls # x\n@",
                "ls #\\\n@",
                "ls \\\n@",
                "cat <<E\n$(@)\nE",
                "cat <<'E'\nE\n@",
                "cat <<E\nE \n@\nE",
                "cat <<-E\n\tE\n@",
                "cat <<E; @\nx\nE",
                "cat <<\"E\"\n@\nE",
                "[ x = x -a `@` ]",
                "alias ls='@'\nls",
                "trap '@' EXIT",
                "x=1 @",
                "command @",
                "builtin @",
                "exec @",
                "env @",
                "sh -c '@'",
                "bash -c '@'",
                ". ./s",
                "source ./s",
                "echo a;@",
                "echo a&&@",
                "{ls;@;}",
                "ls;}@",
                "then @",
                "do @",
                "in @",
                "[[ -f f ]] && @",
                "[ -f f ] && @",
                "test -f f && @",
                "x=~; @",
                "!@",
                "ls 2>&1 @",
                "ls >&2;@",
                "$'touch' M",
                "\\touch M",
                "'touch' M",
                "t\\\nouch M",
                "to''uch M",
                "${x:-touch} M",
                "$x touch M",
                "tou{c,}h M",
            ]);
            (frame.replace('@', payload), "constructs")
        }
        6 => {
            let mut text = String::new();
            for _ in 0..2 + random.below(5) {
                match random.below(4) {
                    0 => text.push_str(random.pick(WORDS)),
                    1 => text.push_str(random.pick(REDIRECTS)),
                    2 => text.push_str(random.pick(JOINS)),
                    _ => text.push_str(random.pick(READS)),
                }
                text.push_str(random.pick(&[" ", " ", "", "\n", ";"]));
            }
            (
                format!("{text}{}{payload}", random.pick(&["", " ", ";", "\n"])),
                "tokens",
            )
        }
        7 => {
            let one = read(random);
            let two = read(random);
            let join = random.pick(&["; ", " && ", " || ", " | ", "\n", " |& ", " & "]);
            let redirect = if random.one_in(2) {
                random.pick(REDIRECTS)
            } else {
                ""
            };
            (format!("{one} {redirect}{join}{two}"), "reads")
        }
        _ => {
            let frame = random.pick(&[
                "[[ @ ]]",
                "[[ @ ]] && ls",
                "! [[ @ ]]",
                "if [[ @ ]]; then ls; fi",
                "[[\n@ ]]",
                "[[\nrm = f ]]",
                "[[ \n rm == f ]] && ls",
                "[[ -n\nuniq f 3 ]]",
                "! [[ -n x &&\nuniq f 3 ]]",
                "[[ x\n&& uniq = f ]]",
                "[[ @\n]]",
                "[[ @ ]] || cat f",
                "while [[ @ ]]; do ls; break; done",
            ]);
            let test = random.soup(
                &[
                    "x",
                    " ",
                    " = ",
                    " && ",
                    "\n",
                    "-n ",
                    "touch M",
                    " uniq f M",
                    "! ",
                    "f",
                    "$x",
                    " == ",
                    "( ",
                    " )",
                    " || ",
                    " =~ ",
                ],
                1,
                5,
            );
            (frame.replace('@', &test), "test lines")
        }
    }
}

fn generate(random: &mut Random) -> Case {
    let (text, family) = command(random);
    Case { text, family }
}

pub(crate) const SHELL: Language = Language {
    name: "shell",
    generate,
    implementations: &[
        ("bash", "bash"),
        ("posix", "bash"),
        ("dash", "dash"),
        ("busybox", "busybox"),
    ],
    run: r#"
run() {
  case $how in
    bash) limit bash -c "$text" ;;
    posix) limit bash --posix -c "$text" ;;
    dash) limit dash -c "$text" ;;
    busybox) limit busybox sh -c "$text" ;;
  esac </dev/null >/dev/null 2>&1
}
"#,
    prepare: |base| {
        fs::create_dir_all(base.join("d")).unwrap();
        fs::write(base.join("s"), "touch M\n").unwrap();
    },
    reads: called_a_read,
    cases: 9_000,
    most: 90,
    families: &[
        "tests",
        "arithmetic",
        "redirects",
        "quotes",
        "constructs",
        "tokens",
        "test lines",
    ],
    former: Some(former::shell_reads),
    rules: &[
        "means something else to a plain shell",
        "has a line break in it",
        "more than one digit",
        "a command of its own in a plain shell",
    ],
};

#[test]
fn no_shell_command_that_is_called_a_read_writes_in_any_shell() {
    SHELL.check();
}
