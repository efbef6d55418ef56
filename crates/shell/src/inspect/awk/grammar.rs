//! The grammar of the awk programs that are accepted: the part of POSIX awk that gawk, mawk, busybox and BWK awk read alike,
//! without anything that runs a command, names a file or loads code.
//!
//! A slash is where awks part: some ask the grammar whether it divides, some the token before it, and the words that one of
//! them reserves are names to another. So a regular expression is accepted only where every awk expects an operand, a division
//! only behind a value that every awk takes for one, and a word that any awk reserves only in its own place.

mod expression;
mod loops;

use self::loops::For;
use super::lex::{Lexer, Result, Token};

/// What a program does, as far as the caller must know.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Program {
    /// It has a rule besides `BEGIN`, so that it reads its input.
    pub(super) reads_input: bool,
    /// It has a loop that may not end.
    pub(super) may_not_end: bool,
    /// It can print the environment.
    pub(super) environment: bool,
}

/// Functions of every awk.
const FUNCTIONS: &str = "atan2 cos exp gsub index int length log match rand sin split sprintf sqrt srand sub substr tolower \
    toupper";

/// Functions of some awks. They are called with the parenthesis right behind the name: to the others that is a function that
/// is not defined.
const MORE_FUNCTIONS: &str =
    "and asort asorti compl gensub lshift mktime or rshift strftime strtonum systime typeof isarray xor";

/// Words that some awk gives a meaning of its own, and that are refused as names.
const RESERVED: &str = "BEGIN END BEGINFILE ENDFILE ARGC ARGV ARGIND SYMTAB FUNCTAB PROCINFO TEXTDOMAIN LINT BINMODE _ abort \
    bindtextdomain break case close continue dcgettext dcngettext default delete do else eval exit \
    fflush for func function getline if in include intdiv intdiv0 load mkbool namespace next nextfile \
    nextline patsplit print printf return switch system usersort while";

fn lists(words: &str, name: &str) -> bool {
    words.split(' ').any(|word| word == name)
}

/// How deep expressions and statements may nest.
const MOST_NESTING: usize = 40;

/// Whether `-v` and operands may set a variable of this name.
pub(super) fn may_be_set(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
        && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_')
        && !lists(RESERVED, name)
        && !lists(FUNCTIONS, name)
        && !lists(MORE_FUNCTIONS, name)
        && name != "ENVIRON"
}

pub(super) fn parse(text: &str) -> Result<Program> {
    let mut lexer = Lexer::new(text);
    let token = lexer.token()?;
    let mut parser = Parser {
        lexer,
        token,
        depth: 0,
        printing: false,
        passed: Vec::new(),
        loops: Vec::new(),
        program: Program::default(),
    };
    parser.rules()?;
    parser.program.may_not_end |= !loops::all_end(&parser.loops, &parser.passed);
    Ok(parser.program)
}

struct Parser<'a> {
    lexer: Lexer<'a>,
    token: Token,
    depth: usize,
    /// Inside `print`, outside of parentheses: a `>` would write.
    printing: bool,
    /// The tokens that were passed, without regular expressions.
    passed: Vec<Token>,
    /// The loops that count.
    loops: Vec<For>,
    program: Program,
}

