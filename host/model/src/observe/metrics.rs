//! Metrics of turns, answers and parsers. Names that vLLM has, too, stand without their prefix, which
//! is the operator's (`--metrics-prefix`).

system::declare_metrics! {
    gauge RUNNING = "num_requests_running", "Requests that the engine works on.";
    gauge WAITING = "num_requests_waiting", "Requests that wait for the engine.";
    gauge KV_CACHE_USAGE = "kv_cache_usage_perc", "Share of the KV cache that sequences hold.";
    gauge CACHE_CONFIG = "cache_config_info", "Size and number of the KV cache's blocks, as labels.";
    counter PREEMPTIONS = "num_preemptions_total", "Sequences that lost their KV blocks.";
    counter DRAFTED = "spec_decode_num_draft_tokens_total", "Draft tokens that were run.";
    counter ACCEPTED = "spec_decode_num_accepted_tokens_total", "Draft tokens that were accepted.";
    counter PROMPT_TOKENS = "prompt_tokens_total", "Tokens of prompts.";
    counter GENERATION_TOKENS = "generation_tokens_total", "Generated tokens.";
    counter CACHE_QUERIES = "prefix_cache_queries_total", "Prompt tokens that were looked up in the prefix cache.";
    counter CACHE_HITS = "prefix_cache_hits_total", "Prompt tokens that were found there.";
    counter SUCCESS = "request_success_total", "Turns that have ended.";
    histogram FIRST_TOKEN = "time_to_first_token_seconds", "Time from a request to the first event of its answer.";
    histogram TOKEN_GAP = "inter_token_latency_seconds", "Time between two tokens.";
    histogram TOKEN_GAP_BEFORE = "time_per_output_token_seconds", "Time between two tokens, under vLLM's older name.";
    histogram MEAN_TOKEN_GAP = "request_time_per_output_token_seconds", "Mean time between two tokens of a turn.";
    histogram LATENCY = "e2e_request_latency_seconds", "Time from a request to the end of its answer.";
    histogram QUEUE_TIME = "request_queue_time_seconds", "Time in the engine's queue.";
    histogram PREFILL_TIME = "request_prefill_time_seconds", "Time from the queue's end to the first token.";
    histogram DECODE_TIME = "request_decode_time_seconds", "Time from the first token to the last.";
    histogram PROMPT_LENGTH = "request_prompt_tokens", "Length of prompts.";
    histogram GENERATION_LENGTH = "request_generation_tokens", "Length of answers.";
    histogram LONGEST_GENERATION = "request_max_num_generation_tokens", "Length of the longest choice; each counts by itself.";
    counter PARSER_CALLS = "sluice_parser_calls_total", "Calls of parsers, by parser.";
    counter PARSER_FAULTS = "sluice_parser_faults_total", "Streams whose parser failed, by parser.";
    counter PARSER_RELOADS = "sluice_parser_reloads_total", "Checks of parsers' files for changes, by result.";
    histogram PARSING = "sluice_parsing_seconds", "Time that detokenizing and parsing took in a turn, by parser.";
    counter MALFORMED_ARGUMENTS(each_model) = "sluice_malformed_arguments_total", "Calls of tools whose arguments are no JSON.";
    counter DROPPED_CALLS(each_model) = "sluice_dropped_calls_total", "Calls dropped because the request forbids calls.";
    counter TRUNCATED_MESSAGES(each_model) = "sluice_truncated_messages_total", "Messages dropped to make a prompt fit.";
    counter INCOMPLETE_RECORDS = "sluice_records_incomplete_total", "Records that are cut off or missing, or lack lines, by reason.";
}
