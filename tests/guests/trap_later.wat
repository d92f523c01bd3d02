;; Healthy for three texts, then panics.
(global $texts (mut i32) (i32.const 0))
(func $text (param $chunk i32) (param $bytes i32) (result i32)
  (global.set $texts (i32.add (global.get $texts) (i32.const 1)))
  (if (i32.gt_u (global.get $texts) (i32.const 3)) (then unreachable))
  (call $run (i32.const 0) (local.get $bytes)))
