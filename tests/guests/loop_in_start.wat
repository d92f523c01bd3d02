;; Never returns from its start.
(func $start (result i32)
  (loop $for-ever (br $for-ever))
  unreachable)
