//! What real shells run, against what the analysis says.
//!
//! Commands that hide an execution are run by bash, dash and busybox ash, in a sandbox, with a marker in the place of the
//! hidden program. Nothing that reached the marker may have been called a read: for that very text.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot set itself up fails"
)]

mod pieces;
mod sandbox;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use interlock_shell::{Intent, classify};
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use pieces::PIECES;

const CORPUS: &str = include_str!("hidden_executions.txt");

/// A job is a folder: the text, the shell, what is searched for programs, and where it runs.
const WORKER: &str = r#"
system=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin
timeout=$(command -v timeout) || exit 1
export PATH HOME
while IFS= read -r job; do
  cd "$job/work" || exit 1
  IFS= read -r shell < "$job/shell"
  PATH=$job/bin:$system HOME=$job/work
  if [ -e "$job/as-file" ]; then
    "$timeout" -k 1 2 $shell "$job/text" </dev/null >/dev/null 2>&1
  else
    IFS= read -r -d '' text < "$job/text"
    "$timeout" -k 1 2 $shell -c "$text" </dev/null >/dev/null 2>&1
  fi
done
true
"#;

/// A class of the corpus.
struct Class {
    /// The construct alone makes it a write, whatever program it runs.
    whatever_it_runs: bool,
    templates: Vec<String>,
}

fn corpus() -> Vec<Class> {
    let mut classes: Vec<Class> = Vec::new();
    for line in CORPUS
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with("%%"))
    {
        if let Some(name) = line.strip_prefix("== ") {
            classes.push(Class {
                whatever_it_runs: name.ends_with('!'),
                templates: Vec::new(),
            });
        } else {
            classes
                .last_mut()
                .expect("a class before its commands")
                .templates
                .push(unescape(line));
        }
    }
    classes
}

fn unescape(line: &str) -> String {
    let mut text = line
        .replace('␊', "\n")
        .replace('␉', "\t")
        .replace('␍', "\r")
        .replace('␀', "\0");
    while let Some(start) = text.find("⟦U+") {
        let end = start + text[start..].find('⟧').expect("a closing bracket");
        let number = u32::from_str_radix(&text[start + "⟦U+".len()..end], 16).expect("a hexadecimal number");
        let character = char::from_u32(number).expect("a character").to_string();
        text.replace_range(start..end + '⟧'.len_utf8(), &character);
    }
    text
}

/// What stands for the hidden program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Marker {
    /// Its path.
    Path,
    /// A name that no table knows.
    Unknown,
    /// A name that the table knows as a write.
    Writer,
    /// A name that the table knows as a read: only the construct can give it away.
    Reader,
}

impl Marker {
    const fn name(self) -> &'static str {
        match self {
            Self::Path | Self::Unknown => "xmarker",
            Self::Writer => "rm",
            Self::Reader => "uptime",
        }
    }
}

/// Commands and what they reached.
struct Arena {
    folder: tempfile::TempDir,
    jobs: Vec<Job>,
    archive: Option<PathBuf>,
}

struct Job {
    folder: PathBuf,
    shell: &'static str,
    text: String,
    /// Which template it came from.
    origin: usize,
}

impl Job {
    fn reached(&self) -> bool {
        self.folder.join("reached").exists()
    }
}

impl Arena {
    /// `None`, and says so, where there is no bash to run anything with.
    fn new() -> Option<Self> {
        if !sandbox::has("bash") || !sandbox::has("timeout") {
            eprintln!("skipped: what real shells run (bash and timeout are needed)");
            return None;
        }
        let mut arena = Self {
            folder: tempfile::Builder::new().prefix("hidden").tempdir().unwrap(),
            jobs: Vec::new(),
            archive: None,
        };
        let fixture = arena.folder.path().join("fixture-xmarker");
        arena.add(&fixture, "bash", "tar cf a.tar f".to_owned(), 0);
        arena.run();
        arena.archive = Some(fixture.join("work/a.tar")).filter(|archive| archive.exists());
        arena.jobs.clear();
        Some(arena)
    }

    /// Where the command of this number will run. The path is part of the text, so that it is known before.
    fn place(&self, origin: usize, number: usize, marker: Marker) -> PathBuf {
        self.folder
            .path()
            .join(format!("{origin}-{number}-{}", marker.name()))
    }

