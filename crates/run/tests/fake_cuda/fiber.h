// Fibers: stacks of their own, entered once with ucontext and then switched with setjmp, which asks the kernel for nothing.
#pragma once
#include <functional>

struct Fiber;

// A fiber that is ready to run `body`.
Fiber* take_fiber(void (*body)(void*));
// Back to the pool after its body ended.
void give_fiber(Fiber*);
// Runs it until it switches back or ends; true where it ended.
bool switch_to(Fiber*);
// From within: back to who switched to it.
void switch_back(Fiber*);
// From within: ends it here; it is not run again.
[[noreturn]] void abandon(Fiber*);
// Throws away every fiber that was left in the middle.
void forget_fibers();
// Runs `work`; false where a fiber's access to memory faulted, which ends the work.
bool guard_faults(const std::function<void()>& work);