impl Parser<'_> {
    fn advance(&mut self) -> Result<()> {
        let next = self.lexer.token()?;
        self.passed.push(std::mem::replace(&mut self.token, next));
        Ok(())
    }

    fn is(&self, mark: &str) -> bool {
        matches!(self.token, Token::Mark(found) if found == mark)
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(&self.token, Token::Name(name, _) if name == word)
    }

    fn take(&mut self, mark: &str) -> Result<bool> {
        let found = self.is(mark);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    fn expect(&mut self, mark: &'static str) -> Result<()> {
        if self.take(mark)? {
            Ok(())
        } else {
            Err("is not a program that every awk understands")
        }
    }

    fn newlines(&mut self) -> Result<()> {
        while self.token == Token::Newline {
            self.advance()?;
        }
        Ok(())
    }

    fn deeper<T>(&mut self, parse: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.depth += 1;
        if self.depth > MOST_NESTING {
            return Err("nests too deep");
        }
        let parsed = parse(self);
        self.depth -= 1;
        parsed
    }

    fn rules(&mut self) -> Result<()> {
        let mut any = false;
        loop {
            match &self.token {
                Token::End => break,
                Token::Newline => self.advance()?,
                Token::Mark(";") if any => self.advance()?,
                _ => {
                    any = true;
                    self.rule()?;
                }
            }
        }
        if any { Ok(()) } else { Err("has no rule") }
    }

    fn rule(&mut self) -> Result<()> {
        let special = match &self.token {
            Token::Name(name, false) if name == "BEGIN" || name == "END" => Some(name == "BEGIN"),
            _ => None,
        };
        if let Some(begin) = special {
            self.program.reads_input |= !begin;
            self.advance()?;
            return self.block();
        }
        self.program.reads_input = true;
        if self.is("{") {
            return self.block();
        }
        self.expression(true)?;
        if self.take(",")? {
            self.newlines()?;
            self.expression(true)?;
        }
        match &self.token {
            Token::Mark("{") => self.block(),
            Token::End | Token::Mark(";") => Ok(()),
            Token::Newline => {
                self.newlines()?;
                if self.is("{") {
                    return Err("has an action on another line than its pattern");
                }
                Ok(())
            }
            _ => Err("is not a program that every awk understands"),
        }
    }

    fn block(&mut self) -> Result<()> {
        self.expect("{")?;
        self.deeper(|parser| {
            loop {
                match &parser.token {
                    Token::Mark("}") => break,
                    Token::Mark(";") | Token::Newline => parser.advance()?,
                    Token::End => return Err("does not close a brace"),
                    _ => parser.statement()?,
                }
            }
            Ok(())
        })?;
        self.advance()
    }

    /// The end of a simple statement.
    fn terminator(&mut self) -> Result<()> {
        match &self.token {
            Token::Mark(";") | Token::Newline => self.advance(),
            Token::Mark("}") => Ok(()),
            Token::Mark(">") => Err("writes its output into a file"),
            _ => Err("is not a program that every awk understands"),
        }
    }

    fn statement(&mut self) -> Result<()> {
        self.deeper(Self::statement_inside)
    }

    fn statement_inside(&mut self) -> Result<()> {
        if self.is("{") {
            return self.block();
        }
        let word = match &self.token {
            Token::Name(name, _) => name.clone(),
            _ => String::new(),
        };
        match word.as_str() {
            "if" => {
                self.advance()?;
                self.condition()?;
                self.body()?;
                // `;` and line breaks may stand before `else`.
                while matches!(self.token, Token::Newline | Token::Mark(";")) {
                    self.advance()?;
                }
                if self.is_word("else") {
                    self.advance()?;
                    self.body()?;
                }
                Ok(())
            }
            "while" => {
                self.program.may_not_end = true;
                self.advance()?;
                self.condition()?;
                self.body()
            }
            "do" => {
                self.program.may_not_end = true;
                self.advance()?;
                self.body()?;
                while matches!(self.token, Token::Newline | Token::Mark(";")) {
                    self.advance()?;
                }
                if !self.is_word("while") {
                    return Err("is not a program that every awk understands");
                }
                self.advance()?;
                self.condition()?;
                self.terminator()
            }
            "for" => self.for_loop(),
            "print" | "printf" => {
                self.advance()?;
                self.print(word == "printf")?;
                self.terminator()
            }
            "next" | "break" | "continue" => {
                self.advance()?;
                self.terminator()
            }
            "exit" => {
                self.advance()?;
                if !matches!(self.token, Token::Mark(";" | "}") | Token::Newline) {
                    self.expression(false)?;
                }
                self.terminator()
            }
            "delete" => {
                self.advance()?;
                self.name()?;
                if self.take("[")? {
                    self.expressions("]")?;
                }
                self.terminator()
            }
            "PROCINFO" => self.sorted_in(),
            _ => {
                self.expression(false)?;
                self.terminator()
            }
        }
    }

    /// `(condition)`.
    fn condition(&mut self) -> Result<()> {
        self.expect("(")?;
        self.inside(|parser| parser.expression(true))?;
        self.expect(")")
    }

    /// The statement that belongs to an `if`, a loop or an `else`.
    fn body(&mut self) -> Result<()> {
        self.newlines()?;
        if self.take(";")? {
            return Ok(());
        }
        self.statement()
    }

    fn for_loop(&mut self) -> Result<()> {
        self.advance()?;
        self.expect("(")?;
        let start = self.passed.len();
        let counts = self.inside(|parser| {
            if !parser.is(";") {
                parser.expression(false)?;
            }
            // `for (k in a)` is parsed as the expression `k in a`.
            if parser.is(")") {
                return Ok(None);
            }
            let end = parser.passed.len();
            parser.for_parts(start, end).map(Some)
        })?;
        self.expect(")")?;
        let body = self.passed.len();
        self.body()?;
        if let Some(counts) = counts {
            self.loops.push(For {
                body: body..self.passed.len(),
                ..counts
            });
        }
        Ok(())
    }

    /// The parts of a loop behind its start, which stands in `start..end`.
    fn for_parts(&mut self, start: usize, end: usize) -> Result<For> {
        self.expect(";")?;
        let condition = self.passed.len();
        if !self.is(";") {
            self.expression(false)?;
        }
        let condition = condition..self.passed.len();
        self.expect(";")?;
        let step = self.passed.len();
        if !self.is(")") {
            self.expression(false)?;
        }
        Ok(For {
            start: start..end,
            condition,
            step: step..self.passed.len(),
            body: 0..0,
        })
    }

    /// Parses with `print`'s ban on `>` lifted: inside parentheses it compares.
    fn inside<T>(&mut self, parse: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let printing = std::mem::take(&mut self.printing);
        let parsed = self.deeper(parse);
        self.printing = printing;
        parsed
    }

    fn print(&mut self, formats: bool) -> Result<()> {
        if matches!(self.token, Token::Mark(";" | "}") | Token::Newline) {
            return if formats {
                Err("is not a program that every awk understands")
            } else {
                Ok(())
            };
        }
        self.printing = true;
        loop {
            self.expression(false)?;
            if !self.take(",")? {
                break;
            }
            self.newlines()?;
        }
        self.printing = false;
        Ok(())
    }

    /// `PROCINFO["sorted_in"] = "@ind_str_asc"`: how gawk walks over arrays.
    fn sorted_in(&mut self) -> Result<()> {
        const ODD: &str = "changes how gawk works";
        self.advance()?;
        self.expect("[")?;
        if !matches!(&self.token, Token::Text(text) if text == "sorted_in") {
            return Err(ODD);
        }
        self.advance()?;
        self.expect("]")?;
        self.expect("=")?;
        let known = matches!(&self.token, Token::Text(order) if order.strip_prefix('@').is_some_and(|order| {
            order == "unsorted" || (order.starts_with("ind_") || order.starts_with("val_"))
                && order[4..].bytes().all(|b| b.is_ascii_lowercase() || b == b'_')
        }));
        if !known {
            return Err(ODD);
        }
        self.advance()?;
        self.terminator()
    }

    fn name(&mut self) -> Result<()> {
        match &self.token {
            Token::Name(name, false) if is_variable(name) => {
                self.program.environment |= name == "ENVIRON";
                self.advance()
            }
            _ => Err("uses a word that some awks reserve"),
        }
    }

    /// Expressions up to and over a closing mark; at least one.
    fn expressions(&mut self, close: &'static str) -> Result<usize> {
        let count = self.inside(|parser| {
            let mut count = 0;
            loop {
                parser.expression(true)?;
                count += 1;
                if !parser.take(",")? {
                    return Ok(count);
                }
                parser.newlines()?;
            }
        })?;
        self.expect(close)?;
        Ok(count)
    }
}

fn is_variable(name: &str) -> bool {
    !lists(RESERVED, name) && !lists(FUNCTIONS, name) && !lists(MORE_FUNCTIONS, name)
}

#[cfg(test)]
mod tests;
