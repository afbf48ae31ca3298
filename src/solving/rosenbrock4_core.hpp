#pragma once
/// Odeint's rosenbrock4 behind plain arrays.
///
/// Its linear algebra is Boost.uBLAS 1.74, which does not compile as C++20 (it calls members of
/// std::allocator that the standard removed), so this one source is compiled as C++17.

#include <cstddef>
#include <functional>
#include <memory>

namespace popgrad::solving {

class Rosenbrock4Core {
 public:
  /// dx[n] = f(x[n], t)
  using Right = std::function<void(const double* x, double* dx, double t)>;
  /// jacobian[n * n], row by row, and df/dt
  using Jacobian =
      std::function<void(const double* x, double* jacobian, double t, double* time_slope)>;

  Rosenbrock4Core(std::size_t n, Right right, Jacobian jacobian, double absolute_tolerance,
                  double relative_tolerance);
  ~Rosenbrock4Core();

  /// Error-controlled: on success `t` advances and `out` is the new state; `step` is the
  /// next to try.
  bool try_step(const double* x, double& t, double* out, double& step);
  /// One step of exactly `step`.
  void plain_step(const double* x, double t, double* out, double step);

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace popgrad::solving
