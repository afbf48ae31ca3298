#include "theorems/scan_snap/checks/class_counts.hpp"

#include <boost/math/distributions/binomial.hpp>
#include <boost/math/distributions/poisson.hpp>
#include <boost/math/quadrature/gauss_kronrod.hpp>
#include <boost/math/special_functions/gamma.hpp>

#include "popgrad/walks/ensemble.hpp"
#include "theorems/scan_snap/checks/claim_hypotheses.hpp"
#include "theorems/scan_snap/checks/decoder_knobs.hpp"
#include "theorems/scan_snap/checks/prelude.hpp"

namespace popgrad::scan_snap::checks {

namespace {

constexpr Knob few_classes = class_count_knob(2, 5, 4);
constexpr Knob wide_vocabulary = vocabulary_knob(101, 1e5, 1000);
constexpr Knob rate_below_one =
    logarithmic_knob("decoder-rate", "learning rate eta_Y", 0.1, 0.99, 0.5);

constexpr double widths = 12;  // deviations beyond which a law of counts is below 1e-30

CountLaw around(const auto& law, double mean, double deviation, long last) {
  CountLaw found;
  found.first = std::max(0L, std::lround(std::floor(mean - widths * (deviation + 1))));
  const long end = std::min(last, std::lround(std::ceil(mean + widths * (deviation + 1))));
  for (long n = found.first; n <= end; ++n) {
    found.probability.push_back(pdf(law, static_cast<double>(n)));
  }
  return found;
}

}  // namespace

double DrawnClasses::deviation(double delta) const { return std::sqrt(n() * std::log(1 / delta)); }

DrawnClasses drawn_classes(const Setting& setting, Examination& it) {
  DrawnClasses at;
  const TrainingInstance<double> training =
      decoder_training(setting, setting.count(few_classes), wide_vocabulary, rate_below_one);
  const SequenceClasses<double>& classes = training.classes;
  at.decoder = decoder_of(training);
  at.classes = classes.classes();
  it.parameters = {{"K", at.classes},
                   {"M", at.decoder.vocabulary},
                   {"eta_Y", at.decoder.rate},
                   {"seed", setting.seed}};
  require_uniform_classes(classes, it);
  require_rates(at.decoder.vocabulary, at.decoder.rate, it);
  return at;
}

std::vector<Knob> drawn_class_knobs(const Knob& more) {
  return {few_classes, wide_vocabulary, rate_below_one, more};
}

std::vector<Hypothesis> drawn_class_hypotheses(std::vector<Hypothesis> more) {
  more.insert(more.begin(), {"classes equally likely", "`M >> 100`", "`M^-0.99 << eta_Y < 1`"});
  more.push_back(
      by_construction("rows of `F'Y` decouple",
                      "`W_n` depends only on `N_n`, as `scan-snap.decoder-solution` shows"));
  return more;
}

CountNoise::CountNoise(const DrawnClasses& at) {
  const double m = at.decoder.vocabulary;
  const double h_mean = decoder_scale(m, at.decoder.rate, at.mean());
  const double rate_mean = decoder_rate_of(m, at.decoder.rate, h_mean);
  elasticity = at.mean() * rate_mean / h_mean;
  double h = 0;
  for (long count = 0; count <= at.draws; ++count) {
    const double rate = decoder_rate_of(m, at.decoder.rate, h);
    theta.push_back(h / h_mean - 1);
    sigma.push_back(rate / rate_mean - 1);
    h += rate;
  }
}

CountLaw binomial_law(long draws, double probability) {
  const auto n = static_cast<double>(draws);
  return around(boost::math::binomial_distribution<>(n, probability), n * probability,
                std::sqrt(n * probability * (1 - probability)), draws);
}

CountLaw poisson_law(double mean) {
  return around(boost::math::poisson_distribution<>(mean), mean, std::sqrt(mean),
                std::numeric_limits<long>::max());
}

double expectation(const CountLaw& law, const std::function<double(long)>& f) {
  double sum = 0;
  long count = law.first;
  for (const double p : law.probability) sum += p * f(count++);
  return sum;
}

double quantile(const CountLaw& law, const std::vector<double>& table, double beyond) {
  std::vector<std::pair<double, double>> sizes;  // with their probabilities
  auto count = static_cast<std::size_t>(law.first);
  for (const double p : law.probability) {
    sizes.emplace_back(std::fabs(table[std::min(count++, table.size() - 1)]), p);
  }
  std::sort(sizes.rbegin(), sizes.rend());
  double tail = 0;
  for (const auto& [size, p] : sizes) {
    tail += p;
    if (tail > beyond) return size;
  }
  return 0;
}

Quantity sampled_quantile(std::vector<double> draws, double beyond, double false_alarm) {
  for (double& x : draws) x = std::fabs(x);
  std::sort(draws.begin(), draws.end());
  const auto n = static_cast<double>(draws.size());
  // So many of the draws are at most the quantile.
  const boost::math::binomial_distribution<> below(n, 1 - beyond);
  const auto at = [&](double rank) {
    return draws[static_cast<std::size_t>(std::clamp(rank, 0.0, n - 1))];
  };
  const double low = at(std::floor(boost::math::quantile(below, false_alarm / 2)) - 1);
  const double high =
      at(std::ceil(boost::math::quantile(boost::math::complement(below, false_alarm / 2))));
  return {(low + high) / 2, {ErrorPart::sampling(1, (high - low) / 2)}};
}

Matrix<std::uint32_t> drawn_counts(const DrawnClasses& at, std::uint32_t runs, std::uint64_t seed,
                                   std::uint64_t step) {
  const std::vector<double> law(static_cast<std::size_t>(at.classes), 1 / at.k());
  const AliasTable drawn{law};
  Matrix<std::uint32_t> counts(runs, at.classes);
  std::vector<std::uint32_t> own(law.size());
  for (std::uint32_t r = 0; r < runs; ++r) {
    throw_if_stopped();
    std::fill(own.begin(), own.end(), 0);
    Stream(seed, r, step).count(drawn, static_cast<std::size_t>(at.draws), own);
    for (Index n = 0; n < at.classes; ++n) counts(r, n) = own[static_cast<std::size_t>(n)];
  }
  return counts;
}

std::vector<double> largest_of(const std::vector<double>& table,
                               const Matrix<std::uint32_t>& counts) {
  std::vector<double> largest;
  for (Index r = 0; r < counts.rows(); ++r) {
    double value = 0;
    for (const std::uint32_t count : counts.row(r))
      value = std::max(value, std::fabs(table[count]));
    largest.push_back(value);
  }
  return largest;
}

Quantity log_rms_of_theta(const DrawnClasses& at, const Matrix<std::uint32_t>& counts,
                          double false_alarm) {
  const CountNoise noise(at);
  const auto square = [&](long count) {
    return std::pow(noise.theta[static_cast<std::size_t>(count)] / noise.elasticity, 2);
  };
  const Index parts = counts.cols() / at.classes;
  Matrix<double> squares = Matrix<double>::Zero(counts.rows(), 1);
  for (Index r = 0; r < counts.rows(); ++r) {
    for (Index n = 0; n < at.classes; ++n) {
      squares(r, 0) += square(counts.row(r).segment(n * parts, parts).cast<long>().sum()) / at.k();
    }
  }
  Quantity found = sample_moments(squares, false_alarm).mean.front();
  const double exact = expectation(binomial_law(at.draws, 1 / at.k()), square);
  found.add(ErrorPart::next_order(exact - (at.k() - 1) / at.n()));
  return Quantity(0.5) * log(found);
}

double draws_until(const Decoder& decoder, double eps) {
  // |zeta_n|_2 = sqrt(M/(M-1)).
  const double others = decoder.vocabulary - 1;
  const double x = std::log(others * (std::sqrt(decoder.vocabulary / others) / eps - 1));
  return (std::expm1(x) + others * x) / (decoder.vocabulary * decoder.rate);
}

long discrete_draws_until(const Decoder& decoder, double eps) {
  const double m = decoder.vocabulary;
  double h = 0;
  long draws = 0;
  while (std::sqrt(m * (m - 1)) * decoder_rate_of(m, 1.0, h) > eps) {
    throw_if_stopped();
    h += decoder_rate_of(m, decoder.rate, h);
    ++draws;
  }
  return draws;
}

Quantity mean_draws_for_all(Index classes, long least) {
  const auto k = static_cast<double>(classes);
  const auto m = static_cast<double>(least);
  const auto some_missing = [&](double t) {
    return t > 0 ? -std::expm1(k * std::log1p(-boost::math::gamma_q(m, t))) : 1.0;
  };
  // Before the window a class is missing for certain, after it none is.
  const double width = widths * (std::sqrt(m) + 1);
  const double begin = std::max(0.0, m - width);
  const double end = m + 4 * width;
  const auto mean = [&](double tolerance) {
    using Rule = boost::math::quadrature::gauss_kronrod<double, 31>;
    return k * (begin + Rule::integrate(some_missing, begin, end, 12, tolerance));
  };
  const double sharp = mean(1e-12);
  const double loose = mean(1e-6);
  return {sharp, {ErrorPart::solver(sharp, loose)}};
}

std::vector<double> drawn_for_all(Index classes, long least, std::uint32_t runs, std::uint64_t seed,
                                  std::uint64_t step) {
  constexpr std::size_t at_once = 256;
  std::vector<std::uint32_t> bits(at_once);
  std::vector<double> found;
  for (std::uint32_t r = 0; r < runs; ++r) {
    Stream stream(seed, r, step);
    std::vector<long> counts(static_cast<std::size_t>(classes), 0);
    Index complete = 0;
    double draws = 0;
    while (complete < classes) {
      throw_if_stopped();
      stream.fill(bits);
      for (std::size_t i = 0; i < at_once && complete < classes; ++i) {
        long& own = counts[(std::uint64_t{bits[i]} * counts.size()) >> 32U];
        ++draws;
        if (++own == least) ++complete;
      }
    }
    found.push_back(draws);
  }
  return found;
}

}  // namespace popgrad::scan_snap::checks
