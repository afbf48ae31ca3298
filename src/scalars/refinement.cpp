#include "popgrad/scalars/refinement.hpp"

#include <algorithm>

#include "popgrad/scalars/random.hpp"

namespace popgrad {
namespace {

constexpr std::uint32_t stream_of_second_seed = 0xC04F124EU;
constexpr double tightest_in_double = 1e-14;
constexpr std::uint32_t times_the_draws = 4;
constexpr std::size_t further_parameters = 2;

struct State {
  Sharper asked;
  Sharper made;
};
thread_local State state;

}  // namespace

Refinement::Refinement(Sharper sharper) { state = {.asked = sharper, .made = {}}; }
Refinement::~Refinement() { state = {}; }

std::string Refinement::made() const {
  std::string text;
  const auto add = [&](bool made, const char* what) {
    if (made) text += (text.empty() ? "" : ", ") + std::string(what);
  };
  add(state.made.digits, "solves in 40 digits");
  add(state.made.solves, "solves in double at tolerance 1e-14");
  add(state.made.draws, "4 times the draws from a second seed");
  add(state.made.limits, "limits two parameters further");
  return text;
}

double refined_tolerance(double usual) {
  if (!state.asked.solves) return usual;
  state.made.solves = true;
  return std::min(usual, tightest_in_double);
}

bool refined_to_digits() {
  state.made.digits = state.made.digits || state.asked.digits;
  return state.asked.digits;
}

std::uint32_t refined_draws(std::uint32_t usual) {
  if (!state.asked.draws) return usual;
  state.made.draws = true;
  return usual * times_the_draws;
}

std::uint64_t refined_seed(std::uint64_t instance_seed) {
  if (!state.asked.draws) return instance_seed;
  state.made.draws = true;
  Stream stream(instance_seed, stream_of_second_seed, 0);
  // Statements multiply a seed by small numbers.
  return stream.bits() >> 16U;
}

std::vector<double> falling_parameters(double largest, double factor, std::size_t count) {
  if (state.asked.limits) {
    state.made.limits = true;
    count += further_parameters;
  }
  std::vector<double> parameters{largest};
  while (parameters.size() < count) parameters.push_back(parameters.back() / factor);
  return parameters;
}

}  // namespace popgrad
