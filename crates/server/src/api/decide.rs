//! Deciding about what waits: open, approve, deny, edit.
//!
//! The secret that opening draws goes into the answer of that one request and nowhere else: no log, no event, no address.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use http::{HeaderValue, header};
use interlock_gate::{ApprovalToken, Hold};
use interlock_protocol::{ContentHash, HoldId};
use serde_json::json;
use utoipa_axum::routes;

use super::alerts::not_empty;
use super::answers::{Anybody, Bodies, Clash, Missing, Signed};
use super::extract::{At, Sent, text, wrong};
use super::hold::{self, Depth};
use crate::access::{Access, Caller};
use crate::app::App;
use crate::auth::hex;
use crate::problem::{Code, Problem};
use crate::routes::Routes;
use crate::wire::{Approval, Approve, Deny, Edit, OpenedApproval};

/// The routes.
pub(crate) fn routes() -> Routes {
    Routes::new()
        .route(Access::Approve, routes!(open))
        .route(Access::Approve, routes!(approve))
        .route(Access::Approve, routes!(deny))
        .route(Access::Approve, routes!(edit))
}

/// Open a hold to decide about it.
///
/// Draws the secret with which this approver may approve it, once, for ten minutes at most.
#[utoipa::path(
    post, path = "/api/v1/approvals/{id}/open", operation_id = "openApproval", tag = "approvals",
    params(("id" = String, Path, min_length = 1, max_length = 128, description = "The hold")),
    responses(
        (status = 200, description = "The hold and the secret; kept by nobody on the way", body = OpenedApproval),
        Anybody, Signed, Missing, Clash,
    ),
)]
async fn open(State(app): State<App>, caller: Caller, At(hold): At<HoldId>) -> Result<Response, Problem> {
    seen(&app, &hold).await?;
    let approver = app.engine().approver(&hold, &caller.person()).await?;
    let opened = app.engine().open_hold(&approver).await?;
    let form = OpenedApproval {
        approval: hold::form(&app, &caller, &opened.hold, Depth::Whole).await?,
        token: hex(opened.token.reveal()),
        expires_at: opened.expires_at,
    };
    let mut response = Json(form).into_response();
    response
        .headers_mut()
        .insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

/// The hold, if its session is there and not deleted.
async fn seen(app: &App, hold: &HoldId) -> Result<Hold, Problem> {
    let hold = app.store().hold(hold).await?;
    super::visible(app, &hold.plan.session).await?;
    Ok(hold)
}

/// The secret as it was sent: 64 lower-case hexadecimal digits and nothing else.
fn secret(text: &str) -> Result<ApprovalToken, Problem> {
    let value = |digit: u8| match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    };
    let read = || {
        let digits: &[u8; 64] = text.as_bytes().try_into().ok()?;
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            let [high, low] = pair else {
                return None;
            };
            *byte = value(*high)? << 4 | value(*low)?;
        }
        Some(ApprovalToken::from_bytes(bytes))
    };
    read().ok_or_else(|| {
        wrong(
            "token",
            "`token` is not what opening the approval gave: 64 digits of 0-9 and a-f",
        )
        .hint("open the approval first: POST /api/v1/approvals/{id}/open")
    })
}

/// Refuses to go on with another plan than the one that was shown.
async fn same_plan(app: &App, hold: &HoldId, shown: &str) -> Result<(), Problem> {
    let shown: ContentHash = shown
        .parse()
        .map_err(|_| wrong("plan_hash", "`plan_hash` is no hash: 64 digits of 0-9 and a-f"))?;
    let hold = seen(app, hold).await?;
    if hold.plan_hash != shown {
        return Err(
            Problem::new(Code::Conflict, "the plan is not the one that was shown")
                .hint("look at the approval again")
                .details(json!({"plan_hash": hold.plan_hash})),
        );
    }
    Ok(())
}

