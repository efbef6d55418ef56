//! The shell grammar: what a command line does, construct by construct.
//!
//! Every construct is matched by name. What only groups or orders commands is as harmless as its parts; what defines,
//! assigns, redirects into files, runs in the background or is not understood is a write.

use brush_parser::ast;

use crate::argv::{self, Context, Feed};
use crate::extent;
use crate::limits;
use crate::report::{Report, Rewrite};
use crate::secret;
use crate::variable;
use crate::verdict::{Category, Risk};
use crate::word::{self, Arg, Refused};

/// Judges a command line.
pub(crate) fn judge(text: &str, context: Context<'_>, report: &mut Report) {
    if context.depth > limits::MAX_DEPTH {
        report.write(
            Risk::HighWrite,
            text,
            "commands within commands, too deep to follow",
        );
        return;
    }
    if let Some(why) = limits::refused_unparsed(text) {
        report.write(Risk::HighWrite, "", why);
        return;
    }
    let hides = word::hides_substitution(text);
    if hides && text.contains("<<") {
        // The parser is not to be trusted with the two together, and nothing it could say would change the answer.
        report.write(Risk::HighWrite, text, "hides something that could run a command");
        return;
    }
    let options = brush_parser::ParserOptions {
        enable_extended_globbing: false,
        ..brush_parser::ParserOptions::default()
    };
    // The parser is somebody else's: should it fail in a way of its own, the command is not understood.
    let parsed =
        std::panic::catch_unwind(|| brush_parser::Parser::new(text.as_bytes(), &options).parse_program());
    let program = match parsed {
        Ok(Ok(program)) => program,
        Err(_) => {
            report.write(Risk::HighWrite, text, "is not understood as a shell command");
            return;
        }
        Ok(Err(error)) => {
            report.write(
                Risk::HighWrite,
                text,
                format!("is not understood as a shell command ({error})"),
            );
            return;
        }
    };
    let mut walk = Walk {
        report,
        text,
        commands: 0,
    };
    for list in &program.complete_commands {
        walk.list(list, context);
    }
    if walk.commands == 0 {
        walk.report.write(Risk::LowWrite, text, "holds no command");
    }
    if hides && !report.is_write() {
        report.write(Risk::HighWrite, text, "hides something that could run a command");
    }
}

struct Walk<'w> {
    report: &'w mut Report,
    text: &'w str,
    /// Simple commands, assignments and tests seen.
    commands: usize,
}

