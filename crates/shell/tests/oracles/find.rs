//! find: GNU find and busybox find.

use std::fs;

use crate::arena::{Case, Language, called_a_read};
use crate::random::Random;

const TESTS: &[&str] = &[
    "-name f",
    "-name '*'",
    "-type f",
    "-size +0",
    "-mtime -1",
    "-newer f",
    "-newermt 2020-01-01",
    "-perm -1",
    "-empty",
    "-maxdepth 1",
    "-depth",
    "-d",
    "-mindepth 0",
    "-print",
    "-print0",
    "-ls",
    "-prune",
    "-true",
    "!",
    "\\(",
    "\\)",
    "-o",
    "-a",
    ",",
    "-not",
    "-regex '.*'",
    "-regextype sed",
    "-printf '%p'",
    "-fstype x",
    "-user 0",
    "-path './*'",
    "-iname",
    "-name",
    "-type",
    "-D",
    "-O3",
    "-L",
    "-H",
    "-P",
    "-E",
    "-x",
    "-X",
    "-s",
    "-f",
    "-quit",
    "-xdev",
    "-samefile f",
    "-links 1",
    "-used 1",
    "-flags",
    "-Btime",
    "-context",
    "-depth 1",
    "-f f",
    "-follow",
    "-daystart",
    "-newer",
];

const PAYLOADS: &[&str] = &[
    "-delete",
    "-exec touch M \\;",
    "-exec touch M {} +",
    "-execdir touch M \\;",
    "-fprint M",
    "-fprintf M x",
    "-fls M",
    "-fprint0 M",
    "-exec rm {} \\;",
    "-exec rm {} +",
    "-exec sh -c 'touch M' \\;",
    "-exec uniq f M \\;",
    "-ok touch M \\;",
    "-exec sort -o M {} \\;",
    "-exec echo {} + -delete",
    "-exec echo \\; -delete",
    "-exec echo + -delete \\;",
    "-exec echo x{} + -exec touch M \\;",
    "-exec echo {} {} + -delete",
    "-exec echo {} \\; + -delete",
    "-execdir echo {} ';' -delete",
    "-exec cat {} \\;",
    "-exec ls {} +",
    "-exec grep a {} \\;",
    "-exec echo -delete \\;",
    "-name -delete",
    "-printf -delete",
    "-exec env touch M \\;",
    "-exec find . -delete \\;",
    "-exec {} \\;",
];

fn generate(random: &mut Random) -> Case {
    let start = random.pick(&[".", "f", "", ". d", "-L .", "./f", "d"]);
    let mut text = format!("find {start}");
    for _ in 0..random.below(4) {
        text.push(' ');
        text.push_str(random.pick(TESTS));
    }
    let family = if random.one_in(5) {
        "tests"
    } else {
        text.push(' ');
        text.push_str(random.pick(PAYLOADS));
        if random.one_in(3) {
            text.push(' ');
            text.push_str(random.pick(TESTS));
        }
        "actions"
    };
    Case { text, family }
}

pub(crate) const FIND: Language = Language {
    name: "find",
    generate,
    implementations: &[("find", "find"), ("busybox", "busybox")],
    run: r#"
run() {
  case $how in
    find) find() { limit find "$@"; } ;;
    busybox) find() { limit busybox find "$@"; } ;;
  esac
  (eval "$text") </dev/null >/dev/null 2>&1
}
"#,
    prepare: |base| {
        fs::create_dir_all(base.join("d")).unwrap();
        fs::write(base.join("d/g"), "x\n").unwrap();
    },
    reads: called_a_read,
    cases: 2_500,
    most: 200,
    families: &["actions"],
    former: None,
    rules: &[],
};

#[test]
fn no_find_that_is_called_a_read_writes_or_runs() {
    FIND.check();
}
