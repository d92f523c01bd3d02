// Every shipped parser and table, in the order in which the server names and tries them. Each line that reads the list defines the macro
// `registry!` first: `src/lib.rs` for tests, fuzzing and pages, `host/parsers/src/shipped.rs` for programs.
//
// A format: its module, its folder, its parser's type, the models that write it, and how they do. A new one needs its folder, with
// `tests/format/profile.rs`, an entry here, and a dependency in `Cargo.toml`. A table needs its name.
registry! {
    formats {
        qwen3 "qwen3" Qwen3
            "Qwen2.5, Qwen3, QwQ, SmolLM3, EXAONE 4, Granite 4.0 and 4.1, Falcon-H1, Hermes"
            "`<think>` reasoning, Hermes JSON calls";
        qwen3_coder "qwen3-coder" Qwen3Coder
            "Qwen3-Coder, Qwen3.5, Nemotron 3, Granite 4.2, Step-3.5, MiMo-V2"
            "XML calls, parameters typed by the tool's schema";
        harmony "harmony" Harmony
            "gpt-oss"
            "channels, recipients, built-in tools";
        kimi_k2 "kimi-k2" KimiK2
            "Kimi K2"
            "sections of calls, each header a tool and an index";
        deepseek_v3 "deepseek-v3" DeepSeekV3
            "DeepSeek V3, V3.1, R1"
            "sections of calls, with or without fences";
        glm "glm" Glm
            "GLM 4.5 to 4.7"
            "XML calls";
        glm4 "glm4" Glm4
            "GLM-4 and GLM-4-0414, GLM-Z1"
            "the tool's name on a line, JSON arguments behind it";
        granite3 "granite3" Granite3
            "Granite 3.0 to 3.3"
            "a list of JSON calls behind `<|tool_call|>`, thoughts in `<think>` or behind a phrase";
        hyperclova "hyperclova" HyperClova
            "HyperCLOVA X SEED Think 14B"
            "a message for each part of a turn, whose header says what it is, calls as a list";
        gigachat35 "gigachat35" GigaChat35
            "GigaChat 3.5"
            "GCML calls, whose parameters say whether they are text or JSON";
        llama3 "llama3" Llama3
            "Llama 3.1 to 3.3, Llama 4 where it writes JSON, bare lists of calls in ChatML (xLAM)"
            "JSON calls, `<|python_tag|>`, `<function=…>`";
        mistral "mistral" Mistral
            "Mistral, Ministral, Magistral, Devstral, Mixtral"
            "`[THINK]` reasoning, `[TOOL_CALLS]NAME[ARGS]{…}`, and the JSON lists of older ones";
        minimax_m2 "minimax-m2" MiniMaxM2
            "MiniMax-M2 to M2.5"
            "XML calls, parameters typed by the tool's schema";
        minimax_m3 "minimax-m3" MiniMaxM3
            "MiniMax M3"
            "calls as namespaced tags, nested as the values are";
        gemma4 "gemma4" Gemma4
            "Gemma 4, FunctionGemma"
            "`call:NAME{key:<|\"|>text<|\"|>}`, in braces without quotes";
        pythonic "pythonic" Pythonic
            "Llama 4, Llama 3.2, Gemma 3, LFM2, LFM2.5, Olmo 3"
            "calls written in Python";
        apertus "apertus" Apertus
            "Apertus"
            "JSON calls whose key is the tool's name";
        deepseek_v4 "deepseek-v4" DeepSeekV4
            "DeepSeek V3.2 to V4.1"
            "DSML calls, whose parameters say whether they are text or JSON";
        hunyuan "hunyuan" Hunyuan
            "Hunyuan A13B"
            "`<answer>`, a JSON list of calls in `<tool_calls>`";
        kimi_k3 "kimi-k3" KimiK3
            "Kimi K3"
            "channels of reasoning, response and tools, whose arguments say their types";
        muse "muse" Muse
            "Muse Glimmer"
            "messages to the model itself, the user or a tool, ATEM calls";
        k2_horizon "k2-horizon" K2Horizon
            "K2 Horizon"
            "`<ifm|think>` reasoning by effort, calls as keys and values, with types, or as JSON";
    }
    interpreter {
        response_template "response-template" ResponseTemplate
            "any whose `tokenizer_config.json` has a `response_template`"
            "as that says, or a table";
    }
    tables {
        "apriel" "beam" "cohere" "dots" "ernie" "gigachat3" "granite-20b-fc" "hy3" "hy3-preview" "hy4" "inkling"
        "internlm" "iquest" "jamba" "laguna" "longcat" "longcat-lite" "minicpm5" "minimax-m1" "nemotron" "openpangu"
        "phi4-mini" "plamo3" "seed-oss" "solar" "solar2" "step3"
    }
}
