;; Its template has a hole that no host knows.
(data (i32.const 188) "\01\00\00\00" "\00\08\00\00" "\24\00\00\00")
(data (i32.const 2048) "call: marker_0 name secrets marker_0")
