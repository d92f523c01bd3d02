;; Routes text to a route that doesn't exist.
(func $text (param $chunk i32) (param $bytes i32) (result i32)
  (call $run (i32.const 200) (local.get $bytes)))
