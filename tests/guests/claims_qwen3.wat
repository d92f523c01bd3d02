;; Claims the model types `qwen3` and `mamba`; healthy otherwise.
(data (i32.const 148) "\00\02\00\00\02\00\00\00")
(data (i32.const 512) "\10\02\00\00\05\00\00\00" "\18\02\00\00\05\00\00\00" "qwen3\00\00\00" "mamba")
