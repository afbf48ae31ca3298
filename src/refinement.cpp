#include "popgrad/refinement.hpp"

#include <algorithm>

#include "popgrad/random.hpp"

namespace popgrad {
namespace {

constexpr std::uint32_t stream_of_second_seed = 0xC04F124EU;
constexpr double tightest_in_double = 1e-14;
constexpr std::uint32_t times_the_draws = 4;
constexpr std::size_t further_parameters = 2;

struct State {
  bool on = false, to_digits = false;
  bool digits = false, solves = false, draws = false, limits = false;
};
thread_local State state;

}  // namespace

Refinement::Refinement(bool to_digits) { state = {.on = true, .to_digits = to_digits}; }
Refinement::~Refinement() { state = {}; }

std::string Refinement::made() const {
  std::string text;
  const auto add = [&](bool made, const char* what) {
    if (made) text += (text.empty() ? "" : ", ") + std::string(what);
  };
  add(state.digits, "solves in 40 digits");
  add(state.solves, "solves in double at tolerance 1e-14");
  add(state.draws, "4 times the draws from a second seed");
  add(state.limits, "limits two parameters further");
  return text;
}

double refined_tolerance(double usual) {
  if (!state.on) return usual;
  state.solves = true;
  return std::min(usual, tightest_in_double);
}

bool refined_to_digits() {
  state.digits = state.digits || state.to_digits;
  return state.to_digits;
}

std::uint32_t refined_draws(std::uint32_t usual) {
  if (!state.on) return usual;
  state.draws = true;
  return usual * times_the_draws;
}

std::uint64_t refined_seed(std::uint64_t instance_seed) {
  if (!state.on) return instance_seed;
  state.draws = true;
  Stream stream(instance_seed, stream_of_second_seed, 0);
  // Statements multiply a seed by small numbers.
  return stream.bits() >> 16U;
}

std::vector<double> falling_parameters(double largest, double factor, std::size_t count) {
  if (state.on) {
    state.limits = true;
    count += further_parameters;
  }
  std::vector<double> parameters{largest};
  while (parameters.size() < count) parameters.push_back(parameters.back() / factor);
  return parameters;
}

}  // namespace popgrad
