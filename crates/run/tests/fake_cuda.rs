//! The stand-in for the CUDA driver and NVRTC runs kernels as a GPU would, and fails as one would.
#![expect(unsafe_code, reason = "calls the stand-in through its C interface")]

#[path = "fake_cuda/driver.rs"]
mod driver;
#[path = "fake_cuda/mod.rs"]
mod fake_cuda;

use driver::*;
#[test]
fn saxpy() {
    alone("saxpy", [&[]], |d| {
        let text = r#"
            extern "C" __global__ void __launch_bounds__(128) saxpy(const float* x, float* y, float a, int n) {
                int i = blockIdx.x * blockDim.x + threadIdx.x;
                if (i < n) y[i] = a * x[i] + y[i];
            }"#;
        let f = d.kernel(text, "saxpy");
        let n = 100_000;
        let x = d.upload(&(0..n).map(|i| i as f32).collect::<Vec<_>>());
        let y = d.upload(&vec![1.0f32; n]);
        assert_eq!(d.launch(f, [782, 1, 1], [128, 1, 1], 0, &args![x, y, 2.0f32, n as i32]), 0);
        assert_eq!(d.synchronize(), 0);
        assert_eq!(d.download::<f32>(y, n), (0..n).map(|i| 2.0 * i as f32 + 1.0).collect::<Vec<_>>());
        // More threads than the bounds allow.
        assert_eq!(d.launch(f, [1, 1, 1], [256, 1, 1], 0, &args![x, y, 2.0f32, 1i32]), 701);
    });
}

#[test]
fn blocks_have_their_own_shared_memory() {
    alone("blocks_have_their_own_shared_memory", [&[], &[("WS_FAKE_ORDER", "reverse")]], |d| {
        let text = r#"
                __shared__ float total;
                extern "C" __global__ void sums(const float* x, float* sum) {
                    __shared__ float part[64];
                    extern __shared__ float dynamic[];
                    int t = threadIdx.x;
                    part[t] = x[blockIdx.x * 64 + t];
                    dynamic[t] = 0.5f;
                    __syncthreads();
                    for (int step = 32; step > 0; step /= 2) {
                        if (t < step) part[t] += part[t + step];
                        __syncthreads();
                    }
                    if (t == 0) total = part[0];
                    __syncthreads();
                    if (t == 63) sum[blockIdx.x] = total + dynamic[0];
                }"#;
        let f = d.kernel(text, "sums");
        let values: Vec<f32> = (0..7 * 64).map(|i| (i % 97) as f32).collect();
        let (x, sum) = (d.upload(&values), d.upload(&[0.0f32; 7]));
        assert_eq!(d.launch(f, [7, 1, 1], [64, 1, 1], 256, &args![x, sum]), 0);
        assert_eq!(d.synchronize(), 0);
        let expected: Vec<f32> = values.chunks(64).map(|c| c.iter().sum::<f32>() + 0.5).collect();
        assert_eq!(d.download::<f32>(sum, 7), expected);
        // What the module and the block use together may be no more than the device gives without being asked.
        assert_eq!(d.launch(f, [1, 1, 1], [64, 1, 1], 48 << 10, &args![x, sum]), 1);
    });
}

#[test]
fn a_missing_barrier_is_seen_in_reverse_order() {
    alone("a_missing_barrier_is_seen_in_reverse_order", [&[("WS_FAKE_ORDER", "reverse")]], |d| {
        let text = r#"extern "C" __global__ void wrong(int* out) {
            __shared__ int first;
            if (threadIdx.x == 0) first = 7;
            out[threadIdx.x] = first;
        }"#;
        let f = d.kernel(text, "wrong");
        let out = d.upload(&[0i32; 32]);
        assert_eq!(d.launch(f, [1, 1, 1], [32, 1, 1], 0, &args![out]), 0);
        assert_ne!(d.download::<i32>(out, 32), [7; 32]);
    });
}

