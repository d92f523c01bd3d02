//! CA certificates for servers behind `https` URLs: the system's (or those of `SSL_CERT_FILE` and `SSL_CERT_DIR`), or only those of a file
//! that the operator names for one server.

use std::path::Path;
use std::sync::Once;

use reqwest::{Certificate, ClientBuilder};
use rustls::CertificateError;

/// Sets up TLS for a client of one server. If the server's URL isn't `https`, no certificates are loaded.
pub(crate) fn with_tls(
    builder: ClientBuilder,
    is_https: bool,
    ca_file: Option<&Path>,
) -> Result<ClientBuilder, String> {
    static PROVIDER: Once = Once::new();
    PROVIDER.call_once(|| {
        // An error means that a provider is installed already, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
    Ok(match ca_file {
        _ if !is_https => {
            let nobody = rustls::RootCertStore::empty();
            let tls = rustls::ClientConfig::builder().with_root_certificates(nobody).with_no_client_auth();
            builder.tls_backend_preconfigured(tls)
        }
        Some(file) => builder.tls_certs_only(certificates(file)?),
        None => builder,
    })
}

/// Certificates of a PEM file; at least one.
pub(crate) fn certificates(file: &Path) -> Result<Vec<Certificate>, String> {
    let place = file.display();
    let pem = std::fs::read(file).map_err(|error| format!("{place}: {error}"))?;
    let certificates = Certificate::from_pem_bundle(&pem);
    let certificates =
        certificates.map_err(|error| format!("{place}: no PEM file of certificates: {error}"))?;
    if certificates.is_empty() {
        return Err(format!("{place} holds no certificate: expected PEM"));
    }
    Ok(certificates)
}

/// Description of a certificate's fault, without names.
pub(crate) fn words(error: &CertificateError) -> &'static str {
    match error {
        CertificateError::UnknownIssuer => "is of an issuer that is not trusted here",
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => "has expired",
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => "is not valid yet",
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "is for another name"
        }
        CertificateError::Revoked => "is revoked",
        _ => "is not valid",
    }
}
