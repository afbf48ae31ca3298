#include "theorems/joma/rungs/measured.hpp"

#include <csv.h>
#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <tuple>

#include "base/file_bytes.hpp"
#include "base/number_field.hpp"
#include "popgrad/base/error.hpp"
#include "popgrad/scalars/random.hpp"
#include "popgrad/statistics/statistics.hpp"

namespace popgrad::joma {
namespace {

constexpr double missing = std::numeric_limits<double>::quiet_NaN();

// ---- reading -------------------------------------------------------------------------------

// What libcsv calls back into: a header line, then rows of as many numbers.
struct NumberRows {
  std::string file;
  std::vector<std::string> names;
  std::vector<std::vector<double>> columns;
  std::size_t line = 1;
  std::size_t field = 0;
  std::string failure;  // the first one; the parse goes on without effect

  void fail(std::string_view reason) {
    if (failure.empty()) failure = fmt::format("{}: line {}: {}", file, line, reason);
  }

  void take_field(std::string_view text) {
    if (line == 1) {
      names.emplace_back(text);
    } else if (field >= names.size()) {
      fail(fmt::format("more fields than the {} of the header", names.size()));
    } else {
      columns[field].push_back(number(text));
    }
    ++field;
  }

  double number(std::string_view text) {
    const std::optional<double> value = number_field(text);
    if (!value) {
      fail(fmt::format("'{}' in column {} is not a number", text.substr(0, 40),
                       field < names.size() ? names[field] : "?"));
    }
    return value.value_or(missing);
  }

  void take_row() {
    if (line == 1) {
      columns.resize(names.size());
    } else if (field != names.size()) {
      fail(fmt::format("{} fields where the header has {}", field, names.size()));
    }
    ++line;
    field = 0;
  }
};

void on_field(void* text, std::size_t size, void* rows) {
  static_cast<NumberRows*>(rows)->take_field({static_cast<const char*>(text), size});
}

void on_row(int, void* rows) { static_cast<NumberRows*>(rows)->take_row(); }

NumberRows read_numbers(const std::string& path) {
  const std::string all = bytes_of_file(path);
  const std::string_view text = without_byte_order_mark(all);
  NumberRows rows;
  rows.file = path;
  csv_parser parser;
  if (csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI | CSV_APPEND_NULL) != 0) {
    throw std::bad_alloc();
  }
  const std::size_t used = csv_parse(&parser, text.data(), text.size(), on_field, on_row, &rows);
  const bool complete = used == text.size() && csv_fini(&parser, on_field, on_row, &rows) == 0;
  csv_free(&parser);
  if (!complete) rows.fail("broken quoting, or the file is cut off");
  if (!rows.failure.empty()) throw InputError(rows.failure);
  return rows;
}

const std::vector<double>& column(std::span<const std::string> names,
                                  std::span<const std::vector<double>> columns,
                                  std::string_view name, std::string_view file) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) {
    reject(
        file, "column", name,
        fmt::format("is not there{}; needed are nlayers, lr, minibatch, layer, entropy, val_loss",
                    suggestion(name, names)));
  }
  return columns[static_cast<std::size_t>(found - names.begin())];
}

// A whole number >= low that an int holds.
int whole(double value, int low, std::string_view file, std::string_view name, std::size_t row) {
  if (!(value >= low && value <= 1e9) || value != std::floor(value)) {
    reject(file, name, fmt::format("{:g}", value),
           fmt::format("in row {} must be a whole number >= {}", row + 2, low));
  }
  return static_cast<int>(value);
}

// ---- correlation over strata ---------------------------------------------------------------------------------

