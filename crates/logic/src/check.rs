//! Which goals may run. Every goal of the parsed term is checked, wherever it stands.

use std::collections::HashSet;

use serde::Serialize;

use crate::parse::{ParseError, parse_goal};
use crate::predicates::{
    Control, MODULES, PREDICATES, RULES_MODULE, Topic, control, is_arithmetic, predicate,
};
use crate::term::{Clause, Name, Term};
use crate::write::write_term;

/// Names and numbers of arguments of the predicates that operator rules define.
pub(crate) type RuleNames = HashSet<(Name, usize)>;

/// A goal that passed the checker. Nothing else can make one, and the engine takes nothing else.
///
/// It holds the tree, not the text: what runs is what was checked.
#[derive(Clone, Debug)]
pub struct Goal {
    term: Term,
    variables: Vec<Option<String>>,
    text: String,
}

impl Goal {
    /// The goal as the writer prints it: quoted, and without module names.
    pub fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn term(&self) -> &Term {
        &self.term
    }

    pub(crate) fn variables(&self) -> &[Option<String>] {
        &self.variables
    }
}

/// Why a goal may not run, for programs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Code {
    /// The text is not Prolog.
    Syntax,
    /// A variable stands where a goal must stand.
    VariableGoal,
    /// A number or a list stands where a goal must stand.
    NotAGoal,
    /// It calls a goal that is only known while it runs.
    MetaCall,
    /// It would change facts or rules.
    ChangesFacts,
    /// It would load code.
    LoadsCode,
    /// It would read or write files, streams or the terminal.
    InputOutput,
    /// It would act on the process or the machine.
    ActsOnSystem,
    /// There is no such predicate.
    UnknownPredicate,
    /// There is a predicate of that name with another number of arguments.
    WrongArity,
    /// There is no such module, or the predicate is not in it.
    UnknownModule,
    /// The arithmetic expression has something in it that has no value.
    Arithmetic,
    /// The form of an aggregate is not supported.
    Aggregate,
}

/// A typed "no" of the checker: which goal, why, and what is allowed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    /// Why, for programs.
    pub code: Code,
    /// The goal that was refused, as the writer prints it. Empty if the text could not be read.
    pub goal: String,
    /// Why, and what is allowed.
    pub message: String,
}

impl From<ParseError> for Refusal {
    fn from(error: ParseError) -> Self {
        Self {
            code: Code::Syntax,
            goal: String::new(),
            message: format!("the goal cannot be read: {error}"),
        }
    }
}

/// Reads and checks a goal.
pub(crate) fn check_goal(text: &str, rules: &RuleNames) -> Result<Goal, Refusal> {
    let Clause { term, variables, .. } = parse_goal(text)?;
    let checker = Checker {
        rules,
        variables: &variables,
    };
    let term = checker.goal(&term)?;
    let text = write_term(&term, &variables);
    Ok(Goal {
        term,
        variables,
        text,
    })
}

/// Checks the body of a rule. The returned tree has no module names.
pub(crate) fn check_body(
    body: &Term,
    variables: &[Option<String>],
    rules: &RuleNames,
) -> Result<Term, Refusal> {
    Checker { rules, variables }.goal(body)
}

struct Checker<'c> {
    rules: &'c RuleNames,
    variables: &'c [Option<String>],
}

