;; Panics at the first text.
(func $text (param $chunk i32) (param $bytes i32) (result i32) unreachable)
