;; A core module, not a component.
(module)
