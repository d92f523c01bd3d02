//! Reads a request's body. It must be JSON by its content type and stay within limits of size, time
//! and account; it may be compressed.
//!
//! Invariant: every byte of a body that is held is charged to the request's account [`COPIES`]
//! times, since reading copies its strings.

use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use bytes::{Bytes, BytesMut};
use http::Version;
use http_body_util::BodyExt;

use crate::accept::app::App;
use crate::accept::content_encoding::{self, ContentEncoding};
use crate::limits::{HttpLimits, ServerLimits};
use crate::server_metrics::OVERDRAWN;
use accounts::{Account, AccountLimits, Overdrawn, Principal, largest_account};
use api::error::ApiError;
use api::limits::RequestLimits;
use api::{Defaults, Document, JsonObject, References, references};
use model::Model;

/// Factor for the memory that reading a body may take: the body, its strings with escapes resolved,
/// and what is kept of them.
pub(crate) const COPIES: usize = 3;
/// Largest body that is read on the task's own thread, in bytes: it takes less than a millisecond.
const SMALL: usize = 64 << 10;

/// Size of the largest body that can be read, in bytes, if `owners` share the memory.
pub fn largest_body(limits: &AccountLimits, owners: usize) -> usize {
    largest_account(limits, owners) / COPIES
}

/// A body that has arrived, and the account that it is charged to.
struct Arrived {
    bytes: Bytes,
    encoding: ContentEncoding,
    account: Account,
}

/// A request's body after the first step of its reading: checked whole, with what it refers to, and
/// the account that it is charged to. It borrows nothing, so a handler may wait for what the
/// request refers to before it reads the rest.
pub(crate) struct CheckedBody {
    document: Document,
    references: References,
    account: Account,
}

/// A body that came as a message: what was peeked of it, and whether the whole can be used.
pub(crate) type Peeked<T> = (T, Result<CheckedBody, ApiError>);

/// Waits for the body of a JSON request, and checks it.
pub(crate) async fn check_json(app: &App, request: Request) -> Result<CheckedBody, ApiError> {
    let arrived = arrive(app, request).await?;
    let size = if arrived.encoding == ContentEncoding::None { arrived.bytes.len() } else { usize::MAX };
    let (server, principal) = (app.clone(), arrived.account.principal().clone());
    work(app, principal, size, move || arrived.check(&server.limits)).await
}

/// Works for a request of `principal` on a body of `size` bytes. That on a large one is done on a
/// blocking thread, at few of them a time, for which keys take turns.
async fn work<T: Send + 'static>(
    app: &App,
    principal: Principal,
    size: usize,
    work: impl FnOnce() -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    if size <= SMALL {
        return work();
    }
    let turn = app.readers.ask(&principal);
    let _turn = turn.await.map_err(|_| ApiError::unavailable("The server is stopping."))?;
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| {
        tracing::error!(panicked = error.is_panic(), "reading a body failed");
        Err(ApiError::internal("The server failed to read this request."))
    })
}

impl Arrived {
    fn check(self, limits: &ServerLimits) -> Result<CheckedBody, ApiError> {
        let Self { bytes, encoding, mut account } = self;
        let (document, references) = account.meter().run(|| {
            let bytes = content_encoding::unpack(bytes, encoding, limits.http.body_bytes, |bytes| {
                hold(&mut account, bytes)
            })?;
            let mut document = Document::read(bytes, &limits.request)?;
            let references = references(&mut document)?;
            Ok((document, references))
        })?;
        account.check_cpu().map_err(refusal)?;
        Ok(CheckedBody { document, references, account })
    }
}

impl CheckedBody {
    /// The first step for a body that came as a message of a socket. `account` was charged for it
    /// while it came. `peek` reads fields that are the message's own.
    ///
    /// # Errors
    /// The message is no JSON object, or the account is overdrawn.
    pub(crate) async fn of_message<T: Send + 'static>(
        app: &App,
        mut account: Account,
        text: Bytes,
        peek: impl FnOnce(&JsonObject<'_>) -> T + Send + 'static,
    ) -> Result<Peeked<T>, ApiError> {
        account.check_cpu().map_err(refusal)?;
        let missing = text.len().saturating_mul(COPIES).saturating_sub(account.held());
        account.hold(missing).map_err(refusal)?;
        let (server, principal) = (app.clone(), account.principal().clone());
        work(app, principal, text.len(), move || {
            let (peeked, checked) = account.meter().run(|| {
                let mut document = Document::read(text, &server.limits.request)?;
                let peeked = peek(&document.body());
                let references = references(&mut document);
                Ok((peeked, references.map(|references| (document, references))))
            })?;
            let checked = checked.map(|(document, references)| CheckedBody { document, references, account });
            Ok((peeked, checked))
        })
        .await
    }

