//! Hosts and origins that the operator names.
//!
//! Invariant: all clones have the same lists, which [`Named::replace`] replaces as a whole; the command
//! line does that when its configuration changed.

use std::sync::{Arc, PoisonError, RwLock};

use tower_http::cors::CorsLayer;

use crate::accept::cors_layer::cors_layer;
use crate::accept::origins::{CorsOrigin, HostName};

/// Hosts and origins that the operator names.
#[derive(Clone, Default)]
pub struct Named(Arc<RwLock<Arc<NamedLists>>>);

/// The lists at one time.
#[derive(Default)]
pub(crate) struct NamedLists {
    /// Host names that are allowed besides loopback names and the listen address. Any entry makes
    /// every listener check hosts.
    pub(crate) hosts: Vec<HostName>,
    /// Origins whose web pages may read answers.
    pub(crate) origins: Vec<CorsOrigin>,
    /// What adds the headers for these origins; `None` if there are none.
    pub(crate) cors: Option<CorsLayer>,
}

impl Named {
    /// These hosts and origins.
    pub fn new(hosts: Vec<HostName>, origins: Vec<CorsOrigin>) -> Self {
        let named = Self::default();
        named.replace(hosts, origins);
        named
    }

    /// Replaces both lists, in all clones.
    pub fn replace(&self, hosts: Vec<HostName>, origins: Vec<CorsOrigin>) {
        let cors = cors_layer(&origins);
        let lists = NamedLists { hosts, origins, cors };
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(lists);
    }

    pub(crate) fn lists(&self) -> Arc<NamedLists> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }
}