const QUEUE: &str = r#"
    // One slot: block 0 produces, block 1 consumes.
    extern "C" __global__ void queue(unsigned* full, unsigned* empty, volatile int* slot, int* out, int turns, int broken) {
        for (unsigned turn = 0; turn < turns; ++turn) {
            if (blockIdx.x == 0) {
                if (threadIdx.x == 0) while (*(volatile unsigned*)empty < turn) ws_pause();
                __syncthreads();
                slot[threadIdx.x] = turn * 100 + threadIdx.x;
                __syncthreads();
                if (threadIdx.x == 0 && !(broken && turn == 3)) atomicAdd(full, 1u);
            } else {
                if (threadIdx.x == 0) while (*(volatile unsigned*)full < turn + 1) ws_pause();
                __syncthreads();
                out[turn * blockDim.x + threadIdx.x] = slot[threadIdx.x];
                __syncthreads();
                if (threadIdx.x == 0) atomicAdd(empty, 1u);
            }
        }
    }"#;

#[test]
fn a_queue_between_blocks() {
    alone("a_queue_between_blocks", [&[]], |d| {
        let f = d.kernel(QUEUE, "queue");
        let (full, empty, slot, out) = (d.upload(&[0u32]), d.upload(&[0u32]), d.upload(&[0i32; 32]), d.upload(&[0i32; 640]));
        assert_eq!(d.launch(f, [2, 1, 1], [32, 1, 1], 0, &args![full, empty, slot, out, 20i32, 0i32]), 0);
        assert_eq!(d.synchronize(), 0);
        let expected: Vec<i32> = (0..20).flat_map(|turn| (0..32).map(move |t| turn * 100 + t)).collect();
        assert_eq!(d.download::<i32>(out, 640), expected);
    });
}

#[test]
fn a_deadlock_ends_the_launch() {
    alone("a_deadlock_ends_the_launch", [&[]], |d| {
        let f = d.kernel(QUEUE, "queue");
        let (full, empty, slot, out) = (d.upload(&[0u32]), d.upload(&[0u32]), d.upload(&[0i32; 32]), d.upload(&[0i32; 640]));
        let before = std::time::Instant::now();
        assert_eq!(d.launch(f, [2, 1, 1], [32, 1, 1], 0, &args![full, empty, slot, out, 20i32, 1i32]), 0);
        assert_eq!(d.synchronize(), 702);
        assert!(before.elapsed().as_secs() < 5, "{:?}", before.elapsed());
        // For good, as after any fault.
        assert_eq!(d.launch(f, [1, 1, 1], [32, 1, 1], 0, &args![full, empty, slot, out, 0i32, 0i32]), 702);
    });
}

#[test]
fn lanes_exchange_values() {
    alone("lanes_exchange_values", [&[]], |d| {
        let text = r#"extern "C" __global__ void lanes(int* out) {
            int lane = threadIdx.x % 32, sum = threadIdx.x;
            for (int bit = 16; bit > 0; bit /= 2) sum += __shfl_xor_sync(~0u, sum, bit);
            int below = __shfl_up_sync(~0u, lane, 1), three = 0;
            if (lane < 3) three = __shfl_sync(7u, lane * 10, 2);
            unsigned odd = __ballot_sync(~0u, lane & 1);
            out[threadIdx.x] = sum + 1000 * below + 100000 * three + (odd == 0xaaaaaaaau ? 0 : -1);
        }"#;
        let f = d.kernel(text, "lanes");
        let out = d.upload(&[0i32; 64]);
        assert_eq!(d.launch(f, [1, 1, 1], [64, 1, 1], 0, &args![out]), 0);
        assert_eq!(d.synchronize(), 0);
        let expected = |t: i32| {
            let (lane, warp) = (t % 32, t / 32);
            496 + 1024 * warp + 1000 * (lane - 1).max(0) + if lane < 3 { 2_000_000 } else { 0 }
        };
        assert_eq!(d.download::<i32>(out, 64), (0..64).map(expected).collect::<Vec<_>>());
    });
}