impl Walk<'_> {
    fn list(&mut self, list: &ast::CompoundList, context: Context<'_>) {
        for ast::CompoundListItem(and_or, separator) in &list.0 {
            match separator {
                ast::SeparatorOperator::Sequence => {}
                ast::SeparatorOperator::Async => {
                    self.report.write(
                        Risk::MediumWrite,
                        "&",
                        "runs in the background, beyond the end of the command",
                    );
                }
            }
            self.pipeline(&and_or.first, context);
            for next in &and_or.additional {
                match next {
                    ast::AndOr::And(pipeline) | ast::AndOr::Or(pipeline) => self.pipeline(pipeline, context),
                }
            }
        }
    }

    fn pipeline(&mut self, pipeline: &ast::Pipeline, context: Context<'_>) {
        let ast::Pipeline {
            timed: _,
            bang: _,
            seq,
        } = pipeline;
        if seq.is_empty() {
            self.report
                .write(Risk::MediumWrite, "time", "has nothing to time");
        }
        for (stage, command) in seq.iter().enumerate() {
            let context = match stage {
                0 => context,
                1 if seq.first().is_some_and(only_says) => Context {
                    feed: Feed::Said,
                    ..context
                },
                _ if seq.get(stage - 1).is_some_and(prints_ids) => Context {
                    feed: Feed::Ids,
                    ..context
                },
                _ => Context {
                    feed: Feed::Data,
                    ..context
                },
            };
            self.command(command, context);
        }
    }

    fn command(&mut self, command: &ast::Command, context: Context<'_>) {
        match command {
            ast::Command::Simple(simple) => self.simple(simple, context),
            ast::Command::Compound(compound, redirects) => {
                let feed = self
                    .redirects(redirects.as_ref(), context)
                    .unwrap_or(context.feed);
                self.compound(compound, Context { feed, ..context });
            }
            ast::Command::Function(function) => {
                self.commands += 1;
                self.report.write(
                    Risk::MediumWrite,
                    &function.fname.value,
                    "defines a function, which can replace any program",
                );
            }
            ast::Command::ExtendedTest(test, redirects) => {
                self.commands += 1;
                self.redirects(redirects.as_ref(), context);
                self.one_line(test);
                self.test(&test.expr);
            }
        }
    }

    fn compound(&mut self, compound: &ast::CompoundCommand, context: Context<'_>) {
        match compound {
            ast::CompoundCommand::BraceGroup(group) => self.list(&group.list, context),
            ast::CompoundCommand::Subshell(subshell) => self.list(&subshell.list, context),
            ast::CompoundCommand::IfClause(clause) => {
                self.list(&clause.condition, context);
                self.list(&clause.then, context);
                for branch in clause.elses.iter().flatten() {
                    if let Some(condition) = &branch.condition {
                        self.list(condition, context);
                    }
                    self.list(&branch.body, context);
                }
            }
            ast::CompoundCommand::ForClause(clause) => {
                self.assigns(&clause.variable_name, variable::harmless_for_shell);
                let mut values = Vec::new();
                for value in clause.values.iter().flatten() {
                    values.extend(self.word(&value.value));
                }
                if clause.values.is_none() {
                    values.push(Arg::anything("$@"));
                }
                let known = values.iter().all(|value| value.text().is_some());
                let turns = if known {
                    values.iter().map(|_| 1.0).sum()
                } else {
                    extent::UNKNOWN_TURNS
                };
                context.course.loops(&clause.variable_name, context.depth, values);
                let before = context.course.enters_loop(turns);
                self.list(&clause.body.list, context);
                context.course.leaves_loop(before);
            }
            ast::CompoundCommand::CaseClause(clause) => {
                self.word(&clause.value.value);
                for case in &clause.cases {
                    for pattern in &case.patterns {
                        self.word(&pattern.value);
                    }
                    if let Some(body) = &case.cmd {
                        self.list(body, context);
                    }
                }
            }
            ast::CompoundCommand::WhileClause(ast::WhileOrUntilClauseCommand(condition, body, _)) => {
                if !(context.fed() && ends_with_input(condition)) {
                    self.report
                        .endless(Category::UnboundedStream, "while", "repeats, perhaps for ever");
                }
                let before = context.course.enters_loop(extent::UNKNOWN_TURNS);
                self.list(condition, context);
                self.list(&body.list, context);
                context.course.leaves_loop(before);
            }
            ast::CompoundCommand::UntilClause(ast::WhileOrUntilClauseCommand(condition, body, _)) => {
                self.report
                    .endless(Category::UnboundedStream, "until", "repeats, perhaps for ever");
                self.list(condition, context);
                self.list(&body.list, context);
            }
            ast::CompoundCommand::Arithmetic(arithmetic) => {
                // A plain shell runs `((a))` as a command in two subshells, and so does bash where a blank stands between
                // the parentheses; the parser does not tell them apart.
                self.commands += 1;
                let text = &arithmetic.expr.value;
                self.report.write(
                    Risk::MediumWrite,
                    "((…))",
                    "means something else to a plain shell",
                );
                let mut nested = Report::new();
                judge(text, context.deeper(), &mut nested);
                self.report.absorb(nested);
            }
            ast::CompoundCommand::ArithmeticForClause(clause) => {
                self.report.endless(
                    Category::UnboundedStream,
                    "for ((…))",
                    "repeats, perhaps for ever",
                );
                for expression in [&clause.initializer, &clause.condition, &clause.updater]
                    .into_iter()
                    .flatten()
                {
                    self.arithmetic(&expression.value);
                }
                self.list(&clause.body.list, context);
            }
            ast::CompoundCommand::Coprocess(_) => {
                self.commands += 1;
                self.report.write(
                    Risk::MediumWrite,
                    "coproc",
                    "runs in the background, beyond the end of the command",
                );
            }
        }
    }

    fn test(&mut self, expression: &ast::ExtendedTestExpr) {
        match expression {
            // To a shell without `[[` these are operators of its own: `! [[ a && reboot ]]` runs `reboot`.
            ast::ExtendedTestExpr::And(..)
            | ast::ExtendedTestExpr::Or(..)
            | ast::ExtendedTestExpr::Parenthesized(..) => {
                self.report.write(
                    Risk::MediumWrite,
                    "[[ … ]]",
                    "means something else to a plain shell; use one `[ … ]` for each test",
                );
            }
            ast::ExtendedTestExpr::Not(inner) => self.test(inner),
            ast::ExtendedTestExpr::UnaryTest(predicate, operand) => {
                if matches!(
                    predicate,
                    ast::UnaryPredicate::ShellVariableIsSetAndAssigned
                        | ast::UnaryPredicate::ShellVariableIsSetAndNameRef
                ) {
                    self.report.write(
                        Risk::MediumWrite,
                        &operand.value,
                        "a subscript in it is evaluated and can run a command",
                    );
                }
                self.pattern(&operand.value);
            }
            ast::ExtendedTestExpr::BinaryTest(predicate, left, right) => {
                use ast::BinaryPredicate as P;
                match predicate {
                    P::ArithmeticEqualTo
                    | P::ArithmeticNotEqualTo
                    | P::ArithmeticLessThan
                    | P::ArithmeticLessThanOrEqualTo
                    | P::ArithmeticGreaterThan
                    | P::ArithmeticGreaterThanOrEqualTo => {
                        self.arithmetic(&left.value);
                        self.arithmetic(&right.value);
                    }
                    P::FilesReferToSameDeviceAndInodeNumbers
                    | P::LeftFileIsNewerOrExistsWhenRightDoesNot
                    | P::LeftFileIsOlderOrDoesNotExistWhenRightDoes
                    | P::StringExactlyMatchesPattern
                    | P::StringDoesNotExactlyMatchPattern
                    | P::StringMatchesRegex
                    | P::StringExactlyMatchesString
                    | P::StringDoesNotExactlyMatchString
                    | P::StringContainsSubstring => {
                        self.pattern(&left.value);
                        self.pattern(&right.value);
                    }
                    P::LeftSortsBeforeRight | P::LeftSortsAfterRight => {
                        self.report
                            .write(Risk::MediumWrite, "[[ … ]]", "is a redirect to a plain shell");
                    }
                }
            }
        }
    }

    /// A test ends with its line: what follows a line break inside `[[ … ]]` is a command to a plain shell.
    fn one_line(&mut self, test: &ast::ExtendedTestExprCommand) {
        if test.loc.start.line != test.loc.end.line {
            self.report.write(
                Risk::MediumWrite,
                "[[ … ]]",
                "has a line break in it, which ends the command in a plain shell",
            );
        }
    }

    /// A word of a test. Operators in a regular expression are refused: to a plain shell they are its own.
    fn pattern(&mut self, raw: &str) {
        if raw.starts_with('#') {
            self.report
                .write(Risk::MediumWrite, raw, "is a comment to a plain shell");
        }
        if let Err(refused) = word::scan(raw) {
            self.refuse(raw, &refused, 0);
        }
    }

    fn arithmetic(&mut self, expression: &str) {
        if let Err(refused) = word::arithmetic(expression) {
            self.refuse(expression, &refused, 0);
        }
    }

    fn assigns(&mut self, name: &str, harmless: fn(&str) -> bool) {
        self.commands += 1;
        if !harmless(name) {
            self.report
                .write(Risk::MediumWrite, name, "setting it can change how programs run");
        }
    }

    /// Checks a word; gives what it could be.
    fn word(&mut self, raw: &str) -> Vec<Arg<'static>> {
        let mut args = Vec::new();
        if let Err(refused) = word::expand(raw, &mut args) {
            self.refuse(raw, &refused, 0);
            args.push(Arg::anything(raw));
        }
        for arg in &args {
            let nature = secret::nature(arg);
            if nature.endless || nature.harmful {
                self.report
                    .endless(Category::UnboundedStream, raw, "can be read for ever");
            }
        }
        args.into_iter().map(Arg::into_owned).collect()
    }

    fn refuse(&mut self, raw: &str, refused: &Refused, depth: usize) {
        match refused {
            Refused::Substitution(inner) => {
                self.report
                    .write(Risk::MediumWrite, raw, "runs a command and puts its output here");
                // What it runs decides nothing any more, but it can be worse than it looks.
                if let Some(inner) = inner.as_deref().filter(|_| depth < limits::MAX_DEPTH) {
                    let course = argv::Course::default();
                    let mut nested = Report::new();
                    judge(
                        inner,
                        Context {
                            depth: depth + 2,
                            feed: Feed::Inherited,
                            course: &course,
                        },
                        &mut nested,
                    );
                    self.report.risk = self.report.risk.max(nested.risk);
                }
            }
            Refused::Construct(why) => self.report.write(Risk::MediumWrite, raw, *why),
        }
    }

    fn simple(&mut self, simple: &ast::SimpleCommand, context: Context<'_>) {
        self.commands += 1;
        let ast::SimpleCommand {
            prefix,
            word_or_name,
            suffix,
        } = simple;
        let mut args: Vec<Arg<'_>> = Vec::new();
        // The same without brace expansion, which a plain shell does not have.
        let mut plain: Vec<Arg<'_>> = Vec::new();
        let mut feed = context.feed;
        let runs_program = word_or_name.is_some();
        self.words_behind_both(simple);
        for item in prefix.iter().flat_map(|prefix| &prefix.0) {
            match item {
                ast::CommandPrefixOrSuffixItem::AssignmentWord(assignment, _) => {
                    context.course.forget_variables();
                    let separates =
                        matches!(&assignment.name, ast::AssignmentName::VariableName(name) if name == "IFS");
                    let reads = word_or_name.as_ref().is_some_and(|name| name.value == "read");
                    if separates
                        && reads
                        && matches!(&assignment.value, ast::AssignmentValue::Scalar(word) if word::scan(&word.value).is_ok())
                    {
                        // In front of `read` it says how that one line is split.
                        continue;
                    }
                    self.assignment(assignment, runs_program);
                }
                ast::CommandPrefixOrSuffixItem::IoRedirect(redirect) => {
                    feed = self.redirect(redirect, context).unwrap_or(feed);
                }
                ast::CommandPrefixOrSuffixItem::Word(word) => {
                    self.argument(&word.value, &mut args, &mut plain, context.depth);
                }
                ast::CommandPrefixOrSuffixItem::ProcessSubstitution(..) => self.process_substitution(),
            }
        }
        if let Some(name) = word_or_name {
            self.argument(&name.value, &mut args, &mut plain, context.depth);
        }
        let mut only_words = prefix.is_none();
        for item in suffix.iter().flat_map(|suffix| &suffix.0) {
            match item {
                // `declare x=1` and `dd if=a` look alike here: it is an argument.
                ast::CommandPrefixOrSuffixItem::AssignmentWord(assignment, word) => {
                    if matches!(assignment.value, ast::AssignmentValue::Array(_)) {
                        self.report
                            .write(Risk::MediumWrite, &word.value, "assigns an array");
                    }
                    self.argument(&word.value, &mut args, &mut plain, context.depth);
                }
                ast::CommandPrefixOrSuffixItem::Word(word) => {
                    self.argument(&word.value, &mut args, &mut plain, context.depth);
                }
                ast::CommandPrefixOrSuffixItem::IoRedirect(redirect) => {
                    only_words = false;
                    feed = self.redirect(redirect, context).unwrap_or(feed);
                }
                ast::CommandPrefixOrSuffixItem::ProcessSubstitution(..) => self.process_substitution(),
            }
        }
        if !runs_program {
            self.report.read("", "runs no program");
            return;
        }
        let expands = args.len() != plain.len()
            || args
                .iter()
                .zip(&plain)
                .any(|(expanded, written)| expanded.raw != written.raw);
        let before = self.report.begin_program();
        if expands {
            argv::judge(&plain, Context { feed, ..context }, self.report);
        }
        let rewritten = argv::judge(&args, Context { feed, ..context }, self.report);
        let builtin = args.first().and_then(Arg::text).is_some_and(runs_in_the_shell);
        self.report.end_program(before, builtin);
        if let (Some(text), true, true) = (rewritten, only_words, context.depth == 0)
            && let Some((start, end)) = span(simple)
        {
            self.report.rewrites.push(Rewrite { start, end, text });
        }
    }

    fn argument<'a>(
        &mut self,
        raw: &'a str,
        args: &mut Vec<Arg<'a>>,
        plain: &mut Vec<Arg<'a>>,
        depth: usize,
    ) {
        if redirect_variable(raw)
            && self.text.contains(&format!("{raw}<")) | self.text.contains(&format!("{raw}>"))
        {
            self.report
                .write(Risk::MediumWrite, raw, "assigns a file descriptor to a variable");
        }
        match (word::expand(raw, args), word::scan(raw)) {
            (Ok(()), Ok(written)) => plain.push(written),
            (Err(refused), _) | (_, Err(refused)) => {
                self.refuse(raw, &refused, depth);
                args.push(Arg::anything(raw));
                plain.push(Arg::anything(raw));
            }
        }
    }

    /// `&>` is `&` and `>` to a plain shell: what stands behind it is a command of its own there.
    fn words_behind_both(&mut self, simple: &ast::SimpleCommand) {
        let both = |item: &ast::CommandPrefixOrSuffixItem| {
            matches!(
                item,
                ast::CommandPrefixOrSuffixItem::IoRedirect(ast::IoRedirect::OutputAndError(..))
            )
        };
        let redirect = |item: &ast::CommandPrefixOrSuffixItem| {
            matches!(item, ast::CommandPrefixOrSuffixItem::IoRedirect(_))
        };
        let in_front = simple.prefix.iter().flat_map(|prefix| &prefix.0).any(both);
        let behind = simple
            .suffix
            .iter()
            .flat_map(|suffix| &suffix.0)
            .skip_while(|item| !both(item))
            .any(|item| !redirect(item));
        if (in_front && simple.word_or_name.is_some()) || behind {
            self.report.write(
                Risk::MediumWrite,
                "&>",
                "makes what follows a command of its own in a plain shell",
            );
        }
        // In the background it changes the state of another shell.
        let changes_the_shell = simple.word_or_name.as_ref().is_none_or(|name| {
            matches!(
                name.value.as_str(),
                "cd" | "pushd"
                    | "popd"
                    | "read"
                    | "set"
                    | "shift"
                    | "unset"
                    | "export"
                    | "local"
                    | "exit"
                    | "return"
            )
        });
        let any = in_front || simple.suffix.iter().flat_map(|suffix| &suffix.0).any(both);
        if any && changes_the_shell {
            self.report.write(
                Risk::MediumWrite,
                "&>",
                "runs this in the background in a plain shell; use `>/dev/null 2>&1`",
            );
        }
    }

    fn process_substitution(&mut self) {
        self.report
            .write(Risk::MediumWrite, "<(…)", "runs a command beside this one");
    }

    fn assignment(&mut self, assignment: &ast::Assignment, for_program: bool) {
        let ast::Assignment {
            name,
            value,
            append: _,
            loc: _,
        } = assignment;
        let name = match name {
            ast::AssignmentName::VariableName(name) => name,
            ast::AssignmentName::ArrayElementName(name, _) => {
                self.report.write(
                    Risk::MediumWrite,
                    name,
                    "an array subscript is evaluated and can run a command",
                );
                return;
            }
        };
        let harmless = if for_program {
            variable::harmless_for_programs
        } else {
            variable::harmless_for_shell
        };
        self.assigns(name, harmless);
        match value {
            ast::AssignmentValue::Scalar(word) => match word::scan(&word.value) {
                Ok(value) => {
                    // Whatever reads it through the variable reads this.
                    let nature = secret::nature(&value);
                    if value.text().is_some() && (nature.endless || nature.harmful) {
                        self.report
                            .endless(Category::UnboundedStream, &word.value, "can be read for ever");
                    }
                    if variable::harmless_for_programs(name)
                        && !value.text().is_some_and(variable::plain_value)
                    {
                        self.report
                            .write(Risk::MediumWrite, &word.value, "is not a plain value");
                    }
                }
                Err(refused) => self.refuse(&word.value, &refused, 0),
            },
            ast::AssignmentValue::Array(_) => self.report.write(Risk::MediumWrite, name, "assigns an array"),
        }
    }

    fn redirects(&mut self, redirects: Option<&ast::RedirectList>, context: Context<'_>) -> Option<Feed> {
        let mut feed = None;
        for redirect in redirects.iter().flat_map(|list| &list.0) {
            feed = self.redirect(redirect, context).or(feed);
        }
        feed
    }

    /// A plain shell takes one digit as a descriptor; more are an argument to it: `uniq a 10>/dev/null` writes the file 10.
    fn descriptor(&mut self, fd: Option<i32>) {
        if fd.is_some() && has_long_descriptor(self.text) {
            self.report.write(
                Risk::MediumWrite,
                self.text,
                "has a descriptor of more than one digit, which is an argument to a plain shell",
            );
        }
    }

    /// Judges a redirect; says what it feeds to standard input, if it does.
    fn redirect(&mut self, redirect: &ast::IoRedirect, context: Context<'_>) -> Option<Feed> {
        if let ast::IoRedirect::File(fd, ..)
        | ast::IoRedirect::HereDocument(fd, _)
        | ast::IoRedirect::HereString(fd, _) = redirect
        {
            self.descriptor(*fd);
        }
        match redirect {
            ast::IoRedirect::File(fd, kind, target) => self.file_redirect(*fd, kind, target, context),
            ast::IoRedirect::HereDocument(fd, document) => {
                if document.requires_expansion
                    && let Err(refused) = word::scan_heredoc(&document.doc.value)
                {
                    self.refuse(&document.doc.value, &refused, 0);
                }
                if document.requires_expansion {
                    self.fed_text(&document.doc.value);
                }
                fd.is_none_or(|fd| fd == 0).then_some(Feed::Data)
            }
            ast::IoRedirect::HereString(fd, word) => {
                if let Err(refused) = word::scan(&word.value) {
                    self.refuse(&word.value, &refused, 0);
                }
                self.fed_text(&word.value);
                fd.is_none_or(|fd| fd == 0).then_some(Feed::Data)
            }
            ast::IoRedirect::OutputAndError(word, _append) => {
                self.output(&word.value);
                None
            }
        }
    }

    /// A text with variables that a command reads, and may print.
    fn fed_text(&mut self, text: &str) {
        let names = text.split('$').skip(1).map(|behind| {
            let behind = behind.trim_start_matches(['{', '#', '!']);
            let end = behind
                .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
                .unwrap_or(behind.len());
            &behind[..end]
        });
        for name in names.filter(|name| word::names_secret(name)) {
            self.report.secret(
                name,
                "is a variable that is named like a secret, and is fed to a command",
            );
        }
    }

    fn file_redirect(
        &mut self,
        fd: Option<i32>,
        kind: &ast::IoFileRedirectKind,
        target: &ast::IoFileRedirectTarget,
        context: Context<'_>,
    ) -> Option<Feed> {
        use ast::IoFileRedirectKind as K;
        let input = fd.is_none_or(|fd| fd == 0);
        match target {
            ast::IoFileRedirectTarget::ProcessSubstitution(..) => {
                self.process_substitution();
                None
            }
            ast::IoFileRedirectTarget::Fd(_) => {
                (matches!(kind, K::DuplicateInput) && input).then_some(Feed::Data)
            }
            ast::IoFileRedirectTarget::Filename(word) | ast::IoFileRedirectTarget::Duplicate(word) => {
                match kind {
                    K::Read => {
                        let mut feed = Feed::Data;
                        match word::scan(&word.value) {
                            Ok(arg) if arg.text() == Some("/dev/null") => feed = Feed::Empty,
                            Ok(arg) => {
                                if could_connect(&arg) {
                                    self.report.write(
                                        Risk::MediumWrite,
                                        &word.value,
                                        "could open a connection",
                                    );
                                }
                                argv::file(&arg, &word.value, context, self.report, false);
                            }
                            Err(refused) => self.refuse(&word.value, &refused, 0),
                        }
                        input.then_some(feed)
                    }
                    K::DuplicateInput => {
                        if !is_descriptor(&word.value) {
                            self.report.write(
                                Risk::MediumWrite,
                                &word.value,
                                "is a redirect that is not analysed",
                            );
                        }
                        input.then_some(Feed::Data)
                    }
                    K::DuplicateOutput => {
                        if !is_descriptor(&word.value) {
                            self.output(&word.value);
                        }
                        None
                    }
                    K::Write | K::Append | K::Clobber | K::ReadAndWrite => {
                        self.output(&word.value);
                        None
                    }
                }
            }
        }
    }

    fn output(&mut self, target: &str) {
        match word::scan(target) {
            Ok(arg)
                if arg
                    .text()
                    .is_some_and(|text| matches!(text, "/dev/null" | "/dev/stderr" | "/dev/stdout")) => {}
            Ok(_) => self.report.write(
                Risk::HighWrite,
                &format!("> {target}"),
                "writes its output into a file",
            ),
            Err(refused) => {
                self.report.write(
                    Risk::HighWrite,
                    &format!("> {target}"),
                    "writes its output into a file",
                );
                self.refuse(target, &refused, 0);
            }
        }
    }
}

