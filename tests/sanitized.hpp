#pragma once
/// Whether the library and the program are compiled with sanitizers. Tests are not, and ask at run time, so
/// that one compilation of them serves both builds.

namespace build {

bool sanitized();

}  // namespace build
