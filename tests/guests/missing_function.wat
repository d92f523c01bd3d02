;; Says that it is a parser, and exports nothing more.
(component
  (instance $parser)
  (export "sluice:parser/parser@0.1.0" (instance $parser)))
