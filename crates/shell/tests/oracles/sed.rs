//! sed: GNU sed (also with `--sandbox`, which names every `e`, `w` and `r` that it finds) and busybox sed.

use crate::arena::{Case, Language, called_a_read, nothing};
use crate::random::Random;
use crate::{former, quoted};

const PAYLOADS: &[&str] = &[
    "e touch M",
    "w M",
    "1e touch M",
    "s/.*/touch M/e",
    "s/a*/b/w M",
    "p;w M",
    "W M",
    "1{w M\n}",
];

const REGEX: &[&str] = &[
    "a",
    "b",
    ".",
    "*",
    "x",
    "[",
    "]",
    "[^",
    "[]",
    "[^]",
    "[a]",
    "[[:alpha:]]",
    "[[:space:]",
    "[:",
    ":]",
    "[.",
    ".]",
    "[=",
    "=]",
    "\\",
    "\\\\",
    "\\]",
    "\\[",
    "\\n",
    "\\(",
    "\\)",
    "\n",
    "#",
    ";",
    "p",
    "{",
    "}",
    " ",
    "@D@",
    "\\@D@",
    "[@D@]",
    "[\\@D@]",
    "[^@D@]",
    "@P@",
    ";#",
    "^",
    "$",
    "0",
    "&",
];

const DELIMITERS: &[&str] = &[
    "/", "/", "/", "/", "|", ",", "#", ":", ";", "@", "!", "%", "_", "~", "+", "=", "-", "a", "n", "s", "0",
    " ", "\t", "\\", "&", "[", "]", "{", "}", ".", "*", "^", "$", "\"", "(", "\n", "é",
];

const FLAGS: &[&str] = &[
    "g", "p", "I", "i", "m", "1", "e", "w M", " ", " w M", " e", ";", "}", "#", "\n", "M", "ge",
];

const COMMANDS: &[&str] = &[
    "p",
    "d",
    "n",
    "N",
    "x",
    "=",
    "l",
    "l 1",
    "q",
    "{",
    "}",
    "{p}",
    ":a",
    ":a ",
    "ba",
    "b",
    "b a",
    "ta",
    "T",
    "a",
    "a\\",
    "a\\\n",
    "a x",
    "a x\\",
    "i\\\nx",
    "c\\\nx\\\ny",
    "a\\x",
    "#",
    "#n",
    "# x\\",
    "y/a/b/",
    "y/[/]/",
    "y/[a]/xyz/",
    "F",
    "z",
    "!p",
    "1!p",
    "$!N",
    "1~2p",
    "0,/a/p",
    "1,+1p",
    "v",
    "L",
];

const BETWEEN: &[&str] = &[
    ";", ";", "\n", "\n", " ", "", "}", " ; ", "\t", "#", "\\\n", "{", "}\n", ";}",
];

fn regex(random: &mut Random, delimiter: &str, payload: &str) -> String {
    random
        .soup(REGEX, 0, 6)
        .replace("@D@", delimiter)
        .replace("@P@", payload)
}

fn delimited(random: &mut Random) -> String {
    let delimiter = random.pick(DELIMITERS);
    let payload = random.pick(PAYLOADS);
    let first = regex(random, delimiter, payload);
    match random.below(6) {
        0 => format!("/{}/", regex(random, "/", payload)),
        1 => format!("\\{delimiter}{first}{delimiter}"),
        2 => format!(
            "y{delimiter}{first}{delimiter}{}{delimiter}",
            regex(random, delimiter, payload)
        ),
        _ => format!(
            "s{delimiter}{first}{delimiter}{}{delimiter}{}",
            regex(random, delimiter, payload),
            random.soup(FLAGS, 0, 3)
        ),
    }
}

