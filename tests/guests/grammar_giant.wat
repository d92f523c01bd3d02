;; Its template has 64 KiB and one byte, all of them zeros.
(data (i32.const 188) "\01\00\00\00" "\00\00\01\00" "\01\00\01\00")
