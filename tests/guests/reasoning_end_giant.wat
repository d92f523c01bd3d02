;; The text that ends its reasoning has 256 KiB.
(data (i32.const 200) "\01\00\00\00" "\00\00\01\00" "\00\00\04\00")
