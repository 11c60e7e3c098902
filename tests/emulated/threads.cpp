// See threads.h. One grid runs at a time, and one of its threads; who calls from several threads of
// the host waits.

#include "emulated/threads.h"
#include "emulated/shared.h"

#include <boost/context/detail/fcontext.hpp>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <sys/mman.h>
#include <utility>
#include <vector>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace emulated
{

namespace context = boost::context::detail;

#ifdef __SANITIZE_ADDRESS__
constexpr size_t stack_bytes = size_t(512) << 10;
#else
constexpr size_t stack_bytes = size_t(128) << 10;
#endif
constexpr size_t guard_bytes = 4096;

constexpr size_t stack_colours = size_t(16) << 10;

struct copy {
    void *to;
    const void *from;
    int bytes;
    int there; // the rest is zero
};

struct thread {
    uint3 index;
    int number;
    bool is_done;
    const place *waits_at;      // null: it does not
    unsigned mask;              // of the lanes it waits for
    void *mine;                 // what it brings there
    context::fcontext_t resume; // where it goes on
    char *stack;                // its lowest byte
    size_t stack_size;
    void *fake_stack;             // the sanitizer's
    std::vector<copy> copies;     // not waited for yet
    std::vector<size_t> n_of_set; // of the sets of copies that are closed
};

launch_shape shape;
uint3 block_index;
thread *here = nullptr;

namespace
{

struct barrier {
    int wanted;
    int n_yes;
    int answer;
    std::vector<thread *> waiting;
};

// Lanes of a warp: that exist, that have ended, and that wait for others of their mask.
struct warp {
    unsigned lanes;
    unsigned ended;
    unsigned there;
};

thread threads[most_threads];
warp warps[most_threads / warp_lanes];
barrier barriers[most_barriers];
int n_thread = 0;
int n_done = 0;
const char *kernel_name = "";
void (*thread_body)(void *) = nullptr;
void *thread_held = nullptr;
bool is_measured = false; // first_shared_bytes() is asking
size_t measured_bytes = 0;
std::recursive_mutex one_grid;

// Who may run, in the order in which they became able to. Each thread is in it once at most.
struct {
    thread *of[most_threads];
    unsigned first;
    unsigned end;
} ready;

thread scheduler; // the host's own stack

void make_ready(thread *one)
{
    one->waits_at = nullptr;
    ready.of[ready.end++ % most_threads] = one;
}

// TESSERA_EMULATED_ORDER: 0 (as they are numbered), 1 (the other way), or a seed of a random order,
// so that what depends on the order of threads between two barriers differs.
unsigned long order_wish()
{
    static const unsigned long order = [] {
        const char *wish = getenv("TESSERA_EMULATED_ORDER");
        return wish == nullptr ? 0 : strtoul(wish, nullptr, 10);
    }();
    return order;
}

void make_ready_in_order(thread *const *those, size_t n)
{
    static uint64_t state = order_wish();
    const unsigned first = ready.end;
    for (size_t i = 0; i < n; i++) {
        make_ready(those[order_wish() == 1 ? n - 1 - i : i]);
    }
    for (size_t i = n; order_wish() > 1 && i > 1; i--) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        std::swap(ready.of[(first + i - 1) % most_threads],
                  ready.of[(first + (state >> 33) % i) % most_threads]);
    }
}

#ifdef __SANITIZE_ADDRESS__
void leave_stack(thread *from, const thread *to)
{
    __sanitizer_start_switch_fiber(from->is_done ? nullptr : &from->fake_stack, to->stack,
                                   to->stack_size);
}

void arrive_on_stack(const thread *at, thread *from)
{
    const void *bottom = nullptr;
    size_t bytes = 0;
    __sanitizer_finish_switch_fiber(at->fake_stack, &bottom, &bytes);
    if (from == &scheduler) { // learns from this what the host's stack is
        from->stack = const_cast<char *>(static_cast<const char *>(bottom));
        from->stack_size = bytes;
    }
}
#else
void leave_stack(thread *, const thread *)
{
}

void arrive_on_stack(const thread *, thread *)
{
}
#endif

void switch_to(thread *to)
{
    thread *from = here;
    if (from == to) {
        return;
    }
    leave_stack(from, to);
    here = to;
    const context::transfer_t back = context::jump_fcontext(to->resume, from);
    thread *by = static_cast<thread *>(back.data);
    by->resume = back.fctx;
    arrive_on_stack(from, by);
}

thread *next_ready()
{
    return ready.first == ready.end ? &scheduler : ready.of[ready.first++ % most_threads];
}

void wait_at(const place &at)
{
    here->waits_at = &at;
    switch_to(next_ready());
}

unsigned bit_of(const thread &one)
{
    return 1u << (one.number % warp_lanes);
}

// Which thread of which kernel it is that something is said of.
void describe_place()
{
    const uint3 &block = block_index;
    fprintf(stderr, "emulated GPU: %s, block (%u, %u, %u), ", kernel_name, block.x, block.y,
            block.z);
    if (here != nullptr && here != &scheduler) {
        const uint3 &index = here->index;
        fprintf(stderr, "thread (%u, %u, %u): ", index.x, index.y, index.z);
    }
}

bool is_same_state(const thread &a, const thread &b)
{
    const bool waits = a.waits_at != nullptr;
    return a.is_done == b.is_done && waits == (b.waits_at != nullptr) &&
           (!waits ||
            (a.waits_at->line == b.waits_at->line && a.waits_at->what == b.waits_at->what));
}

// Who waits where, neighbours of one place in one line.
void describe_waiting()
{
    for (int i = 0; i < n_thread;) {
        const thread &one = threads[i];
        int end = i + 1;
        while (end < n_thread && is_same_state(one, threads[end])) {
            end++;
        }
        if (one.is_done || one.waits_at == nullptr) {
            fprintf(stderr, "  threads %d to %d: %s\n", i, end - 1,
                    one.is_done ? "have ended" : "run");
        } else {
            fprintf(stderr, "  threads %d to %d: wait in %s, %s:%d\n", i, end - 1,
                    one.waits_at->what, one.waits_at->file, one.waits_at->line);
        }
        i = end;
    }
}

// What a thread leaves behind: nobody of its warp may wait for it.
void leave_warp()
{
    warp &own = warps[here->number / warp_lanes];
    own.ended |= bit_of(*here);
    const thread *first = here - lane();
    for (int i = 0; i < warp_lanes && own.there != 0; i++) {
        if (own.there >> i & 1 && first[i].mask & bit_of(*here)) {
            const place &at = *first[i].waits_at;
            fault("this thread ends while thread %d waits for it in %s, %s:%d", first[i].number,
                  at.what, at.file, at.line);
        }
    }
}

void begin_thread(context::transfer_t from)
{
    thread *by = static_cast<thread *>(from.data);
    by->resume = from.fctx;
    arrive_on_stack(here, by);
    thread_body(thread_held);
    copies_commit();
    copies_wait(0);
    leave_warp();
    here->is_done = true;
    n_done++;
    switch_to(next_ready());
    abort(); // nobody goes on with a thread that has ended
}

#ifdef __SANITIZE_ADDRESS__
void say_where_it_died()
{
    if (here != nullptr) {
        describe_place();
        fprintf(stderr, "see above\n");
    }
}
#endif

// Stacks with a page below each that nobody may touch.
void make_stacks()
{
    const size_t each = stack_bytes + guard_bytes;
    void *all = mmap(nullptr, each * most_threads, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all == MAP_FAILED) {
        fault("no memory for stacks");
    }
    for (int i = 0; i < most_threads; i++) {
        char *guard = static_cast<char *>(all) + size_t(i) * each;
        (void)mprotect(guard, guard_bytes, PROT_NONE);
        threads[i].stack = guard + guard_bytes;
        threads[i].stack_size = stack_bytes;
        threads[i].number = i;
    }
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_set_death_callback(say_where_it_died);
#endif
}

void begin_block()
{
    thread *all[most_threads];
    n_done = 0;
    ready.first = ready.end = 0;
    for (barrier &one : barriers) {
        one.wanted = one.n_yes = 0;
        one.waiting.clear();
    }
    for (warp &one : warps) {
        one = {};
    }
    for (int i = 0; i < n_thread; i++) {
        thread &one = threads[i];
        warps[i / warp_lanes].lanes |= bit_of(one);
        one.index = {unsigned(i) % shape.block.x, unsigned(i) / shape.block.x % shape.block.y,
                     unsigned(i) / (shape.block.x * shape.block.y)};
        one.is_done = false;
        one.fake_stack = nullptr;
#ifdef __SANITIZE_ADDRESS__
        constexpr size_t left_behind = stack_colours + 4096; // by begin_thread() of the last block
        __asan_unpoison_memory_region(one.stack + stack_bytes - left_behind, left_behind);
#endif
        // Frames of one depth at other lines of the cache: a block's threads take turns there.
        const size_t used = stack_bytes - size_t(i) * 576 % stack_colours;
        one.resume = context::make_fcontext(one.stack + used, used, begin_thread);
        all[i] = &one;
    }
    make_ready_in_order(all, size_t(n_thread));
}

void run_block()
{
    shared_begin_block();
    begin_block();
    switch_to(next_ready());
    if (n_done < n_thread && !is_measured) {
        here = nullptr;
        fault("deadlock: %d of %d threads wait for what does not come", n_thread - n_done,
              n_thread);
    }
}

// Whether others ask for the same step as the thread that came to it.
void check_same(const thread &other, const place &at, unsigned mask)
{
    const place &its = *other.waits_at;
    if (its.line != at.line || (its.file != at.file && strcmp(its.file, at.file) != 0)) {
        fault("this thread is in %s, %s:%d, thread %d of its group in %s, %s:%d", at.what, at.file,
              at.line, other.number, its.what, its.file, its.line);
    }
    if (other.mask != mask) {
        fault("%s, %s:%d: mask %08x, but %08x of thread %d", at.what, at.file, at.line, mask,
              other.mask, other.number);
    }
}

} // namespace

