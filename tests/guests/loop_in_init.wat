;; Never finishes its instantiation.
(func $init (loop $for-ever (br $for-ever)))
(start $init)
