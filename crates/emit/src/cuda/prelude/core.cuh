#ifndef WARPSIGHT_HOST
#define ws_fn __device__ __forceinline__
#else
#define ws_fn inline
#endif
// The bits of a value as another type of its size.
template <class To, class From> ws_fn To ws_bits(From from)
{
    static_assert(sizeof(To) == sizeof(From), "as many bits");
    To to;
    memcpy(&to, &from, sizeof to);
    return to;
}
