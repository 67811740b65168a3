// A launch of a chain: adds y to x, after the launch before has done so; the one after may begin at once and waits in turn.
extern "C" __global__ void __launch_bounds__(kThreads) chain(unsigned* x, const unsigned* y) {
    ws_griddep_launch();
    const unsigned i = blockIdx.x * kThreads + threadIdx.x;
    ws_griddep_wait();
    if (i < kElements) x[i] += y[i];
}
