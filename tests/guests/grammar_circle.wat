;; The rules of its template lead to each other in a circle.
(data (i32.const 188) "\01\00\00\00" "\00\08\00\00" "\31\00\00\00")
(data (i32.const 2048) "call: marker_0 name arguments a\na: \"x\" b\nb: \"y\" a")
