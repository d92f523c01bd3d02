;; Routes text to reasoning, where the healthy guest routes it to content: it stands for another build of the same parser, with visible effect.
(func $text (param $chunk i32) (param $bytes i32) (result i32)
  (call $run (i32.const 1) (local.get $bytes)))
