;; Routes text to arguments while no tool call is open.
(func $text (param $chunk i32) (param $bytes i32) (result i32)
  (call $run (i32.const 2) (local.get $bytes)))
