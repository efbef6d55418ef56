//! Routing: a call that runs inside its target must not run on the host of what is meant.

use interlock_protocol::{ErrorCode, ResourceId, name_key, short_name};
use jiff::Timestamp;

use crate::catalogue::Placement;
use crate::context::{ResolvedContext, ResolvedResource};
use crate::refusal::{About, Refusal};
use crate::resolution::Resolved;
use crate::rule::Rule;

pub(crate) fn check(
    context: &ResolvedContext,
    placement: Placement,
    resolved: &Resolved,
    about: &About,
    now: Timestamp,
) -> Result<(), Box<Refusal>> {
    match placement {
        Placement::About => return Ok(()),
        Placement::Inside => {}
    }
    let Some(named) = resolved.named.as_deref() else {
        return Ok(());
    };
    check_one(context, named, resolved.resource.as_deref(), about, now)?;
    for other in &resolved.others {
        let (named, resource) = (other.text.as_str(), other.resource.as_deref());
        if !is_host_of(resolved, named, resource) {
            check_one(context, named, resource, about, now)?;
        }
    }
    Ok(())
}

/// Whether this only says where the known target lives.
fn is_host_of(resolved: &Resolved, named: &str, other: Option<&ResolvedResource>) -> bool {
    let Some(target) = resolved.resource.as_deref() else {
        return false;
    };
    match (other, target.id.host()) {
        (Some(other), _) if other.id == target.id => true,
        (Some(other), Some(host)) => other.answers_as_host(host),
        (None, Some(host)) => host_name(named) == name_key(host),
        (_, None) => false,
    }
}

/// The name that children would have for a host that was not discovered: the uid of an id, or the text itself.
fn host_name(named: &str) -> String {
    named
        .parse::<ResourceId>()
        .map_or_else(|_| name_key(named), |id| name_key(id.uid()))
}

fn check_one(
    context: &ResolvedContext,
    named: &str,
    resource: Option<&ResolvedResource>,
    about: &About,
    now: Timestamp,
) -> Result<(), Box<Refusal>> {
    let host = host_name(named);
    let children: Vec<&ResolvedResource> = if let Some(parent) = resource {
        context.explicit_children_of(parent, now).collect()
    } else {
        let by_name = context.explicit_children_of_name(&host, now);
        // A name with a domain may be that of a host whose children know it without.
        let short = short_name(&host).into_iter();
        let by_short_name = short.flat_map(|short| context.explicit_children_of_name(short, now));
        by_name.chain(by_short_name).collect()
    };
    let Some(nearest) = children.first() else {
        return Ok(());
    };
    let child_names: Vec<&str> = children.iter().map(|child| child.name.as_str()).collect();
    let ids: Vec<String> = children.iter().map(|child| child.id.to_string()).collect();
    let host_kind = resource.map_or("host", |parent| parent.id.kind().as_str());
    let mut refusal = Refusal::new(
        Rule::Routing,
        ErrorCode::RoutingMismatch,
        about.clone(),
        format!(
            "`{named}` is the {host_kind} on which [{}] lives, and that was asked for by itself.",
            child_names.join(", ")
        ),
    )
    .detail("target_host", named)
    .detail("target_kind", host_kind)
    .detail("child_kind", nearest.id.kind().as_str())
    .detail("more_specific_resources", child_names.clone())
    .detail("more_specific_resource_ids", ids.clone());
    // With several children, naming one would be guessing.
    if let ([id], [name]) = (ids.as_slice(), child_names.as_slice()) {
        refusal = refusal.detail("target_resource_id", id.as_str()).hint(format!(
            "target_resource_id='{id}' (preferred) or target_host='{name}' names it."
        ));
    } else {
        refusal =
            refusal.hint("One of more_specific_resource_ids as target_resource_id names what is meant.");
    }
    Err(refusal)
}