    /// Checks the `text` of a body that came otherwise than as a request's, on an account of
    /// `principal`.
    pub(crate) async fn of_text(app: &App, principal: &Principal, text: Bytes) -> Result<Self, ApiError> {
        let mut account = app.accounts.open(principal.clone());
        account.check_cpu().map_err(refusal)?;
        hold(&mut account, text.len())?;
        let (server, size) = (app.clone(), text.len());
        let arrived = Arrived { bytes: text, encoding: ContentEncoding::None, account };
        work(app, principal.clone(), size, move || arrived.check(&server.limits)).await
    }

    /// The body's text.
    pub(crate) fn text(&self) -> &Bytes {
        self.document.text()
    }

    /// The body's text, and the account that pays for it.
    pub(crate) fn into_parts(self) -> (Bytes, Account) {
        (self.document.text().clone(), self.account)
    }

    /// Reads what the request refers to in the words of its protocol.
    pub(crate) async fn refer<T: Send + 'static>(
        mut self,
        app: &App,
        read: impl FnOnce(&JsonObject<'_>) -> Result<T, ApiError> + Send + 'static,
    ) -> Result<(Self, T), ApiError> {
        let principal = self.account.principal().clone();
        work(app, principal, self.document.size(), move || {
            let meter = self.account.meter();
            let done = meter.run(|| read(&self.document.body()))?;
            self.document.reset();
            Ok((self, done))
        })
        .await
    }

    /// Charges the request for `copies` of `bytes` beside its body.
    pub(crate) fn hold(&mut self, bytes: usize, copies: usize) -> Result<(), ApiError> {
        self.account.hold(bytes.saturating_mul(copies)).map_err(refusal)
    }

    /// Lends the account to `pay`, which gives it back with what it has paid for.
    pub(crate) async fn pay<T>(
        self,
        pay: impl AsyncFnOnce(Account) -> Result<(T, Account), ApiError>,
    ) -> Result<(Self, T), ApiError> {
        let Self { document, references, account } = self;
        let (paid, account) = pay(account).await?;
        Ok((Self { document, references, account }, paid))
    }

    /// Makes something of `size` bytes for the request, which pays the CPU time.
    pub(crate) async fn make<T: Send + 'static>(
        self,
        app: &App,
        size: usize,
        make: impl FnOnce(&RequestLimits) -> Result<T, ApiError> + Send + 'static,
    ) -> Result<(Self, T), ApiError> {
        let (server, principal) = (app.clone(), self.account.principal().clone());
        work(app, principal, size, move || {
            let done = self.account.meter().run(|| make(&server.limits.request))?;
            Ok((self, done))
        })
        .await
    }

    /// The second step: reads the body with the defaults of its model. Returns the result of
    /// `read`, the model, and the account that is charged for it.
    pub(crate) async fn read<T: Send + 'static>(
        self,
        app: &App,
        read: impl FnOnce(&JsonObject<'_>, &Defaults, &Model) -> Result<T, ApiError> + Send + 'static,
    ) -> Result<(T, Model, Account), ApiError> {
        let Self { document, references, account } = self;
        let (server, principal) = (app.clone(), account.principal().clone());
        work(app, principal, document.size(), move || {
            let (done, model) = account.meter().run(|| {
                let (model, defaults) = server.pick(references.model.as_deref())?;
                let defaults = defaults.for_owner(account.principal());
                Ok((read(&document.body(), &defaults, model)?, model.on_account(&account)))
            })?;
            account.check_cpu().map_err(refusal)?;
            Ok((done, model, account))
        })
        .await
    }

    /// The name of the model that it asks for, if it names one.
    pub(crate) fn asked_model(&self) -> Option<&str> {
        self.references.model.as_deref()
    }

    /// The second step for a body that no model answers.
    pub(crate) async fn read_without_model<T: Send + 'static>(
        self,
        app: &App,
        read: impl FnOnce(&JsonObject<'_>, &Defaults) -> Result<T, ApiError> + Send + 'static,
    ) -> Result<(T, Account), ApiError> {
        let Self { document, account, .. } = self;
        let (server, principal) = (app.clone(), account.principal().clone());
        work(app, principal, document.size(), move || {
            let defaults = server.any_defaults().for_owner(account.principal());
            let done = account.meter().run(|| read(&document.body(), &defaults))?;
            account.check_cpu().map_err(refusal)?;
            Ok((done, account))
        })
        .await
    }
}

