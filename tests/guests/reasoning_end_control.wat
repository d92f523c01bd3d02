;; The text that ends its reasoning moves a terminal's cursor.
(data (i32.const 200) "\01\00\00\00" "\00\08\00\00" "\07\00\00\00")
(data (i32.const 2048) "\1b[2J<x>")
