//! Strict resolution: which discovered resource a call is about.

use std::sync::Arc;

use interlock_protocol::{Arguments, ErrorCode, ResourceId, TargetRule, ToolKind, ToolName};
use jiff::Timestamp;
use serde_json::Value;

use crate::catalogue::{Action, Discovery, Placement, Tool};
use crate::context::{Lookup, ResolvedContext, ResolvedResource};
use crate::plan::Target;
use crate::refusal::{About, Recovery, Refusal};
use crate::rule::Rule;

/// The longest text that names a resource.
const MOST_BYTES: usize = 512;

/// Whether a target must have been discovered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum StrictResolution {
    /// It must.
    #[default]
    On,
    /// A canonical id is taken as it stands.
    Off,
}

/// What a call is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Resolved {
    /// The resource, if it is known.
    pub(crate) resource: Option<Arc<ResolvedResource>>,
    /// How the call named it.
    pub(crate) named: Option<String>,
    /// Whatever else the call names, in its words.
    pub(crate) others: Vec<Named>,
}

/// What a name in a call stands for, as code knows it: several resources where the name is not unique. An empty name is the
/// machine that is meant where a call names none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NameEntry {
    /// The name, as the call has it.
    pub name: String,
    /// What goes by it.
    pub resources: Vec<ResolvedResource>,
}

/// What a call names, and what that is known as.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Named {
    /// The name, as the call has it.
    pub(crate) text: String,
    /// What it stands for.
    pub(crate) resource: Option<Arc<ResolvedResource>>,
    /// Whether this session discovered it.
    pub(crate) discovered: bool,
}

/// Where names are looked up: what the session discovered, then what code knows.
pub(crate) struct Names<'a> {
    pub(crate) context: &'a mut ResolvedContext,
    pub(crate) directory: &'a [NameEntry],
    pub(crate) now: Timestamp,
}

impl Names<'_> {
    fn directory(&self, text: &str) -> &[ResolvedResource] {
        let mut entries = self.directory.iter();
        entries
            .find(|entry| entry.name == text)
            .map_or(&[], |entry| entry.resources.as_slice())
    }
}

impl Resolved {
    pub(crate) fn id(&self) -> Option<&ResourceId> {
        self.resource.as_ref().map(|resource| &resource.id)
    }

    pub(crate) fn target(&self) -> Option<Target> {
        self.resource.as_ref().map(|resource| Target {
            id: resource.id.clone(),
            name: resource.name.clone(),
            state: resource.state.clone(),
            identity: resource.identity.clone(),
        })
    }
}

pub(crate) fn resolve(
    strict: StrictResolution,
    mut names: Names<'_>,
    tool: &Tool,
    action: &Action,
    arguments: &Arguments,
    about: &About,
) -> Result<Resolved, Box<Refusal>> {
    let mut found: Vec<Named> = Vec::new();
    if let Some(id) = tool.fixed_target() {
        found.push(look_up(&mut names, action, &id.to_string(), None, about)?);
    }
    if let TargetRule::Arguments { arguments: targets } = &tool.definition().target {
        for target in targets {
            match arguments.get(target.name.as_str()) {
                None | Some(Value::Null) => {}
                Some(Value::String(text)) if text.len() <= MOST_BYTES => {
                    found.push(look_up(&mut names, action, text, target.bare, about)?);
                }
                Some(_) => {
                    return Err(Refusal::new(
                        Rule::StrictResolution,
                        ErrorCode::InvalidInput,
                        about.clone(),
                        format!(
                            "Argument `{}` names a resource and is no text of at most {MOST_BYTES} bytes.",
                            target.name
                        ),
                    ));
                }
            }
        }
    }
    agree(&found, about)?;
    let resolved = match action.kind {
        ToolKind::Write => write_target(strict, found, about)?,
        ToolKind::Resolve => first(found),
        ToolKind::Read => {
            let known = found.iter().any(|named| named.discovered);
            let stranger = found.iter().find(|named| !named.discovered);
            if let (StrictResolution::On, true, Some(stranger)) = (strict, known, stranger) {
                let name = &stranger.text;
                let message = format!("`{name}` was not discovered in this session; what else is named was.");
                return Err(undiscovered(name, about, &message));
            }
            let nothing_known =
                found.iter().all(|named| !named.discovered) && !names.context.has_any(names.now);
            let needs = match (strict, action.discovery) {
                (StrictResolution::On, Discovery::Needed) => !found.is_empty(),
                (StrictResolution::Off, _) | (_, Discovery::Exempt) => false,
            };
            if needs && nothing_known {
                let name = found.first().map_or("", |named| named.text.as_str());
                return Err(undiscovered(
                    name,
                    about,
                    "Nothing was discovered in this session yet.",
                ));
            }
            if found.is_empty() && action.placement == Placement::Inside {
                // It names none: the machine that Interlock runs on is meant, and routed like any other.
                let here = look_up(&mut names, action, "", None, about)?;
                found.extend(here.resource.is_some().then_some(here));
            }
            first(found)
        }
    };
    fits(action, &resolved, about)?;
    same_object(tool, action, arguments, &resolved, about)?;
    Ok(resolved)
}

