;; Has the name `response-template`, which is that of the parser that gets a model's own table; claims no model and has no markers.
(data (i32.const 1028) "\80\04\00\00\11\00\00\00" "\98\04\00\00\05\00\00\00")
(data (i32.const 1152) "response-template\00\00\00\00\00\00\00" "1.0.0")
(func $describe (result i32) (i32.const 1024))
