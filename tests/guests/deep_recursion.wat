;; Calls itself until the stack overflows.
(func $text (param $chunk i32) (param $bytes i32) (result i32)
  (i32.add (i32.const 1) (call $text (local.get $chunk) (local.get $bytes))))
