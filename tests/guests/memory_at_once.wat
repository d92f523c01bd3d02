;; Declares a memory of 32 MiB from the start.
(memory (export "memory") 512)