fn first(found: Vec<Named>) -> Resolved {
    let mut found = found.into_iter();
    match found.next() {
        Some(named) => Resolved {
            resource: named.resource,
            named: Some(named.text),
            others: found.collect(),
        },
        None => Resolved {
            resource: None,
            named: None,
            others: Vec::new(),
        },
    }
}

/// The target is of a kind that the action is for.
fn fits(action: &Action, resolved: &Resolved, about: &About) -> Result<(), Box<Refusal>> {
    let Some(id) = resolved.id() else {
        return Ok(());
    };
    if action.kinds.is_empty() || action.kinds.contains(&id.kind()) {
        return Ok(());
    }
    let kinds: Vec<&str> = action.kinds.iter().map(|kind| kind.as_str()).collect();
    Err(Refusal::new(
        Rule::Arguments,
        ErrorCode::InvalidInput,
        about.clone(),
        format!(
            "`{id}` is a {}; this action is for: {}.",
            id.kind(),
            kinds.join(", ")
        ),
    )
    .detail("resource_id", id.to_string())
    .detail("kinds", kinds)
    .hint("The canonical id of a resource of one of these kinds makes the call possible.")
    .recovery(Recovery::Automatic))
}

/// What a write names beside its target is its target: a namespace and a name are those of its id.
fn same_object(
    tool: &Tool,
    action: &Action,
    arguments: &Arguments,
    resolved: &Resolved,
    about: &About,
) -> Result<(), Box<Refusal>> {
    let (ToolKind::Write, Some(parts), Some(id)) = (action.kind, tool.object(), resolved.id()) else {
        return Ok(());
    };
    let (namespace, name) = match id.uid().split_once('/') {
        Some((namespace, name)) => (Some(namespace), name),
        None => (None, id.uid()),
    };
    let pairs = [(&parts.namespace, namespace), (&parts.name, Some(name))];
    for (argument, is) in pairs {
        let said = arguments.get(argument).filter(|said| !said.is_null());
        if said.is_some() && said.and_then(Value::as_str) != is {
            return Err(Refusal::new(
                Rule::Arguments,
                ErrorCode::InvalidInput,
                about.clone(),
                format!("Argument `{argument}` does not agree with `{id}`."),
            )
            .detail("resource_id", id.to_string())
            .detail("at", format!("/{argument}"))
            .detail("expected", is.map_or(Value::Null, Value::from))
            .recovery(Recovery::Automatic));
        }
    }
    Ok(())
}

