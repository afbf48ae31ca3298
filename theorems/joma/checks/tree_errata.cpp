// Erratum: the data of Table 1 of JoMA, arXiv 2310.00535, are not the tree of Theorem 5.

#include <array>
#include <set>

#include "theorems/joma/checks/errata.hpp"
#include "theorems/joma/checks/prelude.hpp"

namespace popgrad::joma::checks {
namespace {

// Parents of every child when each of `parents` variables is a set of two different children, all
// sets different, drawn uniformly.
std::vector<int> parents_of(Index children, Index parents, Stream& stream) {
  std::vector<int> count(static_cast<std::size_t>(children), 0);
  std::set<std::pair<std::uint32_t, std::uint32_t>> sets;
  const auto any = [&] {
    return static_cast<std::uint32_t>(stream.uniform() * static_cast<double>(children));
  };
  while (std::ssize(sets) < parents) {
    const std::uint32_t a = any();
    const std::uint32_t b = any();
    if (a == b || !sets.insert({std::min(a, b), std::max(a, b)}).second) continue;
    ++count[a];
    ++count[b];
  }
  return count;
}

void show_sets(Examination& it) {
  // 19 observable tokens; 10 and 20 latents a level; 20 classes: a row of the configuration.
  Stream stream(1, stream_of_drawn_instances, 10);
  constexpr std::array<Index, 4> level{19, 10, 20, 20};
  Index several = 0;
  Index none = 0;
  Index variables = 0;
  for (std::size_t l = 0; l + 1 < level.size(); ++l) {
    for (const int parents : parents_of(level[l], level[l + 1], stream)) {
      several += parents > 1 ? 1 : 0;
      none += parents == 0 ? 1 : 0;
      ++variables;
    }
  }
  it.require("binary tree: every variable has one parent", several + none == 0,
             fmt::format("{} of {} have several, {} none", several, variables, none));
  it.require("noisy edges: child = parent with probability (1 + rho)/2", false,
             "a parent sets all of its children to 1, and says nothing of them otherwise");
  const double share =
      static_cast<double>(variables - several - none) / static_cast<double>(variables);
  refute(equal("share of variables with one parent", share, 1).of_kind(EvidenceKind::exact), it);
}

}  // namespace

Erratum sets_for_tree() {
  return {
      .name = "joma.table1-data",
      .kind = ErratumClass::does_not_transfer,
      .statement = "joma.tree-cooccurrence",
      .place = "arXiv 2310.00535 (version not known), Table 1 and Theorem 5",
      .grades = {SourceGrade::authors_code, SourceGrade::third_party},
      .known =
          "the authors' scripts for the data, a report by others for the scores; Table 1 itself "
          "was not seen. Pending the text",
      .claim =
          "hidden units of a trained network correlate with the latents of a hierarchy, of "
          "which Theorem 5 gives the co-occurrences for a binary tree",
      .paper_says = "the scripts: every latent is a fixed random set of 2 or 3 of the level below",
      .algebra_says =
          "sets share children, and an input is a function of its class: there is no tree and "
          "no noisy edge, so Table 1 does not test Theorem 5",
      .effect = "Theorem 5 stands (joma.tree-cooccurrence); Table 1 is about other data",
      .examine = show_sets};
}

}  // namespace popgrad::joma::checks
