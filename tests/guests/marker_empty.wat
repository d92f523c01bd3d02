;; Declares an empty marker.
(func $describe (result i32)
  (i32.store (i32.const 292) (i32.const 0))
  (i32.const 128))
