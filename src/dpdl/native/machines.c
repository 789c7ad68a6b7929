/* Which variant of the kernels runs. */
static int most = 2;

/* For tests and measurements: take no variant above this one. */
void dpdl_use_at_most(int level) { most = level; }

/* 2: AVX-512, 1: AVX2, 0: any other processor. */
int dpdl_machine(void) {
    int found = 0;
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) found = 1;
    if (found && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl"))
        found = 2;
#endif
    return found < most ? found : most;
}
