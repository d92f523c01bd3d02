fn main() {
    let file = std::env::args().nth(1).unwrap();
    let bytes = std::fs::read(file).unwrap();
    for (name, opt, alg, fuel) in [
        ("base", true, false, false),
        ("base fuel", true, false, true),
        ("none", false, false, false),
        ("none fuel", false, false, true),
        ("none single", false, true, false),
        ("none single fuel", false, true, true),
    ] {
        let mut config = wasmtime::Config::new();
        config
            .concurrency_support(false)
            .epoch_interruption(true)
            .memory_reservation(64 << 20)
            .memory_reservation_for_growth(0)
            .memory_may_move(false)
            .memory_guard_size(65536)
            .guard_before_linear_memory(false)
            .wasm_memory64(false)
            .wasm_multi_memory(false)
            .wasm_relaxed_simd(false);
        if !opt {
            config.cranelift_opt_level(wasmtime::OptLevel::None);
        }
        if alg {
            config.cranelift_regalloc_algorithm(wasmtime::RegallocAlgorithm::SinglePass);
        }
        config.consume_fuel(fuel);
        let engine = wasmtime::Engine::new(&config).unwrap();
        let t = std::time::Instant::now();
        let c = wasmtime::component::Component::new(&engine, &bytes).unwrap();
        println!("{name}: {:?} {}", t.elapsed(), c.serialize().unwrap().len());
    }
}
