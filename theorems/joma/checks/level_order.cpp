#include <array>

#include "theorems/joma/checks/level_networks.hpp"
#include "theorems/joma/checks/prelude.hpp"

namespace popgrad::joma::checks::level_order {
namespace {

Statement sheet{.id = "joma.level-order",
                .paper = "arXiv 2310.00535, Section 5",
                .status = "argued in source, qualitatively",
                .about = "full-batch descent from random starts",
                .theorem = R"(
Networks on sets of sets, each on a hierarchy of its own by the authors' scripts, learn strong
co-occurrences (latents of level 0) ahead of weak ones (level 1), and these ahead of what
sequences have by chance, from a tenth of level 0 learned to nine tenths. Attention does not make
the order: with attention uniform it is there as well, and of what level 0 is ahead of chance
training attention makes at most a tenth when one and three tenths of level 0 are learned, a fifth
on average to the half. What is left of a level is the residual along its latents, in units of its
start; what is not learned after 400 steps is read then.)",
                .hypotheses = {no_fewer_above},
                .reaches = {EvidenceKind::statistical},
                .false_version = "two-fifths",
                .knobs = knobs_of_level_networks()};

const Clause strong_first = sheet.clause(
    "strong co-occurrences are learned ahead of weak, weak ahead of chance ones, to nine tenths");
const Clause also_uniform = sheet.clause("with attention uniform too, to the half");
const Clause not_made = sheet.clause(
    "training attention makes at most a tenth of the lead over chance, a fifth on average to the "
    "half");
[[maybe_unused]] const Clause higher_up =
    sheet.not_checked("weak co-occurrences are left to higher layers");

const Hypothesis hierarchy =
    sheet.assume(by_construction("a hierarchy of sets", "the data are the authors'"));

const Control wrong_sequences =
    sheet.control("wrong-sequences", "level 0 with the latents of the wrong sequences");
const Control classes_first = sheet.control("classes-first", "the classes in place of level 0");
const Control two_fifths =
    sheet.control("two-fifths", "training attention makes two fifths of the lead");

const Rival attention = sheet.rival(
    "attention", "training attention makes the order: without it all is learned at one rate",
    "a rate");

constexpr std::uint32_t usual_networks = 48;
// Of the lead: as a tenth and three tenths of level 0 are learned, and on average to the half.
constexpr std::array most_made{0.1, 0.1, 0.2};

// Comparisons, and what is reported, share the chance of a false alarm.
template <class Numbers>
std::vector<Quantity> mean_of(const std::vector<LevelNetwork>& all, const Setting& setting,
                              const Numbers& numbers) {
  return mean_over_networks(all, setting.false_alarm / 4, numbers);
}

// By how much each level is behind the next, at every reading; negative in the order of the claim.
Vector<double> behind(const std::vector<LevelReading>& readings, double LevelReading::*lowest) {
  Vector<double> found(2 * std::ssize(readings));
  Index at = 0;
  for (const LevelReading& reading : readings) {
    found[at++] = reading.*lowest - reading.higher;
    found[at++] = reading.higher - reading.classes;
  }
  return found;
}

// What level 0 is ahead of chance.
double lead(const LevelReading& reading) { return reading.classes - reading.lower; }

// Of what level 0 is ahead of chance with attention trained, the share that is not there otherwise:
// at the readings before the half, and on average up to it.
std::vector<Quantity> share_made(const std::vector<LevelNetwork>& all, const Setting& setting,
                                 double (*otherwise)(const LevelReading& uniform)) {
  constexpr auto count = static_cast<Index>(half_learned);
  const std::vector<Quantity> means = mean_of(all, setting, [&](const LevelNetwork& n) {
    Matrix<double> found(count, 2);
    for (Index i = 0; i < count; ++i) {
      const LevelReading& trained = n.trained[static_cast<std::size_t>(i)];
      found(i, 0) = lead(trained);
      found(i, 1) = found(i, 0) - otherwise(n.uniform[static_cast<std::size_t>(i)]);
    }
    found.row(count - 1) = found.colwise().mean().eval();
    return Vector<double>(found.reshaped());
  });
  std::vector<Quantity> shares;
  for (std::size_t i = 0; i < half_learned; ++i) {
    shares.push_back(means[half_learned + i] / means[i]);
  }
  return shares;
}

void report(const std::vector<LevelNetwork>& all, const Setting& setting, Examination& it) {
  const auto mean = [&](const std::string& what, const auto& number) {
    const Quantity found = mean_of(all, setting, [&](const LevelNetwork& n) {
                             return Vector<double>{{number(n)}};
                           }).front();
    it.report(what, found.value(), fmt::format("+- {:.3g}", found.error()));
  };
  for (std::size_t r = 0; r < level_shares.size(); ++r) {
    const std::string learned = level_places(r + 1, {""}).back();
    mean(learned + "time with attention trained", [r](const auto& n) { return n.trained[r].time; });
    if (r < half_learned) {
      mean(learned + "time with attention uniform",
           [r](const auto& n) { return n.uniform[r].time; });
    }
    mean(learned + "left of level 0", [r](const auto& n) { return n.trained[r].lower; });
    mean(learned + "left of level 1", [r](const auto& n) { return n.trained[r].higher; });
    mean(learned + "left along any sequences", [r](const auto& n) { return n.trained[r].classes; });
  }
  // Weak co-occurrences left to higher layers would show as a rise of this by training.
  mean("level 1 against level 0 in units, last layer over the first, ln, change by training",
       [&](const auto& n) {
         const auto higher = [](const Matrix<double>& units) {
           const auto share = [&](Index h) { return std::log(units(h, 1) / units(h, 0)); };
           return share(units.rows() - 1) - share(0);
         };
         return higher(n.units) - higher(n.units_at_start);
       });
}

void examine(const Setting& setting, Examination& it) {
  it.parameters = level_network_parameters(setting);
  const std::vector<LevelNetwork> all = level_networks(
      [&](std::uint64_t seed) { return level_instance(it.parameters, seed); }, half_learned,
      setting.draw_seed() * usual_networks, setting.draws(usual_networks), setting.jobs);
  it.parameters["seed"] = std::to_string(setting.seed);
  it.require(no_fewer_above, static_cast<double>(latents_to_spare(setting)));
  const auto order = [&](const Clause& clause, const char* what,
                         std::vector<LevelReading> LevelNetwork::*attention) {
    const auto with = [&, attention](double LevelReading::*lowest) {
      return mean_of(all, setting, [=](const auto& n) { return behind(n.*attention, lowest); });
    };
    it.judge(clause, below(what, with(&LevelReading::lower), 0)
                         .of_kind(EvidenceKind::statistical)
                         .in_units_of(1)
                         .at(level_places((all.front().*attention).size(),
                                          {"levels 0 and 1", "level 1 and classes"}))
                         .unless(wrong_sequences, [=] { return with(&LevelReading::wrong); })
                         .unless(classes_first, [=] { return with(&LevelReading::classes); }));
  };
  order(strong_first, "left of a level less what is left of the next, attention trained",
        &LevelNetwork::trained);
  order(also_uniform, "the same with attention uniform", &LevelNetwork::uniform);

  const std::vector<Quantity> made =
      share_made(all, setting, [](const LevelReading& uniform) { return lead(uniform); });
  const std::vector<std::string> places{"1/10 learned", "3/10 learned", "on average to 5/10"};
  it.judge(not_made, below("share of the lead of level 0 over chance that training attention makes",
                           made, std::vector<Quantity>(most_made.begin(), most_made.end()))
                         .of_kind(EvidenceKind::statistical)
                         .in_units_of(1)
                         .at(places)
                         .unless(two_fifths,
                                 [&] {
                                   return share_made(all, setting, [](const LevelReading& uniform) {
                                     return 0.6 * lead(uniform);
                                   });
                                 })
                         .against(attention, [&] {
                           return share_made(all, setting, [](const LevelReading&) { return 0.0; });
                         }));
  for (std::size_t i = 0; i < made.size(); ++i) {
    it.report("share of the lead that training attention makes, " + places[i], made[i].value(),
              fmt::format("+- {:.2g}", made[i].error()));
  }
  report(all, setting, it);
}

}  // namespace

Statement statement() { return sheet.checked_by(examine); }

}  // namespace popgrad::joma::checks::level_order
