//! Certificates for `localhost`, and both sides of a connection with them.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;
use tokio_rustls::{TlsAcceptor, TlsConnector};

/// Path of a file of `fixtures/tls`.
pub fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/tls").join(name)
}

/// A server's side, with `certificate.pem`.
///
/// # Panics
/// The fixtures don't belong together.
pub fn acceptor() -> TlsAcceptor {
    let certificate = CertificateDer::from_pem_file(fixture("certificate.pem")).expect("a certificate");
    let key = PrivateKeyDer::from_pem_file(fixture("key.pem")).expect("a key");
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("ring knows them");
    let config =
        config.with_no_client_auth().with_single_cert(vec![certificate], key).expect("they belong together");
    TlsAcceptor::from(Arc::new(config))
}

/// A connection to `localhost` at `address`, for HTTP of either version, whose certificate must be
/// signed by that of the fixture `ca`.
///
/// # Errors
/// The handshake fails.
///
/// # Panics
/// There is no connection.
pub async fn connect(address: SocketAddr, ca: &str) -> std::io::Result<TlsStream<TcpStream>> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(fixture(ca)).expect("a certificate")).expect("a CA's");
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("ring knows them");
    let mut config = config.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let stream = TcpStream::connect(address).await.expect("a connection");
    let name = ServerName::try_from("localhost").expect("a name");
    TlsConnector::from(Arc::new(config)).connect(name, stream).await
}