    fn add(&mut self, folder: &Path, shell: &'static str, text: String, origin: usize) {
        let name = folder
            .file_name()
            .unwrap()
            .to_str()
            .unwrap()
            .rsplit('-')
            .next()
            .unwrap();
        let (bin, work) = (folder.join("bin"), folder.join("work"));
        fs::create_dir_all(&bin).unwrap();
        fs::create_dir_all(work.join("d")).unwrap();
        let program = bin.join(name);
        let path = program.to_str().unwrap();
        let reached = folder.join("reached");
        fs::write(
            &program,
            format!("#!/bin/sh\necho reached >> {}\n", reached.display()),
        )
        .unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(work.join("f"), "a b c\n1 2 3\n").unwrap();
        fs::write(work.join("d/g"), "x\n").unwrap();
        fs::write(folder.join("script"), format!("{path}\n")).unwrap();
        symlink(folder.join("script"), bin.join("script")).unwrap();
        if text.contains("prog.") || text.contains("ssh.conf") {
            fs::write(work.join("prog.awk"), format!("BEGIN {{ system(\"{path}\") }}\n")).unwrap();
            fs::write(work.join("prog.sed"), format!("1e {path}\n")).unwrap();
            fs::write(work.join("ssh.conf"), format!("Host *\nProxyCommand {path}\n")).unwrap();
        }
        if let Some(archive) = &self.archive {
            fs::hard_link(archive, work.join("a.tar")).unwrap();
        }
        fs::write(folder.join("text"), &text).unwrap();
        fs::write(folder.join("shell"), shell).unwrap();
        if text.contains('\0') {
            fs::write(folder.join("as-file"), "").unwrap();
        }
        self.jobs.push(Job {
            folder: folder.to_owned(),
            shell,
            text,
            origin,
        });
    }

    fn run(&self) {
        let folders: Vec<PathBuf> = self.jobs.iter().map(|job| job.folder.clone()).collect();
        let confined = sandbox::confines(self.folder.path()).expect("a worker");
        sandbox::each(self.folder.path(), confined, WORKER, &folders).expect("workers");
    }

    /// Fails if something that was called a read reached the marker.
    fn assert_nothing_called_a_read_reached_the_marker(&self) {
        let mut fooled = String::new();
        let wrong = self
            .jobs
            .iter()
            .filter(|job| job.reached() && called_a_read(&job.text));
        for job in wrong.take(40) {
            writeln!(fooled, "{}: {:?}", job.shell, job.text).unwrap();
        }
        assert!(
            fooled.is_empty(),
            "called a read, and ran the hidden program:\n{fooled}"
        );
    }
}

fn called_a_read(text: &str) -> bool {
    classify(text).intent != Intent::WriteOrUnknown
}

/// The shell that reads POSIX and nothing else.
fn plain_shell() -> &'static str {
    if sandbox::has("dash") { "dash" } else { "sh" }
}

/// The shell of small systems, where it is installed.
fn small_shell() -> &'static str {
    if sandbox::has("busybox") {
        "busybox sh"
    } else {
        eprintln!("skipped: busybox sh (busybox is not installed)");
        plain_shell()
    }
}

/// The command that a template means in this folder.
fn fill(template: &str, folder: &Path, marker: Marker) -> String {
    let name = marker.name();
    let bin = folder.join("bin");
    let bin = bin.to_str().unwrap();
    let path = format!("{bin}/{name}");
    let (first, rest) = name.split_at(1);
    let escapes = |form: fn(u8) -> String| path.bytes().map(form).collect::<String>();
    template
        .replace("@M@", if marker == Marker::Path { &path } else { name })
        .replace("@P@", &path)
        .replace("@D@", bin)
        .replace("@N@", name)
        .replace("@A@", first)
        .replace("@B@", rest)
        .replace("@X@", &escapes(|byte| format!("\\x{byte:02x}")))
        .replace("@O@", &escapes(|byte| format!("\\{byte:03o}")))
        .replace("@R@", &path.chars().rev().collect::<String>())
        .replace("@G@", &format!("{bin}/{first}?{}", &rest[1..]))
        .replace("@S@", folder.join("script").to_str().unwrap())
}

