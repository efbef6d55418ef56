//! Which file a command opens, against which file the analysis thinks it opens.
//!
//! Scripts made of `cd`, `pushd`, subshells, loops, conditions and programs with a folder of their own (`git -C`,
//! `docker exec -w`, `env -C`, `find -execdir`) run in a root whose secrets are known. A script that opened or printed one
//! must have been called sensitive, or not a read at all.

use std::collections::BTreeSet;

use interlock_shell::{Intent, classify, path_holds_secrets};

use crate::arena::fixed_or_new_seeds;
use crate::random::Random;
use crate::root::Root;

/// How many scripts a round makes.
const CASES: usize = 500;

const FOLDERS: &[&str] = &[
    "/etc",
    "/etc",
    "/etc",
    "/etc",
    "/",
    "..",
    "/etc/ssl",
    "/etc/ssl/..",
    "/nonexistent",
    "a",
    "a/b",
    ".",
    "-",
    "~",
    "$HOME",
    "$d",
    "\"$d\"",
    "/usr/../etc",
    "/etc/.",
    "//etc",
    "etc",
    "../..",
    "../../../../../../etc",
    "-- /etc",
    "-P /etc",
    "-L /etc",
    "''",
    "/e*",
    "$OLDPWD",
    "{/etc,/}",
    "+1",
    "\"/etc\"",
    "$(echo /etc)",
    "/proc/self/cwd",
    "/var/run/../etc",
    "link",
    "link/..",
    "/proc/self/root/etc",
];

const NAMES: &[&str] = &[
    "shadow",
    "shadow",
    "shadow",
    "shadow",
    "./shadow",
    "hosts",
    "../etc/shadow",
    "etc/shadow",
    "/etc/shadow",
    "sha*",
    "*",
    "$f",
    "\"$f\"",
    "${f}",
    "../shadow",
    "s[h]adow",
    "{shadow,hosts}",
    "/etc/$f",
    "$d/shadow",
    "\"$d\"/\"$f\"",
    "sh?dow",
    "shado\\w",
    "'shadow'",
    "/etc/ssl/../shadow",
    "ssl/../shadow",
    "-- shadow",
    "a/../shadow",
    "~/shadow",
    "$PWD/shadow",
    "~+/shadow",
    "~-/shadow",
    "${d}shadow",
    "${f:-shadow}",
    "${f:-hosts}",
    "/proc/self/cwd/shadow",
    "*/shadow",
    "/var/run/../etc/shadow",
    "/dev/fd/../cwd/shadow",
    "/proc/self/root/etc/ssl/../shadow",
    "link/../etc/shadow",
    "link/shadow",
    "[a-z]*",
];

const READERS: &[&str] = &[
    "cat",
    "head -n 1",
    "tail -n 1",
    "tac",
    "grep -h .",
    "timeout 5 cat",
    "env cat",
    "command cat",
    "sed -n p",
    "awk 1",
    "sort",
    "nl",
    "base64",
    "od -c",
    "diff /dev/null",
    "cut -c1-",
    "rev",
    "nice cat",
    "dd if=/dev/null if=",
    "jq -R .",
    "xxd",
];

const VALUES: &[&str] = &[
    "shadow",
    "hosts",
    "/etc",
    "/etc shadow",
    "hosts shadow",
    "/etc/shadow",
    "\"$f\"",
    "*",
    "/etc/s*",
    "a",
    "/e*",
    "{hosts,shadow}",
    "$(echo shadow)",
    "\"$@\"",
    "..",
];

