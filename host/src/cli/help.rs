//! Arrangement of the help of commands that load models: the switches that people use first, then
//! all others under headings. `-h` shows the former only.

use clap::{Args as _, Command};
use system::program;

use super::models::ModelArguments;

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
const GROUPS: [(&str, &[&str]); 9] = [
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
        &[
            "plugins",
            "tool_calls",
            "reasoning_budget",
            "parser_option",
            "parser_sha256",
            "parser_cache",
            "parser_fault",
            "draft_contracts",
        ],
    ),
    ("Stored responses", &["store", "store_sync", "store_connections", "store_password_file", "store_ca"]),
    ("Records of answers", &["record", "record_failed", "record_sample", "redact", "inspect"]),
    ("Remote engines", &["engine_kind", "engine_reasoning_budget", "engine_key", "engine_ca"]),
    ("Tools that the server runs", &["mcp_request_urls"]),
    (
        "Access and logs",
        &[
            "config",
            "print_config",
            "admin_listen",
            "tls_cert",
            "tls_key",
            "api_keys_file",
            "allow_host",
            "cors_origin",
            "no_websocket",
            "no_page",
            "check_streams",
            "log_json",
            "log_level",
        ],
    ),
    ("Metrics and traces", &["metrics_prefix", "public_metrics", "otlp_endpoint"]),
];

/// Arranges the switches of `serve`, which are those of `doctor`, too, and of the commands that ask.
pub(super) fn arranged(command: Command) -> Command {
    let command = command.mut_subcommand("serve", arranged_serve).mut_subcommand("doctor", |doctor| {
        arranged_serve(doctor).mut_arg("json", |json| json.display_order(FIRST.len()))
    });
    ["run", "chat", "launch"]
        .into_iter()
        .fold(command, |command, name| command.mut_subcommand(name, arranged_client))
}

/// Heading of the switches that mean nothing to a server elsewhere.
const IN_PROCESS: &str = "Without --url: the model in this process";

/// Arranges the switches of a command that asks another server, or loads a model. Those of the
/// model are refused beside a URL, rather than ignored; only its name is for both.
fn arranged_client(client: Command) -> Command {
    let loading = ModelArguments::augment_args(Command::new("model"));
    let is_of_models = |id: &str| loading.get_arguments().any(|one| one.get_id() == id);
    let is_loading = |id: &str| id != "model" && (id == "mcp_request_urls" || is_of_models(id));
    let client = client.mut_args(|argument| {
        if !is_loading(argument.get_id().as_str()) {
            let is_of_files = ["config", "print_config"].contains(&argument.get_id().as_str());
            return argument.hide_short_help(is_of_files);
        }
        let is_first = FIRST.contains(&argument.get_id().as_str());
        argument.conflicts_with("url").help_heading(IN_PROCESS).hide_short_help(!is_first)
    });
    with_hint(client)
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
    with_hint(serve)
}

fn with_hint(command: Command) -> Command {
    let help =
        format!("`{} {} --help` shows all switches, with their limits.", program::name(), command.get_name());
    command.after_help(help).after_long_help("")
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::cli::CommandLine;

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