#[test]
fn what_reaches_the_marker_was_not_called_a_read() {
    let classes = corpus();
    let Some(mut arena) = Arena::new() else { return };
    let mut origin = 0;
    let mut distinct = BTreeSet::new();
    for class in &classes {
        for template in &class.templates {
            distinct.insert(template.as_str());
            // What is called a write cannot fool anybody: the other spellings are run only where it is not.
            let spellings = [
                ("bash", Marker::Path, true),
                (plain_shell(), Marker::Writer, true),
                ("bash", Marker::Writer, false),
                (plain_shell(), Marker::Path, false),
                ("bash", Marker::Unknown, false),
                (plain_shell(), Marker::Unknown, false),
                (small_shell(), Marker::Unknown, false),
                (small_shell(), Marker::Writer, false),
                ("bash --posix", Marker::Unknown, false),
                ("bash", Marker::Reader, false),
                (plain_shell(), Marker::Reader, false),
                (small_shell(), Marker::Reader, false),
            ];
            for (number, (shell, marker, always)) in spellings.into_iter().enumerate() {
                if marker == Marker::Reader && !class.whatever_it_runs {
                    continue;
                }
                let folder = arena.place(origin, number, marker);
                let text = fill(template, &folder, marker);
                if always || called_a_read(&text) {
                    arena.add(&folder, shell, text, origin);
                }
            }
            origin += 1;
        }
    }
    arena.run();
    let reached: BTreeSet<usize> = arena
        .jobs
        .iter()
        .filter(|job| job.reached())
        .map(|job| job.origin)
        .collect();
    println!(
        "{} hidden executions, {} of them reach the marker; {} runs, {} reach it",
        distinct.len(),
        reached.len(),
        arena.jobs.len(),
        arena.jobs.iter().filter(|job| job.reached()).count()
    );
    assert!(distinct.len() >= 400, "only {} distinct commands", distinct.len());
    assert!(
        reached.len() * 10 >= origin * 6,
        "only {} of {origin} reach the marker: the test shows little",
        reached.len()
    );
    arena.assert_nothing_called_a_read_reached_the_marker();
}

/// Texts that contain a command, with that command written `@C@`, or `@Q@` inside single quotes, or `@W@` inside double
/// ones.
const AROUND: &[&str] = &[
    "( @C@\n)",
    "{ @C@\n}",
    "ls; @C@",
    "ls && @C@",
    "false || @C@",
    "true | @C@",
    "@C@\nls",
    "LANG=C ls; @C@",
    "ls # it's\n@C@",
    "echo 'a;b' \"c|d\"; @C@",
    "if true; then @C@\nfi",
    "if false; then ls; else @C@\nfi",
    "for i in 1; do @C@\ndone",
    "case x in x) @C@\nesac",
    "true && { ls; @C@\n}",
    "[[ -f f ]] && @C@",
    "echo $( @C@\n)",
    "echo \"$( @C@\n)\"",
    "echo \"${x:-$( @C@\n)}\"",
    "cat <( @C@\n)",
    "cat <<E\n$( @C@\n)\nE",
    "cat <<'E'\nls\nE\n@C@",
    "f() { @C@\n}; f",
    "bash -c '@Q@'",
    "sh -c '@Q@'",
    "env bash -c '@Q@'",
    "timeout 5 bash -c '@Q@'",
    "nice bash -ec '@Q@'",
    "echo f | xargs -n1 bash -c '@Q@'",
    "find f -exec bash -c '@Q@' \\;",
    "bash -c \"@W@\"",
    "sh -c \"@W@\"",
    "eval '@Q@'",
    "bash <<'INTERLOCK'\n@C@\nINTERLOCK",
    "bash -c \"bash -c '@Q@'\"",
    "echo \"$(bash -c '@Q@')\"",
];

fn surround(around: &str, command: &str) -> String {
    around
        .replace("@Q@", &command.replace('\'', "'\\''"))
        .replace(
            "@W@",
            &command
                .replace('\\', "\\\\")
                .replace('"', "\\\"")
                .replace('$', "\\$")
                .replace('`', "\\`"),
        )
        .replace("@C@", command)
}

