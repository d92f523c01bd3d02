//! `--tls-cert` and `--tls-key`: the certificate that clients are shown.

use std::path::PathBuf;

use server::accept::Identity;

#[derive(clap::Args)]
pub(super) struct TlsArguments {
    /// Certificates in PEM, the server's own first: clients are answered by `https` then. Read
    /// again at SIGHUP. The admin address stays plain HTTP [default: none].
    #[arg(long, value_name = "FILE")]
    tls_cert: Option<PathBuf>,
    /// The key of that certificate, in PEM.
    #[arg(long, value_name = "FILE")]
    tls_key: Option<PathBuf>,
}

impl TlsArguments {
    /// The identity of the server, read anew; none where it speaks plain HTTP.
    pub(super) fn identity(&self) -> anyhow::Result<Option<Identity>> {
        let (certificates, key) = match (&self.tls_cert, &self.tls_key) {
            (Some(certificates), Some(key)) => (certificates, key),
            (None, None) => return Ok(None),
            (Some(_), None) => anyhow::bail!("--tls-cert: its key is missing: name it by --tls-key"),
            (None, Some(_)) => anyhow::bail!("--tls-key: its certificate is missing: name it by --tls-cert"),
        };
        let switch = |error: server::accept::IdentityError| {
            let switch = if error.file == *certificates { "--tls-cert" } else { "--tls-key" };
            anyhow::anyhow!("{switch} {error}")
        };
        Ok(Some(Identity::read(certificates, key).map_err(switch)?))
    }
}
