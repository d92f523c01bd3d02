//! Responses that will run in the background, as they are queued.

use store::{Needs, NewResponse, Owner};

use crate::accept::app::App;
use crate::state::request::StoredRequest;
use crate::state::resolve::Resolved;
use crate::state::store_error::{refusal, store};
use api::error::ApiError;
use api::event_buffer::EventBuffer;
use api::machine::Machine;

/// Stores a response of `model` that will run in the background. Returns its id and its object, which
/// says that it waits.
///
/// # Errors
/// The store's; nothing is stored then.
pub(crate) async fn enqueue(
    app: &App,
    owner: &Owner,
    model: String,
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
    let needs = Needs { model, version: StoredRequest::VERSION };
    store(app)?.enqueue(owner, &needs, new, log).await.map_err(refusal)?;
    app.queued.notify_one();
    Ok((record.id, object))
}
