#include "popgrad/rungs/regime.hpp"

#include <fmt/format.h>
#include <fnmatch.h>

#include <Eigen/QR>
#include <algorithm>
#include <boost/math/tools/minima.hpp>
#include <boost/math/tools/toms748_solve.hpp>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include "popgrad/scalars/real.hpp"

namespace popgrad {
namespace {

/// Below this share of the peaks beside it, the speed is that of a plateau.
constexpr double slow = 0.05;
/// Below this share of its peak on both sides, a change of speed is a stage of its own.
constexpr double half = 0.5;
/// Degree of the local polynomials, and the rows they go through.
constexpr int smooth_degree = 4;
constexpr std::size_t smooth_width = 7;
constexpr int sampled_degree = 2;
constexpr std::size_t sampled_share = 16;
/// More rows of a sampled series than this are averaged in blocks.
constexpr std::size_t most_sampled_rows = 4096;

struct Series {
  std::vector<double> t, y;
};

/// Value and rates of change of a series at any time: a polynomial through the rows around it by
/// weighted least squares (tricube weights, as in Cleveland's local regression, JASA 74, 1979).
class LocalFit {
 public:
  LocalFit(const Series& series, std::size_t width, int degree)
      : series_(series), width_(width), degree_(degree) {}

  struct Rates {
    double value = 0, slope = 0;
  };

  [[nodiscard]] Rates at(double time) const {
    const auto& t = series_.t;
    const std::size_t n = t.size();
    const auto after =
        static_cast<std::size_t>(std::lower_bound(t.begin(), t.end(), time) - t.begin());
    std::size_t begin = after > width_ / 2 ? after - width_ / 2 : 0;
    begin = std::min(begin, n - width_);
    const double reach =
        1.001 * std::max(std::fabs(t[begin] - time), std::fabs(t[begin + width_ - 1] - time));
    Eigen::MatrixXd powers(static_cast<Index>(width_), degree_ + 1);
    Eigen::VectorXd values(static_cast<Index>(width_));
    const double level = series_.y[std::min(after, n - 1)];
    for (std::size_t k = 0; k < width_; ++k) {
      const double u = (t[begin + k] - time) / reach;
      const double far = std::fabs(u);
      // A root of the weight: squares are summed. Never 0, so that all columns stay independent.
      const double near = 1 - far * far * far;
      const double weight = 1e-3 + near * std::sqrt(near);  // pow takes longer than all the rest
      double power = weight;
      const auto row = static_cast<Index>(k);
      for (int p = 0; p <= degree_; ++p, power *= u) powers(row, p) = power;
      values[row] = weight * (series_.y[begin + k] - level);
    }
    const Eigen::VectorXd found = powers.householderQr().solve(values);
    return {level + found[0], found[1] / reach};
  }

 private:
  const Series& series_;
  std::size_t width_;
  int degree_;
};

/// The series seen at one width.
struct View {
  LocalFit fit;
  std::vector<double> value, slope;  ///< at the rows
  double noise = 0;                  ///< of a fitted value, one standard deviation
  double least_change = 0;           ///< what a stage has to change by
};

View view_of(const Series& series, std::size_t width, SeriesKind kind) {
  View view{LocalFit(series, width, kind == SeriesKind::smooth ? smooth_degree : sampled_degree),
            {},
            {},
            0,
            0};
  double squares = 0;
  for (std::size_t i = 0; i < series.t.size(); ++i) {
    const LocalFit::Rates rates = view.fit.at(series.t[i]);
    view.value.push_back(rates.value);
    view.slope.push_back(rates.slope);
    squares += (series.y[i] - rates.value) * (series.y[i] - rates.value);
  }
  const auto [low, high] = std::minmax_element(view.value.begin(), view.value.end());
  const double range = *high - *low;
  // A solution shows what is beyond its rounding and solver error; a share of 1/200 is far beyond
  // both and is seen on a picture. Runs show what is beyond four deviations of a fitted value.
  view.least_change = range / 200;
  if (kind == SeriesKind::sampled) {
    const auto rows = static_cast<double>(series.t.size());
    view.noise = std::sqrt(squares / rows * 2 / static_cast<double>(width));
    view.least_change = std::max(range / 20, 4 * std::sqrt(2.0) * view.noise);
  }
  return view;
}

/// A stretch of change: the speed rises above a share of its peak at `begin` and falls below it at
/// `end`; at the first or last row where it does not.
struct Stage {
  std::size_t begin = 0, peak = 0, end = 0;
  bool rises_to = false;  ///< the peak is not at the first row
  bool starts = false;    ///< the speed was below the share before
  bool ends = false;      ///< and is again after
  double change = 0;      ///< of the value over it

