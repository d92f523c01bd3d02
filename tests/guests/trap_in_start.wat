;; Panics when a stream starts.
(func $start (result i32) unreachable)
