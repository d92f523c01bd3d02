//! The server: the accept loop and the graceful stop.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use axum::Router;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use super::{admin, connection, metrics, routes};
use crate::accept::app::App;
use crate::accept::capacity::ConnectionPlace;
use crate::accept::tls::Tls;
use crate::page::InspectorLink;
use crate::state::background::run_claimed;
use crate::state::upkeep::upkeep;
use crate::state::{exchange, store_upkeep};

/// A server that is bound to its addresses.
pub struct Server {
    listener: TcpListener,
    tls: Option<Tls>,
    admin: Option<TcpListener>,
    app: App,
}

impl Server {
    /// Binds to `address`. Requests are answered after `run` is called.
    pub async fn bind(address: SocketAddr, app: App) -> std::io::Result<Self> {
        Ok(Self::on(TcpListener::bind(address).await?, None, app))
    }

    /// Makes a server on listening sockets; `admin` is for the routes of operators.
    pub fn on(listener: TcpListener, admin: Option<TcpListener>, app: App) -> Self {
        Self { listener, tls: None, admin, app }
    }

    /// Speaks TLS on the first address.
    #[must_use]
    pub fn with_tls(self, tls: Option<Tls>) -> Self {
        Self { tls, ..self }
    }

    /// Binds a second address, for the routes of operators. Returns the bound address.
    pub async fn bind_admin(&mut self, address: SocketAddr) -> std::io::Result<SocketAddr> {
        let listener = self.admin.insert(TcpListener::bind(address).await?);
        listener.local_addr()
    }

    /// The address for operators, if it is bound.
    pub fn admin_address(&self) -> std::io::Result<Option<SocketAddr>> {
        self.admin.as_ref().map(TcpListener::local_addr).transpose()
    }

    /// The bound address, with the port that the system chose if 0 was given.
    pub fn address(&self) -> std::io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until `stop` is ready, then drains: open streams get the grace period to end, and
    /// those left after it get closing events and are closed. The listeners stay open meanwhile, so
    /// that probes and clients are told; what they open doesn't prolong the drain.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        let Self { listener, tls, admin, app } = self;
        metrics::register(&app.models);
        if let Some(store) = app.store.clone() {
            app.tasks.spawn(store_upkeep::run(store, app.stopping.clone()));
        }
        let router =
            routes::router(app.clone(), ip_of(&listener), inspector_link(&app, &listener, admin.as_ref()));
        let admin_router = admin::router(app.clone(), ip_of(admin.as_ref().unwrap_or(&listener)));
        let mut connections = Connections { app: &app, tasks: JoinSet::new() };
        let mut end = std::pin::pin!(async {
            stop.await;
            drain(&app).await;
        });
        // The drain waits for neither, and leases are renewed to its end.
        let mut keepers = JoinSet::new();
        keepers.spawn(upkeep(app.clone()));
        keepers.spawn(run_claimed(app.clone()));
        keepers.spawn(exchange::look(app.clone()));
        if let Some(traces) = app.traces.clone() {
            keepers.spawn(traces.run());
        }
        let mut upkeep = tokio::time::interval(Duration::from_secs(5));
        loop {
            tokio::select! {
                () = end.as_mut() => break,
                accepted = listener.accept() => {
                    if let Some(stream) = ready(accepted).await
                        && let Some(place) = app.capacity.admit().await
                    {
                        connections.serve(&router, stream, tls.as_ref(), place);
                    }
                }
                accepted = accept_admin(admin.as_ref()) => {
                    if let Some(stream) = ready(accepted).await {
                        connections.serve(&admin_router, stream, None, ConnectionPlace::uncounted());
                    }
                }
                _ = upkeep.tick() => metrics::upkeep(),
            }
        }
        // Nothing of the server is left when this returns: its store may be opened again.
        connections.tasks.shutdown().await;
        if let Some(traces) = &app.traces {
            traces.flush().await;
        }
        keepers.shutdown().await;
        if let Some(store) = &app.store {
            // Another one finds out by itself.
            let _ = store.leave().await;
        }
    }
}

/// The accepted connections, each in a task. Dropping it closes those that are left.
struct Connections<'a> {
    app: &'a App,
    tasks: JoinSet<()>,
}

impl Connections<'_> {
    /// Serves a connection. The drain waits for it if it was accepted before.
    fn serve(&mut self, router: &Router, stream: TcpStream, tls: Option<&Tls>, place: ConnectionPlace) {
        let app = self.app;
        connection::prepare(&stream, app.limits.http.send_buffer);
        let hold = (!app.stopping.is_cancelled()).then(|| app.tasks.token());
        while self.tasks.try_join_next().is_some() {}
        let tls = tls.map(Tls::acceptor);
        self.tasks.spawn(connection::serve(app.clone(), router.clone(), stream, tls, place, hold));
    }
}

/// The address of a listener; if the system doesn't say, the loopback address, for which `Host`
/// headers are checked.
fn ip_of(listener: &TcpListener) -> IpAddr {
    listener.local_addr().map_or(Ipv4Addr::LOCALHOST.into(), |address| address.ip())
}

/// The link to the inspector, if it can show answers.
fn inspector_link(app: &App, main: &TcpListener, admin: Option<&TcpListener>) -> Option<InspectorLink> {
    let admin = admin.filter(|_| app.taps.is_some())?.local_addr().ok()?;
    Some(InspectorLink { admin, main: ip_of(main) })
}

/// Next connection of the admin listener; never ready without one.
async fn accept_admin(listener: Option<&TcpListener>) -> std::io::Result<(TcpStream, SocketAddr)> {
    match listener {
        Some(listener) => listener.accept().await,
        None => std::future::pending().await,
    }
}

/// The accepted connection; an error is logged and waited out.
async fn ready(accepted: std::io::Result<(TcpStream, SocketAddr)>) -> Option<TcpStream> {
    match accepted {
        Ok((stream, _)) => Some(stream),
        Err(error) => {
            // The process is probably out of file descriptors: waiting lets connections end, while
            // retrying at once would spin.
            tracing::warn!(%error, "can't accept a connection");
            tokio::time::sleep(Duration::from_millis(50)).await;
            None
        }
    }
}

async fn drain(app: &App) {
    app.stopping.cancel();
    app.tasks.close();
    let (began, seconds) = (Instant::now(), app.limits.http.grace.as_secs());
    tracing::info!(tasks = app.tasks.len(), seconds, "stopping: waiting for streams to end");
    if tokio::time::timeout(app.limits.http.grace, app.tasks.wait()).await.is_err() {
        tracing::warn!(tasks = app.tasks.len(), "the time is over: what still runs fails");
        app.aborting.cancel();
        let last = Duration::from_secs(2);
        if tokio::time::timeout(last, app.tasks.wait()).await.is_err() {
            tracing::warn!(tasks = app.tasks.len(), "connections were still open at the end");
        }
    }
    let ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    tracing::info!(ms, "stopped");
}
