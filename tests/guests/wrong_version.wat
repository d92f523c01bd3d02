;; Exports a future version of the contract.
(component
  (instance $parser)
  (export "sluice:parser/parser@0.2.0" (instance $parser)))
