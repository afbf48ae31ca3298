#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "formulas/operation.hpp"
#include "learning/loss_rung.hpp"
#include "learning/own_rung.hpp"
#include "popgrad/fluctuations/prediction.hpp"
#include "popgrad/learning/sample_loss.hpp"
#include "popgrad/rungs/declared_parameter.hpp"
#include "popgrad/rungs/given_start.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/walks/walk.hpp"
#include "scalars/number_text.hpp"

namespace popgrad {
namespace model_of_loss_cpp {
namespace {

using namespace learning;

constexpr ListParameter start_parameter{
    .name = state_key, .meaning = "entries of the states at first, by name", .kind = "components"};

std::vector<ParameterInfo> parameters_of(const SampleLoss& loss, const LossArrays& arrays) {
  std::vector<ParameterInfo> infos;
  for (const LossSize& size : loss.sizes) {
    infos.push_back({.name = size.name,
                     .kind = "count",
                     .default_value = std::to_string(size.value),
                     .help = size.meaning.empty() ? "a size" : size.meaning,
                     .range = size.range});
  }
  for (const LossParameter& p : loss.parameters) {
    const auto array =
        std::find_if(arrays.parameters.begin(), arrays.parameters.end(),
                     [&](const ParameterArray& a) { return a.variable.node().text == p.name; });
    const Index rank = array->variable.rank();
    const auto* text = p.value.as<std::string>();
    ParameterInfo info{.name = p.name,
                       .kind = rank == 0   ? "number"
                               : rank == 1 ? "vector"
                                           : "matrix",
                       .default_value = text != nullptr ? *text : json_text(p.value),
                       .help = p.meaning.empty() ? "a parameter" : p.meaning,
                       .flag = rank == 0,
                       .range = p.range};
    infos.push_back(std::move(info));
  }
  infos.push_back(info_of(start_parameter));
  return infos;
}

std::string with_axes(std::string name, const Array& array) {
  for (Index axis = 0; axis < array.rank(); ++axis) name += "_N";
  return name;
}

std::vector<ObservableInfo> observables_of(const SampleLoss& loss, const LossArrays& arrays,
                                           const ExpectedLoss& expected) {
  std::vector<ObservableInfo> infos{{loss_column, "expected loss", "any number"}};
  if (expected.has_error()) {
    infos.push_back({error_column,
                     "standard error of `loss` by the samples, and its difference to fewer nodes "
                     "of quadrature",
                     "`>= 0`", "0 in many digits"});
  }
  for (std::size_t k = 0; k < loss.observables.size(); ++k) {
    const LossObservable& o = loss.observables[k];
    infos.push_back(
        {with_axes(o.name, arrays.observables[k].array), o.formula, o.range, o.meaning});
  }
  for (std::size_t k = loss.observables.size(); k < arrays.observables.size(); ++k) {
    const ObservableArray& o = arrays.observables[k];
    infos.push_back({with_axes(o.name, o.array), "map of a coarser rung", "any number"});
  }
  return infos;
}

std::string cost_of(const SampleLoss& loss, const ExpectedLoss& expected) {
  const std::string ways = fmt::format("{}", fmt::join(expected.ways, "; "));
  return expected.sampled
             ? fmt::format("the loss and its gradient for {} samples; summands of the loss: {}",
                           loss.samples, ways)
             : "summands of the loss: " + ways;
}

template <class T>
AnyRung<T> made(const SampleLoss& loss, const Parameters& p, std::uint64_t seed) {
  return loss_rung<T>(loss_instance(loss, p, seed));
}

// The end as a multiple of the step, which rungs that take steps have to reach.
std::string whole_steps(const SampleLoss& loss) {
  return fmt::format("{:g}", std::round(loss.end / loss.step) * loss.step);
}

// Rungs of their own after those of training, and the steps to them.
void add_own_rungs(const SampleLoss& loss, const LossArrays& arrays, ModelTable& table) {
  const std::string end = fmt::format("{:g}", loss.end), step = fmt::format("{:g}", loss.step);
  const std::string end_of_steps = whole_steps(loss);
  const std::vector<ParameterInfo> reads = parameters_of(loss, arrays);
  for (std::size_t k = 0; k < arrays.own.size(); ++k) {
    const LossRung& written = loss.rungs[k];
    const OwnArrays& own = arrays.own[k];
    const auto add = [&](const std::string& name, RungKind kind, const std::string& law) {
      Rung rung;
      rung.info = {.name = name,
                   .kind = kind,
                   .summary = written.meaning.empty() ? law : written.meaning + ": " + law,
                   .cost = "its formulas",
                   .column_note = {},
                   .default_end = end,
                   .default_step = step};
      rung.info.averages_batches = own.of_sgd && own.steps();
      rung.info.default_batch = loss.batch;
      if (kind == RungKind::descent)
        rung.info.default_end = fmt::format("{}", std::lround(loss.end / loss.step));
      rung.reads = reads;
      rung.why_no_symbols = "is written as formulas already";
      const Rung* finer = nullptr;
      for (const Rung& other : table.rungs) {
        if (other.info.name == written.of) finer = &other;
      }
      std::vector<ObservableInfo> states;
      for (std::size_t s = 0; s < own.names.size(); ++s)
        states.push_back({with_axes(own.names[s], own.states[s]), "its state", "any number"});
      const auto is_state = [&](const ObservableInfo& o) {
        return std::any_of(states.begin(), states.end(),
                           [&](const ObservableInfo& state) { return state.name == o.name; });
      };
      if (!own.lift.empty() && finer != nullptr) {
        for (const ObservableInfo& o : finer->observables) {
          if (!is_state(o)) rung.observables.push_back(o);
        }
      } else {
        for (const LossObservable& o : loss.observables) {
          for (const ObservableArray& shown : own.observables) {
            if (shown.name == o.name)
              rung.observables.push_back(
                  {with_axes(o.name, shown.array), o.formula, o.range, o.meaning});
          }
        }
      }
      for (const ObservableArray& o : own.coarser)
        rung.observables.push_back(
            {with_axes(o.name, o.array), "map of a coarser rung", "any number"});
      rung.observables.insert(rung.observables.end(), states.begin(), states.end());
      const bool closed = kind == RungKind::closed_form;
      rung = rung.made_by([loss, k, closed]<class T>(const Parameters& p, std::uint64_t seed) {
        return own_rung<T>(loss_instance(loss, p, seed), k, closed);
      });
      if (kind == RungKind::descent) rung.make_in_digits = nullptr;
      if (closed) {
        rung.reads.pop_back();  // of a start of its own
        table.rungs.push_back(rung);
      } else {
        table.rungs.push_back(with_given_state(rung, fmt::format("{} {}", loss.name, name)));
      }
    };
    if (own.flows()) {
      add(own.name, RungKind::flow,
          own.has_law() ? "flow as written" : "flow derived from that of " + written.of);
    } else if (own.steps()) {
      add(own.name, RungKind::descent,
          own.has_law() ? "steps as written"
          : own.of_sgd  ? "mean steps, derived from those of sgd, with its batch"
                        : "steps derived from those of " + written.of);
    } else {
      add(own.name, RungKind::closed_form, "closed form as written");
    }
    const auto assumed = [&] {
      return written.assumes.empty() ? std::string("nothing more, as written") : written.assumes;
    };
    if (!written.of.empty())
      table.ladder.push_back({written.of, own.name, assumed(), end_of_steps, {}, false});
    if (own.flows() && !own.closed.empty()) {
      const std::string name = own.name + closed_ending;
      add(name, RungKind::closed_form, "closed form as written");
      table.ladder.push_back(
          {own.name, name, "the closed form of its flow", end_of_steps, {}, false});
    }
  }
}

}  // namespace
}  // namespace model_of_loss_cpp

std::shared_ptr<const Model> model_of_loss(SampleLoss loss) {
  using namespace model_of_loss_cpp;
  LossArrays arrays(loss, Parameters(loss.name));
  if (loss.loss.empty() && loss.states.empty() && !loss.rungs.empty()) {
    ModelTable own{.name = loss.name, .paper = loss.paper, .rungs = {}, .word = loss.file};
    add_own_rungs(loss, arrays, own);
    return std::make_shared<const Model>(std::move(own));
  }
  const ExpectedLoss expected(arrays, loss);
  (void)loss_instance(loss, Parameters(loss.name), 0);
  const std::string jumps = arrays.no_gradient();

  Rung flow;
  flow.info = {.name = "flow",
               .kind = RungKind::flow,
               .summary = "minus the expected gradient of the loss of one sample" +
                          (jumps.empty() ? "" : "; no gradient of the expected loss: " + jumps),
               .cost = cost_of(loss, expected),
               .column_note = {},
               .default_end = fmt::format("{:g}", loss.end)};
  flow.reads = parameters_of(loss, arrays);
  flow.observables = observables_of(loss, arrays, expected);
  flow.why_no_symbols = "is written as formulas already";
  Rung sgd = flow;
  flow = flow.made_by([loss]<class T>(const Parameters& p, std::uint64_t seed) {
    return without_draws(made<T>(loss, p, seed));
  });
  Rung gd = flow;
  gd.make_in_digits = nullptr;
  gd.info.name = "gd";
  gd.info.kind = RungKind::descent;
  gd.info.summary = "gradient descent: steps along the expected field";
  gd.info.default_step = fmt::format("{:g}", loss.step);
  gd.info.default_end = fmt::format("{}", std::lround(loss.end / loss.step));
  sgd.make = [loss](const Parameters& p, std::uint64_t seed) {
    return made<double>(loss, p, seed);
  };
  sgd.info = gd.info;
  sgd.info.name = "sgd";
  sgd.info.kind = RungKind::random;
  sgd.info.summary = "SGD: steps along the mean gradient of a minibatch, drawn from the law";
  sgd.info.cost = "the loss and its gradient for each sample of the batch";
  sgd.info.default_batch = loss.batch;
  const auto startable = [&](const Rung& rung) {
    return with_given_state(rung, fmt::format("{} {}", loss.name, rung.info.name));
  };
  // The covariance of one draw may take long to derive, so that sgd itself goes without.
  const auto derived = std::make_shared<DerivedCovariance>(loss);
  Rung sgd_with_law = sgd;
  sgd_with_law.make = [loss, derived, has_timed_rates = arrays.has_timed_rates()](
                          const Parameters& p, std::uint64_t seed) {
    if (has_timed_rates) {
      reject_entry(loss.name, "rates",
                   "depend on the time, where moments takes the law of all steps to be one; take "
                   "runs of sgd");
    }
    LossInstance instance = *loss_instance(loss, p, seed);
    const std::shared_ptr<const DrawCovariance> law = derived->of(p, seed);
    if (law && law->why_not().empty()) instance.covariance = law;
    return forget_type(LossFlow<double>(std::make_shared<const LossInstance>(std::move(instance))));
  };
  const auto why_not = [derived](const Parameters& p, std::uint64_t seed) {
    const std::shared_ptr<const DrawCovariance> law = derived->of(p, seed);
    return law ? law->why_not() + "; give samples" : "";
  };
  ModelTable table{.name = loss.name, .paper = loss.paper, .rungs = {}, .word = loss.file};
  table.rungs = {startable(sgd), moments_of(startable(sgd_with_law), loss.name, why_not),
                 startable(gd), startable(flow)};
  const std::string end = whole_steps(loss);
  table.ladder = {{"sgd", "gd", "the expectation in place of a minibatch", end, {}, false},
                  {"gd", "flow", "steps of length 0", end, {}, false}};
  add_own_rungs(loss, arrays, table);
  return std::make_shared<const Model>(std::move(table));
}

std::string no_gradient(const SampleLoss& loss, const Parameters& given) {
  return learning::LossArrays(loss, given).no_gradient();
}

}  // namespace popgrad
