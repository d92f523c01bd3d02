//! Arrangement of the help of `serve` and `doctor`: the switches that people use first, then all others under
//! headings. `-h` shows the former only.

use clap::Command;

/// The switches that people use first, in this order.
const FIRST: [&str; 12] = [
    "model",
    "listen",
    "api_key",
    "parser",
    "engine",
    "device",
    "context",
    "kv_cache",
    "max_num_seqs",
    "threads",
    "served_model_name",
    "mcp",
];

/// Headings of the others, with the switches below each.
const GROUPS: [(&str, &[&str]); 8] = [
    (
        "Model and prompt",
        &[
            "chat_template",
            "template_argument",
            "load_format",
            "reasoning_events",
            "seal_key",
            "compaction_prompt",
        ],
    ),
    (
        "Speed and memory",
        &[
            "quantize",
            "dtype",
            "kv_cache_dtype",
            "kv_share",
            "no_enable_prefix_caching",
            "speculation",
            "repack",
            "queue_timeout",
            "cuda_libs",
            "kernel_cache",
            "deterministic",
        ],
    ),
    (
        "Parsers",
        &["plugins", "parser_option", "parser_sha256", "parser_cache", "parser_fault", "draft_contracts"],
    ),
    ("Stored responses", &["store", "store_sync"]),
    ("Remote engines", &["engine_kind", "engine_key", "engine_ca"]),
    ("Tools that the server runs", &["mcp_request_urls"]),
    (
        "Access and logs",
        &[
            "admin_listen",
            "api_keys_file",
            "allow_host",
            "cors_origin",
            "no_websocket",
            "check_streams",
            "log_json",
            "log_level",
        ],
    ),
    ("Metrics and traces", &["metrics_prefix", "otlp_endpoint"]),
];

/// Arranges the switches of `serve`, which are those of `doctor`, too.
pub(super) fn arranged(command: Command) -> Command {
    command.mut_subcommand("serve", arranged_serve).mut_subcommand("doctor", |doctor| {
        arranged_serve(doctor).mut_arg("json", |json| json.display_order(FIRST.len()))
    })
}

fn arranged_serve(serve: Command) -> Command {
    let serve = serve.mut_args(|argument| {
        let id = argument.get_id().as_str().to_owned();
        if let Some(place) = FIRST.iter().position(|first| *first == id) {
            return argument.display_order(place);
        }
        match GROUPS.iter().find(|(_, ids)| ids.contains(&&*id)) {
            Some((heading, _)) => argument.help_heading(*heading).hide_short_help(true),
            None => argument,
        }
    });
    let help = format!("`host {} --help` shows all switches, with their limits.", serve.get_name());
    serve.after_help(help).after_long_help("")
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::super::CommandLine;
    use super::*;

    #[test]
    fn each_switch_has_one_place() {
        let command = arranged(CommandLine::command());
        let serve = command.find_subcommand("serve").expect("it is there");
        let ids: Vec<&str> = serve.get_arguments().map(|one| one.get_id().as_str()).collect();
        let grouped = GROUPS.iter().flat_map(|(_, ids)| *ids);
        let mut placed: Vec<&str> = FIRST.iter().chain(grouped).copied().collect();
        assert!(placed.iter().all(|id| ids.contains(id)), "{placed:?} {ids:?}");
        let limits = serve
            .get_arguments()
            .filter(|one| one.get_help_heading().is_some_and(|heading| heading.starts_with("Limits")));
        placed.extend(limits.map(|one| one.get_id().as_str()));
        let left: Vec<_> = ids.iter().filter(|id| !placed.contains(id)).collect();
        assert!(left.is_empty(), "{left:?} have no heading");
        placed.sort_unstable();
        assert!(placed.windows(2).all(|pair| pair[0] != pair[1]), "{placed:?}");
    }
}
