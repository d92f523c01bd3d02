;; Exports the parser's interface without its functions.
(component
  (instance $parser)
  (export "sluice:parser/parser@0.1.0" (instance $parser)))