/// Programs that enter a folder of their own. `@D@` is the folder, `@F@` the file.
const ELSEWHERE: &[&str] = &[
    "git -C @D@ diff --no-index /dev/null @F@",
    "git -C @D@ grep --no-index -h . -- @F@",
    "git -C / -C @D@ diff --no-index /dev/null @F@",
    "git -C @D@ -C . grep --no-index -h . @F@",
    "git --git-dir=/srv/app/.git --work-tree=@D@ diff --no-index /dev/null @F@",
    "git -C @D@ blame --contents @F@ hosts",
    "docker exec -w @D@ web cat @F@",
    "docker exec --workdir=@D@ web head -n 1 @F@",
    "docker exec --workdir @D@ web sh -c 'cat @F@'",
    "docker exec -w@D@ web cat @F@",
    "docker exec -w @D@ web env cat @F@",
    "docker exec -w / web sh -c 'cd @D@; cat @F@'",
    "docker container exec -w @D@ web cat @F@",
    "env -C @D@ cat @F@",
    "env --chdir=@D@ cat @F@",
    "env -C @D@ sh -c 'cat @F@'",
    "find @D@ -maxdepth 1 -name shadow -exec cat {} \\;",
    "find @D@ -maxdepth 1 -name shadow -execdir cat {} \\;",
    "find @D@ -maxdepth 1 -name hosts -execdir cat @F@ \\;",
    "find @D@ -maxdepth 1 -type f -exec cat {} +",
    "find @D@ -maxdepth 1 -newer f -exec grep -h . {} +",
    "grep -rh . @D@",
    "tar -C @D@ -cf - @F@",
    "diff -r @D@ a",
    "sh -c 'cd @D@; cat @F@'",
    "sh -c 'cd \"$1\"; cat @F@' sh @D@",
    "bash -c 'cat @F@'",
    "sort --files0-from=@F@",
    "wc --files0-from=@F@",
    "echo @F@ | xargs cat",
    "echo @F@ | xargs -I{} cat @D@/{}",
    "echo @F@ | (cd @D@; xargs cat)",
    "echo @F@ | while read -r f; do cat \"$f\"; done",
    "echo @D@ | while read -r d; do cd \"$d\"; cat shadow; done",
    "cat < @F@",
    "cat <@D@/shadow",
    "read -r x < @F@; echo \"$x\"",
    "nice -n 5 env -C @D@ cat @F@",
    "timeout 5 sh -c 'cd @D@ && cat @F@'",
    "xargs -a @F@ echo",
    "comm @F@ hosts",
    "paste - @F@ < /dev/null",
    "dd if=@F@",
    "test -f @F@ && cat @F@",
    "ls @D@ | while read -r f; do cat \"@D@/$f\"; done",
];

/// One command.
fn simple(random: &mut Random) -> String {
    match random.below(16) {
        0..=3 => format!("cd {}", random.pick(FOLDERS)),
        4 => format!("pushd {}", random.pick(FOLDERS)),
        5 => random
            .pick(&[
                "popd",
                "pushd",
                "true",
                "false",
                "cd",
                "pushd -n /etc",
                "popd +0",
                "dirs",
            ])
            .to_owned(),
        6 => random
            .pick(&[
                "f=shadow",
                "d=/etc",
                "f=hosts",
                "d=/",
                "read -r f <<< shadow",
                "set -- shadow",
                "unset f",
            ])
            .to_owned(),
        7..=10 => random
            .pick(ELSEWHERE)
            .replace("@D@", random.pick(FOLDERS))
            .replace("@F@", random.pick(NAMES)),
        _ => {
            let reader = random.pick(READERS);
            let space = if reader.ends_with('=') { "" } else { " " };
            format!("{reader}{space}{}", random.pick(NAMES))
        }
    }
}

/// Commands, put together.
fn script(random: &mut Random, depth: usize) -> String {
    if depth == 0 || random.one_in(5) {
        return simple(random);
    }
    let body = script(random, depth - 1);
    match random.below(14) {
        0..=5 => {
            let joint = random.pick(&["; ", " && ", " || ", "\n", "; ", " & "]);
            format!("{body}{joint}{}", script(random, depth - 1))
        }
        6 => format!("({body})"),
        7 => format!("{{ {body}; }}"),
        8 | 9 => format!(
            "for {} in {}; do {body}; done",
            random.pick(&["f", "d", "i"]),
            random.pick(VALUES)
        ),
        10 => format!("for i in 1 2; do {body}; {}; done", script(random, depth - 1)),
        11 => format!(
            "if {body}; then {}; else {}; fi",
            script(random, depth - 1),
            simple(random)
        ),
        12 => format!("! {body}"),
        _ => format!("{body} | {}", script(random, depth - 1)),
    }
}

/// The same script about a secret whose bare name says nothing: only the folder gives it away.
fn about_another(text: &str) -> String {
    [
        ("/etc", "/run/secrets"),
        ("/ssl", "/sub"),
        ("ssl/", "sub/"),
        ("etc/", "run/secrets/"),
        ("cd etc", "cd run/secrets"),
        ("/e*", "/r*/s*"),
        ("sha*", "d*"),
        ("/s*", "/d*"),
        ("s[h]adow", "d[b]"),
        ("sh?dow", "d?"),
        ("shado\\w", "d\\b"),
        ("shadow", "db"),
    ]
    .iter()
    .fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
}

