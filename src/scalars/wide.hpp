#pragma once
/// Functions compiled for several instruction sets, the widest that the processor has chosen when
/// the program starts. Of a function that a header has declared before, Clang 14 makes the first version
/// only and calls it on every processor: what is marked has to have internal linkage.

// Sanitizers instrument the resolver that picks a version before they are ready themselves.
#if defined(__has_feature)
#define POPGRAD_ADDRESS_SANITIZER __has_feature(address_sanitizer)
#elif defined(__SANITIZE_ADDRESS__)
#define POPGRAD_ADDRESS_SANITIZER 1
#else
#define POPGRAD_ADDRESS_SANITIZER 0
#endif
#if defined(__x86_64__) && !POPGRAD_ADDRESS_SANITIZER
#define POPGRAD_WIDE __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define POPGRAD_WIDE
#endif

namespace popgrad::wide {

// Clang 14 makes no versions of a function template: those have one for wide vectors beside the plain
// one, and ask the processor themselves.
#if defined(__x86_64__) && defined(__clang__) && !POPGRAD_ADDRESS_SANITIZER
#define POPGRAD_WIDE_TEMPLATE __attribute__((target("avx2,fma")))
inline bool takes_wide_template() {
  return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
}
#else
#define POPGRAD_WIDE_TEMPLATE POPGRAD_WIDE
constexpr bool takes_wide_template() { return true; }
#endif

}  // namespace popgrad::wide
