;; Calls a tool that isn't declared and isn't named in the text: `guest`.
(func $text (param $chunk i32) (param $bytes i32) (result i32)
  (i32.store8 (i32.const 48) (i32.const 3))
  (i32.store (i32.const 52) (i32.const 256))
  (i32.store (i32.const 56) (i32.const 5))
  (i32.const 32))