#[test]
fn a_cooperative_launch_larger_than_the_device_is_refused() {
    alone("a_cooperative_launch_larger_than_the_device_is_refused", [&[]], |d| {
        let f = d.kernel(r#"extern "C" __global__ void nothing() {}"#, "nothing");
        // 4 multiprocessors of 2048 threads.
        assert_eq!(d.launch_with(f, [8, 1, 1], [1024, 1, 1], 0, &args![], &[Attribute::Cooperative]), 0);
        assert_eq!(d.launch_with(f, [9, 1, 1], [1024, 1, 1], 0, &args![], &[Attribute::Cooperative]), 720);
        assert_eq!(d.launch_with(f, [8, 1, 1], [32, 1, 1], 0, &args![], &[Attribute::Cluster(3)]), 912);
        assert_eq!(d.launch_with(f, [9, 1, 1], [32, 1, 1], 0, &args![], &[Attribute::Cluster(3)]), 0);
        assert_eq!(d.synchronize(), 0);
    });
}

#[test]
fn clusters_reach_into_each_others_shared_memory() {
    alone("clusters_reach_into_each_others_shared_memory", [&[], &[("WS_FAKE_ORDER", "reverse")]], |d| {
        let text = r#"
            struct Shared { ws_mbarrier full; ws_u32x4 box; };
            extern "C" __global__ void pass(unsigned* out) {
                Shared& mine = *(Shared*)ws_dynamic_shared();
                __shared__ ws_u32x4 parcel;
                unsigned rank = ws_cluster_rank(), next = (rank + 1) % 4;
                if (threadIdx.x == 0) ws_mbarrier_init(&mine.full, 1), ws_mbarrier_fence();
                ws_cluster_sync();
                if (threadIdx.x == 0) {
                    ws_mbarrier_expect(&mine.full, 16);
                    parcel = ws_u32x4{blockIdx.x, rank, 7u, ws_smid()};
                    ws_bulk_copy_fence();
                    ws_bulk_copy_to_cluster(ws_cluster_map(&mine.box, next), &parcel, 16, ws_cluster_map(&mine.full, next));
                }
                while (!ws_mbarrier_test(&mine.full, 0)) ws_pause();
                out[blockIdx.x * 32 + threadIdx.x] = mine.box.x * 100 + mine.box.y * 10 + mine.box.z;
                ws_cluster_sync();
            }"#;
        let f = d.kernel(text, "pass");
        let out = d.upload(&[0u32; 256]);
        assert_eq!(d.launch_with(f, [8, 1, 1], [32, 1, 1], 64, &args![out], &[Attribute::Cluster(4)]), 0);
        assert_eq!(d.synchronize(), 0);
        let expected = |block: u32| (block / 4 * 4 + (block + 3) % 4) * 100 + (block + 3) % 4 * 10 + 7;
        assert_eq!(d.download::<u32>(out, 256), (0..256).map(|i| expected(i / 32)).collect::<Vec<_>>());
        // A pointer off by four bytes is a misaligned address.
        let text = r#"extern "C" __global__ void off(const char* p, unsigned* out) { out[0] = ws_load_l2((const ws_u32x4*)(p + 4)).x; }"#;
        let off = d.kernel(text, "off");
        assert_eq!((d.launch(off, [1, 1, 1], [1, 1, 1], 0, &args![out, out]), d.synchronize()), (0, 716));
    });
}

#[test]
fn sixteen_bit_floats_are_those_of_the_host() {
    alone("sixteen_bit_floats_are_those_of_the_host", [&[]], |d| {
        let text = r#"extern "C" __global__ void convert(const float* x, float* widened, unsigned short* narrowed) {
            int i = blockIdx.x * 256 + threadIdx.x;
            widened[i] = ws_f16_to_f32((unsigned short)i);
            narrowed[2 * i] = ws_f32_to_f16(x[i]);
            narrowed[2 * i + 1] = ws_f32_to_bf16(x[i]);
        }"#;
        let f = d.kernel(text, "convert");
        let mut rng = fastrand::Rng::with_seed(3);
        // Every finite half and the places just beside and between two of them; then any bits.
        let near = |bits: u16, rng: &mut fastrand::Rng| {
            let (low, high) = (half::f16::from_bits(bits).to_f32(), half::f16::from_bits(bits + 1).to_f32());
            let middle = (low + high) / 2.0;
            *rng.choice(&[low, middle, middle.next_up(), middle.next_down(), -middle]).unwrap()
        };
        let x: Vec<f32> = (0..65536u32).map(|i| if i < 0x7c00 { near(i as u16, &mut rng) } else { f32::from_bits(rng.u32(..)) }).collect();
        let (input, widened, narrowed) = (d.upload(&x), d.upload(&vec![0f32; 65536]), d.upload(&vec![0u16; 131_072]));
        assert_eq!(d.launch(f, [256, 1, 1], [256, 1, 1], 0, &args![input, widened, narrowed]), 0);
        let (widened, narrowed) = (d.download::<f32>(widened, 65536), d.download::<u16>(narrowed, 131_072));
        for (i, x) in x.into_iter().enumerate() {
            let value = half::f16::from_bits(i as u16).to_f32();
            assert!(widened[i] == value || widened[i].is_nan() && value.is_nan(), "{i:#x}: {}", widened[i]);
            if !x.is_nan() {
                assert_eq!(narrowed[2 * i], half::f16::from_f32(x).to_bits(), "{x:e} as f16");
                assert_eq!(narrowed[2 * i + 1], half::bf16::from_f32(x).to_bits(), "{x:e} as bf16");
            }
        }
    });
}

