//! Strict resolution: which discovered resource a call is about.

use std::sync::Arc;

use interlock_protocol::{Arguments, ErrorCode, ResourceId, TargetRule, ToolKind, ToolName};
use jiff::Timestamp;
use serde_json::Value;

use crate::catalogue::{Action, Discovery, Tool};
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

/// What a call names, and what that is known as.
pub(crate) type Named = (String, Option<Arc<ResolvedResource>>);

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
    context: &mut ResolvedContext,
    tool: &Tool,
    action: &Action,
    arguments: &Arguments,
    about: &About,
    now: Timestamp,
) -> Result<Resolved, Box<Refusal>> {
    let mut found: Vec<Named> = Vec::new();
    if let Some(id) = tool.fixed_target() {
        found.push(look_up(context, action, &id.to_string(), None, about, now)?);
    }
    if let TargetRule::Arguments { arguments: targets } = &tool.definition().target {
        for target in targets {
            match arguments.get(target.name.as_str()) {
                None | Some(Value::Null) => {}
                Some(Value::String(text)) if text.len() <= MOST_BYTES => {
                    found.push(look_up(context, action, text, target.bare, about, now)?);
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
            let known = found.iter().any(|(_, resource)| resource.is_some());
            let stranger = found.iter().find(|(_, resource)| resource.is_none());
            if let (StrictResolution::On, true, Some((name, _))) = (strict, known, stranger) {
                let message = format!("`{name}` was not discovered in this session; what else is named was.");
                return Err(undiscovered(name, about, &message));
            }
            let nothing_known = found.iter().all(|(_, resource)| resource.is_none()) && !context.has_any(now);
            let needs = match (strict, action.discovery) {
                (StrictResolution::On, Discovery::Needed) => !found.is_empty(),
                (StrictResolution::Off, _) | (_, Discovery::Exempt) => false,
            };
            if needs && nothing_known {
                let name = found.first().map_or("", |(name, _)| name.as_str());
                return Err(undiscovered(
                    name,
                    about,
                    "Nothing was discovered in this session yet.",
                ));
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
        Some((named, resource)) => Resolved {
            resource,
            named: Some(named),
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
        StrictResolution::On => found.iter().find(|(_, resource)| resource.is_none()),
        StrictResolution::Off => None,
    };
    if let Some((name, _)) = missing {
        let message = format!("`{name}` was not discovered in this session.");
        return Err(undiscovered(name, about, &message));
    }
    let mut found = found.into_iter();
    let Some((named, resource)) = found.next() else {
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
    context: &mut ResolvedContext,
    action: &Action,
    text: &str,
    bare: Option<interlock_protocol::ResourceKind>,
    about: &About,
    now: Timestamp,
) -> Result<Named, Box<Refusal>> {
    let mut lookup = context.lookup(text, now);
    if lookup == Lookup::Unknown
        && let Some(id) = bare.and_then(|kind| ResourceId::global(kind, text).ok())
    {
        lookup = context.lookup(&id.to_string(), now);
    }
    match lookup {
        Lookup::Found(resource) => Ok((text.to_owned(), Some(resource))),
        Lookup::Unknown => Ok((text.to_owned(), None)),
        // Looking it up is how one finds out which is which.
        Lookup::Ambiguous(_) if action.kind == ToolKind::Resolve => Ok((text.to_owned(), None)),
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
    let mut resources = found.iter().filter_map(|(_, resource)| resource.as_deref());
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
