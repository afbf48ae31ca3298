#pragma once
/// Functions compiled for several instruction sets, the widest that the processor has chosen when
/// the program starts.

// Sanitizers instrument the resolver that picks a version before they are ready themselves.
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__clang__)
#define POPGRAD_WIDE __attribute__((target_clones("avx512f", "arch=haswell", "default")))
#else
#define POPGRAD_WIDE
#endif
