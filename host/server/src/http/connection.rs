//! One connection: hyper's HTTP/1.1 with limits on the head. It ends by the client, by the server's
//! stop, or because the client stopped reading. A client that only ends its sending side still gets
//! its answer; `socket` tells it from one that left. An answer may hand the connection over to
//! another protocol, which then has its place, and the drain waits for it.

use std::convert::Infallible;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::response::Response;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use http::{HeaderValue, Request, Version, header};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;
use tokio_util::task::task_tracker::TaskTrackerToken;
use tower::ServiceExt;

use crate::accept::app::App;
use crate::accept::capacity::{Admission, ConnectionPlace};
use crate::http::answer_body::{AnswerBody, Busy};
use crate::http::idle::Patience;
use crate::http::socket::{Link, Socket};
use crate::limits::HttpLimits;

/// Token that closes the connection of a request. Put into each request's extensions.
#[derive(Clone)]
pub(crate) struct Disconnect(pub(crate) CancellationToken);

/// Place for what goes on with the connection after a request's answer has upgraded it. Put into
/// each request's extensions.
#[derive(Clone, Default)]
pub(crate) struct Upgrade(Arc<Mutex<Option<BoxFuture<'static, ()>>>>);

impl Upgrade {
    /// Has `successor` go on with the connection after this request's answer, which has status 101.
    /// It is dropped when the connection must end.
    pub(crate) fn to(&self, successor: impl Future<Output = ()> + Send + 'static) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(successor.boxed());
    }

    fn take(&self) -> Option<BoxFuture<'static, ()>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Number of bytes read after a refused head, so that the client reads the answer.
const REFUSED_HEAD_REST: usize = 1 << 20;

/// Serves one connection, which has this place, to its end. The server's drain waits for `hold`,
/// which is given back if the connection is idle when the server is told to stop: a later request
/// on it is answered, and nothing waits for one.
pub(crate) async fn serve(
    app: App,
    router: Router,
    stream: TcpStream,
    place: ConnectionPlace,
    mut hold: Option<TaskTrackerToken>,
) {
    let limits = &app.limits.http;
    let disconnect = Disconnect(place.disconnect.clone());
    let link = Link::new(stream);
    let upgrade = Upgrade::default();
    let marks = (place.admission, disconnect.clone(), upgrade.clone());
    let service = service(app.clone(), router, marks, Arc::clone(&link));
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .half_close(true)
        // `Waiting` has this time, and another one between requests.
        .header_read_timeout(None)
        .max_headers(limits.headers)
        .max_header_size(limits.header_bytes)
        .max_buf_size(limits.header_bytes.max(64 << 10));
    let connection = builder.serve_connection(TokioIo::new(Socket::new(Arc::clone(&link))), service);
    let connection = connection.with_upgrades();
    let mut connection = std::pin::pin!(connection);
    let mut interruptions = interruptions(&app, &disconnect, &link);
    let result = loop {
        tokio::select! {
            biased;
            result = connection.as_mut() => break result,
            Some(interruption) = interruptions.next() => match interruption {
                // hyper would close it at once, perhaps while a request is on its way.
                Interruption::Stopping if link.is_idle() => drop(hold.take()),
                Interruption::Stopping => connection.as_mut().graceful_shutdown(),
                Interruption::Disconnected => return,
                Interruption::Late => return tracing::debug!("the client sent nothing in time"),
                Interruption::ClientGone => return tracing::debug!("the client left"),
            },
        }
    };
    match (result, upgrade.take()) {
        (Err(error), _) => tracing::debug!(%error, "connection ended"),
        (Ok(()), Some(successor)) => tokio::select! {
            () = successor => {}
            () = disconnect.0.cancelled() => {}
        },
        (Ok(()), None) => {}
    }
    if link.refused_head.load(Ordering::Relaxed) {
        tokio::select! {
            () = link.linger(limits.rest_time, REFUSED_HEAD_REST) => {}
            () = disconnect.0.cancelled() => {}
        }
    }
}

/// Reason outside of HTTP to end a connection.
enum Interruption {
    /// The server stops: the current answer is the last one.
    Stopping,
    /// The client has stopped reading, or a newer excess connection takes the place.
    Disconnected,
    ClientGone,
    /// The client has kept the connection waiting for too long.
    Late,
}

/// Interruptions of a connection. Each is polled only when it is woken: polling all of them at each
/// write would take locks that all connections share.
fn interruptions<'a>(
    app: &'a App,
    disconnect: &'a Disconnect,
    link: &'a Link,
) -> FuturesUnordered<BoxFuture<'a, Interruption>> {
    FuturesUnordered::from_iter([
        app.stopping.cancelled().map(|()| Interruption::Stopping).boxed(),
        disconnect.0.cancelled().map(|()| Interruption::Disconnected).boxed(),
        link.gone(app.limits.http.keep_alive).map(|()| Interruption::ClientGone).boxed(),
        link.stalled(app.limits.http.slow_reader).map(|()| Interruption::Disconnected).boxed(),
        late(app, link).map(|()| Interruption::Late).boxed(),
    ])
}

