;; Returns a fault whose message has two lines.
(data (i32.const 320) "no idea\0awhat this is")
(func $text (param $chunk i32) (param $bytes i32) (result i32)
  (i32.store (i32.const 68) (i32.const 320))
  (i32.store (i32.const 72) (i32.const 20))
  (i32.const 64))
