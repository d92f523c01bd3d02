;; Never returns from a text.
(func $text (param $chunk i32) (param $bytes i32) (result i32)
  (loop $for-ever (br $for-ever))
  unreachable)