#[test]
fn textures_have_borders() {
    alone("textures_have_borders", [&[]], |d| {
        let text = r#"extern "C" __global__ void read(cudaTextureObject_t t, float* out) {
            float4 v = tex2D<float4>(t, float(threadIdx.x) - 0.5f, 0.5f);
            out[threadIdx.x] = v.x + v.w;
        }"#;
        let f = d.kernel(text, "read");
        let out = d.upload(&[9.0f32; 4]);
        let texels: Vec<f32> = (0..8).map(|v| v as f32).collect();
        for (mode, expected) in [(3, [0.0, 3.0, 11.0, 0.0]), (1, [3.0, 3.0, 11.0, 11.0])] {
            let texture = d.texture(d.array(&texels, 2, 1), mode);
            assert_eq!(d.launch(f, [1, 1, 1], [4, 1, 1], 0, &args![texture, out]), 0);
            assert_eq!(d.download::<f32>(out, 4), expected);
        }
    });
}

#[test]
fn memory_ends() {
    alone("memory_ends", [&[("WS_FAKE_OOM_BYTES", "1000000")]], |d| {
        let first = d.allocate(600_000).unwrap();
        assert_eq!(d.allocate(600_000), Err(2));
        assert_eq!(d.free(first), 0);
        assert!(d.allocate(600_000).is_ok());
    });
}

#[test]
fn a_lost_device_stays_lost() {
    alone("a_lost_device_stays_lost", [&[("WS_FAKE_LOST_AT", "2")]], |d| {
        let f = d.kernel(r#"extern "C" __global__ void nothing() {}"#, "nothing");
        let launch = || d.launch(f, [1, 1, 1], [1, 1, 1], 0, &args![]);
        assert_eq!((launch(), d.synchronize()), (0, 0));
        assert_eq!((launch(), d.synchronize()), (0, 700));
        assert_eq!((launch(), d.allocate(16)), (700, Err(700)));
    });
}

#[test]
fn wild_pointers_and_traps_lose_the_device() {
    let text = r#"extern "C" __global__ void wild(int* at) {
        if (at) *at = 1;
        else __trap();
    }"#;
    let name = "wild_pointers_and_traps_lose_the_device";
    alone(name, [&[("WARPSIGHT_TEST_AT", "64")], &[("WARPSIGHT_TEST_AT", "0")]], |d| {
        let at: u64 = std::env::var("WARPSIGHT_TEST_AT").unwrap().parse().unwrap();
        let f = d.kernel(text, "wild");
        assert_eq!(d.launch(f, [1, 1, 1], [1, 1, 1], 0, &args![at]), 0);
        assert_eq!(d.synchronize(), if at == 0 { 715 } else { 700 });
    });
}

