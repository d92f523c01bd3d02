//! All tool servers that requests may use.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::config::{Approval, Endpoint, McpConfig, ServerConfig, UrlEndpoint};
use super::config_file::header;
use super::request_url::{RequestUrls, UrlError};
use super::server::{McpServer, register_metrics};
use crate::limits::McpLimits;

/// The operator's servers, and whether requests may bring others. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct McpServers(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    servers: BTreeMap<String, Arc<McpServer>>,
    web_search: Option<String>,
    code_interpreter: Option<String>,
    request_urls: RequestUrls,
    limits: McpLimits,
}

impl McpServers {
    /// Makes the configured servers; each is connected to at its first use.
    pub fn new(config: McpConfig, request_urls: RequestUrls, limits: &McpLimits) -> Self {
        config.servers.keys().for_each(|label| register_metrics(label));
        let server = |(label, config): (String, ServerConfig)| {
            (label.clone(), Arc::new(McpServer::new(label, config, limits.clone())))
        };
        Self(Arc::new(Shared {
            servers: config.servers.into_iter().map(server).collect(),
            web_search: config.web_search,
            code_interpreter: config.code_interpreter,
            request_urls,
            limits: limits.clone(),
        }))
    }

    /// Server with this label.
    pub fn get(&self, label: &str) -> Option<Arc<McpServer>> {
        self.0.servers.get(label).cloned()
    }

    /// All configured servers, by label.
    pub fn all(&self) -> impl Iterator<Item = &McpServer> {
        self.0.servers.values().map(Arc::as_ref)
    }

    /// Server behind `web_search`.
    pub fn web_search(&self) -> Option<Arc<McpServer>> {
        self.0.web_search.as_deref().and_then(|label| self.get(label))
    }

    /// Server behind `code_interpreter`.
    pub fn code_interpreter(&self) -> Option<Arc<McpServer>> {
        self.0.code_interpreter.as_deref().and_then(|label| self.get(label))
    }

    /// Makes a server for a URL that a request names, for this request only.
    pub fn of_request(
        &self,
        label: &str,
        url: &str,
        headers: Vec<(String, String)>,
    ) -> Result<Arc<McpServer>, RequestServerError> {
        self.0.request_urls.check(url)?;
        let headers = headers.into_iter().map(header).collect::<Result<_, _>>();
        let headers = headers.map_err(RequestServerError::Header)?;
        let config = ServerConfig {
            endpoint: Endpoint::Url(UrlEndpoint { headers, ..UrlEndpoint::new(url) }),
            allowed_tools: None,
            require_approval: Approval::Always,
            timeout: None,
        };
        let public = self.0.request_urls == RequestUrls::Public;
        Ok(Arc::new(McpServer::new(label, config, self.0.limits.clone()).of_request(public)))
    }
}

/// Why a server that a request brings is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RequestServerError {
    /// The URL is refused.
    #[error(transparent)]
    Url(#[from] UrlError),
    /// A header can't be sent.
    #[error("{0}")]
    Header(String),
}
