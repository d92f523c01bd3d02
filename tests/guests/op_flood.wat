;; Returns 5,000 ops (each routes no bytes), more than a step may have.
(func $text (param $chunk i32) (param $bytes i32) (result i32)
  (i32.store (i32.const 36) (i32.const 131072))
  (i32.store (i32.const 40) (i32.const 5000))
  (i32.const 32))
