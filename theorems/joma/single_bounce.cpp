// Erratum: a single bounce of the entropy, claimed in JoMA, is not general.

#include <fmt/format.h>

#include "popgrad/joma/reduced_flow.hpp"
#include "popgrad/solved.hpp"
#include "theorems/joma/statements.hpp"

namespace popgrad::theorems::joma {
namespace {

using namespace popgrad::joma;

// Minima of the entropy for the given mu at tau = 3, v0 = 0.05.
std::vector<FoundEvent> extrema_of(const std::vector<double>& mu) {
  ReducedInstance<double> instance;
  instance.nonlinear = true;
  instance.target = Eigen::Map<const Matrix<double>>(mu.data(), std::ssize(mu), 1);
  instance.start = Matrix<double>::Constant(std::ssize(mu), 1, 0.05);
  instance.logits = Vector<double>::Zero(std::ssize(mu));
  instance.tau = 3;
  return events_of(forget_type(ReducedFlow<double>(instance)), 25, 1e-12);
}

}  // namespace

Erratum single_bounce() {
  return {
      .name = "joma: single bounce",
      .statement = "joma.entropy-bounce",
      .paper_says = "Section 4: with nonlinear phi the entropy falls and then bounces back (once)",
      .algebra_says = "it falls first and rises last, but several bounces are possible",
      .evidence = [] {
        const auto extrema = extrema_of({1.63, 1.77, 1.79, 1.82, 1.83, 1.83, 4.23, 4.25});
        std::string told;
        for (const FoundEvent& e : extrema) {
          told += fmt::format("{}{} {:.6f}", told.empty() ? "" : ", ", e.name, e.value.value());
        }
        return std::vector<Evidence>{identity(EvidenceKind::numerical,
                                              "mu = 1.63 .. 4.25, tau = 3, v0 = 0.05 bounces twice",
                                              extrema.size() == 3 ? Truth::yes : Truth::no, told)};
      }};
}

}  // namespace popgrad::theorems::joma
