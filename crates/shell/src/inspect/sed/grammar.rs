//! The grammar of the sed scripts that are accepted.
//!
//! GNU, busybox and BSD sed cut the same text into commands differently: they disagree on where a bracket ends, whether a
//! delimiter inside a bracket counts, where a label, a file name or a text ends, and on what may follow a command. A script
//! is accepted only if it is written in a form that all of them cut in the same places. Everything else is an error here,
//! whatever one of them would make of it.

/// What a script does, as far as the caller must know.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Script {
    /// The files that it reads with `r` and `R`.
    pub(super) files: Vec<String>,
    /// It may go on without taking a line: it jumps back, or starts over what it made longer.
    pub(super) may_not_end: bool,
}

/// Delimiters that have no other meaning anywhere near a command.
const DELIMITERS: &str = "/|,#:@!%~_+=";

const CLASSES: &[&str] = &[
    "alpha", "digit", "alnum", "upper", "lower", "space", "blank", "punct", "print", "graph", "cntrl",
    "xdigit",
];

const END: &str = "ends where more was expected";
const BRACKET: &str = "has a bracket that seds read differently";
const TEXT: &str = "has a text that seds end in different places";

type Result<T> = std::result::Result<T, &'static str>;

/// Parses a whole script: the pieces of all `-e`, joined by line breaks.
pub(super) fn parse(script: &str) -> Result<Script> {
    if script
        .chars()
        .any(|c| c.is_control() && !matches!(c, '\n' | '\t'))
    {
        return Err("has a control character");
    }
    Parser {
        chars: script.chars().collect(),
        at: 0,
        open: 0,
        label_on_line: false,
        labels: Vec::new(),
        takes: Vec::new(),
        blocks: Vec::new(),
        begun: 0,
        starts_over: false,
        grows: false,
        script: Script::default(),
    }
    .run()
}

/// A jump, with the blocks that it is in.
struct Jump {
    to: String,
    from: usize,
    blocks: Vec<usize>,
}

struct Parser {
    chars: Vec<char>,
    at: usize,
    /// How many braces are open.
    open: usize,
    /// A label was named on this line. BSD sed takes all that follows on the line as part of it.
    label_on_line: bool,
    /// Labels with where they stand.
    labels: Vec<(String, usize)>,
    /// Where a command stands that takes a line or ends the cycle, without a condition of its own, and in which blocks.
    takes: Vec<(usize, Vec<usize>)>,
    /// The blocks that are open, by their numbers.
    blocks: Vec<usize>,
    /// How many blocks were opened.
    begun: usize,
    /// It has a `D`, which starts over without taking a line while there is a line break in what it works on.
    starts_over: bool,
    /// It can put a line break into what it works on.
    grows: bool,
    script: Script,
}