impl Checker<'_> {
    /// The goal without module names, if it and every goal in it may run.
    fn goal(&self, term: &Term) -> Result<Term, Refusal> {
        let Some((name, arguments)) = term.callable() else {
            return Err(self.not_a_goal(term));
        };
        if &**name == ":" && arguments.len() == 2 {
            return self.qualified(term, &arguments[0], &arguments[1]);
        }
        if let Some(kind) = control(name, arguments.len()) {
            return self.control(kind, term, name, arguments);
        }
        self.plain(term, name, arguments)?;
        Ok(term.clone())
    }

    fn control(&self, kind: Control, term: &Term, name: &Name, arguments: &[Term]) -> Result<Term, Refusal> {
        let arguments = match (kind, arguments) {
            (Control::True | Control::Fail | Control::Cut, _) => return Ok(term.clone()),
            (Control::And | Control::Or | Control::Then | Control::Forall, [first, second]) => {
                vec![self.goal(first)?, self.goal(second)?]
            }
            (Control::Not | Control::Once | Control::Ignore, [inner]) => vec![self.goal(inner)?],
            (Control::Findall, [template, inner, list]) => {
                vec![template.clone(), self.goal(inner)?, list.clone()]
            }
            (Control::Bagof | Control::Setof, [template, inner, list]) => {
                vec![template.clone(), self.with_carets(inner)?, list.clone()]
            }
            (Control::Aggregate, [form, inner, result]) => {
                self.aggregate(term, form)?;
                vec![form.clone(), self.goal(inner)?, result.clone()]
            }
            _ => return Err(self.not_a_goal(term)),
        };
        Ok(Term::compound(name.clone(), arguments))
    }

    /// `X ^ Goal`, as `bagof/3` and `setof/3` take it.
    fn with_carets(&self, term: &Term) -> Result<Term, Refusal> {
        match term {
            Term::Compound(name, arguments) if &**name == "^" && arguments.len() == 2 => Ok(Term::compound(
                name.clone(),
                vec![arguments[0].clone(), self.with_carets(&arguments[1])?],
            )),
            _ => self.goal(term),
        }
    }

    fn aggregate(&self, term: &Term, form: &Term) -> Result<(), Refusal> {
        match form.callable() {
            Some((name, [])) if &**name == "count" => Ok(()),
            Some((name, [_])) if matches!(&**name, "bag" | "set") => Ok(()),
            Some((name, [expression])) if matches!(&**name, "sum" | "max" | "min") => {
                self.expression(term, expression)
            }
            _ => Err(self.refuse(
                Code::Aggregate,
                term,
                "aggregate_all/3 takes one of count, sum(Expression), max(Expression), min(Expression), \
                 bag(Template) and set(Template) as its first argument",
            )),
        }
    }

    fn qualified(&self, term: &Term, module: &Term, inner: &Term) -> Result<Term, Refusal> {
        let allowed = format!(
            "a module name may stand before one predicate of the live state ({}) or of the rules ({RULES_MODULE}); \
             leave it out, or qualify each goal by itself",
            MODULES.join(", ")
        );
        let Some((name, arguments)) = inner.callable() else {
            return Err(self.not_a_goal(inner));
        };
        let known = match module {
            Term::Atom(module) if &**module == RULES_MODULE => {
                self.rules.contains(&(name.clone(), arguments.len()))
            }
            Term::Atom(module) if MODULES.contains(&&**module) => {
                predicate(name, arguments.len()).is_some_and(|entry| entry.topic == Topic::State)
            }
            Term::Atom(_) => {
                // What would be refused without the module is refused for what it is.
                self.plain_or_control(inner, name, arguments)?;
                false
            }
            _ => {
                return Err(self.refuse(
                    Code::UnknownModule,
                    term,
                    &format!("a module must be a name; {allowed}"),
                ));
            }
        };
        if !known {
            self.plain_or_control(inner, name, arguments)?;
            return Err(self.refuse(
                Code::UnknownModule,
                term,
                &format!("there is no such module or predicate in it; {allowed}"),
            ));
        }
        self.plain(inner, name, arguments)?;
        Ok(inner.clone())
    }

    fn plain_or_control(&self, term: &Term, name: &Name, arguments: &[Term]) -> Result<(), Refusal> {
        match control(name, arguments.len()) {
            Some(_) => Ok(()),
            None => self.plain(term, name, arguments),
        }
    }

    /// A goal without goals in it.
    fn plain(&self, term: &Term, name: &Name, arguments: &[Term]) -> Result<(), Refusal> {
        let arity = arguments.len();
        match (&**name, arguments) {
            ("is", [_, expression]) => return self.expression(term, expression),
            ("<" | ">" | "=<" | ">=" | "=:=" | "=\\=", [left, right]) => {
                self.expression(term, left)?;
                return self.expression(term, right);
            }
            _ => {}
        }
        if predicate(name, arity).is_some() || self.rules.contains(&(name.clone(), arity)) {
            return Ok(());
        }
        Err(self.unknown(term, name, arity))
    }

    fn expression(&self, goal: &Term, expression: &Term) -> Result<(), Refusal> {
        let bad = match expression {
            Term::Var(_) | Term::Int(_) | Term::Float(_) => return Ok(()),
            Term::Atom(name) if is_arithmetic(name, 0) => return Ok(()),
            Term::Compound(name, arguments) if is_arithmetic(name, arguments.len()) => {
                return arguments
                    .iter()
                    .try_for_each(|argument| self.expression(goal, argument));
            }
            bad => self.write(bad),
        };
        Err(self.refuse(
            Code::Arithmetic,
            goal,
            &format!(
                "`{bad}` has no value in arithmetic; allowed are numbers, variables, +, -, *, /, //, mod, rem, div, **, ^, \
                 min, max, abs, sign, sqrt, float, integer, floor, ceiling, round, truncate, pi and e"
            ),
        ))
    }

    fn not_a_goal(&self, term: &Term) -> Refusal {
        match term {
            Term::Var(_) => self.refuse(
                Code::VariableGoal,
                term,
                "a variable cannot be a goal, because what it will be is not known before it runs; write the goal itself",
            ),
            Term::List(..) => self.refuse(
                Code::LoadsCode,
                term,
                "a list is not a goal (in Prolog it would load files); join goals with `,`",
            ),
            _ => self.refuse(
                Code::NotAGoal,
                term,
                "this is not a goal; a goal is a predicate with its arguments, for example node_health(pve1, Health)",
            ),
        }
    }

    fn unknown(&self, term: &Term, name: &Name, arity: usize) -> Refusal {
        if let Some((code, why)) = forbidden(name) {
            return self.refuse(code, term, &format!("{why}; {ALLOWED}"));
        }
        let same: Vec<&str> = PREDICATES
            .iter()
            .filter(|entry| entry.name == &**name)
            .map(|entry| entry.form)
            .collect();
        if !same.is_empty() {
            let form = same.join(" or ");
            return self.refuse(
                Code::WrongArity,
                term,
                &format!("it has {}; the form is {form}", arguments(arity)),
            );
        }
        let rules = self
            .rules
            .iter()
            .filter(|(rule, _)| rule == name)
            .map(|(_, arity)| *arity)
            .min();
        if let Some(expected) = rules {
            return self.refuse(
                Code::WrongArity,
                term,
                &format!("it has {}; the rule `{name}` has {expected}", arguments(arity)),
            );
        }
        let near = PREDICATES
            .iter()
            .map(|entry| entry.name)
            .chain(self.rules.iter().map(|(rule, _)| &**rule))
            .map(|known| (strsim::jaro_winkler(name, known), known))
            .filter(|(likeness, _)| *likeness > 0.8)
            .max_by(|(a, _), (b, _)| a.total_cmp(b))
            .map_or_else(String::new, |(_, known)| format!("did you mean `{known}`? "));
        self.refuse(
            Code::UnknownPredicate,
            term,
            &format!(
                "there is no predicate `{name}` with {}; {near}{ALLOWED}",
                arguments(arity)
            ),
        )
    }

    fn refuse(&self, code: Code, goal: &Term, why: &str) -> Refusal {
        let goal = self.write(goal);
        Refusal {
            code,
            message: format!("the goal `{goal}` is refused: {why}"),
            goal,
        }
    }

    fn write(&self, term: &Term) -> String {
        const LONGEST: usize = 200;
        let mut text = write_term(term, self.variables);
        if let Some((cut, _)) = text.char_indices().nth(LONGEST) {
            text.truncate(cut);
            text.push('…');
        }
        text
    }
}

