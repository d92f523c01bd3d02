;; Returns an op that doesn't exist.
(func $text (param $chunk i32) (param $bytes i32) (result i32)
  (i32.store8 (i32.const 48) (i32.const 77))
  (i32.const 32))
