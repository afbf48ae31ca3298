// A theory file against the same theory as a class in C++, by equal columns.

#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "popgrad/rungs/law_model.hpp"
#include "popgrad/rungs/parameters.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/walks/walk.hpp"
#include "theory_files/file_against_rung.hpp"

namespace law_in_cpp_test {
namespace {

using namespace popgrad;

/// theorems/files/regression.toml: v learns w on four points, whose labels are 1 larger with probability `flip`.
///   v' = E (w.x + e - v.x) x
template <Transcendental T>
struct Regression {
  using Scalar = T;
  T flip, start;

  [[nodiscard]] Index dimension() const { return 2; }
  [[nodiscard]] Vector<T> initial() const { return Vector<T>::Constant(2, start); }
  [[nodiscard]] std::vector<std::string> state_names() const { return {"v_0", "v_1"}; }
  [[nodiscard]] std::vector<std::string> columns() const { return {"loss", "distance", "error"}; }
  struct Point {
    T x, y, probability;
  };
  [[nodiscard]] std::array<Point, 4> points() const {
    return {{{T(1), T(1) / T(2), T(1) / T(10)},
             {T(-1) / T(2), T(2), T(1) / T(5)},
             {T(0), T(-1), T(3) / T(10)},
             {T(3), T(1), T(2) / T(5)}}};
  }
  // v.x less w.x, w = (1, 1/2).
  static T miss(const Vector<T>& v, const Point& p) {
    return (v[0] - T(1)) * p.x + (v[1] - T(1) / T(2)) * p.y;
  }
  void rhs(const Vector<T>& v, Vector<T>& dv, const T& /*t*/) const {
    dv.setZero();
    for (const Point& p : points()) {
      const T pull = p.probability * (flip - miss(v, p));
      dv[0] += pull * p.x;
      dv[1] += pull * p.y;
    }
  }
  void sample_rhs(const Vector<T>& v, Vector<T>& dv, Stream& stream, Index batch) const {
    constexpr std::array<double, 4> cumulative{0.1, 0.3, 0.6, 1};
    dv.setZero();
    for (Index k = 0; k < batch; ++k) {
      const Point p = points().at(stream.category(cumulative));
      const T label = stream.uniform() < to_double(flip) ? T(1) : T(0);
      dv[0] += (label - miss(v, p)) * p.x / T(batch);
      dv[1] += (label - miss(v, p)) * p.y / T(batch);
    }
  }
  void observe(const Vector<T>& v, const T& /*t*/, std::span<T> row) const {
    using std::sqrt;
    row[0] = row[2] = T(0);
    for (const Point& p : points()) {
      const T off = miss(v, p);
      row[0] +=
          p.probability * (flip * (off - T(1)) * (off - T(1)) + (T(1) - flip) * off * off) / T(2);
      row[2] += p.probability * off * off;
    }
    const T x = v[0] - T(1), y = v[1] - T(1) / T(2);
    row[1] = sqrt(x * x + y * y);
  }
};

std::shared_ptr<const Model> model() {
  return model_of_law<Regression>(
      {.name = "regression", .paper = "derived here", .law = "v' = E (w.x + e - v.x) x"},
      {{.name = "flip", .meaning = "probability that a label is 1 larger", .standard = "0.1"},
       {.name = "start", .meaning = "entries of v at first", .standard = "0.5"}});
}

TEST_CASE("theory files: a class in C++ has equal columns", "[theory_files]") {
  const auto of_file = [](const std::string& rung) {
    return file_against_rung::rung_of_file("theorems/files/regression.toml", rung);
  };
  const auto of_class = [](const std::string& rung) {
    return model()->rung(rung, Parameters("regression"), 1);
  };
  const std::vector<std::pair<std::string, std::string>> columns{
      {"loss", "loss"}, {"distance", "distance"}, {"error", "error"}};
  file_against_rung::require_equal(of_file("flow"), of_class("flow"), columns, {0, 1, 5, 20});
  WalkRequest request{.step_size = 0.1, .steps = 200, .batch = 0};
  request.save_steps = evenly_spread_steps(request.steps, 11);
  const AnyRung<double> file = of_file("gd"), written = of_class("gd");
  const auto steps = walk(file, file.initial, request).front();
  const auto same_steps = walk(written, written.initial, request).front();
  REQUIRE(steps.rows.size() == 11);
  for (std::size_t k = 0; k < steps.rows.size(); ++k) {
    for (std::size_t c = 0; c < columns.size(); ++c)
      CHECK(steps.rows[k].at(c) == Approx(same_steps.rows[k].at(c)).epsilon(1e-12).margin(1e-14));
  }
  // Steps of SGD are of other draws; over runs they are alike.
  request.batch = 4;
  request.runs = 400;
  request.save_steps = {200};
  const AnyRung<double> one = of_file("sgd"), other = of_class("sgd");
  const auto mean_error = [&](const AnyRung<double>& rung) {
    double sum = 0;
    for (const Trajectory<double>& run : walk(rung, rung.initial, request))
      sum += run.rows.back().at(2) / request.runs;
    return sum;
  };
  const double error = mean_error(one);
  CHECK(error > steps.rows.back().at(2));
  CHECK(mean_error(other) == Approx(error).epsilon(0.25));
}

}  // namespace
}  // namespace law_in_cpp_test
