// Memory orders, scopes and address spaces of atomics. A warp is ordered as its block is: there is no narrower scope.
enum ws_order { ws_relaxed, ws_acquire, ws_release, ws_acq_rel };
enum ws_scope { ws_block, ws_device };
enum ws_space { ws_global, ws_shared };
#ifndef WARPSIGHT_HOST
template <int SPACE> ws_fn unsigned long long ws_address(const void* at)
{
    if constexpr (SPACE == ws_shared) {
        return __cvta_generic_to_shared(at);
    } else {
        return __cvta_generic_to_global(at);
    }
}
// One instruction for each order, scope and space.
#define WS_SPACES(instruction, order, scope, op, c) \
    if constexpr (SPACE == ws_shared) { instruction(order scope ".shared", op, c); } else { instruction(order scope ".global", op, c); }
#define WS_SCOPES(instruction, order, op, c) \
    if constexpr (SCOPE == ws_device) { WS_SPACES(instruction, order, ".gpu", op, c) } else { WS_SPACES(instruction, order, ".cta", op, c) }
#define WS_ORDERS(instruction, op, c) \
    if constexpr (ORDER == ws_relaxed) { WS_SCOPES(instruction, ".relaxed", op, c) } \
    else if constexpr (ORDER == ws_acquire) { WS_SCOPES(instruction, ".acquire", op, c) } \
    else if constexpr (ORDER == ws_release) { WS_SCOPES(instruction, ".release", op, c) } \
    else { WS_SCOPES(instruction, ".acq_rel", op, c) }
#define WS_TEMPLATE template <int ORDER, int SCOPE, int SPACE>
// Reads, changes and writes indivisibly; gives the old value.
#define WS_CHANGE_BY(how, op, c) asm volatile("atom" how op " %0, [%1], %2;" : "=" c(old) : "l"(address), c(value) : "memory")
#define WS_CHANGE(name, T, op, c) \
    WS_TEMPLATE ws_fn T name(T* at, T value) \
    { \
        T old; \
        const unsigned long long address = ws_address<SPACE>(at); \
        WS_ORDERS(WS_CHANGE_BY, op, c) \
        return old; \
    }
#define WS_SWAP_BY(how, op, c) asm volatile("atom" how op " %0, [%1], %2, %3;" : "=" c(old) : "l"(address), c(compare), c(value) : "memory")
#define WS_LOAD_BY(how, op, c) asm volatile("ld" how op " %0, [%1];" : "=" c(value) : "l"(address) : "memory")
#define WS_STORE_BY(how, op, c) asm volatile("st" how op " [%0], %1;" ::"l"(address), c(value) : "memory")
// What every integer has: adding and subtracting, the old value where it equals another, loads (relaxed, acquire) and stores
// (relaxed, release) that no access tears.
#define WS_INTEGER(T, bits, type, c) \
    WS_CHANGE(ws_atomic_add, T, ".add.u" bits, c) \
    WS_CHANGE(ws_atomic_min, T, ".min." type, c) \
    WS_CHANGE(ws_atomic_max, T, ".max." type, c) \
    WS_CHANGE(ws_atomic_and, T, ".and.b" bits, c) \
    WS_CHANGE(ws_atomic_or, T, ".or.b" bits, c) \
    WS_CHANGE(ws_atomic_xor, T, ".xor.b" bits, c) \
    WS_CHANGE(ws_atomic_exchange, T, ".exch.b" bits, c) \
    WS_TEMPLATE ws_fn T ws_atomic_compare_exchange(T* at, T compare, T value) \
    { \
        T old; \
        const unsigned long long address = ws_address<SPACE>(at); \
        WS_ORDERS(WS_SWAP_BY, ".cas.b" bits, c) \
        return old; \
    } \
    WS_TEMPLATE ws_fn T ws_atomic_load(T* at) \
    { \
        T value; \
        const unsigned long long address = ws_address<SPACE>(at); \
        static_assert(ORDER == ws_relaxed || ORDER == ws_acquire, "an order of loads"); \
        if constexpr (ORDER == ws_relaxed) { WS_SCOPES(WS_LOAD_BY, ".relaxed", ".b" bits, c) } else { WS_SCOPES(WS_LOAD_BY, ".acquire", ".b" bits, c) } \
        return value; \
    } \
    WS_TEMPLATE ws_fn void ws_atomic_store(T* at, T value) \
    { \
        const unsigned long long address = ws_address<SPACE>(at); \
        static_assert(ORDER == ws_relaxed || ORDER == ws_release, "an order of stores"); \
        if constexpr (ORDER == ws_relaxed) { WS_SCOPES(WS_STORE_BY, ".relaxed", ".b" bits, c) } else { WS_SCOPES(WS_STORE_BY, ".release", ".b" bits, c) } \
    }
WS_INTEGER(int, "32", "s32", "r")
WS_INTEGER(unsigned, "32", "u32", "r")
WS_INTEGER(long long, "64", "s64", "l")
WS_INTEGER(unsigned long long, "64", "u64", "l")
WS_CHANGE(ws_atomic_add, float, ".add.f32", "f")
#undef WS_INTEGER
#undef WS_STORE_BY
#undef WS_LOAD_BY
#undef WS_SWAP_BY
#undef WS_CHANGE
#undef WS_CHANGE_BY
#undef WS_TEMPLATE
#undef WS_ORDERS
#undef WS_SCOPES
#undef WS_SPACES
#endif
// Subtracting is adding what wraps to nothing with it.
template <int ORDER, int SCOPE, int SPACE, class T> ws_fn T ws_atomic_sub(T* at, T value)
{
    return ws_atomic_add<ORDER, SCOPE, SPACE>(at, T(0ull - (unsigned long long)value));
}
template <int ORDER, int SCOPE, int SPACE> ws_fn float ws_atomic_exchange(float* at, float value)
{
    return ws_bits<float>(ws_atomic_exchange<ORDER, SCOPE, SPACE>((unsigned*)at, ws_bits<unsigned>(value)));
}
template <int ORDER, int SCOPE, int SPACE> ws_fn void ws_atomic_store(float* at, float value)
{
    ws_atomic_store<ORDER, SCOPE, SPACE>((unsigned*)at, ws_bits<unsigned>(value));
}