// Repeated evaluation without allocation, one a thread.
class ClusteredCorrelation {
 public:
  // `strata` lists the members (indices into clusters, repeats allowed) of each stratum.
  double operator()(std::span<const Cluster> clusters,
                    std::span<const std::vector<std::size_t>> strata) {
    double sum = 0;
    double weight = 0;
    for (const std::vector<std::size_t>& members : strata) {
      x_.clear();
      y_.clear();
      for (const std::size_t member : members) {
        const Cluster& cluster = clusters[member];
        x_.insert(x_.end(), cluster.rebound.begin(), cluster.rebound.end());
        y_.insert(y_.end(), cluster.rebound.size(), cluster.loss);
      }
      const double value = correlation_(x_, y_);
      // A stratum whose losses are all the same says nothing.
      if (std::isnan(value)) continue;
      sum += value * static_cast<double>(x_.size());
      weight += static_cast<double>(x_.size());
    }
    return weight > 0 ? sum / weight : missing;
  }

 private:
  RankCorrelation correlation_;
  std::vector<double> x_, y_;
};

std::vector<std::vector<std::size_t>> strata_of(std::span<const Cluster> clusters) {
  std::map<double, std::vector<std::size_t>> found;
  for (std::size_t i = 0; i < clusters.size(); ++i) found[clusters[i].stratum].push_back(i);
  std::vector<std::vector<std::size_t>> strata;
  for (auto& [key, members] : found) strata.push_back(std::move(members));
  return strata;
}

// Streams of resampling and of shuffling must not meet: they use different `step` words.
constexpr std::uint64_t resampling_stream = 0;
constexpr std::uint64_t shuffling_stream = 1;

template <class Vary>
std::vector<double> repeat(std::span<const Cluster> clusters, std::size_t times, int jobs,
                           const Vary& vary) {
  std::vector<double> values(times);
  const auto strata = strata_of(clusters);
  const auto count = static_cast<long>(times);
  const int threads = jobs > 0 ? jobs : omp_get_max_threads();
#pragma omp parallel num_threads(threads)
  {
    ClusteredCorrelation correlate;
#pragma omp for schedule(static)
    for (long i = 0; i < count; ++i) {
      values[static_cast<std::size_t>(i)] = vary(correlate, strata, static_cast<std::uint32_t>(i));
    }
  }
  return values;
}

}  // namespace

// ---- runs ----------------------------------------------------------------------------------

std::string MeasuredRun::name() const {
  return fmt::format("{} layer{}, lr {:g}, seed {}", layers, layers == 1 ? "" : "s", learning_rate,
                     seed);
}

double MeasuredRun::best_loss() const {
  double best = missing;
  for (const double value : loss) best = std::fmin(best, value);  // fmin passes over NaN
  return best;
}

bool MeasuredRun::diverged() const { return !(final_loss() <= loss.front()); }

