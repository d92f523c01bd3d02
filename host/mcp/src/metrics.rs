//! Metrics of tool servers.

system::declare_metrics! {
    counter TOOL_CALLS = "sluice_tool_calls_total", "Calls of tools, by tool server and outcome.";
    counter TOOL_FLOODS = "sluice_tool_floods_total", "Connections that ended because a tool server sent too much, by tool server.";
}