const ALLOWED: &str = "goals may ask about the live state, combine goals, compare, calculate and work on lists \
                       (`interlock logic --predicates` lists all of them)";

fn arguments(count: usize) -> String {
    match count {
        1 => "1 argument".to_owned(),
        count => format!("{count} arguments"),
    }
}

/// Why a well-known predicate of Prolog is not there. Only for the message: what is not allowed is refused anyway.
fn forbidden(name: &str) -> Option<(Code, &'static str)> {
    Some(match name {
        "call"
        | "apply"
        | "maplist"
        | "foldl"
        | "include"
        | "exclude"
        | "partition"
        | "call_cleanup"
        | "setup_call_cleanup"
        | "catch"
        | "call_with_time_limit"
        | "call_with_depth_limit"
        | "call_with_inference_limit"
        | "findnsols"
        | "aggregate"
        | "foreach"
        | "phrase"
        | "freeze"
        | "when"
        | "*->"
        | "^"
        | "@" => (
            Code::MetaCall,
            "it calls a goal that cannot be checked before it runs, or in a way that is not supported",
        ),
        "assert" | "asserta" | "assertz" | "retract" | "retractall" | "abolish" | "dynamic" | "erase"
        | "recorda" | "recordz" | "b_setval" | "nb_setval" | "setarg" | "nb_setarg" | "set_prolog_flag"
        | "op" | "table" | "term_expansion" | "goal_expansion" | ":-" | "-->" => {
            (Code::ChangesFacts, "facts and rules cannot be changed by a goal")
        }
        "consult"
        | "ensure_loaded"
        | "use_module"
        | "load_files"
        | "include_file"
        | "initialization"
        | "module"
        | "import_module"
        | "add_import_module"
        | "use_foreign_library"
        | "load_foreign_library"
        | "make"
        | "?-" => (Code::LoadsCode, "a goal cannot load code"),
        "open"
        | "close"
        | "read"
        | "read_term"
        | "write"
        | "writeln"
        | "writeq"
        | "write_term"
        | "write_canonical"
        | "print"
        | "format"
        | "nl"
        | "tab"
        | "put_char"
        | "get_char"
        | "peek_char"
        | "see"
        | "seen"
        | "tell"
        | "told"
        | "append_file"
        | "current_output"
        | "current_input"
        | "set_input"
        | "set_output"
        | "with_output_to"
        | "read_file_to_terms"
        | "read_file_to_string"
        | "directory_files"
        | "exists_file"
        | "delete_file"
        | "portray_clause"
        | "listing"
        | "tmp_file"
        | "http_get"
        | "http_open"
        | "socket_client_open" => (
            Code::InputOutput,
            "a goal cannot use files, streams or the network",
        ),
        "halt"
        | "shell"
        | "process_create"
        | "process_kill"
        | "getenv"
        | "setenv"
        | "unsetenv"
        | "sleep"
        | "abort"
        | "thread_create"
        | "thread_send_message"
        | "prolog"
        | "break"
        | "trace"
        | "garbage_collect"
        | "working_directory"
        | "chdir"
        | "exec"
        | "system"
        | "fork" => (
            Code::ActsOnSystem,
            "a goal cannot act on the process or the machine",
        ),
        "clause"
        | "current_predicate"
        | "predicate_property"
        | "current_op"
        | "current_prolog_flag"
        | "=.."
        | "functor"
        | "arg"
        | "copy_term"
        | "term_variables"
        | "numbervars"
        | "atom_to_term"
        | "term_to_atom"
        | "read_term_from_atom" => (
            Code::UnknownPredicate,
            "goals cannot look at rules or build terms",
        ),
        _ => return None,
    })
}

/// Whether Prolog itself has a predicate of this name, so that a rule of this name would mislead.
pub(crate) fn is_well_known(name: &str) -> bool {
    forbidden(name).is_some()
}
