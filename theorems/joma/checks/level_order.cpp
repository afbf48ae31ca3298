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
sequences have by chance; attention does not make the order: with attention uniform there is more
than half of it when as much of level 0 is learned. What is left of a level is the residual along
its latents, in units of its start, as that of level 0 is down to 9/10, or at t = 15.)",
                .hypotheses = {no_fewer_above},
                .reaches = {EvidenceKind::statistical},
                .knobs = knobs_of_level_networks()};

const Clause strong_first =
    sheet.clause("strong co-occurrences are learned ahead of weak, weak ahead of chance ones");
const Clause also_uniform =
    sheet.clause("more than half of the leads stays with attention uniform");

const Hypothesis hierarchy =
    sheet.assume(by_construction("a hierarchy of sets", "the data are the authors'"));

const Control wrong_sequences =
    sheet.control("wrong-sequences", "level 0 with the latents of the wrong sequences");
const Control classes_first = sheet.control("classes-first", "the classes in place of level 0");
const Control untrained =
    sheet.control("untrained", "the start in place of the network with attention uniform");

constexpr std::uint32_t usual_networks = 96;

// Both comparisons and what is reported share the chance of a false alarm.
template <class Numbers>
std::vector<Quantity> mean_of(const std::vector<LevelNetwork>& all, const Setting& setting,
                              const Numbers& numbers) {
  return mean_over_networks(all, setting.false_alarm / 2, numbers);
}

// By how much each level is behind the next; negative in the order of the claim.
Vector<double> behind(const LevelReading& reading, double LevelReading::*lowest) {
  return Vector<double>{{reading.*lowest - reading.higher, reading.higher - reading.classes}};
}

void report(const std::vector<LevelNetwork>& all, const Setting& setting, Examination& it) {
  const auto mean = [&](const char* what, const auto& number) {
    const Quantity found = mean_of(all, setting, number).front();
    it.report(what, found.value(), fmt::format("+- {:.3g}", found.error()));
  };
  const auto of = [](double number) { return Vector<double>{{number}}; };
  mean("time with attention trained", [&](const auto& n) { return of(n.trained.time); });
  mean("time with attention uniform", [&](const auto& n) { return of(n.uniform.time); });
  mean("left of level 1", [&](const auto& n) { return of(n.trained.higher); });
  mean("left along any sequences", [&](const auto& n) { return of(n.trained.classes); });
  // Weak co-occurrences left to higher layers would show as a rise of this by training.
  mean("level 1 against level 0 in units, last layer over the first, ln, change by training",
       [&](const auto& n) {
         const auto higher = [](const Matrix<double>& units) {
           const auto share = [&](Index h) { return std::log(units(h, 1) / units(h, 0)); };
           return share(units.rows() - 1) - share(0);
         };
         return of(higher(n.trained.units) - higher(n.trained.units_at_start));
       });
}

void examine(const Setting& setting, Examination& it) {
  it.parameters = level_network_parameters(setting);
  const std::vector<LevelNetwork> all =
      level_networks(it.parameters, setting.draw_seed() * usual_networks,
                     setting.draws(usual_networks), setting.jobs);
  it.parameters["seed"] = std::to_string(setting.seed);
  it.require(no_fewer_above, static_cast<double>(latents_to_spare(setting)));
  const auto trained = [&](double LevelReading::*lowest) {
    return mean_of(all, setting, [=](const auto& n) { return behind(n.trained, lowest); });
  };
  const auto beyond_half = [&](LevelReading LevelNetwork::*other, double LevelReading::*lowest) {
    return mean_of(all, setting, [=](const auto& n) -> Vector<double> {
      return behind(n.*other, lowest) - behind(n.trained, &LevelReading::lower) / 2;
    });
  };
  const std::vector<std::string> places{"levels 0 and 1", "level 1 and classes"};
  it.judge(strong_first,
           below("left of a level less what is left of the next, attention trained",
                 trained(&LevelReading::lower), 0)
               .of_kind(EvidenceKind::statistical)
               .in_units_of(1)
               .at(places)
               .unless(wrong_sequences, [&] { return trained(&LevelReading::wrong); })
               .unless(classes_first, [&] { return trained(&LevelReading::classes); }));
  it.judge(also_uniform,
           below("the same with attention uniform, less half of that with attention trained",
                 beyond_half(&LevelNetwork::uniform, &LevelReading::lower), 0)
               .of_kind(EvidenceKind::statistical)
               .in_units_of(1)
               .at(places)
               .unless(wrong_sequences,
                       [&] { return beyond_half(&LevelNetwork::uniform, &LevelReading::wrong); })
               .unless(untrained, [&] {
                 return beyond_half(&LevelNetwork::untrained, &LevelReading::lower);
               }));
  report(all, setting, it);
}

}  // namespace

Statement statement() { return sheet.checked_by(examine); }

}  // namespace popgrad::joma::checks::level_order
