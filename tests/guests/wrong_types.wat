;; Exports the contract's functions, but without parameters and results.
(component
  (component $parser
    (core module $code (func (export "f")))
    (core instance $code (instantiate $code))
    (func $f (canon lift (core func $code "f")))
    (export "describe" (func $f))
    (export "start" (func $f))
    (export "text" (func $f))
    (export "marker" (func $f))
    (export "finish" (func $f)))
  (instance $parser (instantiate $parser))
  (export "sluice:parser/parser@0.1.0" (instance $parser)))