  [[nodiscard]] double duration(const View& view) const {
    return std::fabs(change / view.slope[peak]);
  }
};

// Stages, parted where the speed falls below `share` of both peaks.
std::vector<Stage> stages_of(const View& view, double share) {
  const std::size_t n = view.slope.size();
  const auto speed = [&](std::size_t i) { return std::fabs(view.slope[i]); };
  std::vector<Stage> found;
  std::size_t valley = 0;  // the slowest row since the last stage
  std::size_t i = 0;
  while (i < n) {
    // Up from the valley to a peak, as far as the speed does not fall below its share.
    std::size_t peak = i;
    std::size_t end = i;
    for (; end < n && !(speed(end) < share * speed(peak)); ++end) {
      if (speed(end) > speed(peak)) peak = end;
    }
    Stage stage;
    stage.peak = peak;
    stage.ends = end < n;
    stage.end = stage.ends ? end : n - 1;
    stage.begin = peak;
    while (stage.begin > valley && !(speed(stage.begin) < share * speed(peak))) --stage.begin;
    stage.starts = speed(stage.begin) < share * speed(peak);
    stage.rises_to = peak > 0;
    stage.change = view.value[stage.end] - view.value[stage.begin];
    const bool first = found.empty();
    if (std::fabs(stage.change) >= view.least_change && view.least_change > 0 &&
        (stage.starts || (first && stage.begin == 0))) {
      found.push_back(stage);
      valley = stage.end;
    } else if (std::fabs(stage.change) < view.least_change && end < n &&
               speed(end) < speed(valley)) {
      valley = end;
    }
    // On from the row where the speed had fallen; its peak is behind.
    i = std::max(end, i + 1);
  }
  return found;
}

// Where f passes 0 between two rows; nothing if it does not.
template <class F>
std::optional<double> zero_between(const F& f, double low, double high) {
  const double at_low = f(low);
  const double at_high = f(high);
  if (at_low == 0) return low;
  if (at_high == 0) return high;
  // Neither where one is not a number.
  if (!((at_low < 0 && at_high > 0) || (at_low > 0 && at_high < 0))) return std::nullopt;
  std::uintmax_t evaluations = 60;
  const auto close = [](double a, double b) {
    return std::fabs(b - a) <= 4e-16 * std::max(std::fabs(a), std::fabs(b));
  };
  const auto bracket =
      boost::math::tools::toms748_solve(f, low, high, at_low, at_high, close, evaluations);
  return (bracket.first + bracket.second) / 2;
}

/// Times of one kind in one view, named by what they are.
struct Found {
  std::string suffix;  ///< "-entry", "-escape" or nothing
  double t = 0;
  double value = 0;
  /// Twice how far t is from where it would be by a peak between the rows.
  double beside = 0;
};

class Finder {
 public:
  Finder(const Series& series, const View& view) : series_(series), view_(view) {}

  [[nodiscard]] std::vector<Found> find(RegimeKind kind) const {
    switch (kind) {
      case RegimeKind::minimum:
        return minima();
      case RegimeKind::rebound:
        return rebound();
      case RegimeKind::fastest_change:
        return fastest_changes();
      case RegimeKind::settling: {
        for (const Found& event : plateaus()) {
          if (event.suffix == "-entry") return {{"", event.t, event.value, event.beside}};
        }
        return {};
      }
      case RegimeKind::plateau:
        break;
    }
    return plateaus();
  }

 private:
  [[nodiscard]] Found event(const std::string& suffix, double t) const {
    return {suffix, t, view_.fit.at(t).value, 0};
  }

  // Lowest rows with a fall before and a rise after that are large enough, then the zero of the
  // slope beside them.
  [[nodiscard]] std::vector<Found> minima() const {
    std::vector<Found> found;
    const std::vector<double>& y = view_.value;
    const double enough = std::max(view_.least_change / 20, 8 * view_.noise);
    if (!(view_.least_change > 0)) return found;
    std::size_t top = 0;
    std::size_t bottom = 0;
    bool falling = false;
    for (std::size_t i = 1; i < y.size(); ++i) {
      if (!falling) {
        if (y[i] > y[top]) top = i;
        if (y[top] - y[i] > enough) {
          falling = true;
          bottom = i;
        }
        continue;
      }
      if (y[i] < y[bottom]) bottom = i;
      if (y[i] - y[bottom] > enough) {
        if (const auto t = zero_of_slope(bottom)) found.push_back(event("", *t));
        falling = false;
        top = i;
      }
    }
    return found;
  }

