//! jq: it cannot write; the payload is a secret of the environment, or a file that the filter names, in its output.

use std::fs;

use interlock_shell::classify;

use crate::arena::{Case, Language};
use crate::quoted;
use crate::random::Random;

fn reads_openly(text: &str) -> bool {
    let verdict = classify(text);
    verdict.is_bounded_read() && !verdict.sensitive
}

fn generate(random: &mut Random) -> Case {
    let secret = random.pick(&[
        "env",
        "$ENV",
        "env.SECRET_MARK",
        "$ENV.SECRET_MARK",
        "$ENV[\"SECRET_MARK\"]",
        "env|.SECRET_MARK",
        "[env]",
        "(env)",
        "{a:env}",
        "\"\\(env)\"",
        "\"\\(env.SECRET_MARK)\"",
        "env[]",
        "env|keys",
        ".,env",
        "env,.",
        "$ENV|tostring",
        "env as $x|$x",
        "[.[]?,env]",
        "def f: env; f",
        "-env",
        "env==1",
        "if env then env else 1 end",
        "env//1",
        "1,(env|to_entries)",
        "[$ENV]",
        "@json \"\\($ENV)\"",
        "env|tojson",
        "try env",
        "reduce env as $x (0;$x)",
        "env?",
        "{(env.SECRET_MARK):1}",
        "$ENV as {SECRET_MARK:$x}|$x",
        "$ENV|@sh \"\\(.SECRET_MARK)\"",
        "first(env)",
        "env\n",
        "\tenv",
        "path(env)",
        "input|env",
    ]);
    let plain = random.pick(&[
        ".",
        ".a",
        ".[]?",
        "keys",
        "length",
        "\"env\"",
        ".env",
        "{env}",
        ".a.env",
        "map(.)?",
        "tojson",
        "type",
        "@sh",
        "@text",
        "$__loc__",
        "input_filename",
        "[1,2]|add",
        ".a|tostring",
        "select(.a)",
        "ascii_downcase?",
        "\"\\(.a)\"",
        "to_entries",
        "paths",
        "halt_error?",
        ".[0]?",
        "not",
        "input_line_number",
        "$__prog_args",
        "debug",
    ]);
    let (filter, family) = match random.below(4) {
        0 => (plain.to_owned(), "plain"),
        1 => (secret.to_owned(), "environment"),
        2 => (
            format!("{plain}{}{secret}", random.pick(&["|", ",", " | ", " , ", "\n|"])),
            "environment",
        ),
        _ => (
            format!(
                "{secret}{}{plain}",
                random.pick(&["|", ",", " | ", " , ", "#\n|"])
            ),
            "environment",
        ),
    };
    let filter = quoted(&filter);
    let text = match random.below(6) {
        0 => format!("jq -n {filter}"),
        1 => format!("jq -r {filter} f.json"),
        2 => format!("jq --arg a 1 {filter} f.json"),
        3 => format!("jq -c --tab {filter} f.json"),
        4 => format!("echo 1 | jq {filter}"),
        _ => format!("jq {filter} f.json"),
    };
    Case { text, family }
}

pub(crate) const JQ: Language = Language {
    name: "jq",
    generate,
    implementations: &[("jq", "jq")],
    run: r#"
run() {
  jq() { SECRET_MARK=s3cr3t limit jq "$@"; }
  said=$( (eval "$text") 2>&1 </dev/null )
  case $said in *s3cr3t*) : > M ;; esac
}
"#,
    prepare: |base| fs::write(base.join("f.json"), "{\"a\":1}\n").unwrap(),
    reads: reads_openly,
    cases: 1_500,
    most: 200,
    families: &["environment"],
    former: None,
    rules: &[],
};

#[test]
fn no_jq_filter_that_is_called_harmless_shows_the_environment() {
    JQ.check();
}
