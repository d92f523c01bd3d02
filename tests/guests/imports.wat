;; Imports the environment and the clock.
(component
  (import "wasi:cli/environment@0.2.6" (instance))
  (import "wasi:clocks/monotonic-clock@0.2.6" (instance))
  (instance $parser)
  (export "sluice:parser/parser@0.1.0" (instance $parser)))