/// Checks a request's headers and waits for its whole body.
async fn arrive(app: &App, request: Request) -> Result<Arrived, ApiError> {
    let limits = &app.limits.http;
    check_type(&request)?;
    let encoding = content_encoding::of_headers(request.headers())?;
    let principal = request.extensions().get::<Principal>().cloned().unwrap_or_default();
    let mut account = app.accounts.open(principal);
    let refused =
        account.check_cpu().map_err(refusal).and_then(|()| check_length(&request, limits.body_bytes));
    let comes_unasked = !waits_to_be_asked(&request);
    let mut body = request.into_body();
    if let Err(error) = refused {
        if comes_unasked {
            discard(body, limits).await;
        }
        return Err(error);
    }
    // The first read makes hyper send `100 Continue`, if the client waits for that.
    let whole = gather(&mut body, &mut account, limits.body_bytes, limits.body_time).await;
    if whole.as_ref().is_err_and(|error| matches!(error.status, 413 | 503)) {
        // The bytes so far are no longer needed, and the rest is discarded.
        drop(account);
        discard(body, limits).await;
        return Err(whole.err().unwrap_or_else(|| ApiError::too_large(limits.body_bytes)));
    }
    Ok(Arrived { bytes: whole?, encoding, account })
}

/// Charges `bytes` of a body, or of what it refers to, to its account.
pub(crate) fn hold(account: &mut Account, bytes: usize) -> Result<(), ApiError> {
    account.hold(bytes.saturating_mul(COPIES)).map_err(refusal)
}

/// The refusal of a request whose account is overdrawn.
pub(crate) fn refusal(overdrawn: Overdrawn) -> ApiError {
    metrics::counter!(OVERDRAWN.name(), "what" => overdrawn.what()).increment(1);
    match overdrawn {
        Overdrawn::Cpu { retry_after } => ApiError::rate_limited(retry_after.as_secs() + 1),
        Overdrawn::Memory | Overdrawn::PrincipalMemory => {
            ApiError::unavailable(format!("Too much is being read at once: {overdrawn}. Please try again."))
        }
        Overdrawn::Request { most } => {
            let message = format!(
                "With what it continues and refers to, this request takes more than the {most} bytes of memory that one may have (--request-memory): compact the conversation, refer to fewer items, or begin anew."
            );
            ApiError::invalid(None, message).with_code("context_length_exceeded")
        }
    }
}

/// Whether the client sends its body only after `100 Continue` (RFC 9110, 10.1.1).
fn waits_to_be_asked(request: &Request) -> bool {
    let expects = request.headers().get(http::header::EXPECT);
    request.version() > Version::HTTP_10
        && expects.is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"100-continue"))
}

/// Discards the body of a refused request, if the client sends it without waiting for
/// `100 Continue`.
pub(crate) async fn discard_unasked(request: Request, limits: &HttpLimits) {
    if !waits_to_be_asked(&request) {
        discard(request.into_body(), limits).await;
    }
}

/// Discards the rest of a refused body, up to twice the size limit and for a short time. Most
/// clients read an answer only after they have sent everything; a client whose connection is closed
/// before that never learns the reason.
async fn discard(mut body: Body, limits: &HttpLimits) {
    let mut left = limits.body_bytes.saturating_mul(2);
    let discarding = async {
        while let Some(Ok(frame)) = body.frame().await {
            left = left.saturating_sub(frame.data_ref().map_or(0, Bytes::len));
            if left == 0 {
                return;
            }
        }
    };
    // A slower client loses the answer.
    let _ = tokio::time::timeout(limits.rest_time, discarding).await;
}

fn check_type(request: &Request) -> Result<(), ApiError> {
    let value = request.headers().get(http::header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let essence = value.and_then(|text| text.split(';').next()).unwrap_or_default().trim();
    if essence.eq_ignore_ascii_case("application/json") {
        Ok(())
    } else {
        Err(ApiError::unsupported_media_type("Expected a body of type application/json."))
    }
}

/// Refuses a body whose `Content-Length` is above the limit, before reading it.
fn check_length(request: &Request, limit: usize) -> Result<(), ApiError> {
    let length = request.headers().get(http::header::CONTENT_LENGTH).and_then(|value| value.to_str().ok());
    match length.and_then(|text| text.parse::<u64>().ok()) {
        Some(length) if length > limit as u64 => Err(ApiError::too_large(limit)),
        _ => Ok(()),
    }
}

async fn gather(
    body: &mut Body,
    account: &mut Account,
    limit: usize,
    time: Duration,
) -> Result<Bytes, ApiError> {
    let reading = async {
        let mut whole = BytesMut::new();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|_| ApiError::invalid(None, "The request body ended early."))?;
            let Ok(data) = frame.into_data() else { continue };
            if whole.len() + data.len() > limit {
                return Err(ApiError::too_large(limit));
            }
            hold(account, data.len())?;
            whole.extend_from_slice(&data);
        }
        Ok(whole.freeze())
    };
    tokio::time::timeout(time, reading).await.unwrap_or_else(|_| {
        let message = format!("The request body took longer than {} s.", time.as_secs());
        Err(ApiError { status: 408, ..ApiError::invalid(None, message) })
    })
}