std::vector<MeasuredRun> group_measured_runs(std::span<const std::string> names,
                                             std::span<const std::vector<double>> columns,
                                             std::string_view file) {
  const auto& depth = column(names, columns, "nlayers", file);
  const auto& rate = column(names, columns, "lr", file);
  const auto& step = column(names, columns, "minibatch", file);
  const auto& layer = column(names, columns, "layer", file);
  const auto& entropy = column(names, columns, "entropy", file);
  const auto& loss = column(names, columns, "val_loss", file);
  const bool has_seed = std::find(names.begin(), names.end(), "seed") != names.end();
  if (depth.empty()) reject(file, "rows", "0", "there must be at least one recorded value");

  // (learning rate, layers, seed) -> step -> layer -> row
  using Key = std::tuple<double, int, int>;
  std::map<Key, std::map<double, std::map<int, std::size_t>>> rows;
  for (std::size_t r = 0; r < depth.size(); ++r) {
    const int layers = whole(depth[r], 1, file, "nlayers", r);
    const int seed =
        has_seed ? whole(column(names, columns, "seed", file)[r], 0, file, "seed", r) : 0;
    const int which = whole(layer[r], 0, file, "layer", r);
    if (which >= layers) {
      reject(file, "layer", std::to_string(which),
             fmt::format("in row {} must be below nlayers = {}", r + 2, layers));
    }
    if (!(rate[r] > 0)) {
      reject(file, "lr", fmt::format("{:g}", rate[r]), fmt::format("in row {} must be > 0", r + 2));
    }
    if (!(step[r] >= 0)) {
      reject(file, "minibatch", fmt::format("{:g}", step[r]),
             fmt::format("in row {} must be >= 0", r + 2));
    }
    auto& at_step = rows[{rate[r], layers, seed}][step[r]];
    if (!at_step.emplace(which, r).second) {
      reject(file, "layer", std::to_string(which),
             fmt::format("of {} layers, lr {:g}, seed {}, minibatch {:g} occurs twice (row {}); "
                         "give every recording once",
                         layers, rate[r], seed, step[r], r + 2));
    }
    const double first = loss[at_step.begin()->second];
    if (loss[r] != first && !(std::isnan(loss[r]) && std::isnan(first))) {
      reject(file, "val_loss", fmt::format("{:g}", loss[r]),
             fmt::format("in row {} differs from {:g} at the same step of the same run", r + 2,
                         first));
    }
  }

  std::vector<MeasuredRun> runs;
  for (const auto& [key, steps] : rows) {
    MeasuredRun run;
    run.learning_rate = std::get<0>(key);
    run.layers = std::get<1>(key);
    run.seed = static_cast<std::uint64_t>(std::get<2>(key));
    std::map<int, std::vector<double>> curves;
    for (const auto& [when, at_step] : steps) {
      for (const auto& [which, row] : at_step) curves.try_emplace(which);
    }
    for (const auto& [when, at_step] : steps) {
      run.step.push_back(when);
      run.loss.push_back(loss[at_step.begin()->second]);
      for (auto& [which, curve] : curves) {
        const auto found = at_step.find(which);
        curve.push_back(found == at_step.end() ? missing : entropy[found->second]);
      }
    }
    for (auto& [which, curve] : curves) {
      run.layer.push_back(which);
      run.entropy.push_back(std::move(curve));
    }
    runs.push_back(std::move(run));
  }
  return runs;
}

std::vector<MeasuredRun> read_measured_runs(std::string_view paths) {
  NumberRows all;
  std::size_t files = 0;
  while (true) {
    const std::size_t comma = std::min(paths.find(','), paths.size());
    NumberRows one = read_numbers(std::string(paths.substr(0, comma)));
    if (files++ == 0) {
      all = std::move(one);
    } else if (one.names != all.names) {
      reject("measured runs", "file", paths.substr(0, comma),
             fmt::format("must have the columns of the first: {}", fmt::join(all.names, ", ")));
    } else {
      for (std::size_t c = 0; c < all.columns.size(); ++c) {
        all.columns[c].insert(all.columns[c].end(), one.columns[c].begin(), one.columns[c].end());
      }
    }
    if (comma == paths.size()) break;
    paths.remove_prefix(comma + 1);
  }
  const std::string file = files == 1 ? all.file : "measured runs";
  return group_measured_runs(all.names, all.columns, file);
}

// ---- bounces -------------------------------------------------------------------------------

bool LayerBounce::bounces(double factor, double floor) const {
  const double least = std::max(factor * noise, floor);
  return complete && interior() && fall() > least && rebound() > least;
}

LayerBounce read_bounce(std::span<const double> entropy) {
  LayerBounce bounce;
  bounce.points = entropy.size();
  bounce.complete = entropy.size() >= 5 && std::all_of(entropy.begin(), entropy.end(),
                                                       [](double x) { return std::isfinite(x); });
  if (!bounce.complete) return bounce;
  const auto least = std::min_element(entropy.begin(), entropy.end());
  bounce.at = static_cast<std::size_t>(least - entropy.begin());
  bounce.start = entropy.front();
  bounce.minimum = *least;
  bounce.end = entropy.back();
  std::vector<double> bends;
  for (std::size_t i = std::max<std::size_t>(1, entropy.size() / 2); i + 1 < entropy.size(); ++i) {
    bends.push_back(std::fabs(entropy[i + 1] - 2 * entropy[i] + entropy[i - 1]));
  }
  const auto middle = bends.begin() + static_cast<std::ptrdiff_t>(bends.size() / 2);
  std::nth_element(bends.begin(), middle, bends.end());
  bounce.noise = 1.4826 * *middle / std::sqrt(6.0);
  return bounce;
}