impl Parser {
    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek();
        self.at += usize::from(c.is_some());
        c
    }

    fn take_while(&mut self, accept: impl Fn(char) -> bool) -> String {
        let start = self.at;
        while self.peek().is_some_and(&accept) {
            self.at += 1;
        }
        self.chars[start..self.at].iter().collect()
    }

    fn blanks(&mut self) {
        self.take_while(|c| matches!(c, ' ' | '\t'));
    }

    fn run(mut self) -> Result<Script> {
        let mut jumps: Vec<Jump> = Vec::new();
        loop {
            match self.peek() {
                None => break,
                Some(' ' | '\t' | ';') => self.at += 1,
                Some('\n') => {
                    self.at += 1;
                    self.label_on_line = false;
                }
                Some('#') => self.comment()?,
                Some('}') => {
                    self.at += 1;
                    self.open = self
                        .open
                        .checked_sub(1)
                        .ok_or("closes a brace that is not open")?;
                    self.blocks.pop();
                    self.end_of_command()?;
                }
                Some(_) => self.command(&mut jumps)?,
            }
        }
        if self.open > 0 {
            return Err("does not close a brace");
        }
        let jumps_back = jumps.iter().any(|jump| {
            self.labels.iter().any(|(label, start)| {
                *label == jump.to && *start < jump.from && !self.takes_a_line(*start, jump)
            })
        });
        self.script.may_not_end = jumps_back || self.starts_over && self.grows;
        Ok(self.script)
    }

    /// Whether every turn from a label to a jump back takes a line: a command that does stands between them, outside of
    /// every block that the jump is outside of, and no label behind it leads around it.
    fn takes_a_line(&self, start: usize, jump: &Jump) -> bool {
        self.takes.iter().any(|(take, blocks)| {
            (start..jump.from).contains(take)
                && jump.blocks.starts_with(blocks)
                && !self.labels.iter().any(|(_, at)| (*take..jump.from).contains(at))
        })
    }

    fn comment(&mut self) -> Result<()> {
        let text = self.take_while(|c| c != '\n');
        if text.contains('\\') {
            return Err("has a backslash in a comment");
        }
        Ok(())
    }

    fn command(&mut self, jumps: &mut Vec<Jump>) -> Result<()> {
        let addressed = self.addresses()?;
        let command = self.next().ok_or(END)?;
        match command {
            '{' => {
                self.open += 1;
                self.begun += 1;
                self.blocks.push(self.begun);
                return Ok(());
            }
            '=' | 'h' | 'H' | 'p' | 'P' | 'z' | 'F' => {}
            'g' | 'G' | 'x' => self.grows = true,
            'D' => self.starts_over = true,
            'd' | 'n' | 'N' => self.takes(addressed),
            'q' | 'Q' | 'l' => {
                if command != 'l' {
                    self.takes(addressed);
                }
                self.blanks();
                self.take_while(|c| c.is_ascii_digit());
            }
            'b' | 't' | 'T' => {
                self.label_on_line = true;
                self.blanks();
                let label = self.take_while(is_label);
                jumps.push(Jump {
                    to: label,
                    from: self.at,
                    blocks: self.blocks.clone(),
                });
                self.blanks();
                // Not a comment: busybox takes it as part of the label.
                return match self.peek() {
                    None | Some(';' | '\n' | '}') => Ok(()),
                    Some(_) => Err("has a label that seds end in different places"),
                };
            }
            ':' if !addressed => {
                self.label_on_line = true;
                self.blanks();
                let label = self.take_while(is_label);
                if label.is_empty() {
                    return Err(END);
                }
                self.labels.push((label, self.at));
                self.blanks();
                // Not a closing brace: some seds take it as part of the label.
                return match self.peek() {
                    None | Some(';' | '\n') => Ok(()),
                    Some(_) => Err("has a label that seds end in different places"),
                };
            }
            'a' | 'i' | 'c' => return self.text(),
            'r' | 'R' => return self.file(),
            's' => {
                let delimiter = self.delimiter()?;
                self.regex(delimiter)?;
                let start = self.at;
                self.replacement(delimiter, false)?;
                // What is taken over from the match could hold a line break.
                self.grows |= self.chars[start..self.at].iter().any(|c| matches!(c, '\\' | '&'));
                self.flags()?;
            }
            'y' => {
                let delimiter = self.delimiter()?;
                let start = self.at;
                self.replacement(delimiter, true)?;
                self.replacement(delimiter, true)?;
                self.grows |= self.chars[start..self.at].contains(&'\\');
            }
            'w' | 'W' => return Err("writes into a file"),
            'e' => return Err("runs a command"),
            _ => return Err("has a command that is not accepted"),
        }
        self.end_of_command()
    }

    /// A command that takes a line or ends the cycle. With an address it may not.
    fn takes(&mut self, addressed: bool) {
        if !addressed {
            self.takes.push((self.at, self.blocks.clone()));
        }
    }

    /// What may follow a command, for every sed.
    fn end_of_command(&mut self) -> Result<()> {
        self.blanks();
        match self.peek() {
            None | Some(';' | '\n' | '}' | '#') => Ok(()),
            Some(_) => Err("has something behind a command"),
        }
    }

    /// `addr`, `addr,addr`, `addr!`; says whether there was one.
    fn addresses(&mut self) -> Result<bool> {
        if !self.address()? {
            return match self.peek() {
                Some('!') => {
                    self.at += 1;
                    self.blanks();
                    Ok(true)
                }
                _ => Ok(false),
            };
        }
        if self.peek() == Some(',') {
            self.at += 1;
            self.blanks();
            if matches!(self.peek(), Some('+' | '~')) {
                self.at += 1;
                if self.take_while(|c| c.is_ascii_digit()).is_empty() {
                    return Err(END);
                }
            } else if !self.address()? {
                return Err("has an address that is not understood");
            }
        }
        self.blanks();
        if self.peek() == Some('!') {
            self.at += 1;
            self.blanks();
        }
        if matches!(self.peek(), Some('}' | '#' | ';' | '\n') | None) {
            return Err("has an address without a command");
        }
        Ok(true)
    }

    fn address(&mut self) -> Result<bool> {
        match self.peek() {
            Some('$') => self.at += 1,
            Some(c) if c.is_ascii_digit() => {
                self.take_while(|c| c.is_ascii_digit());
                if self.peek() == Some('~') {
                    self.at += 1;
                    if self.take_while(|c| c.is_ascii_digit()).is_empty() {
                        return Err(END);
                    }
                }
            }
            Some('/') => {
                self.at += 1;
                self.regex('/')?;
                self.take_while(|c| matches!(c, 'I' | 'M'));
            }
            Some('\\') => {
                self.at += 1;
                let delimiter = self.delimiter()?;
                self.regex(delimiter)?;
                self.take_while(|c| matches!(c, 'I' | 'M'));
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn delimiter(&mut self) -> Result<char> {
        self.next()
            .filter(|c| DELIMITERS.contains(*c))
            .ok_or("has a delimiter that is not plain")
    }

    /// A regular expression up to and over its delimiter. Seds that know brackets, seds that do not, and seds that know
    /// them but not the classes inside must all find the same end.
    fn regex(&mut self, delimiter: char) -> Result<()> {
        loop {
            match self.next() {
                None | Some('\n') => return Err("has a regular expression without an end"),
                Some(c) if c == delimiter => return Ok(()),
                Some('\\') => self.escaped()?,
                Some('[') => self.bracket(delimiter)?,
                Some(_) => {}
            }
        }
    }

    fn escaped(&mut self) -> Result<()> {
        match self.next() {
            None | Some('\n') => Err("has a backslash at the end of a line"),
            Some(_) => Ok(()),
        }
    }

    /// A bracket; the cursor stands behind `[`.
    fn bracket(&mut self, delimiter: char) -> Result<()> {
        if self.plain_bracket() {
            return Ok(());
        }
        if self.peek() == Some('^') {
            self.at += 1;
        }
        if self.peek() == Some(']') {
            self.at += 1;
        }
        let mut class_seen = false;
        loop {
            match self.next() {
                None | Some('\n') => return Err(BRACKET),
                Some(']') => return Ok(()),
                Some(c) if c == delimiter => return Err(BRACKET),
                // Literal to POSIX, an escape to others: neither may meet what ends the bracket or opens a class.
                Some('\\') => match self.next() {
                    None | Some('\n' | ']' | '[') => return Err(BRACKET),
                    Some(_) => {}
                },
                Some('[') => match self.peek() {
                    Some(':') => {
                        self.at += 1;
                        let name = self.take_while(|c| c.is_ascii_lowercase());
                        if !CLASSES.contains(&name.as_str())
                            || self.next() != Some(':')
                            || self.next() != Some(']')
                            || delimiter == ':'
                        {
                            return Err(BRACKET);
                        }
                        class_seen = true;
                    }
                    Some('.' | '=') => return Err(BRACKET),
                    // To a sed that ends brackets at the first class this opens another one.
                    _ if class_seen => return Err(BRACKET),
                    _ => {}
                },
                Some(_) => {}
            }
        }
    }

    /// `[^/]`: a bracket without anything special in it may hold the delimiter. A sed that ends the expression there is
    /// left with a bracket that is not closed, and refuses the script.
    fn plain_bracket(&mut self) -> bool {
        let start = self.at;
        if self.peek() == Some('^') {
            self.at += 1;
        }
        let inside = self.take_while(|c| c.is_ascii() && !matches!(c, '[' | ']' | '\\' | '\n'));
        let plain = !inside.is_empty() && self.next() == Some(']');
        if !plain {
            self.at = start;
        }
        plain
    }

    /// A replacement up to and over its delimiter; or a half of `y`, in which busybox looks for brackets too.
    fn replacement(&mut self, delimiter: char, translates: bool) -> Result<()> {
        loop {
            match self.next() {
                None | Some('\n') => return Err("has a replacement without an end"),
                Some(c) if c == delimiter => return Ok(()),
                Some('\\') => self.escaped()?,
                Some('[') if translates => return Err(BRACKET),
                Some(_) => {}
            }
        }
    }

    fn flags(&mut self) -> Result<()> {
        loop {
            match self.peek() {
                Some('g' | 'p' | 'i' | 'I' | 'm' | 'M' | '0'..='9') => self.at += 1,
                Some('e') => return Err("runs what it matches"),
                Some('w') => return Err("writes into a file"),
                _ => return Ok(()),
            }
        }
    }

    /// `a text` or `a\` and one line of text.
    fn text(&mut self) -> Result<()> {
        self.blanks();
        if self.peek() == Some('\\') {
            self.at += 1;
            if self.peek() == Some('\n') {
                // To a sed whose labels end with the line, the next line would be a command.
                if self.label_on_line {
                    return Err(TEXT);
                }
                self.at += 1;
            }
        }
        let text = self.take_while(|c| c != '\n');
        if text.trim().is_empty() || text.contains('\\') {
            return Err(TEXT);
        }
        Ok(())
    }

    fn file(&mut self) -> Result<()> {
        self.blanks();
        let path = self.take_while(|c| c.is_ascii_alphanumeric() || "_./-+@%".contains(c));
        self.blanks();
        if path.is_empty() || !matches!(self.peek(), None | Some('\n')) {
            return Err("has a file name that seds end in different places");
        }
        self.script.files.push(path);
        Ok(())
    }
}

const fn is_label(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_that_every_sed_reads_alike() {
        for script in [
            "",
            "s/a/b/g",
            "1,10p",
            "1, 10p",
            "/start/,/end/p",
            "$d",
            "$!d",
            "s|/usr|/opt|",
            "s#////#____#g",
            "/^#/d;/^$/d",
            "5q",
            "q5",
            "s/a/b/;s/c/d/2p",
            "1~2d",
            "/x/{s/a/b/;p}",
            "/x/ { s/a/b/ ; p ; }",
            "/foo/I,+3p",
            "y/abc/xyz/",
            "n;d",
            "$!N;P;D",
            "s/[^,]*,//2",
            "s/[^\\/]*$//",
            "s/[^/]*$//;s/[/]/x/",
            "s/[]x]/y/;s/[^]]*]//;s/[[:space:]]*$//;s/[^[:alnum:]_-]//g",
            "s/[[]//;s/\\[.*\\]//",
            ":a;N;$!ba;s/\\n/ /g",
            "/x/{b\n}",
            "/x/{s/a/b/;b}",
            "s/\\(a\\)\\(b\\)/\\2\\1/",
            "\\,^/usr,p",
            "\\|x|!s/a/b/",
            "# comment\np",
            "p # comment",
            "1i header",
            "$a\\\ntrailer",
            "$a\\ trailer",
            "/x/r /etc/hosts",
            "s/a/[b]/",
            "0,/x/s//y/",
            "/a/,$p",
            "/a/!d",
            "s/(apple)/\\U\\1/g",
            "s/\"//g;s/'//g",
            "l",
            "=",
        ] {
            assert!(parse(script).is_ok(), "{script:?}: {:?}", parse(script));
        }
    }

    #[test]
    fn scripts_that_write_run_or_are_cut_differently() {
        for script in [
            "w /tmp/x",
            "s/a/b/w /tmp/x",
            "s/a/b/ w /tmp/x",
            "s/a/id/e",
            "1e id",
            "e",
            "p;w x",
            "s/a/b/gw x",
            "/x/W y",
            "1{w x\n}",
            "s/[/]/w x/e",
            "s/a/b/ge",
            "ba  s/b/x/w y",
            ":a s/b/x/w y",
            // brackets
            "/[^]/p;#]/e touch x",
            "/[]/p;#]/e touch x",
            "s/[/]/x",
            "s/[^/]*$/",
            "s/[]/]/x/",
            "s/[\\]/]/e/;p",
            "s/[a\\]b/c]/d/",
            "s/[[:space:]/]/x/",
            "s/[[:nope:]]/x/",
            "s/[[.].]]/x/",
            "s/[[=a=]]/x/",
            "s/[[:space:][]/x/;s/]/e/",
            "s/[\\\\/]/x/",
            "s:[[:alpha:]]:x:",
            "s/[\n]/x/",
            "y/[/]/;w x/",
            // delimiters
            "s\nabc\nid\ne",
            "s a b e",
            "sxaxbxe",
            "s\\a\\b\\",
            "s;a;b;e",
            "s&a&b&",
            "s[a[b[",
            "\\na/p;e id\nn",
            // line ends
            "s/a/b\\\ne id/",
            "s/a\\\n/b/",
            "# x\\\ne id",
            ":x;a\\\nw y",
            "bx;a\\\nw y",
            "a foo\\\nw y",
            "a\\\nfoo\\\nw y",
            "a",
            "a\nw y",
            "a\\",
            "a\\\t\nw y",
            "T#b;w y",
            "b #b;w y",
            "ba#b;w y",
            "r f;w y",
            "r f}",
            "r",
            // what follows a command
            "pw x",
            "p w x",
            "}p",
            "{p",
            "{p}w x",
            "1",
            "/x/",
            "1,p",
            "1!",
            "1!!p",
            ":",
            ":a}",
            "1:a",
            "l1 w x",
            "q1w x",
            "v",
            "M",
            "L",
            "p\r",
            "p\u{b}w x",
            "1 ,2p",
        ] {
            assert!(parse(script).is_err(), "{script:?}");
        }
    }

    #[test]
    fn a_jump_back_must_take_a_line() {
        for (script, endless) in [
            (":a;ba", true),
            (":a;Ta", true),
            (":a;ba;n", true),
            ("n;:a;ba", true),
            (":a;N;ba", false),
            (":a;$!{N;ba\n}", false),
            ("ba;:a", false),
            ("b", false),
            (":a;s/x/x/;ta", true),
            (":a;N;s/x/x/;ta", false),
            (":a;$!N;s/\\n/ /;ta", true),
            (":a;/x/N;ba", true),
            (":a;/x/{N\n};ba", true),
            (":a;bc;N;:c;ba", true),
            (":a;N;:c;s/x/x/;tc", true),
            (":a;{N;ba\n}", false),
            (":a;N;$!ba;s/\\n/ /g", false),
            (":a;$q;N;11,$D;ba", false),
            ("G;D", true),
            ("s/^/\\n/;D", true),
            ("s/x/&&/;D", true),
            ("x;D", true),
            ("y/a/\\n/;D", true),
            ("$!N;P;D", false),
            ("$!N;s/a/b/;P;D", false),
            ("G;d", false),
        ] {
            assert_eq!(
                parse(script).map(|script| script.may_not_end),
                Ok(endless),
                "{script}"
            );
        }
    }
}
