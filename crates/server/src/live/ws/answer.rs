//! What a client asks for, and what it is told.

use super::super::subscriber::{Refused, Subscriber};
use super::super::{Channel, Request, frame};
use crate::problem::Code;

/// The largest page of a channel's past.
const MAX_PAGE: u32 = 1000;
/// How large a page is if nothing else is said.
const PAGE: u32 = 200;

/// What a request comes to.
pub(super) async fn answer(subscriber: &mut Subscriber, request: Request) -> String {
    match request {
        Request::Ping {} => frame::pong(),
        Request::Subscribe { channel, after } => match channel.parse::<Channel>() {
            Ok(channel) => match subscriber.subscribe(&channel, after).await {
                Ok(position) => frame::confirmed(&channel, position),
                Err(refused) => refusal(&channel.to_string(), &refused),
            },
            Err(error) => no_channel(&channel, &error.to_string()),
        },
        Request::Unsubscribe { channel } => match channel.parse::<Channel>() {
            Ok(channel) => {
                subscriber.unsubscribe(&channel);
                frame::ended(&channel)
            }
            Err(error) => no_channel(&channel, &error.to_string()),
        },
        Request::Catchup {
            channel,
            after,
            limit,
        } => match channel.parse::<Channel>() {
            Ok(channel) => past(subscriber, &channel, after, limit.unwrap_or(PAGE)).await,
            Err(error) => no_channel(&channel, &error.to_string()),
        },
    }
}

async fn past(subscriber: &Subscriber, channel: &Channel, after: u64, limit: u32) -> String {
    let named = channel.to_string();
    if !(1..=MAX_PAGE).contains(&limit) {
        let message = format!("`limit` is between 1 and {MAX_PAGE}");
        return frame::refused(&named, Code::InvalidInput, &message);
    }
    match subscriber.past(channel, after, limit).await {
        Ok((events, more)) => frame::page(channel, &events, more),
        Err(refused) => refusal(&named, &refused),
    }
}

/// A channel's name comes back as it was sent, but not without end.
fn no_channel(named: &str, message: &str) -> String {
    let shown: String = named.chars().take(100).collect();
    frame::refused(&shown, Code::InvalidInput, message)
}

fn refusal(channel: &str, refused: &Refused) -> String {
    let code = match refused {
        Refused::Unknown => Code::NotFound,
        Refused::TooMany => Code::RateLimited,
        Refused::Store(error) => {
            tracing::warn!(%error, channel, "a channel cannot be read");
            Code::Unavailable
        }
    };
    frame::refused(channel, code, &refused.to_string())
}
