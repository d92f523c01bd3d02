;; A component that isn't a parser.
(component
  (instance $command)
  (export "wasi:cli/run@0.2.0" (instance $command)))
