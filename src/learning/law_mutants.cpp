#include "learning/law_mutants.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <stdexcept>
#include <utility>

#include "formulas/edit.hpp"
#include "learning/loss_arrays.hpp"
#include "popgrad/base/error.hpp"
#include "popgrad/rungs/parameters.hpp"

namespace popgrad::learning {
namespace law_mutants_cpp {
namespace {

// Formulas of a law, which a mistake changes.
std::vector<NamedFormula>& law_of(LossRung& rung, bool closed) {
  if (closed) return rung.closed;
  if (!rung.flow.empty()) return rung.flow;
  return rung.step.empty() ? rung.lift : rung.step;
}

}  // namespace
}  // namespace law_mutants_cpp

std::vector<formulas::Mutant> mutated_formulas(const std::string& formula) {
  std::vector<formulas::Mutant> made = formulas::mutants_of(formula);
  made.push_back({"factor", "factor 11 / 10", fmt::format("11 / 10 * ({})", formula)});
  return made;
}

SampleLoss without_unread(SampleLoss loss, const std::vector<std::string>& formulas) {
  std::set<std::string> read;
  const std::function<void(const std::string&)> add = [&](const std::string& formula) {
    if (formula.empty()) return;
    for (const std::string& name : formulas::names_in(formula)) {
      if (!read.insert(name).second) continue;
      for (const LossObservable& o : loss.observables) {
        if (o.name == name) add(o.formula);
      }
    }
  };
  for (const std::string& formula : formulas) add(formula);
  for (const LossInvariant& i : loss.invariants) add(i.formula);
  for (const LossRung& rung : loss.rungs) {
    for (const auto* law : {&rung.map, &rung.lift, &rung.flow, &rung.step, &rung.closed}) {
      for (const NamedFormula& f : *law) add(f.formula);
    }
    add(rung.time);
    add(rung.domain);
  }
  std::erase_if(loss.observables, [&](const LossObservable& o) { return !read.contains(o.name); });
  return loss;
}

MutatedLoss mutated_loss(const SampleLoss& loss, const std::string& subject, std::size_t most) {
  using namespace law_mutants_cpp;
  MutatedLoss made{.loss = loss, .mutants = {}, .refused = {}};
  made.loss.invariants.clear();
  std::vector<std::string> invariants;
  for (const LossInvariant& i : loss.invariants) invariants.push_back(i.formula);
  made.loss = without_unread(std::move(made.loss), invariants);
  const auto expected =
      std::find_if(loss.expected.begin(), loss.expected.end(),
                   [&](const NamedFormula& e) { return subject == "loss." + e.name; });
  struct Candidate {
    formulas::Mutant formula;
    std::string entry;  // of its left side
    std::size_t law;    // place of the formula in its law
  };
  std::vector<Candidate> candidates;
  const auto rung = std::find_if(loss.rungs.begin(), loss.rungs.end(), [&](const LossRung& r) {
    return subject == "rung." + r.name || subject == fmt::format("rung.{}.closed", r.name);
  });
  const auto invariant =
      std::find_if(loss.invariants.begin(), loss.invariants.end(),
                   [&](const LossInvariant& i) { return subject == "invariant." + i.name; });
  const bool is_rung = rung != loss.rungs.end(), is_closed = subject.ends_with(".closed");
  if (is_rung) {
    LossRung own = *rung;
    const std::vector<NamedFormula>& law = law_of(own, is_closed);
    for (std::size_t k = 0; k < law.size(); ++k) {
      for (formulas::Mutant& formula : mutated_formulas(law[k].formula))
        candidates.push_back({std::move(formula), law[k].name, k});
      // Other signs and factors of a lift often have the same image, whose nearest law is the same.
      if (own.map.empty() && &law == &own.lift) {
        candidates.push_back(
            {{"entries", "entries of other weights",
              fmt::format("({0}) * (9 + cumsum(1 + 0 * ({0}), axis=-1)) / 10", law[k].formula)},
             law[k].name,
             k});
      }
    }
  } else if (invariant != loss.invariants.end()) {
    for (formulas::Mutant& formula : mutated_formulas(invariant->formula))
      candidates.push_back({std::move(formula), invariant->name, 0});
    candidates.pop_back();  // a multiple is an invariant, too
  } else if (expected != loss.expected.end()) {
    for (formulas::Mutant& formula : mutated_formulas(expected->formula))
      candidates.push_back({std::move(formula), expected->name, 0});
  } else {
    throw std::invalid_argument("mutated_loss: no subject " + subject);
  }
  std::map<std::string, int> count;
  const std::size_t stride = (candidates.size() + most - 1) / std::max<std::size_t>(most, 1);
  for (std::size_t k = 0; k < candidates.size(); ++k) {
    const auto& [formula, entry, place] = candidates[k];
    const std::string name = fmt::format("{}-{}", formula.kind, ++count[formula.kind]);
    if (stride > 1 && k % stride != 0) continue;
    const std::string what = fmt::format("{} = {}", entry, formula.formula);
    SampleLoss own = made.loss;
    std::string own_subject;
    if (is_rung) {
      LossRung mutant = *rung;
      mutant.name = fmt::format("{}_mutant_{}", rung->name, k);
      law_of(mutant, is_closed)[place].formula = formula.formula;
      own_subject = fmt::format("rung.{}{}", mutant.name, is_closed ? ".closed" : "");
      own.rungs.push_back(std::move(mutant));
    } else if (expected != loss.expected.end()) {
      NamedFormula mutant{fmt::format("{}_mutant_{}", expected->name, k), formula.formula};
      own_subject = "loss." + mutant.name;
      own.expected.push_back(std::move(mutant));
    } else {
      LossInvariant mutant = *invariant;
      mutant.name = fmt::format("{}_mutant_{}", invariant->name, k);
      mutant.formula = formula.formula;
      own_subject = "invariant." + mutant.name;
      own.invariants.push_back(std::move(mutant));
    }
    try {
      const LossArrays arrays(own, Parameters(loss.name));
    } catch (const InputError&) {
      made.refused.push_back(what);
      continue;
    }
    made.mutants.push_back({name, what, own_subject});
    made.loss = std::move(own);
  }
  return made;
}

}  // namespace popgrad::learning
