;; Panics while it is being instantiated.
(func $init unreachable)
(start $init)
