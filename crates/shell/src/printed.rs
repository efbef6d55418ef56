//! Who wrote what a command prints: the system that it asks, or the author of the command line.
//!
//! `echo 'nginx active'` reads nothing, and what it prints looks like a reading. Callers that treat output as an observation ask
//! here first. Programs of text are named below, because they are few; every other program that the table knows as a read asks the
//! system. A construct that is not understood counts as composed.

use brush_parser::ast;

use crate::limits;
use crate::word::{self, Arg};

/// What is known about the output of a command from its text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Printed {
    /// Some part of it opens a file or asks the kernel, a service or another machine.
    pub observes: bool,
    /// Some part of it can print text that it joins, cuts, replaces or computes. Such text cannot be told from an observation.
    pub composed: bool,
    /// The words of programs of text, which the output may repeat or take apart.
    pub said: Vec<String>,
    /// Flags of programs that observe (`--state=failed`): they choose what is shown, and are not printed themselves.
    pub chosen: Vec<String>,
    /// The operands of programs that observe: what they were asked about. Their output may repeat them, too.
    pub asked: Vec<String>,
}

impl Printed {
    /// Whether what is printed, apart from the words in `said` and `asked`, was observed.
    pub const fn is_observed(&self) -> bool {
        self.observes && !self.composed
    }
}

/// Finds out what of a command's output its author could have written.
pub fn printed(command: &str) -> Printed {
    let mut printed = Printed::default();
    walk(command, 0, &mut printed);
    printed
}

/// What a program makes its output from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Its arguments, as they are. It observes nothing.
    Says,
    /// Its arguments, computed.
    Computes,
    /// Files, by a test.
    Tests,
    /// Its input or the files that it is given: whole lines or whole words of them.
    Selects,
    /// The same, and an operand in front of the files is a pattern or a program.
    Searches,
    /// Its input or the files that it is given, cut, joined or replaced.
    Rewrites,
    /// Another command, behind its own flags.
    Wraps,
    /// A command line.
    Shell,
    /// What it asks the system.
    Observes,
}

pub(crate) fn role(program: &str) -> Role {
    match program {
        "echo" | "gecho" | "true" | "gtrue" | "false" | "gfalse" | ":" | "sleep" | "gsleep" | "usleep"
        | "cd" | "chdir" | "pwd" | "dirs" | "pushd" | "popd" | "times" | "caller" | "help" | "trap"
        | "hash" | "alias" | "unalias" | "getopts" | "disown" | "suspend" | "logout" | "fg" | "bg"
        | "export" | "readonly" | "declare" | "typeset" | "local" | "set" | "shopt" | "jobs" | "wait"
        | "read" | "mapfile" | "readarray" | "unset" | "exit" | "return" | "break" | "continue" | "shift"
        | "history" | "fc" | "bind" | "complete" | "enable" | "clear" | "reset" | "tset" | "tput"
        | "pathchk" | "gpathchk" | "date" | "gdate" | "printf" | "gprintf" | "umask" => Role::Says,
        "expr" | "gexpr" | "seq" | "gseq" | "yes" | "gyes" | "basename" | "gbasename" | "dirname"
        | "gdirname" | "factor" | "gfactor" | "numfmt" | "gnumfmt" | "bc" | "dc" | "cal" | "ncal"
        | "compgen" | "let" | "eval" | "source" | "." | "exec" | "dircolors" | "figlet" | "banner"
        | "infocmp" | "toe" => Role::Computes,
        "test" | "[" => Role::Tests,
        "cat" | "gcat" | "tac" | "gtac" | "head" | "ghead" | "tail" | "gtail" | "wc" | "gwc" | "nl"
        | "gnl" | "cut" | "gcut" | "comm" | "gcomm" | "sort" | "gsort" | "uniq" | "guniq" | "shuf"
        | "gshuf" | "less" | "more" | "most" | "pg" | "bat" | "batcat" | "zcat" | "bzcat" | "xzcat"
        | "zless" | "zmore" | "column" | "tee" | "gtee" | "md5sum" | "sha1sum" | "sha224sum"
        | "sha256sum" | "sha384sum" | "sha512sum" | "b2sum" | "gmd5sum" | "gsha256sum" | "cksum"
        | "gcksum" | "sum" | "gsum" | "diff" | "gdiff" | "colordiff" | "diff3" | "sdiff" | "cmp" | "gcmp"
        | "file" | "gfile" | "expand" | "unexpand" | "gexpand" | "gunexpand" => Role::Selects,
        "grep" | "egrep" | "fgrep" | "ggrep" | "rgrep" | "zgrep" | "zegrep" | "zfgrep" | "bzgrep"
        | "bzegrep" | "bzfgrep" | "xzgrep" | "xzegrep" | "xzfgrep" | "lzgrep" | "zstdgrep" | "lz4grep"
        | "rg" | "ripgrep" | "ag" | "sed" | "gsed" | "ssed" | "awk" | "gawk" | "mawk" | "nawk"
        | "original-awk" | "bwk" | "jq" | "gojq" | "yq" | "look" => Role::Searches,
        "paste" | "gpaste" | "fold" | "gfold" | "fmt" | "gfmt" | "pr" | "gpr" | "join" | "gjoin"
        | "tsort" | "gtsort" | "tr" | "gtr" | "od" | "god" | "base64" | "base32" | "basenc" | "gbase64"
        | "gbase32" | "ptx" | "gptx" | "dd" | "gdd" | "rev" | "ul" | "col" | "colrm" | "colcrt"
        | "hexdump" | "hd" | "strings" | "gstrings" | "ts" | "xxd" | "iconv" | "xmllint" | "gron"
        | "csvcut" | "csvgrep" | "csvstat" | "csvlook" | "csvsort" | "csvjoin" | "csvstack" | "csvformat"
        | "csvjson" | "wdiff" | "zdiff" | "zcmp" | "bzdiff" | "bzcmp" | "xzdiff" | "xzcmp" | "lzdiff"
        | "zstdcmp" | "perl" | "perl5" | "python" | "python2" | "python3" | "ruby" | "node" | "nodejs"
        | "lua" | "luajit" | "php" | "sqlite3" | "openssl" | "gpg" | "cowsay" | "m4" => Role::Rewrites,
        "env" | "genv" | "timeout" | "gtimeout" | "nice" | "gnice" | "stdbuf" | "gstdbuf" | "setsid"
        | "nohup" | "gnohup" | "time" | "gtime" | "sudo" | "doas" | "chrt" | "ionice" | "command"
        | "builtin" | "busybox" | "toybox" | "xargs" | "gxargs" | "taskset" | "unbuffer" => Role::Wraps,
        "sh" | "bash" | "dash" | "ash" | "zsh" | "ksh" | "ksh93" | "mksh" | "rbash" => Role::Shell,
        _ => Role::Observes,
    }
}