[[noreturn]] void fault(const char *format, ...)
{
    char what[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    describe_place();
    fprintf(stderr, "%s\n", what);
    describe_waiting();
    abort();
}

const uint3 &thread_index()
{
    return here->index;
}

int lane()
{
    return here->number % warp_lanes;
}

void meet_warp(const place &at, unsigned mask, void *mine, warp_act *act)
{
    thread *const first = here - lane();
    warp &own = warps[first->number / warp_lanes];
    const unsigned wanted = mask & own.lanes;
    if (!(wanted & bit_of(*here))) {
        fault("%s, %s:%d: mask %08x lacks this lane", at.what, at.file, at.line, mask);
    }
    if (wanted & own.ended) {
        fault("%s, %s:%d: of the lanes %08x have ended %08x", at.what, at.file, at.line, wanted,
              own.ended);
    }
    here->mask = wanted;
    here->mine = mine;
    own.there |= bit_of(*here);
    if (wanted & ~own.there) {
        wait_at(at);
        return;
    }
    void *all[warp_lanes] = {};
    thread *others[warp_lanes];
    size_t n_other = 0;
    for (int i = 0; i < warp_lanes; i++) {
        if (!(wanted >> i & 1)) {
            continue;
        }
        all[i] = first[i].mine;
        if (first + i != here) {
            check_same(first[i], at, wanted);
            others[n_other++] = first + i;
        }
    }
    own.there &= ~wanted;
    act(all, wanted);
    make_ready_in_order(others, n_other);
}

int meet_block(const place &at, int number, int wanted, bool says_yes)
{
    if (number < 0 || number >= most_barriers) {
        fault("%s, %s:%d: barrier %d", at.what, at.file, at.line, number);
    }
    barrier &one = barriers[number];
    const int n_wanted = wanted == 0 ? n_thread : wanted;
    if (wanted == 0 && n_done > 0) {
        fault("%s, %s:%d: %d threads of the block have ended without it", at.what, at.file, at.line,
              n_done);
    }
    if (!one.waiting.empty() && one.wanted != n_wanted) {
        fault("%s, %s:%d: for %d threads, but others for %d", at.what, at.file, at.line, n_wanted,
              one.wanted);
    }
    one.wanted = n_wanted;
    here->mask = 0;
    one.n_yes += says_yes;
    if (int(one.waiting.size()) + 1 < n_wanted) {
        one.waiting.push_back(here);
        wait_at(at);
        return one.answer;
    }
    for (const thread *other : one.waiting) {
        check_same(*other, at, 0);
    }
    one.answer = one.n_yes;
    one.n_yes = 0;
    make_ready_in_order(one.waiting.data(), one.waiting.size());
    one.waiting.clear();
    return one.answer;
}

void copy_later(void *to, const void *from, int bytes, int there)
{
    here->copies.push_back({to, from, bytes, there});
}

void copies_commit()
{
    size_t n = here->copies.size();
    for (const size_t before : here->n_of_set) {
        n -= before;
    }
    here->n_of_set.push_back(n);
}

void copies_wait(int newest)
{
    std::vector<size_t> &sets = here->n_of_set;
    std::vector<copy> &copies = here->copies;
    while (sets.size() > size_t(newest)) {
        for (size_t i = 0; i < sets[0]; i++) {
            const copy &one = copies[i];
            memcpy(one.to, one.from, size_t(one.there));
            memset(static_cast<char *>(one.to) + one.there, 0, size_t(one.bytes - one.there));
        }
        copies.erase(copies.begin(), copies.begin() + long(sets[0]));
        sets.erase(sets.begin());
    }
}

void check_bounds(int threads_promised)
{
    if (n_thread > threads_promised) {
        fault("%d threads, but the kernel was compiled for %d", n_thread, threads_promised);
    }
}

// TESSERA_EMULATED_LAUNCHES: a file that names every kernel that was launched.
void note_launch(const char *kernel, const launch_shape &of)
{
    static FILE *const file = [] {
        const char *wish = getenv("TESSERA_EMULATED_LAUNCHES");
        return wish == nullptr ? nullptr : fopen(wish, "a");
    }();
    if (file != nullptr && !is_measured) {
        fprintf(file, "%s (%u, %u, %u) x (%u, %u, %u)\n", kernel, of.grid.x, of.grid.y, of.grid.z,
                of.block.x, of.block.y, of.block.z);
        fflush(file);
    }
}

void run_grid(const char *kernel, const launch_shape &of, void (*body)(void *), void *held)
{
    const std::lock_guard<std::recursive_mutex> lock(one_grid);
    note_launch(kernel, of);
    if (threads[0].stack == nullptr) {
        make_stacks();
    }
    shape = of;
    kernel_name = kernel;
    thread_body = body;
    thread_held = held;
    n_thread = int(of.block.x * of.block.y * of.block.z);
    here = &scheduler;
    const bool is_turned = order_wish() == 1;
    const uint64_t n_block = uint64_t(of.grid.x) * of.grid.y * of.grid.z;
    for (uint64_t i = 0; i < n_block; i++) {
        const uint64_t k = is_turned ? n_block - 1 - i : i;
        block_index = {unsigned(k % of.grid.x), unsigned(k / of.grid.x % of.grid.y),
                       unsigned(k / (uint64_t(of.grid.x) * of.grid.y))};
        run_block();
    }
    shared_end_grid();
    here = nullptr;
}

size_t first_shared_bytes(void (*body)(void *), void *held)
{
    const std::lock_guard<std::recursive_mutex> lock(one_grid);
    is_measured = true;
    measured_bytes = 0;
    run_grid("asked for its shared memory", {dim3(), dim3(), 0}, body, held);
    is_measured = false;
    return measured_bytes;
}

void end_measured(size_t bytes)
{
    if (is_measured) {
        measured_bytes = bytes;
        switch_to(&scheduler); // and never back
    }
}

} // namespace emulated