// ---- correlation ---------------------------------------------------------------------------

double clustered_correlation(std::span<const Cluster> clusters) {
  ClusteredCorrelation correlate;
  return correlate(clusters, strata_of(clusters));
}

Association associate(std::span<const Cluster> clusters, double false_alarm, std::size_t resamples,
                      std::uint64_t seed, int jobs) {
  Association result;
  result.correlation = clustered_correlation(clusters);
  result.runs = clusters.size();
  for (const Cluster& cluster : clusters) result.pairs += cluster.rebound.size();
  const std::vector<double> values =
      repeat(clusters, resamples, jobs,
             [&](ClusteredCorrelation& correlate,
                 const std::vector<std::vector<std::size_t>>& strata, std::uint32_t i) {
               Stream stream(seed, i, resampling_stream);
               std::vector<std::vector<std::size_t>> drawn = strata;
               for (std::size_t s = 0; s < strata.size(); ++s) {
                 for (std::size_t& member : drawn[s]) {
                   member = strata[s][stream.index(static_cast<std::uint32_t>(strata[s].size()))];
                 }
               }
               return correlate(clusters, drawn);
             });
  // A resample that repeats one run has no correlation, one that is perfectly ordered no finite
  // atanh: the first is left out, the second held at the largest value that n ranks can resolve
  // from 1 (1 - 6/n^3, one swap).
  const double n = static_cast<double>(std::max<std::size_t>(result.pairs, 3));
  const double largest = 1 - 6 / (n * n * n);
  const auto stretched = [&](double r) { return std::atanh(std::clamp(r, -largest, largest)); };
  double sum = 0;
  double squares = 0;
  for (const double value : values) {
    if (std::isnan(value)) continue;
    ++result.resamples;
    sum += stretched(value);
    squares += stretched(value) * stretched(value);
  }
  if (result.resamples < 2 || std::isnan(result.correlation)) {
    result.deviation = result.low = result.high = missing;
    return result;
  }
  const double count = static_cast<double>(result.resamples);
  result.deviation = std::sqrt(std::max(0.0, (squares - sum * sum / count) / (count - 1)));
  const double reach = two_sided_normal_bound(false_alarm, 1) * result.deviation;
  result.low = std::tanh(stretched(result.correlation) - reach);
  result.high = std::tanh(stretched(result.correlation) + reach);
  return result;
}

std::vector<Cluster> with_shuffled_losses(std::span<const Cluster> clusters, std::uint64_t seed,
                                          std::uint32_t shuffle) {
  std::vector<Cluster> shuffled(clusters.begin(), clusters.end());
  Stream stream(seed, shuffle, shuffling_stream);
  for (const std::vector<std::size_t>& members : strata_of(clusters)) {
    for (std::size_t i = members.size(); i > 1; --i) {
      const std::size_t j = stream.index(static_cast<std::uint32_t>(i));
      std::swap(shuffled[members[i - 1]].loss, shuffled[members[j]].loss);
    }
  }
  return shuffled;
}

PermutationTest permute_losses(std::span<const Cluster> clusters, std::size_t shuffles,
                               std::uint64_t seed, int jobs) {
  const double seen = clustered_correlation(clusters);
  const std::vector<double> values = repeat(
      clusters, shuffles, jobs,
      [&](ClusteredCorrelation& correlate, const std::vector<std::vector<std::size_t>>& strata,
          std::uint32_t i) { return correlate(with_shuffled_losses(clusters, seed, i), strata); });
  std::size_t below = 0;
  std::size_t above = 0;
  for (const double value : values) {
    below += value <= seen ? 1 : 0;
    above += value >= seen ? 1 : 0;
  }
  const auto share = [&](std::size_t count) {
    return static_cast<double>(1 + count) / static_cast<double>(1 + shuffles);
  };
  return {share(below), share(above), shuffles};
}

}  // namespace popgrad::joma
