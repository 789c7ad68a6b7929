/* One source for all machines: the compiler makes it three times, and the processor at hand decides when it is called.
 * (`target_clones` would be shorter, but splits long vectors before it knows the machine, and is half as fast.)
 *
 * A file of kernels defines KERNELS, the header that has them, and includes this one. In the header every name is
 * written SUFFIX(name), MACHINE_LEVEL is 0 (any processor), 1 (AVX2) or 2 (AVX-512), and VECTOR and INTEGERS are vectors
 * of LANES numbers, as long as the machine's registers: the compiler handles longer ones badly. CHOOSE(name) is the
 * variant to call.
 */
#include <stdint.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))
#define JOIN(a, b) a##_##b
#define JOINED(a, b) JOIN(a, b)
#define SUFFIX(name) JOINED(name, MACHINE)

typedef float v8 __attribute__((vector_size(32), aligned(4), may_alias));
typedef float v16 __attribute__((vector_size(64), aligned(4), may_alias));
typedef int32_t i8 __attribute__((vector_size(32), aligned(4), may_alias));
typedef int32_t i16 __attribute__((vector_size(64), aligned(4), may_alias));

#define LANES 8
#define VECTOR v8
#define INTEGERS i8
#define MACHINE plain
#define MACHINE_LEVEL 0
#include KERNELS
#undef MACHINE
#undef MACHINE_LEVEL

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#define MACHINE avx2
#define MACHINE_LEVEL 1
#include KERNELS
#undef MACHINE
#undef MACHINE_LEVEL
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,fma")
#undef LANES
#undef VECTOR
#undef INTEGERS
#define LANES 16
#define VECTOR v16
#define INTEGERS i16
#define MACHINE avx512
#define MACHINE_LEVEL 2
#include KERNELS
#undef MACHINE
#undef MACHINE_LEVEL
#pragma GCC pop_options
#define CHOOSE_AT(level, name) ((level) == 2 ? name##_avx512 : (level) == 1 ? name##_avx2 : name##_plain)
#else
#define CHOOSE_AT(level, name) name##_plain
#endif
#define CHOOSE(name) CHOOSE_AT(dpdl_machine(), name)

int dpdl_machine(void);
