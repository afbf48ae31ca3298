#include "popgrad/rungs/given_start.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "popgrad/base/error.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/scalars/real.hpp"

namespace popgrad {
namespace {

// Long states are told by their first names.
std::string some_names(const std::vector<std::string>& names) {
  constexpr std::size_t most = 12;
  const auto count = static_cast<std::ptrdiff_t>(std::min(most, names.size()));
  return fmt::format("{}{}", fmt::join(names.begin(), names.begin() + count, ", "),
                     names.size() > most ? ", ..." : "");
}

// Places in the state that `name` stands for: its own, or those of all `name_...`.
std::vector<Index> places_of(const std::vector<std::string>& names, const std::string& name) {
  std::vector<Index> places;
  const auto own = std::find(names.begin(), names.end(), name);
  if (own != names.end()) return {own - names.begin()};
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i].starts_with(name + "_")) places.push_back(static_cast<Index>(i));
  }
  return places;
}

}  // namespace

template <class T>
Matrix<T> given_block(const Parameters& p, const ListParameter& block, Index rows, Index columns) {
  if (!given(p, block)) return {};
  Matrix<T> matrix = p.matrix<T>(block.name);
  if (matrix.rows() != rows || matrix.cols() != columns) {
    reject(p.model(), block.name, fmt::format("{} x {}", matrix.rows(), matrix.cols()),
           fmt::format("must be {} x {}: {}", rows, columns, block.meaning));
  }
  return matrix;
}

template <class T>
void set_state(AnyRung<T>& rung, const Parameters& p, std::string_view where,
               std::span<const StartKey> keys) {
  const Value* const state = p.values().find(state_key);
  if (state == nullptr) return;
  const auto* const components = state->template as<Record>();
  if (components == nullptr) {
    reject(where, state_key, json_text(*state).substr(0, 40),
           "must be an object of components by name, such as {\"" + rung.state_names.front() +
               "\": 0.1}");
  }
  if (rung.field.state_at) {
    reject(where, state_key, "given",
           "does not go with a closed form, whose start is fixed; take the rung 'reduced'");
  }
  const Parameters named(p.model(), *components);
  for (const auto& [name, value] : components->entries()) {
    for (const StartKey& key : keys) {
      const bool own = std::find(rung.state_names.begin(), rung.state_names.end(), name) !=
                       rung.state_names.end();
      if (name.starts_with(key.prefix) || (!own && name + "_" == key.prefix)) {
        reject(where, std::string(state_key) + " component", name,
               fmt::format("is part of a matrix; give the whole of it as \"{}\"", key.key));
      }
    }
    const std::vector<Index> places = places_of(rung.state_names, name);
    if (places.empty()) {
      reject(where, std::string(state_key) + " component", name,
             "is not known" + suggestion(name, rung.state_names) +
                 "; this rung has: " + some_names(rung.state_names));
    }
    const Vector<T> numbers = named.vector<T>(name);
    if (numbers.size() != static_cast<Index>(places.size())) {
      reject(where, std::string(state_key) + " component", name,
             fmt::format(
                 "with {} numbers must have {}, one for each of: {}", numbers.size(), places.size(),
                 places.size() == 1
                     ? name
                     : fmt::format("{}, ..., {}",
                                   rung.state_names[static_cast<std::size_t>(places.front())],
                                   rung.state_names[static_cast<std::size_t>(places.back())])));
    }
    for (std::size_t i = 0; i < places.size(); ++i) {
      rung.initial[places[i]] = numbers[static_cast<Index>(i)];
    }
  }
}

template Matrix<double> given_block(const Parameters&, const ListParameter&, Index, Index);
template Matrix<Real> given_block(const Parameters&, const ListParameter&, Index, Index);
Rung with_given_state(Rung rung, std::string where, std::vector<StartKey> keys) {
  const auto set = [where = std::move(where), keys = std::move(keys)]<class T>(
                       AnyRung<T> made, const Parameters& p) {
    set_state(made, p, where, keys);
    return made;
  };
  rung.make = [make = std::move(rung.make), set](const Parameters& p, std::uint64_t seed) {
    return set(make(p, seed), p);
  };
  if (rung.make_in_digits) {
    rung.make_in_digits = [make = std::move(rung.make_in_digits), set](const Parameters& p,
                                                                       std::uint64_t seed) {
      return set(make(p, seed), p);
    };
  }
  return rung;
}

template void set_state(AnyRung<double>&, const Parameters&, std::string_view,
                        std::span<const StartKey>);
template void set_state(AnyRung<Real>&, const Parameters&, std::string_view,
                        std::span<const StartKey>);

}  // namespace popgrad
