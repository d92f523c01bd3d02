;; Panics when asked what it is.
(func $describe (result i32) unreachable)