#[test]
fn what_reaches_the_marker_through_another_command_was_not_called_a_read() {
    /// One in so many combinations is run anyway, to see that they reach the marker.
    const SAMPLE: usize = 61;
    let Some(mut arena) = Arena::new() else { return };
    let mut judged = 0;
    let mut sampled = BTreeSet::new();
    for (origin, template) in corpus().iter().flat_map(|class| &class.templates).enumerate() {
        for (number, around) in AROUND.iter().enumerate() {
            judged += 1;
            let marker = if judged % 2 == 0 {
                Marker::Path
            } else {
                Marker::Writer
            };
            let folder = arena.place(origin, number, marker);
            let text = surround(around, &fill(template, &folder, marker));
            let sample = judged % SAMPLE == 0;
            if sample || called_a_read(&text) {
                if sample {
                    sampled.insert(arena.jobs.len());
                }
                arena.add(
                    &folder,
                    match number % 4 {
                        2 => small_shell(),
                        3 => plain_shell(),
                        _ => "bash",
                    },
                    text,
                    origin,
                );
            }
        }
    }
    arena.run();
    let reached = sampled
        .iter()
        .filter(|index| arena.jobs[**index].reached())
        .count();
    println!(
        "{judged} combinations, {} run; of {} sampled, {reached} reach the marker",
        arena.jobs.len(),
        sampled.len()
    );
    assert!(
        reached * 10 >= sampled.len() * 6,
        "only {reached} of {} reach the marker",
        sampled.len()
    );
    arena.assert_nothing_called_a_read_reached_the_marker();
}

/// Reads that look like something else. They run nothing but what they name, and end.
const LOOK_ALIKES: &[&str] = &[
    "grep 'a<b' f",
    "grep 'a>b' f",
    "grep \"a>b\" f",
    "grep '`x`' f",
    "grep '$(id)' f",
    "grep -F '$(rm -rf /)' f",
    "grep ';' f",
    "grep \"a;b\" f",
    "grep 'a|b' f",
    "grep -E 'a|b|c' f",
    "grep -E \"(a|b)&&c\" f",
    "grep 'a && b' f",
    "grep 'rm -rf' f",
    "grep -c '^#' f",
    "grep '\\$(' f",
    "grep -e '<(' f",
    "grep '>(x)' f",
    "grep 'eval' f",
    "grep \"it's\" f",
    "grep '\"' f",
    "grep \\; f",
    "grep a\\&b f",
    "grep a\\|b f",
    "grep '\\' f",
    "grep '{a,b}' f",
    "grep 'x=$((1+1))' f",
    "grep '<<EOF' f",
    "echo '$(id)'",
    "echo '`id`'",
    "echo \"a;b\"",
    "echo \"a && b\"",
    "echo \"a | b\"",
    "echo \"a > b\"",
    "echo 'a > b'",
    "echo a\\>b",
    "echo \\$\\(id\\)",
    "echo \"\\$(id)\"",
    "echo \"\\`id\\`\"",
    "echo '${x:-$(id)}'",
    "echo \"cost: \\$5\"",
    "echo a#b",
    "echo '#'",
    "echo \"# $HOME\"",
    "echo $'a'",
    "echo 'rm -rf /'",
    "echo rm -rf /",
    "echo \"sudo reboot\"",
    "echo {a,b}",
    "echo {1..3}",
    "echo $((1 + 2 * 3))",
    "echo ${HOME:-none}",
    "echo \"${HOME%/}\"",
    "echo ${#HOME}",
    "echo '<(id)'",
    "echo 'a\nb'",
    "echo \"a\nb\"",
    "ls # rm f",
    "ls # $(id)",
    "ls # `id`",
    "# a comment\nls",
    "ls 2>/dev/null",
    "ls >/dev/null 2>&1",
    "ls 2>&1 | head -n 5",
    "ls &>/dev/null",
    "ls \\\n  -l",
    "ls &&\n  df -h",
    "ls; df -h; uptime",
    "ls || true",
    "awk '$3 > 80' f",
    "awk '$1 ~ /a|b/ {print $2}' f",
    "awk '{print \"a > b\"}' f",
    "awk '{print \"system\"}' f",
    "awk -F: '$3 >= 1000 && $3 < 65534 {print $1}' /etc/passwd",
    "awk '{s+=$1} END {print s}' f",
    "find . -name '*;*'",
    "find . -name '*|*' -o -name '*&*'",
    "find . -name '$(x)'",
    "find . -name '*.log' -size +1M",
    "find . -type f -exec ls -l {} \\;",
    "find . -type f -exec grep -l 'a>b' {} +",
    "sed -n '1,5p' f",
    "sed 's/a/;e/' f",
    "sed 's/>/</g' f",
    "sed 's|a|$(id)|' f",
    "cat <<'E'\n$(id) `id` ${x:-$(id)}\nE",
    "cat <<E\na > b; c && d | e\nE",
    "cat <<\\E\n$(id)\nE",
    "cat <<-'E'\n\t$(id)\n\tE",
    "cat <<< 'a; b'",
    "cat < f",
    "test -f f && cat f",
    "[ -d d ] || echo missing",
    "[[ -f f ]] && cat f",
    "[[ $HOME == /root ]]",
    "[ \"$HOME\" = '/x;y' ]",
    "if [ -f f ]; then cat f; fi",
    "for i in a b; do echo \"$i\"; done",
    "case x in x) ls;; *) df;; esac",
    "! grep a f",
    "(ls; df -h)",
    "{ ls; df -h; }",
    "x='a;b'; echo \"$x\"",
    "LANG=C sort f",
    "sort f | uniq -c | sort -rn | head -n 3",
    "cut -d'|' -f1 f",
    "cut -d';' -f2 f",
    "tr ';' '\\n' < f",
    "cat f | tr -d '`'",
    "cat f | while read -r l; do echo \"$l\"; done",
    "head -n 1 f | xargs -n1 echo",
    "printf '%s;%s\\n' a b",
    "date '+%H:%M > %S'",
    "ps aux | grep '[s]shd'",
    "ps -eo pid,cmd --sort=-%mem | head",
    "df -h | awk '$5+0 > 80'",
    "ss -tlnp '( sport = :80 or sport = :443 )'",
    "jq '.a | .b > 3' f",
    "jq -r '.[] | select(.x == \"$(id)\") | .y' f",
    "env LANG=C ls",
    "timeout 5 ls",
    "nice -n 5 ls",
    "sh -c 'ls; df -h'",
    "bash -c \"echo 'a > b'\"",
    "time ls",
    "command -v rm",
    "type rm",
];

