// Conversions: to integers towards zero and saturating, a NaN to 0; to floats to nearest even.
template <class T> struct ws_range;
template <> struct ws_range<int> { static constexpr int lo = -2147483647 - 1, hi = 2147483647; };
template <> struct ws_range<unsigned> { static constexpr unsigned lo = 0u, hi = 4294967295u; };
template <> struct ws_range<long long> { static constexpr long long lo = -9223372036854775807ll - 1, hi = 9223372036854775807ll; };
template <> struct ws_range<unsigned long long> { static constexpr unsigned long long lo = 0ull, hi = 18446744073709551615ull; };
template <class T> constexpr bool ws_integer = false;
template <> constexpr bool ws_integer<int> = true;
template <> constexpr bool ws_integer<unsigned> = true;
template <> constexpr bool ws_integer<long long> = true;
template <> constexpr bool ws_integer<unsigned long long> = true;
template <class T> constexpr bool ws_floating = false;
template <> constexpr bool ws_floating<float> = true;
template <> constexpr bool ws_floating<double> = true;
template <class To, class From> ws_fn To ws_cast(From from)
{
    if constexpr (ws_integer<To> && ws_integer<From>) {
        constexpr bool is_signed = From(-1) < From(0);
        if (is_signed && from < From(0)) {
            return (long long)from < (long long)ws_range<To>::lo || ws_range<To>::lo == To(0) ? ws_range<To>::lo : To(from);
        }
        return (unsigned long long)from > (unsigned long long)ws_range<To>::hi ? ws_range<To>::hi : To(from);
    } else if constexpr (ws_integer<To> && ws_floating<From>) {
        // The smallest value is a power of two or 0, and hi / 2 + 1 is a power of two: both are floats exactly.
        const From end = From(ws_range<To>::hi / 2 + 1) * From(2);
        return from != from ? To(0) : from <= From(ws_range<To>::lo) ? ws_range<To>::lo : from >= end ? ws_range<To>::hi : To(from);
    } else {
        return To(from);
    }
}
#ifdef WS_VECTORS
template <class To, class From, int N> ws_fn ws_vec<To, N> ws_cast(ws_vec<From, N> from)
{
    return ws_each([](From x) { return ws_cast<To>(x); }, from);
}
#endif
