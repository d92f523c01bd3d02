;; Takes a millisecond for each text: less than the limit of one call, but far more than its stream should use.
(func $text (param $chunk i32) (param $bytes i32) (result i32)
  (local $left i32)
  (local.set $left (i32.const 1000000))
  (loop $on
    (local.set $left (i32.sub (local.get $left) (i32.const 1)))
    (br_if $on (local.get $left)))
  (call $run (i32.const 0) (local.get $bytes)))
