;; Returns ops beyond the end of its memory.
(func $text (param $chunk i32) (param $bytes i32) (result i32)
  (i32.store (i32.const 36) (i32.const -64))
  (i32.const 32))
