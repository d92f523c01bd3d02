//! Reader of `mcp_servers` and of the tools `mcp_toolset` and `web_search_DATE`: tools that the server runs
//! for a request.

use super::fields::WEB_SEARCH;
use super::{fields, known_tools, search};
use crate::agent::{self, Hosted, HostedToolKind, HostedTools};
use crate::error::ApiError;
use crate::json::JsonObject;
use crate::tools::{TOOLS, ToolChoiceField, domains};
use crate::warnings::Warnings;
use mcp::{Approval, McpServers, RequestServerError, UrlError};
use net::printable::printable;

/// Type of the tools that say which of a server's tools are used.
pub(super) const TOOLSET: &str = "mcp_toolset";

/// Why the web isn't searched.
const NO_SEARCH: &str = "the web is not searched here: the server's operator configured no tool server for it (`web_search` in --mcp)";

/// Most servers of a request, as in Anthropic's API.
const MOST_SERVERS: usize = 20;

/// Reads the servers that a request names; none if it names none.
///
/// # Errors
/// 400 for a server that can't be used here, and for a set of tools of none.
pub(super) fn read(
    body: &JsonObject<'_>,
    servers: &McpServers,
    warnings: &mut Warnings,
) -> Result<Option<Hosted>, ApiError> {
    let mut hosted = Hosted { needs_lists: true, ..Hosted::default() };
    let list = body.list(fields::MCP_SERVERS)?;
    list.check_len(MOST_SERVERS, "servers")?;
    for server in list.objects() {
        let server = server?;
        warnings.fields(&server, &[fields::MCP_SERVER])?;
        let (name, url) = (server.require(fields::NAME)?, server.require(fields::SERVER_URL)?);
        if hosted.tools.iter().any(|tools| tools.server.label() == name) {
            return Err(server.at(fields::NAME).invalid("two servers have this name"));
        }
        let found = match servers.get(name) {
            Some(configured) => {
                warnings.add(format!("url ignored: {} is configured here", printable(name)));
                configured
            }
            None => {
                servers.of_request(name, url, headers(&server)?).map_err(|error| refusal(&server, &error))?
            }
        };
        let mut tools = HostedTools::new(found, HostedToolKind::Mcp, Approval::Never);
        if let Some(which) = server.get(fields::TOOL_CONFIGURATION)? {
            let allowed = which.list(fields::ALLOWED_TOOLS)?;
            tools.allowed = which.value(fields::ALLOWED_TOOLS).map(|_| allowed.texts()).transpose()?;
            if which.get(fields::ENABLED)? == Some(false) {
                tools.allowed = Some(Vec::new());
            }
        }
        hosted.tools.push(tools);
    }
    let declared = body.list(TOOLS)?;
    for tool in declared.objects() {
        let tool = tool?;
        match tool.get(fields::TYPE.optional())? {
            Some(TOOLSET) => toolset(&tool, &mut hosted, warnings)?,
            Some(kind) if is_hosted(kind) => match search::tools(servers) {
                Some(tools) => add_search(&tool, tools, &mut hosted)?,
                // A request that has no other tool is for a search.
                None if declared.iter().nth(1).is_none() => {
                    return Err(tool.at(fields::TYPE).unsupported(NO_SEARCH));
                }
                // Clients offer all tools that they know.
                None => warnings.add(format!("tool of type {} ignored", printable(kind))),
            },
            _ => {}
        }
    }
    Ok((!hosted.tools.is_empty()).then_some(hosted))
}

/// The choice among the client's tools, once that of the search of the web is noted.
pub(super) fn forced(hosted: &mut Hosted, choice: ToolChoiceField) -> ToolChoiceField {
    if choice == ToolChoiceField::Named(WEB_SEARCH.to_owned()) {
        hosted.force(HostedToolKind::WebSearch, None, agent::WEB_SEARCH);
    }
    if hosted.forced.is_some() { ToolChoiceField::Required } else { choice }
}

/// Whether tools of this type are the server's.
pub(super) fn is_hosted(kind: &str) -> bool {
    kind == TOOLSET || known_tools::family(kind) == WEB_SEARCH
}

/// Adds the tools with which the model searches the web, once: of two, neither may lose its bounds.
fn add_search(tool: &JsonObject<'_>, tools: HostedTools, hosted: &mut Hosted) -> Result<(), ApiError> {
    if hosted.tools.iter().any(|other| other.kind == tools.kind) {
        return Err(tool.at(fields::TYPE).invalid("there is a search of the web already: send one"));
    }
    hosted.max_calls = tool.get(fields::MAX_USES)?;
    hosted.tools.push(HostedTools { domains: domains(tool)?, ..tools });
    Ok(())
}

fn headers(server: &JsonObject<'_>) -> Result<Vec<(String, String)>, ApiError> {
    let token = server.get(fields::AUTHORIZATION_TOKEN)?;
    Ok(token.map(|token| ("authorization".to_owned(), format!("Bearer {token}"))).into_iter().collect())
}

fn refusal(server: &JsonObject<'_>, error: &RequestServerError) -> ApiError {
    match error {
        RequestServerError::Url(UrlError::Forbidden) => server.at(fields::SERVER_URL).unsupported(
            "this server does not connect to servers that requests name (--mcp-request-urls): ask its operator for one by name",
        ),
        RequestServerError::Header(_) => server.at(fields::AUTHORIZATION_TOKEN).invalid(error),
        RequestServerError::Url(_) => server.at(fields::SERVER_URL).invalid(error),
    }
}

/// Notes which of a server's tools are used.
fn toolset(tool: &JsonObject<'_>, hosted: &mut Hosted, warnings: &mut Warnings) -> Result<(), ApiError> {
    let name = tool.require(fields::MCP_SERVER_NAME)?;
    let of_name = hosted.tools.iter_mut().find(|tools| tools.server.label() == name);
    let Some(tools) = of_name else {
        let what = format_args!("no server in mcp_servers has the name {}", printable(name));
        return Err(tool.at(fields::MCP_SERVER_NAME).invalid(what));
    };
    let is_enabled = |config: &JsonObject<'_>| config.get(fields::ENABLED);
    let default = tool.get(fields::DEFAULT_CONFIG)?.as_ref().map_or(Ok(None), is_enabled)?.unwrap_or(true);
    let mut enabled = Vec::new();
    if let Some(configs) = tool.get(fields::CONFIGS)? {
        for (name, config) in configs.fields() {
            let config = JsonObject::new(config, configs.path.field(name))?;
            warnings.fields(&config, &[fields::TOOL_CONFIG])?;
            let list = if is_enabled(&config)?.unwrap_or(default) { &mut enabled } else { &mut tools.denied };
            list.push(name.to_owned());
        }
    }
    if !default {
        tools.allowed = Some(enabled);
    }
    Ok(())
}