/// Whether a redirect from this word could be bash's `/dev/tcp/host/port`.
fn could_connect(arg: &Arg<'_>) -> bool {
    match &arg.value {
        word::Value::Known(text) => text.starts_with("/dev/tcp/") || text.starts_with("/dev/udp/"),
        word::Value::Unknown(unknown) => ["/dev/tcp/", "/dev/udp/"]
            .iter()
            .any(|device| device.starts_with(&unknown.prefix) || unknown.prefix.starts_with(device)),
    }
}

/// Whether all that a command does is say a text that stands in it.
fn only_says(command: &ast::Command) -> bool {
    let ast::Command::Simple(simple) = command else {
        return false;
    };
    let says = simple
        .word_or_name
        .as_ref()
        .is_some_and(|name| matches!(name.value.as_str(), "echo" | "printf" | "true" | ":"));
    let plain = simple.suffix.iter().flat_map(|suffix| &suffix.0).all(|item| {
        matches!(item, ast::CommandPrefixOrSuffixItem::Word(word) if word::scan(&word.value).is_ok_and(|arg| arg.text().is_some()))
    });
    says && plain && simple.prefix.is_none()
}

/// Whether all that a command prints are ids of containers: `docker ps -q`.
fn prints_ids(command: &ast::Command) -> bool {
    let ast::Command::Simple(simple) = command else {
        return false;
    };
    let engine = simple
        .word_or_name
        .as_ref()
        .is_some_and(|name| matches!(name.value.as_str(), "docker" | "podman" | "nerdctl"));
    let mut words = Vec::new();
    for item in simple.suffix.iter().flat_map(|suffix| &suffix.0) {
        let (ast::CommandPrefixOrSuffixItem::Word(word)
        | ast::CommandPrefixOrSuffixItem::AssignmentWord(_, word)) = item
        else {
            return false;
        };
        let Ok(arg) = word::scan(&word.value) else {
            return false;
        };
        let Some(text) = arg.text() else { return false };
        words.push(text.to_owned());
    }
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (["ps", flags @ ..] | ["container", "ls" | "ps" | "list", flags @ ..]) = words.as_slice() else {
        return false;
    };
    let mut quiet = false;
    let mut flags = flags.iter();
    while let Some(flag) = flags.next() {
        match *flag {
            "-q" | "--quiet" | "-aq" | "-qa" => quiet = true,
            "-a" | "--all" | "-l" | "--latest" | "--no-trunc" => {}
            "-f" | "--filter" | "-n" | "--last" => {
                flags.next();
            }
            flag if flag.starts_with("--filter=") || flag.starts_with("--last=") => {}
            _ => return false,
        }
    }
    engine && quiet && simple.prefix.is_none()
}