/// Approve a hold.
///
/// Needs the secret from opening it and the hash of the plan that was shown. Of two approvals at the same time one wins.
#[utoipa::path(
    post, path = "/api/v1/approvals/{id}/approve", operation_id = "approveHold", tag = "approvals",
    params(("id" = String, Path, min_length = 1, max_length = 128, description = "The hold")),
    request_body(content = Approve),
    responses(
        (status = 200, description = "The hold, approved; its session goes on", body = Approval),
        Anybody, Signed, Missing, Clash, Bodies,
    ),
)]
async fn approve(
    State(app): State<App>,
    caller: Caller,
    At(hold): At<HoldId>,
    Sent(yes): Sent<Approve>,
) -> Result<Json<Approval>, Problem> {
    let token = secret(&yes.token)?;
    same_plan(&app, &hold, &yes.plan_hash).await?;
    let approver = app.engine().approver(&hold, &caller.person()).await?;
    let hold = app.engine().approve_with(&approver, &token).await?;
    Ok(Json(hold::form(&app, &caller, &hold, Depth::Whole).await?))
}

/// Deny a hold.
///
/// The agent is told the reason, and goes on without.
#[utoipa::path(
    post, path = "/api/v1/approvals/{id}/deny", operation_id = "denyHold", tag = "approvals",
    params(("id" = String, Path, min_length = 1, max_length = 128, description = "The hold")),
    request_body(content = Deny, example = json!({"reason": "not during office hours"})),
    responses(
        (status = 200, description = "The hold, denied; its session goes on", body = Approval),
        Anybody, Signed, Missing, Clash, Bodies,
    ),
)]
async fn deny(
    State(app): State<App>,
    caller: Caller,
    At(hold): At<HoldId>,
    Sent(no): Sent<Deny>,
) -> Result<Json<Approval>, Problem> {
    text("reason", &no.reason, 1, 2000)?;
    not_empty("reason", &no.reason)?;
    seen(&app, &hold).await?;
    let decider = app.engine().decider(&hold, &caller.person()).await?;
    let hold = app.engine().deny(&decider, no.reason.trim()).await?;
    Ok(Json(hold::form(&app, &caller, &hold, Depth::Whole).await?))
}

/// Change the plan of a hold.
///
/// The new plan passes the whole gate and waits in a hold of its own, which comes back. Where the gate refuses it, the old
/// hold stays as it is.
#[utoipa::path(
    post, path = "/api/v1/approvals/{id}/edit", operation_id = "editHold", tag = "approvals",
    params(("id" = String, Path, min_length = 1, max_length = 128, description = "The hold")),
    request_body(content = Edit),
    responses(
        (status = 200, description = "The new hold", body = Approval),
        Anybody, Signed, Missing, Clash, Bodies,
    ),
)]
async fn edit(
    State(app): State<App>,
    caller: Caller,
    At(hold): At<HoldId>,
    Sent(changed): Sent<Edit>,
) -> Result<Json<Approval>, Problem> {
    same_plan(&app, &hold, &changed.plan_hash).await?;
    let decider = app.engine().decider(&hold, &caller.person()).await?;
    let hold = app.engine().edit(&decider, changed.arguments).await?;
    Ok(Json(hold::form(&app, &caller, &hold, Depth::Whole).await?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_opening_gave_is_a_secret() {
        let bytes: [u8; 32] = std::array::from_fn(|at| u8::try_from(at * 7 % 256).unwrap());
        let text = hex(&bytes);
        assert_eq!(text.len(), 64);
        assert_eq!(secret(&text).map(|token| *token.reveal()).ok(), Some(bytes));
        for wrong in [
            String::new(),
            text.to_uppercase(),
            text[1..].to_owned(),
            format!("{text}0"),
            format!(" {}", &text[1..]),
            format!("{}é", &text[2..]),
            "g".repeat(64),
            "\0".repeat(64),
        ] {
            let problem = secret(&wrong).unwrap_err();
            assert_eq!(problem.code(), Code::InvalidInput, "{wrong:?}");
            // Also a wrong secret may be nearly the right one.
            assert!(
                wrong.is_empty() || !format!("{problem:?}").contains(&wrong),
                "{problem:?}"
            );
        }
    }

    #[test]
    fn the_secret_shows_itself_to_nobody() {
        let text = "0123456789abcdef".repeat(4);
        let yes: Approve =
            serde_json::from_value(json!({"token": text, "plan_hash": "0".repeat(64)})).unwrap();
        assert!(!format!("{yes:?}").contains(&text));
    }
}