  [[nodiscard]] std::optional<double> zero_of_slope(std::size_t near) const {
    const auto slope = [&](double t) { return view_.fit.at(t).slope; };
    for (std::size_t reach = 0; reach < 5; ++reach) {
      for (const bool left : {true, false}) {
        if (left && near < reach + 1) continue;
        const std::size_t a = left ? near - reach - 1 : near + reach;
        if (a + 1 >= series_.t.size()) continue;
        if (view_.slope[a] < 0 && view_.slope[a + 1] >= 0) {
          return zero_between(slope, series_.t[a], series_.t[a + 1]);
        }
      }
    }
    return std::nullopt;
  }

  // Where |slope| peaks, between the rows beside the fastest; nothing at either end of the series.
  [[nodiscard]] std::optional<double> time_of_peak(const Stage& stage) const {
    if (stage.peak == 0 || stage.peak + 1 >= series_.t.size()) return std::nullopt;
    // 26 bits are all that the flat top of a parabola has in double.
    return boost::math::tools::brent_find_minima(
               [&](double t) { return -std::fabs(view_.fit.at(t).slope); },
               series_.t[stage.peak - 1], series_.t[stage.peak + 1], 26)
        .first;
  }

  [[nodiscard]] std::vector<Found> fastest_changes() const {
    std::vector<Found> found;
    for (const Stage& stage : stages_of(view_, half)) {
      if (!stage.starts || !stage.ends) continue;
      if (const auto t = time_of_peak(stage)) found.push_back(event("", *t));
    }
    return found;
  }

  [[nodiscard]] std::vector<Found> rebound() const {
    const std::vector<Found> bottoms = minima();
    if (bottoms.empty()) return {};
    for (const Stage& stage : stages_of(view_, half)) {
      if (series_.t[stage.peak] < bottoms.front().t || stage.change < 0) continue;
      if (!stage.starts || !stage.ends) continue;
      if (const auto t = time_of_peak(stage)) return {event("", *t)};
    }
    return {};
  }

  [[nodiscard]] static std::size_t towards_peak(const Stage& stage, std::size_t i) {
    return i < stage.peak ? i + 1 : i - 1;
  }

  // Where |slope| passes a share of that of the stage's peak, between the row of index i and its
  // neighbour towards the peak.
  [[nodiscard]] std::optional<double> crossing(const Stage& stage, std::size_t i,
                                               double fastest) const {
    const double level = slow * fastest;
    const std::size_t neighbour = towards_peak(stage, i);
    const auto excess = [&](double t) { return std::fabs(view_.fit.at(t).slope) - level; };
    const double a = series_.t[std::min(i, neighbour)];
    const double b = series_.t[std::max(i, neighbour)];
    return zero_between(excess, a, b);
  }

  // For how long the speed is below a twentieth of the stage's peak before it, and after it.
  [[nodiscard]] double slow_before(const Stage& stage) const {
    std::size_t i = stage.begin;
    while (i > 0 && is_slow(stage, i - 1)) --i;
    return series_.t[stage.begin] - series_.t[i];
  }
  [[nodiscard]] double slow_after(const Stage& stage) const {
    std::size_t i = stage.end;
    while (i + 1 < series_.t.size() && is_slow(stage, i + 1)) ++i;
    return series_.t[i] - series_.t[stage.end];
  }
  [[nodiscard]] bool is_slow(const Stage& stage, std::size_t i) const {
    return std::fabs(view_.slope[i]) < slow * std::fabs(view_.slope[stage.peak]);
  }

  [[nodiscard]] std::vector<Found> plateaus() const {
    std::vector<Found> found;
    const std::vector<Stage> stages = stages_of(view_, slow);
    const auto add = [&](const std::string& suffix, const Stage& stage, std::size_t i) {
      const double fastest = std::fabs(view_.slope[stage.peak]);
      const std::optional<double> t = crossing(stage, i, fastest);
      if (!t) return;
      found.push_back(event(suffix, *t));
      if (const auto peak = time_of_peak(stage)) {
        const double faster = std::fabs(view_.fit.at(*peak).slope);
        const std::size_t neighbour = towards_peak(stage, i);
        const double change = std::fabs(view_.slope[neighbour]) - std::fabs(view_.slope[i]);
        const double rate = change / (series_.t[neighbour] - series_.t[i]);
        found.back().beside = 2 * std::fabs(slow * (faster - fastest) / rate);
      }
    };
    for (const Stage& stage : stages) {
      if (stage.starts && slow_before(stage) >= stage.duration(view_)) {
        add("-escape", stage, stage.begin);
      }
      if (stage.ends && slow_after(stage) >= stage.duration(view_)) {
        add("-entry", stage, stage.end);
      }
    }
    return found;
  }

