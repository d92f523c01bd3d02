//! Responses that will run in the background, as they are queued.

use store::{NewResponse, Owner};

use crate::accept::app::App;
use crate::state::request::StoredRequest;
use crate::state::resolve::Resolved;
use crate::state::store_error::{refusal, store};
use api::error::ApiError;
use api::event_buffer::EventBuffer;
use api::machine::Machine;

/// Stores a response that will run in the background. Returns its id and its object, which says
/// that it waits.
///
/// # Errors
/// The store's; nothing is stored then.
pub(crate) async fn enqueue(
    app: &App,
    owner: &Owner,
    machine: &mut dyn Machine,
    resolved: Resolved,
) -> Result<(String, String), ApiError> {
    let mut buffer = EventBuffer::new();
    machine.queue(&mut buffer);
    let log = buffer.iter().map(|(_, json)| json.to_vec()).collect();
    let record = machine.record().expect("only responses run in the background");
    let object = String::from_utf8(record.object.clone()).expect("JSON is UTF-8");
    let new = NewResponse {
        id: record.id.clone(),
        link: resolved.link,
        request: StoredRequest::write(record.object, resolved.bare),
        input: resolved.input,
    };
    store(app)?.enqueue(owner, new, log).await.map_err(refusal)?;
    app.queued.notify_one();
    Ok((record.id, object))
}
