;; Never says what it is.
(func $describe (result i32)
  (loop $for-ever (br $for-ever))
  unreachable)
