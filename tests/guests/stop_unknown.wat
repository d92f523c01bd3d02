;; Declares marker 7 as a stop but has only one marker.
(func $describe (result i32)
  (i32.store (i32.const 164) (i32.const 304))
  (i32.store (i32.const 168) (i32.const 1))
  (i32.store (i32.const 304) (i32.const 7))
  (i32.const 128))
