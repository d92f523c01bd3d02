//! Requests as records have them, and recorded requests read again.

use bytes::Bytes;

use super::error::ApiError;
use super::ids::{Clock, IdSeed, Ids};
use super::request::{ApiRequest, Defaults, read_body};
use super::responses::{Continuation, Queued, WholeInput};
use super::{Protocol, responses};
use crate::limits::RequestLimits;
use model::record::line::{ContinuationLine, RecordHead};

/// What a record has of a request's continuation.
pub fn continuation_line(continuation: &Continuation) -> ContinuationLine {
    let Continuation { whole, store, prompt_only: _, queued } = continuation;
    let (input, before) = whole.as_ref().map(WholeInput::parts).unzip();
    let text = |text: &Bytes| String::from_utf8_lossy(text).into_owned();
    ContinuationLine {
        input: input.map(text),
        before: before.unwrap_or_default(),
        store: *store,
        queued: queued.clone().map(|Queued { id, created_at, events }| (id, created_at, events)),
    }
}

/// Reads a recorded request again: its ids and times are the recorded ones.
///
/// # Errors
/// The record has no body, or this server reads it otherwise.
pub fn read(head: &RecordHead, defaults: &Defaults, clock: &Clock) -> Result<ApiRequest, ApiError> {
    let wrong = |what: &str| ApiError::invalid(None, what.to_owned());
    let body = head.body.as_deref().ok_or_else(|| wrong("it was redacted: it has no body"))?;
    let protocol = Protocol::named(&head.protocol).ok_or_else(|| wrong("its protocol is unknown"))?;
    let seed = IdSeed::from_hex(&head.id_seed).ok_or_else(|| wrong("its seed is no seed"))?;
    let continuation =
        Continuation { prompt_only: head.prompt_only, ..continuation(&head.continuation, &defaults.limits)? };
    let ids = Ids::seeded(seed);
    read_body(body.as_bytes(), &defaults.limits, |body| match protocol {
        Protocol::Responses if head.compacts => responses::compact(body, &continuation, defaults, ids, clock),
        Protocol::Responses => responses::read_continuing(body, &continuation, defaults, ids, clock),
        _ => protocol.read_object(body, defaults, ids, clock),
    })
}

fn continuation(line: &ContinuationLine, limits: &RequestLimits) -> Result<Continuation, ApiError> {
    let ContinuationLine { input, before, store, queued } = line.clone();
    let whole = input.map(|text| WholeInput::of_parts(Bytes::from(text), before, limits)).transpose()?;
    let queued = queued.map(|(id, created_at, events)| Queued { id, created_at, events });
    Ok(Continuation { whole, store, queued, prompt_only: false })
}
