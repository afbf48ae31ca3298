// Theorem    joma.level-order
// Status     argued in source, qualitatively; measured here
// Source     Tian et al., JoMA, arXiv 2310.00535, Section 5, on the data of the authors' scripts
// Statement  networks on sets of sets learn strong co-occurrences (latents of level 0) ahead of
//            weak ones (level 1), and these ahead of what sequences have by chance; attention does
//            not make the order: with attention uniform there is more than half of it when as much
//            of level 0 is learned
// Hypotheses H1 level 1 has no fewer latents than level 0; H2 a hierarchy of sets
// Check      96 networks an instance, each on a hierarchy of its own: the residual along the
//            latents of a level, in units of its start, as that of level 0 is down to 9/10, or at t
//            = 15; intervals over networks, which are paired
// Controls   level 0 with the latents of the wrong sequences; the classes in place of level 0; the
//            untrained network in place of that with attention uniform
// Uses       rung multilayer-gd

#include <functional>

#include "theorems/joma/checks/level_networks.hpp"
#include "theorems/joma/checks/prelude.hpp"

namespace popgrad::joma::checks::level_order {
namespace {

constexpr std::uint32_t usual_networks = 96;

using Numbers = std::function<Vector<double>(const LevelNetwork&)>;

// Both comparisons and what is told share the chance of a false alarm.
std::vector<Quantity> mean_of(const std::vector<LevelNetwork>& all, const Setting& setting,
                              const Numbers& numbers) {
  return mean_over_networks(all, setting.false_alarm / 2, numbers);
}

// By how much each level is behind the next; negative in the order of the claim.
Vector<double> behind(const LevelReading& reading, double LevelReading::*lowest) {
  return Vector<double>{{reading.*lowest - reading.higher, reading.higher - reading.classes}};
}

void tell(const std::vector<LevelNetwork>& all, const Setting& setting, Examination& it) {
  const auto told = [&](const std::string& what, const Numbers& number) {
    const Quantity mean = mean_of(all, setting, number).front();
    it.report(what, mean.value(), fmt::format("+- {:.3g}", mean.error()));
  };
  const auto of = [](double number) { return Vector<double>{{number}}; };
  told("time with attention trained", [&](const auto& n) { return of(n.trained.time); });
  told("time with attention uniform", [&](const auto& n) { return of(n.uniform.time); });
  told("left of level 1", [&](const auto& n) { return of(n.trained.higher); });
  told("left along any sequences", [&](const auto& n) { return of(n.trained.classes); });
  // Weak co-occurrences left to higher layers would show as a rise of this by training.
  told("level 1 against level 0 in units, last layer over the first, ln, change by training",
       [&](const auto& n) {
         const auto higher = [](const Matrix<double>& units) {
           const auto share = [&](Index h) { return std::log(units(h, 1) / units(h, 0)); };
           return share(units.rows() - 1) - share(0);
         };
         return of(higher(n.trained.units) - higher(n.trained.units_at_start));
       });
}

void examine(const Setting& setting, Examination& it) {
  it.parameters = told_level_network(setting);
  const std::vector<LevelNetwork> all =
      level_networks(it.parameters, setting.draw_seed() * usual_networks,
                     setting.draws(usual_networks), setting.jobs);
  it.parameters["seed"] = std::to_string(setting.seed);
  it.require("level 1 has no fewer latents than level 0",
             static_cast<double>(latents_to_spare(setting)));
  const auto trained = [&](double LevelReading::*lowest) {
    return mean_of(all, setting, [=](const auto& n) { return behind(n.trained, lowest); });
  };
  const auto beyond_half = [&](LevelReading LevelNetwork::*other, double LevelReading::*lowest) {
    return mean_of(all, setting, [=](const auto& n) -> Vector<double> {
      return behind(n.*other, lowest) - behind(n.trained, &LevelReading::lower) / 2;
    });
  };
  it.judge(Comparison{
      .kind = EvidenceKind::statistical,
      .what = "left of a level less what is left of the next, attention trained",
      .measured = trained(&LevelReading::lower),
      .relation = Relation::below,
      .predicted = {0.0},
      .scale = {1.0},
      .mistakes = {measures("wrong-sequences", [&] { return trained(&LevelReading::wrong); }),
                   measures("classes-first", [&] { return trained(&LevelReading::classes); })},
      .places = {"levels 0 and 1", "level 1 and classes"}});
  it.judge(Comparison{
      .kind = EvidenceKind::statistical,
      .what = "the same with attention uniform, less half of that with attention trained",
      .measured = beyond_half(&LevelNetwork::uniform, &LevelReading::lower),
      .relation = Relation::below,
      .predicted = {0.0},
      .scale = {1.0},
      .mistakes =
          {measures("wrong-sequences",
                    [&] { return beyond_half(&LevelNetwork::uniform, &LevelReading::wrong); }),
           measures("untrained",
                    [&] { return beyond_half(&LevelNetwork::untrained, &LevelReading::lower); })},
      .places = {"levels 0 and 1", "level 1 and classes"}});
  tell(all, setting, it);
}

}  // namespace

Statement statement() {
  return {.id = "joma.level-order",
          .claim = "strong co-occurrences are learned first, and not because attention is trained",
          .paper = "arXiv 2310.00535, Section 5",
          .status = "argued in source, qualitatively",
          .hypotheses = {"level 1 has no fewer latents than level 0",
                         by_construction("a hierarchy of sets", "the data are the authors'")},
          .reaches = {EvidenceKind::statistical},
          .controls = {{"wrong-sequences", "level 0 with the latents of the wrong sequences"},
                       {"classes-first", "the classes in place of level 0"},
                       {"untrained", "the start in place of the network with attention uniform"}},
          .knobs = knobs_of_level_networks(),
          .examine = examine};
}

}  // namespace popgrad::joma::checks::level_order
