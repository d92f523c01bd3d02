;; Panics during its instantiation.
(func $init unreachable)
(start $init)
