//! What `systemctl` is told on its command line.

/// What was asked for.
#[derive(Debug, Default, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a switch of the command line"
)]
pub(super) struct Options {
    pub(super) verb: String,
    pub(super) units: Vec<String>,
    pub(super) properties: Vec<String>,
    pub(super) value: bool,
    pub(super) all: bool,
    pub(super) failed: bool,
    pub(super) legend: bool,
    pub(super) quiet: bool,
    pub(super) now: bool,
    pub(super) microseconds: bool,
    pub(super) states: Vec<String>,
    pub(super) lines: usize,
    pub(super) services: bool,
}

impl Options {
    pub(super) fn parse(arguments: &[String]) -> Result<Self, String> {
        let mut options = Self {
            legend: true,
            lines: 10,
            services: true,
            ..Self::default()
        };
        let mut words = Vec::new();
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            let (name, mut value) = match argument.split_once('=') {
                Some((name, value)) if name.starts_with("--") => (name, Some(value.to_owned())),
                _ => (argument.as_str(), None),
            };
            let mut needed = || {
                value
                    .take()
                    .or_else(|| arguments.next().cloned())
                    .ok_or(format!("systemctl: option '{name}' requires an argument"))
            };
            match name {
                "--" => words.extend(arguments.by_ref().cloned()),
                "-p" | "--property" => options.properties.extend(needed()?.split(',').map(str::to_owned)),
                "-P" => {
                    options.properties.push(needed()?);
                    options.value = true;
                }
                "--timestamp" => options.microseconds = needed()?.starts_with("us"),
                "--state" => options.states.extend(needed()?.split(',').map(str::to_owned)),
                "-t" | "--type" => options.services = needed()?.split(',').any(|kind| kind == "service"),
                "-n" | "--lines" => options.lines = needed()?.parse().map_err(|_| "Failed to parse lines")?,
                "-o" | "--output" => {
                    needed()?;
                }
                "--value" => options.value = true,
                "-a" | "--all" => options.all = true,
                "--failed" => options.failed = true,
                "--no-legend" => options.legend = false,
                "-q" | "--quiet" => options.quiet = true,
                "--now" => options.now = true,
                "--no-pager" | "--plain" | "--full" | "-l" | "--no-ask-password" | "--system" | "-f"
                | "--force" | "--no-block" | "--wait" => {}
                "--version" => "--version".clone_into(&mut options.verb),
                unknown if unknown.starts_with('-') => {
                    return Err(format!("systemctl: unrecognized option '{unknown}'"));
                }
                word => words.push(word.to_owned()),
            }
        }
        let mut words = words.into_iter();
        if options.verb.is_empty() {
            options.verb = words.next().unwrap_or_else(|| "list-units".to_owned());
        }
        options.units = words.map(full_name).collect();
        Ok(options)
    }
}

fn full_name(name: String) -> String {
    let kinds = [".service", ".socket", ".timer", ".target", ".mount", ".path"];
    if kinds.iter().any(|kind| name.ends_with(kind)) {
        name
    } else {
        format!("{name}.service")
    }
}