fn script(random: &mut Random) -> (String, &'static str) {
    match random.below(6) {
        // An address whose end is in doubt, with the payload in front of or behind it.
        0 | 1 => {
            let payload = random.pick(PAYLOADS);
            let regex = regex(random, "/", payload);
            let tail = random.pick(&["p", "p;", "", "d;", "p\n", "I;", "{", "p}"]);
            let between = random.pick(&["#]/", "]/", ";", ";#]/", "[/", "/", "\\/", "#"]);
            (format!("/{regex}/{tail}{between}{payload}"), "brackets")
        }
        2 => {
            let one = delimited(random);
            let between = random.pick(BETWEEN);
            let payload = random.pick(PAYLOADS);
            let two = delimited(random);
            (format!("{one}{between}{payload}{between}{two}"), "delimiters")
        }
        3 => {
            let mut text = String::new();
            for _ in 0..=random.below(4) {
                text.push_str(random.pick(COMMANDS));
                text.push_str(random.pick(BETWEEN));
            }
            text.push_str(random.pick(PAYLOADS));
            (text, "commands")
        }
        4 => {
            let mut text = String::new();
            for _ in 0..=random.below(3) {
                match random.below(3) {
                    0 => text.push_str(random.pick(COMMANDS)),
                    1 => text.push_str(&delimited(random)),
                    _ => {
                        text.push_str(random.pick(&["p", "d", "s/a/b/", "s/[^/]*//g", "/x/d", "$p", "1,2p"]));
                    }
                }
                text.push_str(random.pick(&[";", "\n", "\n", ""]));
            }
            (text, "mixed")
        }
        _ => {
            let delimiter = random.pick(&["/", "|", ",", "#"]);
            let mut regex = random.soup(
                &[
                    "a",
                    "[]x]",
                    "[^]x]",
                    "[^@D@]",
                    "[\\@D@]",
                    "[[:alpha:]]",
                    "[[]",
                    "\\[",
                    "\\]",
                    ".*",
                    "\\@D@",
                    "[a-c]",
                    "\\n",
                ],
                1,
                4,
            );
            regex = regex.replace("@D@", delimiter);
            let tail = random.pick(&["", "g", "p", "2", "I", ";e touch M", "e", "w M", ";p"]);
            (
                format!("s{delimiter}{regex}{delimiter}x;e touch M{delimiter}{tail}"),
                "ordinary",
            )
        }
    }
}

fn generate(random: &mut Random) -> Case {
    let (text, family) = script(random);
    let flags = random.pick(&[
        "", "", "-n ", "-E ", "-n -E ", "-z ", "-s ", "--posix ", "-u ", "-l 5 ",
    ]);
    let text = match random.below(10) {
        0 => {
            // Pieces that join, cut anywhere.
            let cut = (0..=text.len())
                .filter(|at| text.is_char_boundary(*at))
                .collect::<Vec<_>>();
            let (first, second) = text.split_at(cut[random.below(cut.len())]);
            format!("sed {flags}-e {} -e {} f", quoted(first), quoted(second))
        }
        1 => format!("sed {flags}-e {} f", quoted(&text)),
        2 => format!("sed p f -e {}", quoted(&text)),
        3 => format!("sed {} -e p f", quoted(&text)),
        _ => format!("sed {flags}{} f", quoted(&text)),
    };
    Case { text, family }
}

pub(crate) const SED: Language = Language {
    name: "sed",
    generate,
    implementations: &[("sed", "sed"), ("sandbox", "sed"), ("busybox", "busybox")],
    run: r#"
run() {
  case $how in
    sed) sed() { limit sed "$@"; } ;;
    sandbox) sed() { limit sed --sandbox "$@"; } ;;
    busybox) sed() { limit busybox sed "$@"; } ;;
  esac
  if [ "$how" = sandbox ]; then
    said=$( (eval "$text") 2>&1 </dev/null )
    case $said in *"disabled in sandbox mode"*) : > M ;; esac
  else
    (eval "$text") </dev/null >/dev/null 2>&1
  fi
}
"#,
    prepare: nothing,
    reads: called_a_read,
    cases: 12_000,
    most: 150,
    families: &["brackets", "delimiters", "commands", "mixed", "ordinary"],
    former: Some(former::sed_reads),
    rules: &[],
};

#[test]
fn no_sed_script_that_is_called_a_read_writes_or_runs() {
    SED.check();
}
