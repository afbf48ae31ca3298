#pragma once
/// What code in depth finds around it: a value bound by whoever calls, for the time of that call.

#include <utility>

namespace popgrad {

/// Of the process, as the loops that ask run on many threads. An inner one hides the outer one.
template <class T>
class Bound {
 public:
  /// The value has to outlive this.
  explicit Bound(const T& value) : outer_(std::exchange(current(), &value)) {}
  ~Bound() { current() = outer_; }
  Bound(const Bound&) = delete;
  Bound& operator=(const Bound&) = delete;

  /// What is bound; a T by default where nothing is.
  static const T& get() {
    static const T unbound{};
    return current() != nullptr ? *current() : unbound;
  }

 private:
  static const T*& current() {
    static const T* bound = nullptr;
    return bound;
  }
  const T* outer_;
};

}  // namespace popgrad
