;; Speaks a contract to come.
(component
  (instance $parser)
  (export "sluice:parser/parser@0.2.0" (instance $parser)))
