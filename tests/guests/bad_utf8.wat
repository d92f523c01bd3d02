;; Returns arguments that aren't UTF-8.
(data (i32.const 320) "\ff\fe")
(func $text (param $chunk i32) (param $bytes i32) (result i32)
  (i32.store8 (i32.const 48) (i32.const 5))
  (i32.store (i32.const 52) (i32.const 320))
  (i32.store (i32.const 56) (i32.const 2))
  (i32.const 32))