  const Series& series_;
  const View& view_;
};

// The rows of one column that are numbers, at times that ascend.
template <class T>
Series series_of(const Trajectory<T>& run, std::size_t column) {
  const bool fine = !run.step_t.empty();
  const auto& times = fine ? run.step_t : run.t;
  const auto& rows = fine ? run.step_rows : run.rows;
  Series series;
  for (std::size_t k = 0; k < std::min(times.size(), rows.size()); ++k) {
    const double t = to_double(times[k]);
    const double y = to_double(rows[k][column]);
    if (!std::isfinite(y) || (!series.t.empty() && !(t > series.t.back()))) continue;
    series.t.push_back(t);
    series.y.push_back(y);
  }
  return series;
}

// Means over blocks of rows, so that no more than `most` are left.
Series block_means(const Series& series, std::size_t most) {
  const std::size_t length = (series.t.size() + most - 1) / most;
  if (length < 2) return series;
  Series means;
  for (std::size_t begin = 0; begin + length <= series.t.size(); begin += length) {
    double t = 0;
    double y = 0;
    for (std::size_t k = begin; k < begin + length; ++k) {
      t += series.t[k] / static_cast<double>(length);
      y += series.y[k] / static_cast<double>(length);
    }
    means.t.push_back(t);
    means.y.push_back(y);
  }
  return means;
}

template <class T>
void find_in_column(const Series& rows, const std::string& column, std::span<const Regime> regimes,
                    SeriesKind kind, std::vector<Event<T>>& events) {
  const Series series = kind == SeriesKind::sampled ? block_means(rows, most_sampled_rows) : rows;
  const std::size_t n = series.t.size();
  const std::size_t width = kind == SeriesKind::smooth
                                ? smooth_width
                                : std::max<std::size_t>(smooth_width, n / sampled_share);
  if (n < std::max(fewest_rows, 2 * width)) return;
  const View narrow = view_of(series, width, kind);
  const View wide = view_of(series, 2 * width - 1, kind);
  for (const Regime& regime : regimes) {
    const std::vector<Found> sharp = Finder(series, narrow).find(regime.kind);
    const std::vector<Found> blurred = Finder(series, wide).find(regime.kind);
    std::vector<bool> taken(blurred.size(), false);
    for (const Found& found : sharp) {
      // The nearest of its kind, which no earlier one is the same as: what only the narrow fit
      // shows has none of its own.
      std::size_t nearest = blurred.size();
      for (std::size_t k = 0; k < blurred.size(); ++k) {
        if (blurred[k].suffix != found.suffix) continue;
        if (nearest == blurred.size() ||
            std::fabs(blurred[k].t - found.t) < std::fabs(blurred[nearest].t - found.t)) {
          nearest = k;
        }
      }
      if (nearest == blurred.size() || taken[nearest]) continue;
      taken[nearest] = true;
      const Found* other = &blurred[nearest];
      double uncertainty = std::fabs(other->t - found.t) + found.beside;
      if (kind == SeriesKind::sampled) {
        const auto after = static_cast<std::size_t>(
            std::lower_bound(series.t.begin(), series.t.end(), found.t) - series.t.begin());
        const std::size_t at = std::clamp<std::size_t>(after, 1, n - 1);
        uncertainty += (series.t[at] - series.t[at - 1]) / 2;
      }
      events.push_back(
          {regime.name + found.suffix, T(found.t), column, T(found.value), uncertainty});
    }
  }
}

template <class T>
std::vector<Event<T>> sorted(std::vector<Event<T>> events) {
  std::stable_sort(events.begin(), events.end(),
                   [](const Event<T>& a, const Event<T>& b) { return a.t < b.t; });
  return events;
}

// Which of the same name and column an event is, in order of time.
template <class T>
std::size_t ordinal_of(const std::vector<Event<T>>& events, std::size_t which) {
  std::size_t before = 0;
  for (std::size_t k = 0; k < which; ++k) {
    before += events[k].name == events[which].name && events[k].column == events[which].column;
  }
  return before;
}

}  // namespace

std::string describe(RegimeKind kind) {
  switch (kind) {
    case RegimeKind::minimum:
      return "its minima";
    case RegimeKind::rebound:
      return "its fastest rise after the first minimum";
    case RegimeKind::fastest_change:
      return "its fastest change between two slow stretches";
    case RegimeKind::settling:
      return "where its speed has fallen to a twentieth of its first stage's";
    case RegimeKind::plateau:
      break;
  }
  return "entries and escapes of stretches slower than a twentieth of the neighbouring stages";
}

std::vector<bool> columns_of_regimes(const std::vector<std::string>& columns,
                                     std::span<const Regime> regimes) {
  std::vector<bool> looked_at;
  for (const std::string& column : columns) {
    looked_at.push_back(std::any_of(regimes.begin(), regimes.end(), [&](const Regime& regime) {
      return ::fnmatch(regime.column.c_str(), column.c_str(), 0) == 0;
    }));
  }
  return looked_at;
}

template <class T>
std::vector<Event<T>> find_regimes(const Trajectory<T>& run, std::span<const Regime> regimes,
                                   SeriesKind kind) {
  std::vector<Event<T>> events;
  for (std::size_t c = 0; c < run.columns.size(); ++c) {
    std::vector<Regime> wanted;
    for (const Regime& regime : regimes) {
      if (::fnmatch(regime.column.c_str(), run.columns[c].c_str(), 0) == 0) {
        wanted.push_back(regime);
      }
    }
    if (wanted.empty()) continue;
    find_in_column(series_of(run, c), run.columns[c], wanted, kind, events);
  }
  return sorted(std::move(events));
}

template <class T>
std::vector<std::size_t> confirm(std::vector<Event<T>>& events, const std::vector<Event<T>>& looser,
                                 std::vector<std::string>& notes) {
  std::vector<std::size_t> unseen;
  for (std::size_t k = 0; k < events.size(); ++k) {
    Event<T>& event = events[k];
    double nearest = std::numeric_limits<double>::infinity();
    for (const Event<T>& other : looser) {
      if (other.name != event.name || other.column != event.column) continue;
      nearest = std::min(nearest, std::fabs(to_double(T(other.t - event.t))));
    }
    if (std::isinf(nearest)) {
      notes.push_back(fmt::format("{} of {} at t = {:.6g} is not seen at looser tolerances",
                                  event.name, event.column, to_double(event.t)));
      unseen.push_back(k);
    } else {
      event.uncertainty += nearest;
    }
  }
  return unseen;
}

std::vector<RegimeTime> regime_times(const std::vector<Trajectory<double>>& runs) {
  struct Samples {
    std::vector<double> t;
    double uncertainty = 0;
  };
  std::map<std::tuple<std::string, std::string, std::size_t>, Samples> all;
  for (const Trajectory<double>& run : runs) {
    for (std::size_t k = 0; k < run.events.size(); ++k) {
      const Event<double>& event = run.events[k];
      Samples& samples = all[{event.name, event.column, ordinal_of(run.events, k)}];
      samples.t.push_back(event.t);
      samples.uncertainty = std::max(samples.uncertainty, event.uncertainty);
    }
  }
  std::vector<RegimeTime> times;
  for (const auto& [key, samples] : all) {
    RegimeTime time;
    std::tie(time.name, time.column, time.ordinal) = key;
    time.runs = samples.t.size();
    const auto count = static_cast<double>(time.runs);
    for (const double t : samples.t) time.t += t / count;
    double squares = 0;
    for (const double t : samples.t) squares += (t - time.t) * (t - time.t);
    time.uncertainty = time.runs > 1 ? std::sqrt(squares / (count - 1)) : samples.uncertainty;
    times.push_back(std::move(time));
  }
  std::stable_sort(times.begin(), times.end(),
                   [](const RegimeTime& a, const RegimeTime& b) { return a.t < b.t; });
  return times;
}

template std::vector<Event<double>> find_regimes(const Trajectory<double>&, std::span<const Regime>,
                                                 SeriesKind);
template std::vector<Event<Real>> find_regimes(const Trajectory<Real>&, std::span<const Regime>,
                                               SeriesKind);
template std::vector<std::size_t> confirm(std::vector<Event<double>>&,
                                          const std::vector<Event<double>>&,
                                          std::vector<std::string>&);
template std::vector<std::size_t> confirm(std::vector<Event<Real>>&,
                                          const std::vector<Event<Real>>&,
                                          std::vector<std::string>&);

}  // namespace popgrad
