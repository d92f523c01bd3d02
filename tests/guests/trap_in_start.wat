;; Panics when it is told of the request.
(func $start (result i32) unreachable)
