// Matrix tiles of a warp. Their part in a product (d += left · right), what an element of the operands is, and m, n, k of the product.
enum ws_part { ws_left, ws_right, ws_sum };
enum ws_operand { ws_half, ws_brain };
#ifndef WARPSIGHT_HOST
template <int OPERAND> struct ws_operand_type;
template <> struct ws_operand_type<ws_half> { using type = __half; };
template <> struct ws_operand_type<ws_brain> { using type = __nv_bfloat16; };
template <int PART, int OPERAND, int M, int N, int K> struct ws_tile;
template <int OPERAND, int M, int N, int K> struct ws_tile<ws_left, OPERAND, M, N, K> {
    using element = typename ws_operand_type<OPERAND>::type;
    nvcuda::wmma::fragment<nvcuda::wmma::matrix_a, M, N, K, element, nvcuda::wmma::row_major> lanes;
};
template <int OPERAND, int M, int N, int K> struct ws_tile<ws_right, OPERAND, M, N, K> {
    using element = typename ws_operand_type<OPERAND>::type;
    nvcuda::wmma::fragment<nvcuda::wmma::matrix_b, M, N, K, element, nvcuda::wmma::row_major> lanes;
};
template <int OPERAND, int M, int N, int K> struct ws_tile<ws_sum, OPERAND, M, N, K> {
    using element = float;
    nvcuda::wmma::fragment<nvcuda::wmma::accumulator, M, N, K, float> lanes;
};
// Rows lie a stride of elements apart; the address is a multiple of 32 bytes, the stride of 16.
template <int PART, int OPERAND, int M, int N, int K> ws_fn void ws_tile_load(ws_tile<PART, OPERAND, M, N, K>& tile, const void* from, int stride)
{
    using element = typename ws_tile<PART, OPERAND, M, N, K>::element;
    if constexpr (PART == ws_sum) {
        nvcuda::wmma::load_matrix_sync(tile.lanes, (const element*)from, stride, nvcuda::wmma::mem_row_major);
    } else {
        nvcuda::wmma::load_matrix_sync(tile.lanes, (const element*)from, stride);
    }
}
template <int OPERAND, int M, int N, int K> ws_fn void ws_tile_store(void* to, const ws_tile<ws_sum, OPERAND, M, N, K>& tile, int stride)
{
    nvcuda::wmma::store_matrix_sync((float*)to, tile.lanes, stride, nvcuda::wmma::mem_row_major);
}
template <int PART, int OPERAND, int M, int N, int K> ws_fn void ws_tile_fill(ws_tile<PART, OPERAND, M, N, K>& tile, float value)
{
    nvcuda::wmma::fill_fragment(tile.lanes, typename ws_tile<PART, OPERAND, M, N, K>::element(value));
}
template <int OPERAND, int M, int N, int K>
ws_fn void ws_mma(ws_tile<ws_sum, OPERAND, M, N, K>& sum, const ws_tile<ws_left, OPERAND, M, N, K>& left, const ws_tile<ws_right, OPERAND, M, N, K>& right)
{
    nvcuda::wmma::mma_sync(sum.lanes, left.lanes, right.lanes, sum.lanes);
}
#endif