#[test]
fn graphs_repeat_what_was_recorded_and_times_are_the_same_every_time() {
    let run = |d: &Driver| {
        let text = r#"extern "C" __global__ void more(int* x, int by) { x[threadIdx.x] += by; __syncthreads(); }"#;
        let f = d.kernel(text, "more");
        let x = d.upload(&[0i32; 32]);
        let (begin, end) = (d.event(), d.event());
        let graph = d.record(|stream| {
            d.record_event(begin, stream);
            assert_eq!(d.launch_on(stream, f, [1, 1, 1], [32, 1, 1], 0, &args![x, 2i32], &[]), 0);
            assert_eq!(d.launch_on(stream, f, [1, 1, 1], [32, 1, 1], 0, &args![x, 3i32], &[Attribute::Programmatic]), 0);
            d.record_event(end, stream);
        });
        assert_eq!(d.download::<i32>(x, 32), [0; 32]);
        d.launch_graph(graph);
        let once = d.elapsed(begin, end);
        d.launch_graph(graph);
        assert_eq!(d.download::<i32>(x, 32), [10; 32]);
        (once, d.elapsed(begin, end))
    };
    let name = "graphs_repeat_what_was_recorded_and_times_are_the_same_every_time";
    alone(name, [&[]], |d| {
        let (once, again) = run(&d);
        // 2 launches of 2 µs, 64 turns of 1 µs before the barrier and 62 behind it, an event's 0.1 µs: no clock was asked.
        assert_eq!((once, again), (0.1301, 0.1301));
    });
}

#[test]
fn machine_code_is_for_one_architecture() {
    alone("machine_code_is_for_one_architecture", [&[]], |d| {
        let text = r#"extern "C" __global__ void nothing() {}"#;
        for (arch, code) in [("sm_90", 0), ("sm_90a", 0), ("sm_80", 209), ("sm_100", 209)] {
            assert_eq!(d.load_cubin(text, arch), code, "{arch}");
        }
        let log = d.compile("extern \"C\" __global__ void broken() {\n  undeclared = 1;\n}", "sm_90").unwrap_err();
        assert!(log.contains("kernel.cu(2): error:") && log.contains("undeclared"), "{log}");
    });
}

#[test]
fn an_old_driver_lacks_what_came_later() {
    let Some(folder) = fake_cuda::build() else { return };
    let symbol = |library: &str, name: &str| {
        // SAFETY: loading runs no code of the stand-in.
        let library = unsafe { libloading::Library::new(folder.join(library)) }.unwrap();
        // SAFETY: the symbol is not called.
        unsafe { library.get::<unsafe extern "C" fn()>(name.as_bytes()) }.is_ok()
    };
    assert!(symbol("libcuda.so.1", "cuLaunchKernelEx") && symbol("libcuda.so.1", "warpsight_simulated_driver"));
    assert!(!symbol("old/libcuda.so.1", "cuLaunchKernelEx") && symbol("old/libcuda.so.1", "cuLaunchKernel"));
    assert!(symbol("old/libcuda.so.1", "warpsight_simulated_driver"));
}

/// The stand-in declares the driver's structures itself: these are the bindings' layouts.
#[test]
fn structures_have_the_layout_of_the_bindings() {
    use cudarc::driver::sys::*;
    use std::mem::{offset_of, size_of};
    // The right sides are what g++ makes of `api.h` (checked there by the driver's callers: a launch, a copy, a texture).
    assert_eq!((size_of::<CUlaunchConfig>(), offset_of!(CUlaunchConfig, hStream), offset_of!(CUlaunchConfig, numAttrs)), (56, 32, 48));
    assert_eq!((size_of::<CUlaunchAttribute>(), offset_of!(CUlaunchAttribute, value)), (72, 8));
    assert_eq!((size_of::<CUaccessPolicyWindow>(), offset_of!(CUaccessPolicyWindow, missProp)), (32, 24));
    assert_eq!((size_of::<CUDA_ARRAY_DESCRIPTOR>(), offset_of!(CUDA_ARRAY_DESCRIPTOR, NumChannels)), (24, 20));
    assert_eq!((size_of::<CUDA_MEMCPY2D>(), offset_of!(CUDA_MEMCPY2D, dstMemoryType), offset_of!(CUDA_MEMCPY2D, Height)), (128, 72, 120));
    assert_eq!(
        (size_of::<CUDA_RESOURCE_DESC>(), offset_of!(CUDA_RESOURCE_DESC, res), offset_of!(CUDA_RESOURCE_DESC, flags)),
        (144, 8, 136)
    );
    assert_eq!(
        (size_of::<CUDA_TEXTURE_DESC>(), offset_of!(CUDA_TEXTURE_DESC, flags), offset_of!(CUDA_TEXTURE_DESC, borderColor)),
        (104, 16, 40)
    );
}
