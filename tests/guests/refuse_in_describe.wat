;; Refuses its options.
(data (i32.const 320) "\01\00\00\00" "\50\01\00\00" "\0b\00\00\00" "\00\00\00\00" "no \1b[31mred")
(func $describe (result i32) (i32.const 320))