/// `while read x` ends with its input, if the input is the loop's own and each turn takes some of it.
fn ends_with_input(condition: &ast::CompoundList) -> bool {
    let [ast::CompoundListItem(and_or, ast::SeparatorOperator::Sequence)] = condition.0.as_slice() else {
        return false;
    };
    let [ast::Command::Simple(simple)] = and_or.first.seq.as_slice() else {
        return false;
    };
    let takes_some = simple
        .suffix
        .iter()
        .flat_map(|suffix| &suffix.0)
        .all(|item| match item {
            ast::CommandPrefixOrSuffixItem::Word(word) => {
                matches!(word.value.as_str(), "-r" | "-s" | "-rs")
                    || variable::harmless_for_shell(&word.value)
            }
            _ => false,
        });
    and_or.additional.is_empty()
        && !and_or.first.bang
        && takes_some
        && simple
            .word_or_name
            .as_ref()
            .is_some_and(|name| name.value == "read")
}

/// Whether several digits stand directly before a redirect.
fn has_long_descriptor(text: &str) -> bool {
    text.match_indices(['<', '>']).any(|(at, _)| {
        let before = &text[..at];
        before.len() - before.trim_end_matches(|c: char| c.is_ascii_digit()).len() > 1
    })
}

/// `2` and `-`: a descriptor, not a file. `2-` moves one in bash and is a file to busybox.
fn is_descriptor(word: &str) -> bool {
    word == "-" || (!word.is_empty() && word.bytes().all(|b| b.is_ascii_digit()))
}

/// Builtins that read and print, and start no program in any shell.
fn runs_in_the_shell(name: &str) -> bool {
    matches!(
        name,
        "echo" | "printf" | "true" | "false" | ":" | "test" | "[" | "cd" | "pwd"
    )
}

/// `{name}` directly before a redirect assigns.
fn redirect_variable(word: &str) -> bool {
    word.strip_prefix('{')
        .and_then(|rest| rest.strip_suffix('}'))
        .is_some_and(|name| {
            !name.is_empty()
                && name
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'[' | b']'))
        })
}

/// Where a simple command without redirects starts and ends, in characters.
fn span(simple: &ast::SimpleCommand) -> Option<(usize, usize)> {
    let first = simple.word_or_name.as_ref()?.loc.as_ref()?;
    let last = match simple.suffix.iter().flat_map(|suffix| &suffix.0).last() {
        Some(
            ast::CommandPrefixOrSuffixItem::Word(word)
            | ast::CommandPrefixOrSuffixItem::AssignmentWord(_, word),
        ) => word.loc.as_ref()?,
        Some(_) => return None,
        None => first,
    };
    Some((first.start.index, last.end.index))
}
