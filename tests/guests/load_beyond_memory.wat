;; Reads beyond the end of its memory.
(func $text (param $chunk i32) (param $bytes i32) (result i32)
  (i32.load (i32.sub (i32.const -5) (local.get $bytes))))