/// Ready when the client has kept the connection waiting for too long. What it hasn't taken of an
/// answer has a time of its own.
async fn late(app: &App, link: &Link) {
    loop {
        link.waiting.over(|| patience(app)).await;
        if link.is_idle() {
            return;
        }
        tokio::time::sleep(app.limits.http.header_time).await;
    }
}

/// For how long connections wait: where they are many, those between two requests wait no longer
/// than for a head.
fn patience(app: &App) -> Patience {
    let HttpLimits { header_time: head, idle_time, .. } = app.limits.http;
    Patience { head, idle: if app.capacity.is_tight() { head } else { idle_time } }
}

/// Service of one connection. It gives each request the connection's marks, and tells the socket
/// when a request waits for the head of its answer. The answer to a request that comes while the
/// server drains is the connection's last.
fn service(
    app: App,
    router: Router,
    (admission, disconnect, upgrade): (Admission, Disconnect, Upgrade),
    link: Arc<Link>,
) -> impl Service<Request<Incoming>, Response = Response<AnswerBody<Body, Busy>>, Error = Infallible, Future: Send>
{
    service_fn(move |mut request: Request<Incoming>| {
        // HTTP/1.0 has no interim answers.
        link.awaits_head.store(request.version() == Version::HTTP_11, Ordering::Relaxed);
        request.extensions_mut().insert(disconnect.clone());
        request.extensions_mut().insert(admission);
        request.extensions_mut().insert(upgrade.clone());
        let (app, router, link) = (app.clone(), router.clone(), Arc::clone(&link));
        let is_last = app.stopping.is_cancelled();
        let busy = Busy::new(Arc::clone(&link));
        async move {
            let mut answer = router.oneshot(request.map(axum::body::Body::new)).await?;
            link.awaits_head.store(false, Ordering::Relaxed);
            let headers = answer.headers_mut();
            if is_last {
                headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
            } else {
                headers.insert("keep-alive", keep_alive(patience(&app).idle));
            }
            Ok(answer.map(|body| AnswerBody { body, _kept: busy }))
        }
    })
}

/// The header that tells for how long the connection waits for the next request, so that clients
/// send none on a connection that is being closed (RFC 2068, 19.7.1.1).
fn keep_alive(idle: Duration) -> HeaderValue {
    HeaderValue::try_from(format!("timeout={}", idle.as_secs())).expect("a number is a header's value")
}

/// Applies the socket options that every connection has.
pub(crate) fn prepare(stream: &TcpStream, send_buffer: usize) {
    let socket = socket2::SockRef::from(stream);
    // A refused option costs latency or memory, never correctness.
    let _ = socket.set_tcp_nodelay(true);
    let _ = socket.set_send_buffer_size(send_buffer);
}
