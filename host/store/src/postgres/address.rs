//! Where a database is, and how it is connected to.

use std::fmt;
use std::pin::Pin;

use tokio_postgres::config::{Host, SslMode};
use tokio_postgres::{Client, Config, Error, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::{OpenCause, OpenError};

/// What drives a connection while its client waits for answers.
pub(crate) type Driven = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A database, and the schema of it that has the tables.
#[derive(Clone)]
pub(crate) struct Address {
    config: Config,
    tls: Option<MakeRustlsConnect>,
    /// Name of the schema, quoted.
    pub(crate) schema: String,
}

impl Address {
    /// The database at a URL as Postgres' programs read it, with a schema's name.
    pub(crate) fn read(
        url: &str,
        schema: &str,
        tls: Option<&rustls::ClientConfig>,
    ) -> Result<Self, OpenError> {
        let wrong = |why: &dyn fmt::Display| OpenError::new(OpenCause::Content, "postgres", why);
        // Certificates are verified whenever there is TLS.
        let url = url
            .replace("sslmode=verify-full", "sslmode=require")
            .replace("sslmode=verify-ca", "sslmode=require");
        let mut config: Config = url.parse().map_err(|e: Error| {
            // The cause names the parameter; nothing of the URL, which may have a password, is told.
            let cause = std::error::Error::source(&e).map_or_else(|| e.to_string(), ToString::to_string);
            wrong(&format!("its URL can't be read: {cause}; write postgres://USER@HOST/DATABASE"))
        })?;
        if config.get_hosts().is_empty() {
            return Err(wrong(&"its URL names no host; write postgres://USER@HOST/DATABASE"));
        }
        let is_encrypted = match config.get_ssl_mode() {
            SslMode::Disable => false,
            SslMode::Prefer => !config.get_hosts().iter().all(is_local),
            _ => true,
        };
        config.ssl_mode(if is_encrypted { SslMode::Require } else { SslMode::Disable });
        config.application_name("sluice");
        let tls = match tls {
            Some(tls) if is_encrypted => Some(MakeRustlsConnect::new(tls.clone())),
            None if is_encrypted => return Err(wrong(&"TLS is to be spoken, and trusts nothing")),
            _ => None,
        };
        Ok(Self { config, tls, schema: format!("\"{}\"", schema.replace('"', "\"\"")) })
    }

    /// Sets the password, where the URL has none.
    pub(crate) fn with_password(mut self, password: Option<&str>) -> Self {
        if let Some(password) = password.filter(|_| self.config.get_password().is_none()) {
            self.config.password(password);
        }
        self
    }

    /// A new connection: the client, and what drives it.
    pub(crate) async fn connect(&self) -> Result<(Client, Driven), Error> {
        // A connection that ends is found closed where it is used next.
        if let Some(tls) = &self.tls {
            let (client, connection) = self.config.connect(tls.clone()).await?;
            return Ok((client, Box::pin(async { drop(connection.await) })));
        }
        let (client, connection) = self.config.connect(NoTls).await?;
        Ok((client, Box::pin(async { drop(connection.await) })))
    }
}

/// Whether what goes to this host stays on this machine.
fn is_local(host: &Host) -> bool {
    match host {
        Host::Tcp(name) => {
            name == "localhost" || name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
        }
        Host::Unix(_) => true,
    }
}

/// Without user and password.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Postgres at ")?;
        for (index, host) in self.config.get_hosts().iter().enumerate() {
            let comma = if index > 0 { ", " } else { "" };
            match host {
                Host::Tcp(name) => write!(f, "{comma}{name}")?,
                Host::Unix(path) => write!(f, "{comma}{}", path.display())?,
            }
        }
        Ok(())
    }
}
