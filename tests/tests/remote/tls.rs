//! Engines behind `https` URLs: a certificate that the operator named is trusted, any other is
//! refused, and the reason is named.

use std::net::SocketAddr;

use tests::client::get;
use tests::fake_engine::{Action, FakeEngine, whole};
use tests::server::Setup;
use tests::tls::{acceptor, fixture};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use crate::setup::{ask, start, text};

/// An engine, and a proxy in front of it that speaks TLS with the fixtures' certificate.
struct TlsEngine {
    engine: FakeEngine,
    address: SocketAddr,
    _proxy: JoinSet<()>,
}

impl TlsEngine {
    /// Starts both; the proxy listens on a loopback address.
    async fn start(host: &str) -> Self {
        let engine =
            FakeEngine::start(|_, _| vec![Action::Send(whole("<think>\n\n</think>\n\nHello there."))]).await;
        let listener = TcpListener::bind((host, 0)).await.expect("a free port");
        let (address, behind) = (listener.local_addr().expect("bound"), engine.address);
        let acceptor = acceptor();
        let mut proxy = JoinSet::new();
        proxy.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((socket, _)) = listener.accept().await {
                let acceptor = acceptor.clone();
                connections.spawn(async move {
                    // A client that doesn't trust the certificate ends the handshake.
                    let Ok(mut client) = acceptor.accept(socket).await else { return };
                    let mut engine = TcpStream::connect(behind).await.expect("the engine listens");
                    // Errors are ignored: either side may close its connection.
                    let _ = tokio::io::copy_bidirectional(&mut client, &mut engine).await;
                });
            }
        });
        Self { engine, address, _proxy: proxy }
    }

    fn url(&self, host: &str) -> String {
        format!("https://{host}:{}", self.address.port())
    }
}

fn trusting(setup: &mut Setup) {
    setup.model.engine_ca = Some(fixture("ca.pem"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_engine_with_a_trusted_certificate_answers() {
    let engine = TlsEngine::start("127.0.0.1").await;
    for host in ["localhost", "127.0.0.1"] {
        let server = start(&engine.url(host), trusting).await;
        let answer = ask(&server).await;
        assert_eq!((answer.status.as_u16(), &*text(&answer)), (200, "Hello there."), "{:?}", answer.body);
        server.stop().await;
    }
    assert_eq!(engine.engine.received.requests().len(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn engine_with_a_wrong_certificate_is_asked_nothing() {
    let unknown = TlsEngine::start("127.0.0.1").await;
    // The certificate is trusted, but not for this address.
    let misnamed = TlsEngine::start("127.0.0.2").await;
    let servers =
        [start(&unknown.url("localhost"), |_| {}).await, start(&misnamed.url("127.0.0.2"), trusting).await];
    for server in servers {
        assert_eq!(get(server.address, "/health").await.status, 503);
        assert_eq!(ask(&server).await.status, 503);
        server.stop().await;
    }
    for engine in [unknown, misnamed] {
        assert_eq!(engine.engine.received.requests().len(), 0);
    }
}
