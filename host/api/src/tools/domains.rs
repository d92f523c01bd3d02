//! Reader of the domains to which a request restricts a search of the web.

use std::sync::Arc;

use crate::agent::{Domain, Domains};
use crate::error::ApiError;
use crate::fields::{Row, TEXTS, table};
use crate::json::{Field, JsonObject, List};

/// Most domains of a search, as in `OpenAI`'s API.
const MOST_DOMAINS: usize = 100;

table! {
    pub(crate) DOMAIN_FIELDS {
        ALLOWED_DOMAINS: Field<List<'_>> = Field::new(
            "allowed_domains",
            "only what is found there, and on subdomains, is shown; at most 100; not beside `blocked_domains`",
        )
        .of(TEXTS);
        BLOCKED_DOMAINS: Field<List<'_>> = Field::new("blocked_domains", "what is found there is not shown").of(TEXTS);
    }
}

/// The domains that an object with these fields names; `None` if it names none.
///
/// # Errors
/// 400 for both lists together, and for what is no domain.
pub(crate) fn domains(object: &JsonObject<'_>) -> Result<Option<Arc<Domains>>, ApiError> {
    let allowed = list(object, ALLOWED_DOMAINS)?;
    let blocked = list(object, BLOCKED_DOMAINS)?;
    let domains = match (allowed.is_empty(), blocked.is_empty()) {
        (true, true) => return Ok(None),
        (false, true) => Domains::Only(allowed),
        (true, false) => Domains::AllBut(blocked),
        (false, false) => {
            let what = "expected either allowed_domains or blocked_domains, and got both";
            return Err(object.at(BLOCKED_DOMAINS).invalid(what));
        }
    };
    Ok(Some(Arc::new(domains)))
}

fn list(object: &JsonObject<'_>, field: Field<List<'_>>) -> Result<Vec<Domain>, ApiError> {
    let list = object.list(field)?;
    list.check_len(MOST_DOMAINS, "domains")?;
    let read = |written: String| Domain::parse(&written).map_err(|what| list.path.invalid(what));
    list.texts()?.into_iter().map(read).collect()
}
