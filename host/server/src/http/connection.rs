//! One connection: hyper's HTTP/1.1 with limits on the head, over TLS where the server has it. It ends by the client, by the server's
//! stop, or because the client stopped reading. A client that only ends its sending side still gets
//! its answer; `socket` tells it from one that left. An answer may hand the connection over to
//! another protocol, which then has its place, and the drain waits for it.

use std::convert::Infallible;
use std::pin::Pin;
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
use hyper::server::conn::http1::{self, UpgradeableConnection};
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::task_tracker::TaskTrackerToken;
use tower::ServiceExt;

use crate::accept::app::App;
use crate::accept::capacity::{Admission, ConnectionPlace};
use crate::http::answer_body::{AnswerBody, Busy};
use crate::http::idle::Patience;
use crate::http::own_answers::OwnAnswers;
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

/// Serves one connection, which has this place, to its end; with `tls` after a handshake, for which
/// a client has as long as for a head. The server's drain waits for `hold`, which is given back if
/// the connection is idle when the server is told to stop: a later request on it is answered, and
/// nothing waits for one.
pub(crate) async fn serve(
    app: App,
    router: Router,
    stream: TcpStream,
    tls: Option<TlsAcceptor>,
    place: ConnectionPlace,
    hold: Option<TaskTrackerToken>,
) {
    let disconnect = Disconnect(place.disconnect.clone());
    let link = Link::new(stream);
    let mut watch = Watch { link: &link, interruptions: interruptions(&app, &disconnect, &link), hold };
    let socket = Socket::new(Arc::clone(&link));
    let connection = Connection {
        upgrade: Upgrade::default(),
        is_secure: tls.is_some(),
        router,
        place: &place,
        disconnect: &disconnect,
    };
    match tls {
        None => connection.answer(&app, socket, &mut watch).await,
        Some(acceptor) => {
            let handshake = std::pin::pin!(acceptor.accept(socket));
            match watch.run(handshake, |_| {}).await {
                Some(Ok(stream)) => connection.answer(&app, stream, &mut watch).await,
                Some(Err(error)) => tracing::debug!(%error, "the client shook no hands"),
                None => {}
            }
        }
    }
}

/// A connection on which requests are answered.
struct Connection<'a> {
    upgrade: Upgrade,
    /// Whether its bytes are encrypted: what is no answer can't be written between them.
    is_secure: bool,
    router: Router,
    place: &'a ConnectionPlace,
    disconnect: &'a Disconnect,
}

impl Connection<'_> {
    async fn answer<S>(self, app: &App, stream: S, watch: &mut Watch<'_>)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let Self { upgrade, is_secure, router, place, disconnect } = self;
        let (limits, link) = (&app.limits.http, watch.link);
        let marks = (place.admission, disconnect.clone(), upgrade.clone());
        let service = service(app.clone(), router, marks, Arc::clone(link), !is_secure);
        let mut builder = http1::Builder::new();
        builder
            .timer(TokioTimer::new())
            // A client that ends its sending side of TLS has gone: nothing tells it from one that has.
            .half_close(!is_secure)
            // `Waiting` has this time, and another one between requests.
            .header_read_timeout(None)
            .max_headers(limits.headers)
            .max_header_size(limits.header_bytes)
            .max_buf_size(limits.header_bytes.max(64 << 10));
        let stream = OwnAnswers::new(stream, Arc::clone(link));
        let connection = builder.serve_connection(TokioIo::new(stream), service).with_upgrades();
        let connection = std::pin::pin!(connection);
        let Some(result) = watch.run(connection, UpgradeableConnection::graceful_shutdown).await else {
            return;
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
}

/// What can end a connection beside its client.
struct Watch<'a> {
    link: &'a Arc<Link>,
    interruptions: FuturesUnordered<BoxFuture<'a, Interruption>>,
    hold: Option<TaskTrackerToken>,
}

impl Watch<'_> {
    /// Runs `work`, which `stop` ends soon where the server stops; `None` if the connection has to
    /// end before.
    async fn run<W: Future>(
        &mut self,
        mut work: Pin<&mut W>,
        stop: impl Fn(Pin<&mut W>),
    ) -> Option<W::Output> {
        loop {
            tokio::select! {
                biased;
                done = work.as_mut() => return Some(done),
                Some(interruption) = self.interruptions.next() => match interruption {
                    // hyper would close it at once, perhaps while a request is on its way.
                    Interruption::Stopping if self.link.is_idle() => drop(self.hold.take()),
                    Interruption::Stopping => stop(work.as_mut()),
                    Interruption::Disconnected => return None,
                    Interruption::Late => {
                        tracing::debug!("the client sent nothing in time");
                        return None;
                    }
                    Interruption::ClientGone => {
                        tracing::debug!("the client left");
                        return None;
                    }
                },
            }
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
/// when a request waits for the head of its answer, where interim answers can be written. The answer to a request that comes while the
/// server drains is the connection's last.
fn service(
    app: App,
    router: Router,
    (admission, disconnect, upgrade): (Admission, Disconnect, Upgrade),
    link: Arc<Link>,
    may_write_between: bool,
) -> impl Service<Request<Incoming>, Response = Response<AnswerBody<Body, Busy>>, Error = Infallible, Future: Send>
{
    service_fn(move |mut request: Request<Incoming>| {
        // HTTP/1.0 has no interim answers.
        let awaits_head = may_write_between && request.version() == Version::HTTP_11;
        link.awaits_head.store(awaits_head, Ordering::Relaxed);
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
