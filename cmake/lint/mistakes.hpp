#pragma once
// Mistakes in a header, which clang-tidy must find where the header is included.

namespace mistakes {

template <class T>
T first_of_pair(T first, const T& /*second*/) {
  int* nothing = 0;  // expect: modernize-use-nullptr
  return nothing == nullptr ? first : T();
}

}  // namespace mistakes