#[test]
fn harmless_look_alikes_are_bounded_reads() {
    let refused: Vec<String> = LOOK_ALIKES
        .iter()
        .map(|text| (text, classify(text)))
        .filter(|(_, verdict)| !verdict.is_bounded_read())
        .map(|(text, verdict)| {
            format!(
                "{text:?}: {}",
                verdict
                    .reasons
                    .first()
                    .map(ToString::to_string)
                    .unwrap_or_default()
            )
        })
        .collect();
    assert!(LOOK_ALIKES.len() >= 60);
    assert!(
        refused.is_empty(),
        "{} refused:\n{}",
        refused.len(),
        refused.join("\n")
    );
}

/// Look-alikes and hidden executions, with pieces put in, cut out and joined at random.
fn splices(hidden: Vec<String>) -> impl Strategy<Value = String> {
    let seed = prop_oneof![
        3 => proptest::sample::select(LOOK_ALIKES).prop_map(str::to_owned),
        2 => proptest::sample::select(hidden),
        1 => proptest::collection::vec(proptest::sample::select(PIECES), 1..8).prop_map(|pieces| pieces.concat()),
    ];
    let edit = (
        any::<proptest::sample::Index>(),
        proptest::sample::select(PIECES),
        0_usize..4,
    );
    (seed, proptest::collection::vec(edit, 0..5)).prop_map(|(text, edits)| {
        let mut characters: Vec<char> = text.chars().collect();
        for (index, piece, cut) in edits {
            let at = index.index(characters.len() + 1);
            let end = (at + cut / 2).min(characters.len());
            characters.splice(at..end, piece.chars());
        }
        characters.into_iter().collect()
    })
}

#[test]
fn nothing_spliced_together_is_called_a_read_and_reaches_the_marker() {
    let config = Config::default();
    let candidates = config.cases as usize * 150;
    // What is called a write need not be run.
    let most = config.cases as usize * 6;
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let strategy = splices(corpus().into_iter().flat_map(|class| class.templates).collect());
    let Some(mut arena) = Arena::new() else { return };
    for number in 0..candidates {
        let template = strategy.new_tree(&mut runner).unwrap().current();
        let marker = if number % 2 == 0 {
            Marker::Path
        } else {
            Marker::Writer
        };
        let folder = arena.place(number, 0, marker);
        let text = fill(&template, &folder, marker);
        if text.contains(marker.name()) && arena.jobs.len() < most && called_a_read(&text) {
            arena.add(
                &folder,
                ["bash", "bash", small_shell(), plain_shell()][number % 4],
                text,
                number,
            );
        }
    }
    arena.run();
    println!(
        "{candidates} texts, {} of them called reads and run",
        arena.jobs.len()
    );
    assert!(
        arena.jobs.len() * 200 >= candidates,
        "only {} texts were called reads: the test shows little",
        arena.jobs.len()
    );
    arena.assert_nothing_called_a_read_reached_the_marker();
}
