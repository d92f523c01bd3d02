;; Returns 2 MiB of arguments of its own.
(func $text (param $chunk i32) (param $bytes i32) (result i32)
  (drop (memory.grow (i32.const 32)))
  (i32.store8 (i32.const 48) (i32.const 5))
  (i32.store (i32.const 52) (i32.const 131072))
  (i32.store (i32.const 56) (i32.const 2097152))
  (i32.const 32))
