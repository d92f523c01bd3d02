;; Declares the same marker twice.
(data (i32.const 296) "\10\01\00\00\03\00\00\00")
(func $describe (result i32)
  (i32.store (i32.const 160) (i32.const 2))
  (i32.const 128))
