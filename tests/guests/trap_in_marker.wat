;; Panics at its marker.
(func $marker (param $index i32) (result i32) unreachable)
