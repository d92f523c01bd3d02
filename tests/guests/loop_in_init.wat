;; Never finishes being instantiated.
(func $init (loop $for-ever (br $for-ever)))
(start $init)