fn write_target(
    strict: StrictResolution,
    found: Vec<Named>,
    about: &About,
) -> Result<Resolved, Box<Refusal>> {
    let missing = match strict {
        StrictResolution::On => found.iter().find(|named| !named.discovered),
        StrictResolution::Off => None,
    };
    if let Some(Named { text: name, .. }) = missing {
        let message = format!("`{name}` was not discovered in this session.");
        return Err(undiscovered(name, about, &message));
    }
    let mut found = found.into_iter();
    let Some(Named {
        text: named,
        resource,
        ..
    }) = found.next()
    else {
        return Err(undiscovered("", about, "The call names no resource to write to."));
    };
    let canonical = || {
        named
            .parse()
            .ok()
            .map(|id| Arc::new(ResolvedResource::new(id, named.as_str())))
    };
    let Some(resource) = resource.or_else(canonical) else {
        let message = format!("`{named}` is neither discovered nor a canonical resource id.");
        return Err(undiscovered(&named, about, &message));
    };
    Ok(Resolved {
        resource: Some(resource),
        named: Some(named),
        others: found.collect(),
    })
}

fn look_up(
    names: &mut Names<'_>,
    action: &Action,
    text: &str,
    bare: Option<interlock_protocol::ResourceKind>,
    about: &About,
) -> Result<Named, Box<Refusal>> {
    let now = names.now;
    let mut lookup = names.context.lookup(text, now);
    if lookup == Lookup::Unknown
        && let Some(id) = bare.and_then(|kind| ResourceId::global(kind, text).ok())
    {
        lookup = names.context.lookup(&id.to_string(), now);
    }
    let mut discovered = true;
    if lookup == Lookup::Unknown {
        discovered = false;
        lookup = match names.directory(text) {
            [] => Lookup::Unknown,
            [one] => Lookup::Found(Arc::new(one.clone())),
            several => Lookup::Ambiguous(several.iter().map(|resource| resource.id.clone()).collect()),
        };
    }
    let meaning = |resource: Option<Arc<ResolvedResource>>| Named {
        text: text.to_owned(),
        discovered: discovered && resource.is_some(),
        resource,
    };
    match lookup {
        Lookup::Found(resource) => Ok(meaning(Some(resource))),
        Lookup::Unknown => Ok(meaning(None)),
        // Looking it up is how one finds out which is which.
        Lookup::Ambiguous(_) if action.kind == ToolKind::Resolve => Ok(meaning(None)),
        Lookup::Ambiguous(candidates) => {
            let ids: Vec<String> = candidates.iter().map(ToString::to_string).collect();
            Err(Refusal::new(
                Rule::StrictResolution,
                ErrorCode::StrictResolution,
                about.clone(),
                format!("`{text}` is the name of {} resources.", ids.len()),
            )
            .detail("resource_id", text)
            .detail("candidates", ids)
            .hint("A canonical id out of the candidates names one of them."))
        }
    }
}

/// Every named resource is the first one, or the host that the first one lives on.
fn agree(found: &[Named], about: &About) -> Result<(), Box<Refusal>> {
    let mut resources = found.iter().filter_map(|named| named.resource.as_deref());
    let Some(primary) = resources.next() else {
        return Ok(());
    };
    let stray = resources.find(|other| {
        other.id != primary.id && !primary.id.host().is_some_and(|host| other.answers_as_host(host))
    });
    match stray {
        None => Ok(()),
        Some(other) => Err(Refusal::new(
            Rule::StrictResolution,
            ErrorCode::InvalidInput,
            about.clone(),
            format!(
                "The call names two resources: `{}` and `{}`.",
                primary.id, other.id
            ),
        )
        .detail("resource_ids", vec![primary.id.to_string(), other.id.to_string()])
        .recovery(Recovery::Automatic)),
    }
}

fn undiscovered(name: &str, about: &About, message: &str) -> Box<Refusal> {
    let action = about
        .action
        .as_deref()
        .or(about.tool.as_ref().map(ToolName::as_str))
        .unwrap_or("");
    Refusal::new(
        Rule::StrictResolution,
        ErrorCode::StrictResolution,
        about.clone(),
        message,
    )
    .detail("resource_id", name)
    .detail("action", action)
    .hint("`infra_query` with action=search discovers resources.")
}