/// Scripts that once passed.
const FIXED: &[&str] = &[
    "cd /etc && cat shadow",
    "cd /nonexistent; cd /etc; cat shadow",
    "cd /etc; cd /nonexistent; cat shadow",
    "cd /etc || cd /usr; cat shadow",
    "cd /; cd etc; cat shadow",
    "cd /etc; cd /usr; cd -; cat shadow",
    "pushd /etc; pushd /usr; popd; cat shadow",
    "for f in shadow; do cd /etc; cat $f; done",
    "for f in shadow; do cat /etc/$f; done",
    "for d in /etc; do cd $d; cat shadow; done",
    "for i in 1 2; do cat shadow; cd /etc; done",
    "for f in hosts; do for i in 1 2; do cat \"$f\"; f=/etc/shadow; done; done",
    "for f in hosts; do for f in /etc/shadow; do cat \"$f\"; done; done",
    "f=/etc/shadow; for f in hosts \"$f\"; do cat \"$f\"; done",
    "cd /etc; cat s*",
    "cd /etc; cat {shadow,hosts}",
    "cd; cat .ssh/id_ed25519",
    "cd ~; cat .ssh/id_ed25519",
    "cd /etc/ssl; cat ../shadow",
    "cd /usr; cat < ../etc/shadow",
    "(cd /etc; cat shadow)",
    "echo shadow | (cd /etc; xargs cat)",
    "sh -c 'cd /etc; cat shadow'",
    "cd /etc; sh -c 'cat shadow'",
    "cd /etc; timeout 5 cat shadow",
    "docker exec -w /etc web cat shadow",
    "git -C /etc diff --no-index /dev/null shadow",
    "env -C /etc cat shadow",
    "cd /etc; cat /proc/self/cwd/shadow",
    "cat /var/run/../etc/shadow",
    "cat link/../etc/shadow",
];

/// Makes scripts from a seed and runs those that are reads. How many opened a secret, and how many of these name it in no word
/// of their own.
fn round(root: &Root, shells: &[&'static str], seed: u64) -> (usize, usize) {
    let mut random = Random::new(seed);
    let mut texts: BTreeSet<String> = BTreeSet::new();
    for text in FIXED {
        texts.insert((*text).to_owned());
        texts.insert(about_another(text));
    }
    let mut made = texts.len();
    while texts.len() < CASES && made < CASES * 200 {
        let depth = random.below(4);
        let text = script(&mut random, depth);
        made += 1;
        if text.len() < 400 {
            // What is not a read is never run.
            texts.extend(
                [about_another(&text), text]
                    .into_iter()
                    .filter(|text| is_read(text)),
            );
        }
    }
    let commands: Vec<(String, &'static str)> = texts
        .iter()
        .filter(|text| is_read(text))
        .map(|text| (text.clone(), shells[random.below(shells.len())]))
        .collect();
    let (mut reached, mut followed) = (0, 0);
    let mut missed = Vec::new();
    for ((text, shell), run) in commands.iter().zip(root.run(&commands)) {
        let Some(secret) = root.secret(&run) else { continue };
        reached += 1;
        followed += usize::from(!names_a_secret(root, text));
        if !classify(text).sensitive {
            missed.push(format!("{shell}: {text:?}\n    {secret}"));
        }
    }
    println!(
        "folders (seed {seed}): {made} scripts made, {} runs of reads by {}; {reached} opened a secret, {followed} of them without naming it",
        commands.len(),
        shells.join(", "),
    );
    assert!(
        missed.is_empty(),
        "folders (seed {seed}): {} scripts opened a secret and were not called sensitive:\n{}",
        missed.len(),
        missed.join("\n")
    );
    (reached, followed)
}

/// Whether a word of the script is by itself the path of a secret.
fn names_a_secret(root: &Root, text: &str) -> bool {
    text.split([' ', ';', '\n', '(', ')', '<', '\'', '"'])
        .any(|word| {
            path_holds_secrets(word) && !root.is_folder(word) && !root.is_folder(&format!("work/{word}"))
        })
}

fn is_read(text: &str) -> bool {
    classify(text).intent != Intent::WriteOrUnknown
}

#[test]
fn what_opens_a_secret_is_sensitive_wherever_it_runs() {
    let Some(root) = Root::make() else { return };
    let shells = root.shells(&["bash", "dash", "busybox"]);
    if shells.is_empty() {
        return;
    }
    fixed_or_new_seeds(|seed, fixed| {
        let (reached, followed) = round(&root, &shells, seed);
        assert!(
            !fixed || followed > 20,
            "only {reached} runs opened a secret, {followed} without naming it: the generator shows little"
        );
    });
}
