;; Needs what no host knows.
(data (i32.const 212) "\00\08\00\00" "\01\00\00\00")
(data (i32.const 2048) "\08\08\00\00" "\07\00\00\00" "tensors")
