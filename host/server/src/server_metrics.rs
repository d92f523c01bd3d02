//! Metrics of requests, answers and connections.

system::declare_metrics! {
    counter REQUESTS = "sluice_requests_total", "Responses, by route and status.";
    counter PROBES(each_model) = "sluice_probes_total", "Requests for one token that said they are a probe: no other metric, record or trace has them.";
    counter OVERDRAWN = "sluice_overdrawn_total", "Requests refused because a budget was spent, by budget.";
    counter CONNECTIONS_REFUSED(at_start) = "sluice_connections_refused_total", "Connections refused beyond the limit of concurrent ones.";
    counter STREAM_VIOLATIONS(each_model) = "sluice_stream_violations_total", "Streams that broke the event grammar.";
    counter SLOW_READERS(each_model) = "sluice_slow_readers_total", "Streams cut off because their client read nothing.";
    counter LOG_LINES_LOST(at_start) = "sluice_log_lines_lost_total", "Log lines lost because stderr did not take them.";
    gauge REQUEST_MEMORY = "sluice_request_memory_bytes", "Memory for requests that are being read.";
    gauge GRAMMAR_MEMORY = "sluice_grammar_bytes", "Memory that compiled grammars hold.";
    gauge STREAMS(each_model) = "sluice_streams", "Answers in progress.";
    gauge WEBSOCKETS(at_start) = "sluice_websockets", "Open WebSockets.";
}
