;; Never returns from its description.
(func $describe (result i32)
  (loop $for-ever (br $for-ever))
  unreachable)
