;; Returns 300,000 empty strings of arguments.
(func $text (param $chunk i32) (param $bytes i32) (result i32)
  (local $op i32)
  (drop (memory.grow (i32.const 100)))
  (local.set $op (i32.const 131072))
  (i32.store (i32.const 36) (local.get $op))
  (i32.store (i32.const 40) (i32.const 300000))
  (loop $next
    (i32.store8 (local.get $op) (i32.const 5))
    (local.set $op (i32.add (local.get $op) (i32.const 20)))
    (br_if $next (i32.lt_u (local.get $op) (i32.const 6131072))))
  (i32.const 32))
