#include "fiber.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <cstdlib>
#include <memory>
#include <vector>

// Arrays of a kernel's registers live here; 8-byte accumulators of the largest tiles take a few KiB.
constexpr size_t STACK = 128 << 10, PAGE = 4096;

struct Fiber {
    char* stack;
    ucontext_t context;
    jmp_buf inside;
    void (*body)(void*);
    bool entered;
};

namespace {

std::vector<std::unique_ptr<Fiber>> all;
std::vector<Fiber*> idle;
Fiber* current = nullptr;
jmp_buf outside;
enum { BEGAN = 0, LEFT = 1, ENDED = 2 };
sigjmp_buf fault;
volatile sig_atomic_t guarded = 0;

// A fiber runs one body after another, so its first entry, the only one through ucontext, is paid once.
void loop() {
    for (;;) {
        Fiber* f = current;
        f->body(nullptr);
        if (_setjmp(f->inside) == 0) _longjmp(outside, ENDED);
    }
}

Fiber* make() {
    auto f = std::make_unique<Fiber>();
    void* at = mmap(nullptr, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (at == MAP_FAILED) abort();
    mprotect(at, PAGE, PROT_NONE);
    f->stack = static_cast<char*>(at);
    f->entered = false;
    all.push_back(std::move(f));
    return all.back().get();
}

void on_fault(int) {
    if (guarded && current) siglongjmp(fault, 1);
    // Not a kernel's: let it happen again with the default action.
    signal(SIGSEGV, SIG_DFL);
    signal(SIGBUS, SIG_DFL);
    signal(SIGFPE, SIG_DFL);
}

}  // namespace

Fiber* take_fiber(void (*body)(void*)) {
    Fiber* f;
    if (idle.empty()) {
        f = make();
    } else {
        f = idle.back();
        idle.pop_back();
    }
    f->body = body;
    return f;
}

void give_fiber(Fiber* f) { idle.push_back(f); }

bool switch_to(Fiber* f) {
    current = f;
    int how = _setjmp(outside);
    if (how == BEGAN) {
        if (f->entered) _longjmp(f->inside, 1);
        f->entered = true;
        getcontext(&f->context);
        f->context.uc_stack.ss_sp = f->stack;
        f->context.uc_stack.ss_size = STACK;
        f->context.uc_link = nullptr;
        makecontext(&f->context, loop, 0);
        setcontext(&f->context);
    }
    current = nullptr;
    return how == ENDED;
}

void switch_back(Fiber* f) {
    if (_setjmp(f->inside) == 0) _longjmp(outside, LEFT);
}

void abandon(Fiber*) { _longjmp(outside, LEFT); }

void forget_fibers() {
    current = nullptr;
    idle.clear();
    for (auto& f : all) {
        f->entered = false;
        idle.push_back(f.get());
    }
}

bool guard_faults(const std::function<void()>& work) {
    // The handler cannot use the fiber's stack, which may be what ran out.
    static char* stack = static_cast<char*>(malloc(64 << 10));
    stack_t alternate{}, before_stack{};
    alternate.ss_sp = stack;
    alternate.ss_size = 64 << 10;
    sigaltstack(&alternate, &before_stack);
    struct sigaction action{}, before[3];
    action.sa_handler = on_fault;
    action.sa_flags = SA_ONSTACK | SA_NODEFER;
    const int signals[3] = {SIGSEGV, SIGBUS, SIGFPE};
    for (int i = 0; i < 3; ++i) sigaction(signals[i], &action, &before[i]);
    bool whole = sigsetjmp(fault, 1) == 0;
    if (whole) {
        guarded = 1;
        work();
    }
    guarded = 0;
    for (int i = 0; i < 3; ++i) sigaction(signals[i], &before[i], nullptr);
    sigaltstack(&before_stack, nullptr);
    return whole;
}