fn walk(command: &str, depth: usize, printed: &mut Printed) {
    if depth > limits::MAX_DEPTH || limits::refused_unparsed(command).is_some() {
        printed.composed = true;
        return;
    }
    let options = brush_parser::ParserOptions {
        enable_extended_globbing: false,
        ..brush_parser::ParserOptions::default()
    };
    let parsed =
        std::panic::catch_unwind(|| brush_parser::Parser::new(command.as_bytes(), &options).parse_program());
    let Ok(Ok(program)) = parsed else {
        printed.composed = true;
        return;
    };
    let mut walk = Walk { printed, depth };
    for list in &program.complete_commands {
        walk.list(list);
    }
}

struct Walk<'w> {
    printed: &'w mut Printed,
    depth: usize,
}

impl Walk<'_> {
    fn list(&mut self, list: &ast::CompoundList) {
        for ast::CompoundListItem(and_or, _) in &list.0 {
            self.pipeline(&and_or.first);
            for next in &and_or.additional {
                match next {
                    ast::AndOr::And(pipeline) | ast::AndOr::Or(pipeline) => self.pipeline(pipeline),
                }
            }
        }
    }

    fn pipeline(&mut self, pipeline: &ast::Pipeline) {
        for command in &pipeline.seq {
            match command {
                ast::Command::Simple(simple) => self.simple(simple),
                ast::Command::Compound(compound, redirects) => {
                    self.compound(compound);
                    for redirect in redirects.iter().flat_map(|redirects| &redirects.0) {
                        self.redirect(redirect);
                    }
                }
                ast::Command::Function(_) => self.printed.composed = true,
                // A test prints nothing.
                ast::Command::ExtendedTest(..) => {}
            }
        }
    }

    fn compound(&mut self, compound: &ast::CompoundCommand) {
        match compound {
            ast::CompoundCommand::BraceGroup(group) => self.list(&group.list),
            ast::CompoundCommand::Subshell(subshell) => self.list(&subshell.list),
            ast::CompoundCommand::IfClause(clause) => {
                self.list(&clause.condition);
                self.list(&clause.then);
                for branch in clause.elses.iter().flatten() {
                    if let Some(condition) = &branch.condition {
                        self.list(condition);
                    }
                    self.list(&branch.body);
                }
            }
            ast::CompoundCommand::ForClause(clause) => {
                for value in clause.values.iter().flatten() {
                    let words = self.words(&value.value);
                    self.say(&words);
                }
                self.list(&clause.body.list);
            }
            ast::CompoundCommand::CaseClause(clause) => {
                for body in clause.cases.iter().filter_map(|case| case.cmd.as_ref()) {
                    self.list(body);
                }
            }
            ast::CompoundCommand::WhileClause(ast::WhileOrUntilClauseCommand(condition, body, _))
            | ast::CompoundCommand::UntilClause(ast::WhileOrUntilClauseCommand(condition, body, _)) => {
                self.list(condition);
                self.list(&body.list);
            }
            ast::CompoundCommand::Arithmetic(_)
            | ast::CompoundCommand::ArithmeticForClause(_)
            | ast::CompoundCommand::Coprocess(_) => self.printed.composed = true,
        }
    }

    fn simple(&mut self, simple: &ast::SimpleCommand) {
        let mut args: Vec<Arg<'static>> = Vec::new();
        let items = |part: Option<&Vec<ast::CommandPrefixOrSuffixItem>>| part.cloned().unwrap_or_default();
        for item in items(simple.prefix.as_ref().map(|prefix| &prefix.0)) {
            match item {
                ast::CommandPrefixOrSuffixItem::AssignmentWord(assignment, word) => {
                    // Other separators cut words in two.
                    let separates =
                        matches!(&assignment.name, ast::AssignmentName::VariableName(name) if name == "IFS");
                    self.printed.composed |= separates && word.value.contains(char::is_alphanumeric) && {
                        let value = word.value.split_once('=').map_or("", |(_, value)| value);
                        unescaped(value).contains(char::is_alphanumeric)
                    };
                    let value = word
                        .value
                        .split_once('=')
                        .map_or("", |(_, value)| value)
                        .to_owned();
                    let words = self.words(&value);
                    self.printed.composed |= words.iter().any(|word| joins_variable(&word.raw));
                    self.say(&words);
                }
                ast::CommandPrefixOrSuffixItem::IoRedirect(redirect) => self.redirect(&redirect),
                ast::CommandPrefixOrSuffixItem::Word(word) => args.extend(self.words(&word.value)),
                ast::CommandPrefixOrSuffixItem::ProcessSubstitution(..) => self.printed.composed = true,
            }
        }
        if let Some(name) = &simple.word_or_name {
            args.extend(self.words(&name.value));
        }
        for item in items(simple.suffix.as_ref().map(|suffix| &suffix.0)) {
            match item {
                ast::CommandPrefixOrSuffixItem::AssignmentWord(_, word)
                | ast::CommandPrefixOrSuffixItem::Word(word) => args.extend(self.words(&word.value)),
                ast::CommandPrefixOrSuffixItem::IoRedirect(redirect) => self.redirect(&redirect),
                ast::CommandPrefixOrSuffixItem::ProcessSubstitution(..) => self.printed.composed = true,
            }
        }
        if !args.is_empty() {
            self.part(&args, 0);
        }
    }

    fn redirect(&mut self, redirect: &ast::IoRedirect) {
        match redirect {
            ast::IoRedirect::File(_, kind, target) => {
                if let (ast::IoFileRedirectKind::Read, ast::IoFileRedirectTarget::Filename(name)) =
                    (kind, target)
                {
                    let words = self.words(&name.value);
                    self.printed.observes |= words.iter().any(|word| word.text().is_none_or(is_file));
                }
            }
            ast::IoRedirect::HereDocument(_, document) => {
                let text = &document.doc.value;
                self.printed.composed |= joins_variable(text);
                self.printed.said.push(text.clone());
            }
            ast::IoRedirect::HereString(_, word) => {
                let words = self.words(&word.value);
                self.printed.composed |= words.iter().any(|word| joins_variable(&word.raw));
                self.say(&words);
            }
            ast::IoRedirect::OutputAndError(..) => {}
        }
    }

    /// What a word can become. One that runs a command, computes or cuts a value is composed.
    fn words(&mut self, raw: &str) -> Vec<Arg<'static>> {
        let mut args = Vec::new();
        if word::expand(raw, &mut args).is_err()
            || raw.contains("$((")
            || raw.contains("$[")
            || cuts_variable(raw)
        {
            self.printed.composed = true;
        }
        args.into_iter().map(Arg::into_owned).collect()
    }

    fn say(&mut self, args: &[Arg<'_>]) {
        for arg in args {
            self.printed.said.push(arg.raw.clone().into_owned());
            self.printed.said.extend(arg.text().map(ToOwned::to_owned));
        }
    }

    /// One program and its arguments.
    fn part(&mut self, args: &[Arg<'_>], depth: usize) {
        let Some((program, arguments)) = args.split_first() else {
            return;
        };
        if depth > limits::MAX_DEPTH {
            self.printed.composed = true;
            return;
        }
        let Some(program) = program.text().map(name_of) else {
            // Whatever a variable names.
            self.printed.composed = true;
            self.say(args);
            return;
        };
        let role = role(program);
        match role {
            Role::Says => {
                self.printed.composed |= match program {
                    "echo" | "gecho" => echo_composes(arguments),
                    "printf" | "gprintf" => printf_composes(arguments),
                    "date" | "gdate" => date_composes(arguments),
                    _ => false,
                };
                self.say(arguments);
            }
            Role::Computes => {
                self.printed.composed = true;
                self.say(arguments);
            }
            Role::Tests => {
                self.printed.observes |= arguments.iter().any(|word| word.text().is_none_or(is_file));
                self.say(arguments);
            }
            Role::Selects | Role::Searches | Role::Rewrites => {
                self.printed.observes |= opens_file(program, role, arguments);
                self.printed.composed |= rewrites(program, role, arguments);
                self.say(arguments);
            }
            Role::Wraps => {
                let inner = inner_of(program, arguments);
                let (own, inner) = arguments.split_at(inner);
                self.say(own);
                if program.ends_with("xargs") {
                    self.printed.composed |= inner.iter().any(|word| joins(&word.raw, "{}"));
                }
                if inner.is_empty() {
                    // `env` alone prints the environment, `xargs` alone its input.
                    self.printed.observes |= matches!(program, "env" | "genv");
                }
                self.part(inner, depth + 1);
            }
            Role::Shell => {
                let script = arguments
                    .iter()
                    .position(|word| {
                        word.text()
                            .is_some_and(|text| text.starts_with('-') && text.contains('c'))
                    })
                    .and_then(|at| {
                        arguments[at + 1..]
                            .iter()
                            .find(|word| word.text().is_none_or(|text| !text.starts_with('-')))
                    });
                match script.map(Arg::text) {
                    Some(Some(script)) => walk(script, self.depth + 1, self.printed),
                    Some(None) | None => self.printed.composed = true,
                }
                self.say(arguments);
            }
            Role::Observes => self.observer(program, arguments, depth),
        }
    }

    fn observer(&mut self, program: &str, arguments: &[Arg<'_>], depth: usize) {
        if let Some(at) = handed_over(program, arguments) {
            self.say(&arguments[..at]);
            self.part(&arguments[at..], depth + 1);
            return;
        }
        self.printed.observes = true;
        self.printed.composed |= templates(program, arguments);
        for arg in arguments {
            let raw = arg.raw.as_ref();
            match arg.text() {
                Some(text) if text.starts_with('-') => self.printed.chosen.push(text.to_owned()),
                Some(text) => self.printed.asked.push(text.to_owned()),
                None => self.printed.said.push(raw.to_owned()),
            }
        }
    }
}

fn name_of(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// Whether a path is one that something can be observed in: not a device that holds nothing, nor what was fed to the command.
fn is_file(path: &str) -> bool {
    let path = path.to_ascii_lowercase();
    let empty = ["/dev/", "/proc/self", "/proc/thread-self", "/proc/$"]
        .iter()
        .any(|folder| path.starts_with(folder))
        && !path.starts_with("/dev/disk")
        && !path.starts_with("/dev/mapper");
    (path.contains('/') || path.contains('.')) && path.contains(char::is_alphanumeric) && !empty
        || path == "/"
}

/// Flags of programs of text whose value is the next argument.
const VALUED: &[&str] = &[
    "-n",
    "-c",
    "-m",
    "-A",
    "-B",
    "-C",
    "-d",
    "-f",
    "-t",
    "-k",
    "-e",
    "-v",
    "-F",
    "-w",
    "-s",
    "-S",
    "-o",
    "-O",
    "-L",
    "-N",
    "-j",
    "-i",
    "-r",
    "--arg",
    "--argjson",
    "--lines",
    "--bytes",
    "--regexp",
    "--field-separator",
    "--delimiter",
    "--fields",
    "--expression",
    "--max-count",
    "--label",
    "-l",
];

fn opens_file(program: &str, role: Role, arguments: &[Arg<'_>]) -> bool {
    // Of these programs the flags above that take no value.
    let bare: &[&str] = match program {
        "grep" | "egrep" | "fgrep" | "ggrep" | "zgrep" | "rg" | "ag" | "rgrep" => &[
            "-n", "-c", "-v", "-w", "-s", "-o", "-L", "-i", "-r", "-l", "-F", "-N", "-S",
        ],
        "cat" | "gcat" | "tac" | "gtac" => VALUED,
        "sed" | "gsed" | "ssed" => &["-n", "-s", "-i", "-r"],
        "wc" | "gwc" | "uniq" | "guniq" | "file" | "gfile" => {
            &["-c", "-l", "-w", "-L", "-m", "-d", "-i", "-s"]
        }
        "jq" | "gojq" | "yq" => &["-r", "-c", "-n", "-e", "-s", "-S", "-C", "-j", "-i", "-N"],
        "sort" | "gsort" => &["-n", "-r", "-c", "-C", "-d", "-f", "-i", "-s", "-m", "-o"],
        "tail" | "ghead" | "head" | "gtail" => &["-v", "-f", "-F", "-r"],
        "cut" | "gcut" => &["-s", "-n"],
        _ => &[],
    };
    let mut pattern = role == Role::Searches;
    let mut value = false;
    for arg in arguments {
        let Some(text) = arg.text() else {
            if !pattern && !value {
                return true;
            }
            (pattern, value) = (pattern && value, false);
            continue;
        };
        if std::mem::take(&mut value) {
            continue;
        }
        if text.len() > 1 && text.starts_with('-') {
            value = VALUED.contains(&text) && !bare.contains(&text);
            // The pattern or the program is the value of a flag.
            if matches!(text, "-e" | "--regexp" | "--expression" | "-f" | "--file") && value {
                pattern = false;
            }
            continue;
        }
        if std::mem::take(&mut pattern) {
            continue;
        }
        if is_file(text) {
            return true;
        }
    }
    // Without a file these look through the folder that they run in.
    matches!(program, "rg" | "ag" | "rgrep")
}

/// Whether a program of text can print anything else than whole words of what it reads.
fn rewrites(program: &str, role: Role, arguments: &[Arg<'_>]) -> bool {
    let texts: Vec<&str> = arguments.iter().filter_map(Arg::text).collect();
    let has_short = |letters: &str| {
        texts.iter().any(|text| {
            text.strip_prefix('-')
                .is_some_and(|flags| !flags.starts_with('-') && flags.contains(|c| letters.contains(c)))
        })
    };
    let has_long = |names: &[&str]| {
        texts
            .iter()
            .any(|text| names.iter().any(|name| text.starts_with(name)))
    };
    match program {
        "grep" | "egrep" | "fgrep" | "ggrep" | "rgrep" | "zgrep" | "ag" | "rg" | "ripgrep" => {
            has_short("o")
                || has_long(&[
                    "--only",
                    "--repl",
                    "--passthru",
                    "--pre",
                    "--context-sep",
                    "--field",
                ])
                || (program == "rg" && has_short("r"))
        }
        "head" | "ghead" | "tail" | "gtail" => has_short("c") || has_long(&["--bytes"]),
        "cut" | "gcut" => {
            has_short("cb")
                || has_long(&["--char", "--byte", "--output"])
                || splits_by_letters(&texts, &["-d", "--delimiter"])
        }
        "column" => has_short("oscJNHE") || has_long(&["--output", "--separator", "--json", "--table-col"]),
        "sed" | "gsed" | "ssed" => !sed_selects(&texts),
        "awk" | "gawk" | "mawk" | "nawk" | "original-awk" | "bwk" => !awk_selects(&texts),
        "jq" | "gojq" | "yq" => !jq_selects(&texts),
        "tr" | "gtr" => !tr_separates(&texts),
        "sdiff" | "look" | "nl" | "gnl" => has_short("s"),
        _ => role == Role::Rewrites,
    }
}

/// Whether the value of one of these flags has a letter or a digit in it: then words are cut in two.
fn splits_by_letters(texts: &[&str], flags: &[&str]) -> bool {
    let lettered = |value: &str| unescaped(value).contains(char::is_alphanumeric);
    texts.iter().enumerate().any(|(at, text)| {
        flags.iter().any(|flag| match text.strip_prefix(flag) {
            Some("") => texts.get(at + 1).is_some_and(|value| lettered(value)),
            Some(value) => lettered(value.trim_start_matches('=')),
            None => false,
        })
    })
}

/// A text without the escapes of white space.
fn unescaped(text: &str) -> String {
    ["\\n", "\\t", "\\r", "\\0", "[:space:]", "[:blank:]", "\\s"]
        .iter()
        .fold(text.to_owned(), |text, escape| text.replace(escape, " "))
}

/// A program without what stands between slashes, which only says where it applies.
fn without_patterns(text: &str) -> String {
    let mut plain = String::new();
    let mut inside = false;
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        match c {
            '\\' if inside => {
                characters.next();
            }
            '/' => inside = !inside,
            _ if inside => {}
            _ => plain.push(c),
        }
    }
    if inside { text.to_owned() } else { plain }
}

fn sed_selects(texts: &[&str]) -> bool {
    let script = |text: &&&str| !text.starts_with('-') && !text.starts_with('/') | text.ends_with(['p', 'd']);
    let flags = texts.iter().filter(|text| text.starts_with('-')).all(|flag| {
        matches!(
            *flag,
            "-n" | "-E" | "-r" | "-e" | "-ne" | "-nE" | "-En" | "-nr" | "--quiet" | "--silent"
        )
    });
    let scripts: Vec<_> = texts.iter().filter(script).collect();
    // Files stand behind the first script, and are no scripts unless every one is named by a flag.
    let scripts = if texts.iter().any(|text| matches!(*text, "-e" | "-ne")) {
        scripts
    } else {
        scripts.into_iter().take(1).collect()
    };
    flags
        && scripts.iter().all(|text| {
            without_patterns(text)
                .chars()
                .all(|c| c.is_ascii_digit() || " ,$;pdq!{}\n~".contains(c))
        })
}

/// `{print $1, $3}` behind a condition: whole fields, nothing computed.
fn awk_selects(texts: &[&str]) -> bool {
    if splits_by_letters(texts, &["-F"])
        || texts
            .iter()
            .any(|text| text.starts_with("-v") || text.starts_with("--"))
    {
        return false;
    }
    let mut skip = false;
    let program = texts.iter().find(|text| {
        let value = std::mem::replace(&mut skip, **text == "-F");
        !value && !text.starts_with('-')
    });
    let Some(program) = program else { return false };
    let plain = without_patterns(program);
    let (mut rest, mut prints) = (plain.as_str(), true);
    while let Some((_, block)) = rest.split_once('{') {
        let Some((body, behind)) = block.split_once('}') else {
            return false;
        };
        prints &= body.split(';').all(|statement| {
            let fields = statement.trim().strip_prefix("print").map_or("?", str::trim);
            fields.is_empty()
                || fields.split(',').all(|field| {
                    field.trim().strip_prefix('$').is_some_and(|name| {
                        name == "NF" || (!name.is_empty() && name.chars().all(|c| c.is_ascii_digit()))
                    })
                })
        });
        rest = behind;
    }
    // A condition prints nothing; an assignment in it changes what is printed.
    let conditions = plain
        .split(['{', '}'])
        .step_by(2)
        .all(|condition| !condition.contains('(') && !assigns(condition));
    prints && conditions
}

fn assigns(condition: &str) -> bool {
    let bytes = condition.as_bytes();
    bytes.iter().enumerate().any(|(at, byte)| {
        let around = |at: Option<usize>| at.and_then(|at| bytes.get(at)).copied().unwrap_or(b' ');
        *byte == b'='
            && around(Some(at + 1)) != b'='
            && !matches!(around(at.checked_sub(1)), b'=' | b'!' | b'<' | b'>')
    }) || condition.contains("++")
        || condition.contains("--")
}

/// A path into a document: nothing is made up or computed.
fn jq_selects(texts: &[&str]) -> bool {
    const KNOWN: &[&str] = &[
        "keys", "length", "first", "last", "sort", "unique", "select", "eval", "e", "empty",
    ];
    if texts.iter().any(|text| {
        matches!(*text, "-n" | "--null-input") || text.starts_with("--arg") || text.starts_with("--raw-o0")
    }) {
        return false;
    }
    let Some(filter) = texts
        .iter()
        .find(|text| !text.starts_with('-') && **text != "eval" && **text != "e")
    else {
        return true;
    };
    let mut before = ' ';
    let mut word = String::new();
    let mut starts_after = ' ';
    for c in filter.chars().chain([' ']) {
        if c.is_ascii_alphanumeric() || c == '_' {
            if word.is_empty() {
                starts_after = before;
            }
            word.push(c);
        } else {
            let index = starts_after == '[' && word.chars().all(|c| c.is_ascii_digit());
            if !word.is_empty() && starts_after != '.' && !index && !KNOWN.contains(&word.as_str()) {
                return false;
            }
            word.clear();
            if !" .[]|,?()".contains(c) {
                return false;
            }
        }
        before = c;
    }
    true
}

/// Whether `tr` only changes what stands between words.
fn tr_separates(texts: &[&str]) -> bool {
    texts
        .iter()
        .filter(|text| !text.starts_with('-'))
        .all(|set| !unescaped(set).contains(char::is_alphanumeric))
        && !texts
            .iter()
            .any(|text| text.starts_with('-') && text.contains(['c', 'C']))
}

/// Whether `$x` or `${x}` stands right beside a letter, a digit or another variable: the two become one word.
fn joins_variable(raw: &str) -> bool {
    let plain: String = raw.chars().filter(|c| !matches!(c, '"' | '\'')).collect();
    let bytes = plain.as_bytes();
    let wordy = |at: Option<usize>| {
        at.and_then(|at| bytes.get(at))
            .is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_' || *byte >= 0x80)
    };
    let mut at = 0;
    while let Some(found) = plain[at..].find('$') {
        let start = at + found;
        let rest = &plain[start + 1..];
        let braced = rest.starts_with('{');
        let name = rest.trim_start_matches('{');
        let length = name
            .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .unwrap_or(name.len());
        let end = start + 1 + usize::from(braced) * 2 + length.max(usize::from(!braced && !rest.is_empty()));
        let beside = |at: usize| bytes.get(at).is_some_and(|byte| *byte == b'$');
        if wordy(start.checked_sub(1)) || wordy(Some(end)) || beside(end) {
            return true;
        }
        at = end.min(plain.len()).max(start + 1);
        while !plain.is_char_boundary(at) {
            at += 1;
        }
    }
    false
}

/// Whether a value is cut or replaced: `${x#in}`, `${x:2}`.
fn cuts_variable(raw: &str) -> bool {
    raw.match_indices("${").any(|(at, _)| {
        let rest = &raw[at + 2..];
        let end = rest
            .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .unwrap_or(rest.len());
        !rest[end..].starts_with('}') || end == 0
    })
}

/// Whether `mark` stands right beside a letter or a digit.
fn joins(text: &str, mark: &str) -> bool {
    text.match_indices(mark).any(|(at, _)| {
        let wordy = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
        wordy(text[..at].chars().next_back()) || wordy(text[at + mark.len()..].chars().next())
    })
}

fn echo_composes(arguments: &[Arg<'_>]) -> bool {
    arguments.iter().any(|arg| {
        let flag = arg
            .text()
            .and_then(|text| text.strip_prefix('-'))
            .is_some_and(|flags| !flags.is_empty() && flags.chars().all(|c| matches!(c, 'e' | 'n' | 'E')));
        // Plain shells expand escapes without a flag, too.
        let escapes = arg.text().is_some_and(|text| text.contains('\\'));
        flag || escapes || joins_variable(&arg.raw)
    })
}

fn printf_composes(arguments: &[Arg<'_>]) -> bool {
    let Some((format, values)) = arguments.split_first() else {
        return false;
    };
    let Some(format) = format.text() else { return true };
    let plain = format.replace("\\n", "\n").replace("\\t", "\t");
    if plain.contains('\\') || values.iter().any(|value| joins_variable(&value.raw)) {
        return true;
    }
    let ends_a_word = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric() && c != '_' && c != '%');
    // What follows is printed right behind it.
    let open = plain
        .chars()
        .next_back()
        .is_none_or(|c| c.is_alphanumeric() || c == 's' || c == 'd');
    let joined = plain.match_indices('%').any(|(at, _)| {
        let rest = &plain[at + 1..];
        let width = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '-');
        let directive = width.chars().next();
        !matches!(directive, Some('s' | 'd'))
            || !ends_a_word(plain[..at].chars().next_back())
            || !ends_a_word(width.chars().nth(1))
    });
    open || joined
}

fn date_composes(arguments: &[Arg<'_>]) -> bool {
    arguments.iter().any(|arg| match arg.text() {
        None => true,
        Some(text) => match text.strip_prefix('+') {
            // Letters beside the parts of a time make words of them.
            Some(format) => {
                let mut rest = String::new();
                let mut characters = format.chars();
                while let Some(c) = characters.next() {
                    if c == '%' {
                        characters.next();
                    } else {
                        rest.push(c);
                    }
                }
                rest.contains(char::is_alphanumeric)
            }
            None => !matches!(
                text,
                "-u" | "--utc" | "-R" | "--rfc-email" | "-I" | "-Is" | "-Iseconds" | "--iso-8601"
            ),
        },
    })
}

/// Where the command of a wrapper begins.
fn inner_of(program: &str, arguments: &[Arg<'_>]) -> usize {
    let mut valued = false;
    arguments
        .iter()
        .position(|arg| {
            let Some(text) = arg.text() else {
                return !std::mem::take(&mut valued);
            };
            if std::mem::take(&mut valued) {
                return false;
            }
            if text.starts_with('-') {
                valued = matches!(
                    text,
                    "-n" | "-I" | "-P" | "-L" | "-d" | "-a" | "-s" | "-u" | "-g" | "-k" | "-c" | "-E"
                ) && !(matches!(program, "env" | "genv") && text != "-u");
                return false;
            }
            let assignment = text.split_once('=').is_some_and(|(name, _)| {
                !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            });
            let number = text.starts_with(|c: char| c.is_ascii_digit());
            !assignment && !number
        })
        .unwrap_or(arguments.len())
}

/// Where the command begins that a program hands to a container or another machine.
fn handed_over(program: &str, arguments: &[Arg<'_>]) -> Option<usize> {
    if program == "find" || program == "gfind" {
        return None;
    }
    // The command stands behind one of these words.
    let from = if program == "ssh" {
        0
    } else {
        let marker = arguments.iter().position(|arg| {
            matches!(
                arg.text(),
                Some("exec" | "run" | "enter" | "--" | "guest" | "shell" | "machine-shell")
            )
        })?;
        marker + 1
    };
    let inner = arguments[from..].iter().position(|arg| {
        arg.text()
            .map(name_of)
            .is_some_and(|name| role(name) != Role::Observes)
    })?;
    Some(from + inner)
}

/// Programs whose arguments can be the form of their output, or a language of their own.
fn templates(program: &str, arguments: &[Arg<'_>]) -> bool {
    let texts: Vec<&str> = arguments.iter().filter_map(Arg::text).collect();
    match program {
        "find" | "gfind" => {
            let runs = texts
                .iter()
                .position(|text| matches!(*text, "-exec" | "-execdir" | "-ok" | "-okdir"))
                .and_then(|at| texts.get(at + 1));
            // What it runs for each file is judged by its name alone: only what selects lines is told apart.
            let composes = runs.is_some_and(|name| {
                !matches!(role(name_of(name)), Role::Observes)
                    && !matches!(
                        name_of(name),
                        "cat" | "head" | "tail" | "wc" | "grep" | "file" | "sha256sum" | "md5sum"
                    )
            });
            composes || texts.iter().any(|text| text.contains('%') && percent_joins(text))
        }
        "stat" | "gstat" | "git" | "curl" | "rpm" | "rpmquery" | "dpkg-query" | "dpkg" | "pacman" | "ls"
        | "gls" => texts
            .iter()
            .any(|text| text.contains('%') && !text.contains("://") && percent_joins(text)),
        "docker" | "podman" | "nerdctl" | "kubectl" | "oc" | "helm" | "crictl" => {
            texts.iter().any(|text| braces_compose(text))
        }
        "psql" | "mysql" | "mariadb" | "clickhouse-client" | "influx" | "mongosh" | "mongo" => {
            texts.iter().any(|text| sql_composes(text))
        }
        "redis-cli" => texts.iter().any(|text| {
            matches!(
                text.to_ascii_lowercase().as_str(),
                "echo" | "eval" | "ping" | "eval_ro" | "fcall"
            )
        }),
        _ => false,
    }
}

/// Whether a directive such as `%f` stands right beside a letter, a digit or another directive.
fn percent_joins(text: &str) -> bool {
    let characters: Vec<char> = text.chars().collect();
    let wordy = |c: Option<&char>| c.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '%'));
    // What stands in front of a format's value is the name of the flag.
    let start = characters
        .iter()
        .position(|c| matches!(c, '=' | ':'))
        .map_or(0, |at| {
            if characters.first() == Some(&'-') {
                at + 1
            } else {
                0
            }
        });
    let mut at = start;
    while at < characters.len() {
        if characters[at] != '%' {
            at += 1;
            continue;
        }
        let before = at > start && wordy(characters.get(at - 1));
        let mut end = at + 1;
        while characters
            .get(end)
            .is_some_and(|c| c.is_ascii_digit() || matches!(c, '-' | '.' | '+' | '#'))
        {
            end += 1;
        }
        let close = match characters.get(end) {
            Some('{') => Some('}'),
            Some('(') => Some(')'),
            _ => None,
        };
        match close {
            Some(close) => {
                while characters.get(end).is_some_and(|c| *c != close) {
                    end += 1;
                }
            }
            // Two letters of `git log --format=%an`, `find -printf %TY`.
            None if matches!(characters.get(end), Some('a' | 'c' | 'T' | 'A' | 'C' | 'G'))
                && characters.get(end + 1).is_some_and(char::is_ascii_alphabetic) =>
            {
                end += 1;
            }
            None => {}
        }
        end += 1;
        if before || wordy(characters.get(end)) || characters.get(end.saturating_sub(1)) == Some(&'%') {
            return true;
        }
        at = end;
    }
    text.contains("\\x") || text.contains("\\0")
}

/// Whether a template of Go or a path of Kubernetes holds more than fields and what stands between them.
fn braces_compose(text: &str) -> bool {
    const WORDS: &[&str] = &["json", "range", "end", "index", "len", "table", "if", "else"];
    if !text.contains('{') {
        return false;
    }
    let mut rest = text;
    let mut touching = false;
    while let Some((between, block)) = rest.split_once('{') {
        let block = block.trim_start_matches('{');
        let Some((body, behind)) = block.split_once('}') else {
            return true;
        };
        let quoted = body
            .trim()
            .strip_prefix('"')
            .and_then(|body| body.strip_suffix('"'));
        let wordy = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        if let Some(separator) = quoted {
            if unescaped(separator).contains(char::is_alphanumeric) {
                return true;
            }
            touching = false;
        } else {
            let fields = body.split_whitespace().all(|word| {
                word.starts_with(['.', '$', '@', '[']) && !word.contains(['"', '`', '\''])
                    || WORDS.contains(&word)
            });
            let steers = body
                .split_whitespace()
                .next()
                .is_some_and(|word| matches!(word, "range" | "if" | "else" | "end"));
            let shows = !steers && (body.contains('.') || body.contains('$'));
            let after_flag = between.ends_with('=');
            if !fields
                || (shows && touching && between.is_empty())
                || (wordy(between.chars().next_back()) && !after_flag)
            {
                return true;
            }
            touching = shows;
        }
        rest = behind.trim_start_matches('}');
        if wordy(rest.chars().next()) {
            return true;
        }
    }
    false
}

/// Whether SQL makes values instead of selecting them.
fn sql_composes(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    if !text.contains("select") {
        return false;
    }
    let known = |name: &str| {
        matches!(
            name,
            "count" | "min" | "max" | "avg" | "sum" | "now" | "in" | "and" | "or" | "exists" | "version"
        ) || name.starts_with("pg_")
            || name.is_empty()
    };
    let calls = text.match_indices('(').any(|(at, _)| {
        let name = text[..at]
            .trim_end()
            .rsplit(|c: char| !c.is_alphanumeric() && c != '_')
            .next()
            .unwrap_or("");
        !known(name)
    });
    calls || text.contains("||") || text.contains('+') || text.contains("::") || !text.contains(" from ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_author_of_a_command_wrote_is_no_observation() {
        for command in [
            "echo 'nginx active'",
            "printf 'nginx active\\n'",
            "true",
            ":",
            "seq 42",
            "date",
            "expr 40 + 2",
            "basename /x/active",
            "echo nginx active | cat",
            "echo nginx active | grep active",
            "echo a/b | grep a/b",
            "cat <<< 'nginx active'",
            "cat <<'X'\nnginx active\nX",
            "awk 'BEGIN{print \"nginx active\"}'",
            "jq -n '\"nginx active\"'",
            "cat /dev/null; printf 'nginx active\\n'",
            "printf 'x\\n' | sed s/x/active/",
            "sh -c 'echo nginx active'",
            "timeout 5 echo nginx active",
            "env LC_ALL=C printf 'nginx active\\n'",
            "sudo echo nginx active",
            "busybox echo nginx active",
            "for s in nginx; do echo $s active; done",
            "if true; then echo nginx active; fi",
            "cat /dev/stdin <<< active",
            "echo 7 | head -n 5",
            "pct exec 105 -- echo nginx active",
            "docker exec web printf 'nginx active\\n'",
            "cat /proc/self/cmdline",
            "test 1 = 1 && echo active",
            "bc <<< 40+2",
        ] {
            assert!(
                !printed(command).is_observed(),
                "{command}: {:?}",
                printed(command)
            );
        }
    }

    #[test]
    fn text_that_is_made_beside_an_observation_spoils_it() {
        for command in [
            "uptime; printf 'acti%s\\n' ve",
            "uptime; printf acti; printf 've\\n'",
            "uptime; echo -n acti; echo ve",
            "uptime; echo -e 'a\\x63tive'",
            "uptime; a=acti; echo ${a}ve",
            "uptime; a=inactive; echo ${a#in}",
            "uptime; echo $((40+2))",
            "uptime; rev <<< evitca",
            "uptime; base64 -d <<< YWN0aXZl",
            "uptime; tr x a <<< xctive",
            "uptime; seq 42 42",
            "uptime; date -d @42 +%s",
            "systemctl is-active nginx | sed s/in//",
            "systemctl is-active nginx | cut -c3-",
            "systemctl is-active nginx | tail -c 7",
            "systemctl is-active nginx | grep -o .ctive",
            "systemctl is-active nginx | awk -Fin '{print $2}'",
            "systemctl is-active nginx | awk '{print substr($0,3)}'",
            "df -h | awk '{print \"active\", $1}'",
            "df -h | awk '{print 40+2}'",
            "jq '\"active\"' /etc/x.json",
            "jq '40+2' /etc/x.json",
            "find /etc/ve -printf 'acti%f\\n'",
            "stat -c 'acti%n' /x",
            "docker ps --format '{{slice .Status 2}}'",
            "docker ps --format 'acti{{.Names}}'",
            "docker ps --format '{{.A}}{{.B}}'",
            "psql -c \"select 'acti'||'ve' from t\"",
            "find / -maxdepth 0 -exec printf 'acti%s' ve ;",
            "ls / | xargs -I{} echo acti{}",
            "python3 -c 'print(42)'",
            "$x nginx",
            "uptime; IFS=n read a b <<< inactive; echo $b",
            "'unclosed",
        ] {
            assert!(printed(command).composed, "{command}: {:?}", printed(command));
        }
    }

    #[test]
    fn observations_stay_observations() {
        for command in [
            "systemctl is-active nginx",
            "systemctl status nginx --no-pager | head -n 20",
            "systemctl --failed",
            "df -h / | tail -1",
            "df -h | awk '{print $1, $5}'",
            "df -h | awk 'NR==2 {print $5}'",
            "df -h | awk '$5 > 80 {print $1}'",
            "ps aux | sort -rk 3 | head -5",
            "ps aux --sort=-%mem | head -n 5",
            "ps -eo pid,%cpu,comm",
            "cat /etc/nginx/nginx.conf | grep -n server_name",
            "grep -c processor /proc/cpuinfo",
            "grep -i error /var/log/syslog | wc -l",
            "journalctl -u nginx -n 50 --no-pager",
            "echo '--- disk'; df -h; echo '--- memory'; free -m",
            "echo \"== $HOSTNAME ==\"; uptime",
            "date; uptime",
            "printf 'nginx: '; systemctl is-active nginx",
            "for s in nginx ssh; do echo \"$s\"; systemctl is-active \"$s\"; done",
            "sed -n '1,20p' /etc/fstab",
            "sed -n '/server/p' /etc/nginx/nginx.conf",
            "jq .status /srv/state.json",
            "jq -r '.items[].name' /srv/state.json",
            "docker ps --format '{{.Names}}: {{.Status}}'",
            "docker inspect --format '{{json .State}}' web",
            "kubectl get pods -o jsonpath='{range .items[*]}{.metadata.name}{\"\\t\"}{.status.phase}{\"\\n\"}{end}'",
            "stat -c '%a %n' /etc/x",
            "find /srv -name '*.log' -printf '%s %p\\n'",
            "timeout 5 env LC_ALL=C systemctl status nginx",
            "sh -c 'ss -lnt'",
            "cat < /etc/hosts",
            "tail -n 50 /var/log/syslog",
            "uptime && free -m || true",
            "pct exec 105 -- systemctl is-active nginx",
            "docker exec web cat /etc/hosts",
            "ls /srv | xargs -n1 stat",
            "cut -d: -f1 /etc/passwd",
            "cat /proc/loadavg | tr '\\n' ' '",
            "psql -c 'select count(*) from users'",
            "git log --format='%h %s' -3",
            "test -e /srv/marker",
            "while read l; do echo \"$l\"; done < /etc/hosts",
            "dig +short example.com",
            "curl -s http://127.0.0.1/health",
        ] {
            let printed = printed(command);
            assert!(printed.is_observed(), "{command}: {printed:?}");
        }
    }

    #[test]
    fn words_that_output_may_repeat_are_known_as_the_shell_makes_them() {
        let printed =
            printed("uptime; echo act\"\"ive 'nginx up'; systemctl list-units --state=failed nginx");
        for word in ["active", "nginx up"] {
            assert!(
                printed.said.iter().any(|said| said == word),
                "{word}: {printed:?}"
            );
        }
        assert!(
            !printed.said.iter().any(|said| said.contains("failed")),
            "{printed:?}"
        );
        assert_eq!(printed.chosen, ["--state=failed"]);
        assert!(printed.asked.contains(&"nginx".to_owned()));
    }

    /// Whoever adds a program of text to the table says here what its output is made from.
    #[test]
    fn every_program_of_text_has_a_role() {
        const ASKS: &[&str] = &[
            "ls",
            "gls",
            "dir",
            "vdir",
            "gdir",
            "stat",
            "gstat",
            "du",
            "gdu",
            "df",
            "gdf",
            "readlink",
            "realpath",
            "greadlink",
            "grealpath",
            "uname",
            "guname",
            "arch",
            "nproc",
            "gnproc",
            "hostid",
            "logname",
            "whoami",
            "tty",
            "id",
            "groups",
            "who",
            "users",
            "pinky",
            "gwho",
            "printenv",
            "gprintenv",
            "stty",
            "gstty",
            "ulimit",
            "type",
            // Always a write.
            "patch",
            "ed",
            "red",
            "uudecode",
            "sponge",
            "vipe",
            "dos2unix",
            "unix2dos",
            "indent",
        ];
        let families = [
            include_str!("../programs/text.toml"),
            include_str!("../programs/builtins.toml"),
            include_str!("../programs/coreutils.toml"),
        ];
        for family in families {
            let family: toml::Table = family.parse().unwrap();
            for program in family["program"].as_array().unwrap() {
                for name in program["names"].as_str().unwrap().split_whitespace() {
                    let asks = ASKS.contains(&name);
                    assert_eq!(role(name) == Role::Observes, asks, "{name}");
                }
            }
        }
    }

    proptest::proptest! {
        /// Whatever plain text a command says, and however it is quoted, nothing is observed.
        #[test]
        fn saying_is_never_observing(words in proptest::collection::vec("[a-z0-9%.]{1,8}", 1..5), double in proptest::bool::ANY) {
            let quote = if double { '"' } else { '\'' };
            let text = words.join(" ");
            for command in [
                format!("echo {quote}{text}{quote}"),
                format!("printf {quote}%s\\n{quote} {quote}{text}{quote}"),
                format!("cat <<< {quote}{text}{quote}"),
                format!("echo {quote}{text}{quote} | grep -v xyz | sort"),
                format!("sh -c {quote}echo {text}{quote}"),
            ] {
                proptest::prop_assert!(!printed(&command).is_observed(), "{}", command);
            }
        }

        /// No text makes the analysis fail.
        #[test]
        fn any_text_is_answered(command in ".{0,80}") {
            let _ = printed(&command);
        }
    }
}
