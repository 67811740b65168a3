#define WS_VECTORS
// A vector: lanes side by side, operators lane by lane.
template <class T, int N> struct ws_vec {
    T lanes[N];
    ws_fn T& operator[](int i) { return lanes[i]; }
    ws_fn const T& operator[](int i) const { return lanes[i]; }
};
template <int N, class T> ws_fn ws_vec<T, N> ws_splat(T value)
{
    ws_vec<T, N> out;
    for (int i = 0; i < N; ++i) out[i] = value;
    return out;
}
// f of each lane; of one value where there is no vector.
template <class F, class T> ws_fn auto ws_each(F f, T a) { return f(a); }
template <class F, class T> ws_fn auto ws_each(F f, T a, T b) { return f(a, b); }
template <class F, class T, int N> ws_fn auto ws_each(F f, ws_vec<T, N> a)
{
    ws_vec<decltype(f(a[0])), N> out;
    for (int i = 0; i < N; ++i) out[i] = f(a[i]);
    return out;
}
template <class F, class T, int N> ws_fn auto ws_each(F f, ws_vec<T, N> a, ws_vec<T, N> b)
{
    ws_vec<decltype(f(a[0], b[0])), N> out;
    for (int i = 0; i < N; ++i) out[i] = f(a[i], b[i]);
    return out;
}
// A scalar beside a vector is spread.
#define WS_BINARY(op) \
    template <class T, int N> ws_fn auto operator op(ws_vec<T, N> a, ws_vec<T, N> b) { return ws_each([](T x, T y) { return x op y; }, a, b); } \
    template <class T, int N> ws_fn auto operator op(ws_vec<T, N> a, T b) { return a op ws_splat<N>(b); } \
    template <class T, int N> ws_fn auto operator op(T a, ws_vec<T, N> b) { return ws_splat<N>(a) op b; }
WS_BINARY(+)
WS_BINARY(-)
WS_BINARY(*)
WS_BINARY(/)
WS_BINARY(%)
WS_BINARY(&)
WS_BINARY(|)
WS_BINARY(^)
WS_BINARY(&&)
WS_BINARY(||)
WS_BINARY(<)
WS_BINARY(<=)
WS_BINARY(==)
WS_BINARY(!=)
#undef WS_BINARY
template <class T, int N> ws_fn auto operator-(ws_vec<T, N> a) { return ws_each([](T x) { return -x; }, a); }
template <class T, int N> ws_fn auto operator~(ws_vec<T, N> a) { return ws_each([](T x) { return ~x; }, a); }
template <class T, int N> ws_fn auto operator!(ws_vec<T, N> a) { return ws_each([](T x) { return !x; }, a); }
template <class T, int N> ws_fn ws_vec<T, N> ws_select(ws_vec<bool, N> condition, ws_vec<T, N> a, ws_vec<T, N> b)
{
    for (int i = 0; i < N; ++i) b[i] = condition[i] ? a[i] : b[i];
    return b;
}
// Lanes start .. start + N.
template <int START, int N, class T, int M> ws_fn ws_vec<T, N> ws_slice(ws_vec<T, M> from)
{
    ws_vec<T, N> out;
    for (int i = 0; i < N; ++i) out[i] = from[START + i];
    return out;
}
// A lane chosen at run time, without a detour through memory.
template <class T, int N> ws_fn T ws_lane(ws_vec<T, N> from, int lane)
{
    T out = from[0];
    for (int i = 1; i < N; ++i) out = lane == i ? from[i] : out;
    return out;
}
template <class T, int N> ws_fn void ws_put(ws_vec<T, N>& out, int& at, T part) { out[at++] = part; }
template <class T, int N, int M> ws_fn void ws_put(ws_vec<T, N>& out, int& at, ws_vec<T, M> part)
{
    for (int i = 0; i < M; ++i) out[at++] = part[i];
}
// The lanes of all parts.
template <class T, int N, class... Parts> ws_fn ws_vec<T, N> ws_concat(Parts... parts)
{
    ws_vec<T, N> out;
    int at = 0;
    (ws_put(out, at, parts), ...);
    return out;
}
