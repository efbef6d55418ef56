//! Routing: a call that runs inside its target must not run on the host of what is meant.

use interlock_protocol::ErrorCode;
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
    let children: Vec<&ResolvedResource> = match resolved.resource.as_deref() {
        Some(parent) => context.explicit_children_of(parent, now).collect(),
        None => context.explicit_children_of_name(named, now).collect(),
    };
    let Some(nearest) = children.first() else {
        return Ok(());
    };
    let child_names: Vec<&str> = children.iter().map(|child| child.name.as_str()).collect();
    let ids: Vec<String> = children.iter().map(|child| child.id.to_string()).collect();
    let host_kind = resolved
        .resource
        .as_ref()
        .map_or("host", |parent| parent.id.kind().as_str());
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
