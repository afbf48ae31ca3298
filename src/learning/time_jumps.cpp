#include "learning/time_jumps.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "formulas/operation.hpp"
#include "formulas/rebuild.hpp"
#include "learning/laws.hpp"
#include "popgrad/scalars/real.hpp"

namespace popgrad::learning {
namespace time_jumps_cpp {
namespace {

constexpr long grid_intervals = 1024;
// Of a floor: whole numbers that are tried one by one.
constexpr double most_whole_numbers = 1e5;

template <class T>
std::vector<T> run(formulas::Evaluator<T>& evaluator, std::size_t outputs, const T& t) {
  if (const std::span<T> time = evaluator.variable(time_name); !time.empty()) time[0] = t;
  evaluator.run();
  std::vector<T> all;
  for (std::size_t k = 0; k < outputs; ++k)
    all.insert(all.end(), evaluator.output(k).begin(), evaluator.output(k).end());
  return all;
}

// Where a level that is linear between two times is 0, or for a floor whole.
template <class T>
void add_roots(const T& start, const T& end, const T& first, const T& middle, const T& last,
               bool is_floor, std::vector<T>& to) {
  constexpr double roundings = 1e3;
  using std::abs;
  const T bend = first + last - T(2) * middle;
  const T size = abs(first) + abs(last);
  if (!(abs(bend) <= T(roundings) * machine_epsilon<T>() * size) || first == last) return;
  const auto add = [&](const T& level) {
    const T t = start + (end - start) * ((level - first) / (last - first));
    if (start < t && t < end) to.push_back(t);
  };
  if (!is_floor) {
    add(T(0));
    return;
  }
  const double low = std::ceil(to_double(std::min(first, last)));
  const double high = std::floor(to_double(std::max(first, last)));
  if (!(high - low <= most_whole_numbers)) return;
  for (double level = low; level <= high; ++level) add(T(level));
}

}  // namespace
}  // namespace time_jumps_cpp

template <class T>
TimeJumps<T>::TimeJumps(const std::vector<Array>& formulas, const LossArrays& arrays,
                        const std::vector<std::vector<T>>& parameters,
                        const std::optional<Array>& time) {
  using formulas::Jumps;
  if (formulas.empty()) return;
  formulas::Graph& graph = *formulas.front().graph;
  const Array t = graph.variable(time_name, {});
  std::set<std::string> steady{time_name};
  for (std::string& name : arrays.parameter_names()) steady.insert(std::move(name));
  const auto is_of_time = [&](const Array& a) {
    if (!reads(a, t)) return false;
    const std::vector<Array> read = formulas::variables_of({a});
    return std::all_of(read.begin(), read.end(),
                       [&](const Array& v) { return steady.contains(v.node().text); });
  };
  std::vector<Array> pieces, levels;
  const std::vector<bool> needed = formulas::needed_for(formulas);
  for (std::size_t k = 0; k < needed.size(); ++k) {
    if (!needed[k]) continue;
    const Array node{&graph, k};
    const Jumps jumps = node.node().operation->jumps;
    if (jumps == Jumps::none || !is_of_time(node)) continue;
    pieces.push_back(node);
    if (jumps == Jumps::elsewhere) continue;
    levels.push_back(jumps == Jumps::at_equality ? node.input(0) - node.input(1) : node.input(0));
    for (Index i = 0; i < formulas::entries(levels.back().shape()); ++i)
      is_floor_.push_back(jumps == Jumps::at_whole_numbers);
  }
  if (pieces.empty()) return;
  piece_arrays_ = pieces.size();
  level_arrays_ = levels.size();
  if (time) {
    pieces = formulas::substituted(pieces, {t}, {*time});
    levels = formulas::substituted(levels, {t}, {*time});
  }
  pieces_ = prepared(pieces, arrays, parameters);
  if (!levels.empty()) levels_ = prepared(levels, arrays, parameters);
}

template <class T>
typename TimeJumps<T>::Pieces TimeJumps<T>::pieces_at(const T& t) {
  return time_jumps_cpp::run(*pieces_, piece_arrays_, t);
}

template <class T>
std::vector<T> TimeJumps<T>::levels_at(const T& t) {
  return levels_ ? time_jumps_cpp::run(*levels_, level_arrays_, t) : std::vector<T>{};
}

template <class T>
std::vector<T> TimeJumps<T>::between(const T& start, const T& end) {
  std::vector<T> jumps;
  if (!pieces_ || !(start < end)) return jumps;
  std::vector<T> times;
  for (long k = 0; k < time_jumps_cpp::grid_intervals; ++k)
    times.push_back(start + (end - start) * T(k) / T(time_jumps_cpp::grid_intervals));
  times.push_back(end);
  std::vector<T> roots;
  const std::vector<T> first = levels_at(start), last = levels_at(end);
  const std::vector<T> middle = levels_at((start + end) / T(2));
  for (std::size_t k = 0; k < first.size(); ++k)
    time_jumps_cpp::add_roots(start, end, first[k], middle[k], last[k], is_floor_[k], roots);
  std::sort(roots.begin(), roots.end());
  for (std::size_t k = 0; k < roots.size(); ++k) {
    times.push_back(roots[k]);
    if (k > 0) times.push_back((roots[k - 1] + roots[k]) / T(2));
  }
  std::sort(times.begin(), times.end());
  T at = times.front();
  Pieces here = pieces_at(at);
  const T spacing = T(2) * machine_epsilon<T>();
  for (const T& next : times) {
    const Pieces there = pieces_at(next);
    while (here != there) {
      T low = at, high = next;
      Pieces after = there;
      while (true) {
        const T middle_time = (low + high) / T(2);
        if (!(low < middle_time && middle_time < high) || high - low <= spacing * high) break;
        Pieces seen = pieces_at(middle_time);
        if (seen == here) {
          low = middle_time;
        } else {
          high = middle_time;
          after = std::move(seen);
        }
      }
      jumps.push_back(high);
      at = high;
      here = std::move(after);
    }
    at = next;
  }
  return jumps;
}

template class TimeJumps<double>;
template class TimeJumps<Real>;

}  // namespace popgrad::learning
