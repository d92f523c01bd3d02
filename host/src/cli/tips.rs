//! Commands and switches of other inference servers, and ours of the same meaning: who comes from
//! there reads the right one in the error.
//!
//! Called before clap reads the arguments, since of `serve` and `doctor` clap takes `-hf` for
//! `-h -f` and prints the help.

use std::ffi::OsString;

/// Commands of other programs that mean the same, and what to give in their place.
const COMMANDS: [(&[&str], &str); 8] = [
    (&["list", "ls", "tags", "show", "info"], "models"),
    (&["ps", "status"], "health, or ask a running server what it serves (GET /v1/models)"),
    (&["remove", "delete", "rmi"], "rm"),
    (&["download", "get", "fetch", "add"], "pull"),
    (&["start", "server", "api_server", "up"], "serve"),
    (&["ask", "prompt", "generate", "complete"], "run"),
    (
        &["create", "build", "push", "cp"],
        "serve --model DIR|FILE|ORG/NAME[:QUANT] (models are files, and need no registration)",
    ),
    (&["stop", "kill", "unload"], "nothing: a server ends at SIGINT or SIGTERM, once its streams have ended"),
];

/// Switches of other programs that mean the same, and what to give in their place.
const TIPS: [(&[&str], &str); 21] = [
    (
        &["--model-path", "--model-id", "-hf", "-hfr", "--hf-repo", "-mu", "--model-url"],
        "--model DIR|FILE|ORG/NAME[:QUANT] (a directory in Hugging Face's layout, a GGUF file, or a model of the hub)",
    ),
    (&["--port", "--host", "-p", "--hostname"], "--listen HOST:PORT"),
    (
        &["--max-model-len", "--ctx-size", "-c", "--context-length", "--max-total-tokens", "--max-seq-len"],
        "--context TOKENS",
    ),
    (
        &[
            "--tool-call-parser",
            "--reasoning-parser",
            "--enable-auto-tool-choice",
            "--enable-reasoning",
            "--jinja",
            "--reasoning-format",
        ],
        "--parser NAME, or nothing: the parser that claims the model is taken, and reads calls and reasoning",
    ),
    (&["-ngl", "--n-gpu-layers", "--gpu-layers"], "--device cuda (a model is on one device as a whole)"),
    (
        &[
            "--tensor-parallel-size",
            "-tp",
            "--tp-size",
            "--tp",
            "--pipeline-parallel-size",
            "--data-parallel-size",
            "--num-shard",
        ],
        "--device cuda:N (a model runs on one GPU)",
    ),
    (
        &[
            "--gpu-memory-utilization",
            "--mem-fraction-static",
            "--cuda-memory-fraction",
            "--kv-cache-memory-bytes",
        ],
        "--kv-cache MIB",
    ),
    (
        &["--parallel", "-np", "--max-running-requests", "--max-concurrent-requests", "--max-batch-size"],
        "--max-num-seqs ANSWERS",
    ),
    (
        &[
            "-b",
            "--batch-size",
            "-ub",
            "--ubatch-size",
            "--max-num-batched-tokens",
            "--chunked-prefill-size",
            "--enable-chunked-prefill",
        ],
        "nothing: prompts are computed in pieces beside running answers",
    ),
    (&["-t", "-tb", "--threads-batch"], "--threads THREADS"),
    (&["-a", "--alias", "--model-name"], "--served-model-name NAME"),
    (&["--chat-template-file", "--chat-template-path"], "--chat-template FILE"),
    (
        &["--quantization", "-q", "--load-in-4bit", "--load-in-8bit"],
        "--quantize q8|q4 (FP8 and MXFP4 are taken as they are stored)",
    ),
    (&["-ctk", "-ctv", "--cache-type-k", "--cache-type-v"], "--kv-cache-dtype f16|f32"),
    (
        &[
            "--enable-prefix-caching",
            "--cache-reuse",
            "--cache-prompt",
            "--cont-batching",
            "-cb",
            "-fa",
            "--flash-attn",
        ],
        "nothing: it is always on",
    ),
    (
        &["--speculative-config", "--speculative-algorithm", "--draft-model", "-md", "--model-draft"],
        "--speculation auto (drafts come from the prompt, without a second model)",
    ),
    (
        &["--trust-remote-code", "--tokenizer", "--tokenizer-path", "--tokenizer-mode", "--revision"],
        "nothing: the tokenizer is the model's, and no code of models is run",
    ),
    (
        &["--ssl-keyfile", "--ssl-certfile", "--ssl-key-file", "--ssl-cert-file"],
        "--tls-cert FILE --tls-key FILE",
    ),
    (&["--allowed-origins"], "--cors-origin ORIGIN"),
    (&["--api-key-file", "--api-keys"], "--api-keys-file FILE (lines NAME=KEY)"),
    (
        &["-v", "--verbose", "--verbosity", "-lv", "--log-verbosity", "--uvicorn-log-level"],
        "--log-level debug",
    ),
];

/// What to give in place of the command, or of the first argument of `serve`, that is another
/// program's; `None` if there is none.
pub(super) fn for_arguments(arguments: &[OsString]) -> Option<String> {
    let command = arguments.get(1)?.to_str()?;
    if let Some((_, ours)) = COMMANDS.iter().find(|(theirs, _)| theirs.contains(&command)) {
        return Some(format!("{command} is another program's command: give {ours}"));
    }
    if !["serve", "doctor"].contains(&command) {
        return None;
    }
    arguments[2..]
        .iter()
        .filter_map(|argument| argument.to_str())
        .take_while(|argument| *argument != "--")
        .find_map(tip)
}

fn tip(argument: &str) -> Option<String> {
    let switch = argument.split_once('=').map_or(argument, |(switch, _)| switch);
    let (_, ours) = TIPS.iter().find(|(theirs, _)| theirs.contains(&switch))?;
    Some(format!("{switch} is another program's switch: give {ours}"))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::cli::CommandLine;

    #[test]
    fn a_switch_of_another_program_is_answered_with_ours() {
        let tip = |arguments: &[&str]| {
            let arguments: Vec<OsString> = ["host"].iter().chain(arguments).map(OsString::from).collect();
            for_arguments(&arguments)
        };
        assert!(tip(&["serve", "--model", "x", "--port=1"]).unwrap().contains("--listen HOST:PORT"));
        assert!(tip(&["serve", "-hf", "x/y"]).unwrap().contains("--model"));
        assert_eq!(tip(&["list"]).unwrap(), "list is another program's command: give models");
        assert_eq!(tip(&["serve", "--model", "x", "--listen", "1"]), None);
        assert_eq!(tip(&["bench", "model", "-p", "1"]), None);
    }

    #[test]
    fn foreign_switches_are_not_ours_and_tips_exist() {
        let command = CommandLine::command();
        let serve = command.find_subcommand("serve").unwrap();
        let own: Vec<String> =
            serve.get_arguments().filter_map(|one| one.get_long()).map(|long| format!("--{long}")).collect();
        for (theirs, ours) in COMMANDS {
            assert!(theirs.iter().all(|name| command.find_subcommand(name).is_none()), "{theirs:?}");
            let named = ours.split([' ', ',', ':']).next().unwrap();
            assert!(named == "nothing" || command.find_subcommand(named).is_some(), "{ours}");
        }
        for (theirs, ours) in TIPS {
            assert!(theirs.iter().all(|switch| !own.contains(&(*switch).to_owned())), "{theirs:?}");
            let named = ours.split_whitespace().next().unwrap();
            assert!(!named.starts_with("--") || own.contains(&named.to_owned()), "{ours}");
        }
    }
}
