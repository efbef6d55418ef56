//! `interlock tools`: what a model may call here.

use std::fmt::Write as _;

use clap::Args;
use interlock_executor::Filter;
use interlock_gate::Catalogue;
use interlock_protocol::{KindRule, ToolDefinition};

use crate::Ending;
use crate::failure::Failure;
use crate::globals::Globals;
use crate::settings;
use crate::table::Table;
use crate::terminal::{Paint, Tone};

/// List the tools that can run here, or show one.
#[derive(Args)]
#[command(after_help = "\
Examples:
  interlock tools
  interlock tools infra_read
  interlock tools --json | jq -r .name

With --json: JSON Lines, one tool on each line; with a NAME one document.")]
pub(crate) struct Arguments {
    /// The tool to show
    name: Option<String>,
}

/// Runs the command.
pub(crate) fn run(globals: &Globals, arguments: &Arguments) -> Result<Ending, Failure> {
    let loaded = settings::load(globals)?;
    let toolbox = interlock_assembly::toolbox(&loaded.config)?;
    let catalogue = Catalogue::built_in().map_err(Failure::unsuccessful)?;
    let all = toolbox.list(&catalogue, &Filter::default());
    let Some(name) = &arguments.name else {
        globals.print_lines(&all, |paint| listed(&all, paint))?;
        return Ok(Ending::Done);
    };
    if let Some(tool) = all.iter().find(|tool| tool.name.as_str() == name) {
        globals.print(tool, |paint| shown(tool, paint))?;
        return Ok(Ending::Done);
    }
    let names: Vec<&str> = all.iter().map(|tool| tool.name.as_str()).collect();
    let near = nearest(name, names.iter().copied())
        .map_or_else(|| ".".to_owned(), |near| format!("; did you mean `{near}`?"));
    Err(Failure::Unsuccessful(format!(
        "there is no tool `{name}` here{near} There are {}",
        names.join(", ")
    )))
}

/// The name that is most like this one, if one is like it at all.
pub(crate) fn nearest<'n>(name: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    const LIKE: f64 = 0.6;
    names
        .into_iter()
        .map(|candidate| (strsim::jaro_winkler(name, candidate), candidate))
        .filter(|(likeness, _)| *likeness > LIKE)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, candidate)| candidate)
}

/// What a tool does to the world, in a word.
fn kind(tool: &ToolDefinition) -> &'static str {
    match &tool.kind {
        KindRule::Fixed { kind } => kind.as_str(),
        KindRule::ByAction { .. } => "by action",
    }
}

pub(crate) fn listed(all: &[&ToolDefinition], paint: Paint) -> String {
    let mut table = Table::new(&["tool", "kind", "risk", "what it does"]);
    for tool in all {
        table.row(vec![
            (tool.name.to_string(), Some(Tone::Strong)),
            (kind(tool).to_owned(), None),
            (tool.risk.to_string(), None),
            (tool.description.clone(), None),
        ]);
    }
    table.render(paint)
}

fn shown(tool: &ToolDefinition, paint: Paint) -> String {
    let mut text = String::new();
    // Writing into a String cannot fail.
    let _ = writeln!(text, "{}", paint.paint(Tone::Strong, tool.name.as_str()));
    let _ = writeln!(text, "  {}", tool.description);
    let _ = writeln!(
        text,
        "  kind {}, risk {}, at most {} s",
        kind(tool),
        tool.risk,
        tool.timeout_seconds
    );
    let parameters = serde_json::to_string_pretty(&tool.parameters).unwrap_or_default();
    let _ = write!(text, "\n{parameters}\n");
    text
}
