/// The table of parameters against what the rungs really read: a parameter of a rung changes it,
/// and one that is not of the rung does not.

#include "popgrad/rungs/parameters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "popgrad/base/error.hpp"
#include "popgrad/evidence/theories.hpp"
#include "popgrad/rungs/declared_parameter.hpp"
#include "popgrad/rungs/model.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/scalars/random.hpp"

namespace parameters_test {

using namespace popgrad;
using Json = nlohmann::json;

namespace {

/// An instance, and the value of a parameter that is not what the instance has.
struct Example {
  Json instance;
  Json value;
};
using Examples = std::map<std::string, std::vector<Example>>;

const Json bigrams{{"P", {{0.5, 0.3}, {0.5, 0.7}}}, {"q", {{1, 0, 0}, {0, 0.5, 0.5}}}};
const Json sparse_bigrams{{"P", {{0.5, 0.3}, {0.5, 0.7}}},
                          {"T", 3},
                          {"q_positions", {{0}, {1, 2}}},
                          {"q_weights", {{1}, {0.5, 0.5}}}};
const Json short_context{{"T", 8}};
const Json topics{{"T", 4}, {"tau", 2}, {"v", 3}, {"d_a", 5}};
const Json classes{{"P", {{0.5, 0.2, 0.3, 0}, {0.5, 0.2, 0, 0.3}}}};
// One token of all classes, as the closed form needs.
const Json one_common{{"P", {{0.5, 0.5, 0, 0}, {0.5, 0, 0.5, 0}}}, {"M", 5}};
const Json sparse_small{
    {"P_tokens", {{0, 1}, {0, 2}}}, {"P_weights", {{0.5, 0.5}, {0.5, 0.5}}}, {"M", 5}};
const Json law{{"X", {{0.5, 0.05}, {0.1, 0.55}, {0.1, 0.1}, {0.3, 0.3}}}};
const Json target{{"mu", {1, 2, 3}}, {"v0", 0.1}};
const Json growing{{"delta", {0.5, 1, 1.5}}, {"v0", 0.1}};

const Json network{{"d", 4}, {"latents", {4, 3}}, {"children", {2, 2}}};
const Json tree{{"d", 4}, {"hierarchy", "tree"}};

Json with(Json base, const Json& more) {
  base.update(more);
  return base;
}

// `20,10` as a file has it; null where there are words.
[[maybe_unused]] Json numbers_in(const std::string& text) {
  if (text.find(',') == std::string::npos) return {};
  const Json list = Json::parse("[" + text + "]", nullptr, false);
  return list.is_discarded() ? Json() : list;
}

Examples scb_examples() {
  const Json noisy = with(short_context, {{"noise", "calibrated"}, {"pilot", 50}});
  const Json parts = with(short_context, {{"algorithm", "three-part"}, {"boost_steps", 1}});
  const Json transfer = with(short_context, {{"start", "transfer"}});
  const Json third{{0.4, 0.4}, {0.3, 0.3}, {0.3, 0.3}};
  return {
      {"N", {{short_context, 4}}},
      {"T", {{short_context, 9}}},
      {"Q", {{short_context, 3}}},
      {"attention", {{short_context, "softmax"}}},
      {"eta_A", {{short_context, 0.5}}},
      {"label_noise", {{short_context, 0.3}}},
      {"temperature",
       {{with(short_context, {{"attention", "softmax"}}), 1.5}, {short_context, 1.5}}},
      {"query_position", {{short_context, "last"}}},
      {"project", {{with(short_context, {{"start", "uniform"}}), false}}},
      {"noise", {{short_context, "constant"}}},
      {"pilot", {{noisy, 60}}},
      {"pilot_at", {{noisy, "start"}}},
      {"sigma_V", {{short_context, 0.3}}},
      {"sigma_A", {{short_context, 0.3}}},
      {"algorithm", {{short_context, "three-part"}, {transfer, "transfer"}}},
      {"boost_until",
       {{with(short_context, {{"algorithm", "three-part"}}), 1e-9},
        {with(short_context, {{"algorithm", "three-part"}, {"sigma_V", 0}, {"sigma_A", 0}}),
         1e-9}}},
      {"boost_steps", {{with(short_context, {{"algorithm", "three-part"}}), 1}}},
      {"tau", {{parts, 0.13}}},
      {"eta_2", {{parts, 0.1}}},
      {"lambda", {{with(parts, {{"eta_2", 0.1}}), 0.5}}},
      {"l1_steps", {{parts, 1}}},
      {"start", {{short_context, "uniform"}}},
      {"theta", {{transfer, 0.7}}},
      {"correlation", {{transfer, 0.7}}},
      {"P", {{bigrams, {{0.4, 0.3}, {0.6, 0.7}}}}},
      {"mu", {{bigrams, {0.375000000001, 0.624999999999}}}},
      {"q", {{bigrams, {{1, 0, 0}, {0, 0.4, 0.6}}}}},
      {"q_positions", {{sparse_bigrams, {{1}, {1, 2}}}, {sparse_bigrams, {{0}, {1}}}}},
      {"q_weights", {{sparse_bigrams, {{1}, {0.4, 0.6}}}}},
      {"V", {{bigrams, {{0.5, 0.4}, {0.5, 0.6}}}}},
      {"A", {{bigrams, third}}},
      {"state", {{short_context, {{"alpha_V", 0.1}}}}},
  };
}

Examples scan_snap_examples(const std::string& folder) {
  const auto text = [&](const char* name, const char* content) {
    const std::string path = (std::filesystem::path(folder) / name).string();
    std::ofstream(path) << content;
    return path;
  };
  // Pairs (last, next) x y and x z, whose contexts share the token c.
  // Equally likely pairs, each with a next token of its own, for the rung reduced.
  const Json once{{"corpus", text("once.txt", "a b c d e f g h\n")}};
  const Json corpus{{"corpus", text("text.txt", "c a x y c b x z c a x y c b x z\n")}};
  const std::string other = text("other.txt", "d a x y d b x z d a a x y d b x z\n");
  const Json small = one_common;
  return {
      {"preset", {{Json::object(), "syn-medium"}}},
      {"n_last", {{{{"preset", "syn-medium"}}, 3}}},
      {"eta_Y", {{small, 3}}},
      {"eta_Z", {{small, 3}}},
      {"T", {{small, 20}}},
      {"label_noise", {{small, 0.4}}},
      {"temperature", {{with(small, {{"start", "uniform"}}), 2}}},
      {"start", {{small, "uniform"}}},
      {"reading", {{small, "paper"}}},
      {"watch", {{small, "0:0"}}},
      {"track-growth", {{small, false}, {small, true}}},
      {"corpus", {{Json::object(), other}}},
      {"window", {{corpus, 2}, {with(corpus, {{"window", 2}}), 3}, {once, 2}}},
      {"min-count", {{corpus, 2}, {corpus, 3}}},
      {"classes", {{corpus, 2}, {corpus, 1}}},
      {"P", {{small, {{0.4, 0.6, 0, 0}, {0.4, 0, 0.6, 0}}}}},
      {"P_tokens", {{sparse_small, {{0, 1}, {1, 2}}}, {sparse_small, {{0, 1}, {2, 3}}}}},
      {"P_weights", {{sparse_small, {{0.4, 0.6}, {0.4, 0.6}}}}},
      {"psi", {{with(small, {{"psi", {3, 3}}}), {3, 4}}}},
      {"next", {{small, {1, 0}}}},
      {"class_law", {{small, {0.3, 0.7}}}},
      {"M", {{small, 6}}},
      {"Y", {{classes, Json(std::vector<std::vector<double>>(4, {0.1, 0.2, 0.3, 0.4}))}}},
      {"Z", {{classes, Json(std::vector<std::vector<double>>(4, {0.1, 0.2, 0.3, 0.4}))}}},
      {"state",
       {{classes, {{"h", 0.1}}},
        {classes, {{"s_0_0", 0.1}}},
        {with(classes, {{"track-growth", true}}), {{"B_0", 0.1}}}}},
  };
}

Examples joma_examples() {
  // One unit, for the closed form.
  const Json one = with(law, {{"units", 1}});
  const Json mixed = with(law, {{"phi", "gelu"}, {"units", 3}});
  const auto rows = [](std::size_t count, const std::vector<double>& row) {
    return Json(std::vector<std::vector<double>>(count, row));
  };
  return {
      {"attention", {{law, "linear"}, {target, "softmax"}}},
      {"temperature", {{law, 2}, {target, 2}}},
      {"label_noise", {{law, 0.4}}},
      {"tau", {{target, 3}}},
      {"phi", {{law, "relu"}, {one, "relu"}, {network, "tanh"}}},
      {"residual", {{law, false}, {one, false}}},
      {"normalise", {{law, true}, {one, true}}},
      {"law", {{Json::object(), "uniform"}}},
      {"units", {{law, 3}}},
      {"scale", {{law, 0.5}, {one, 0.5}}},
      {"length", {{law, 3}}},
      {"embedding-dimension",
       {{with(law, {{"normalise", true}}), 3}, {with(one, {{"normalise", true}}), 3}}},
      {"X", {{one, {{0.4, 0.05}, {0.2, 0.55}, {0.1, 0.1}, {0.3, 0.3}}}}},
      {"class_law", {{one, {0.3, 0.7}}}},
      {"W0", {{one, rows(5, {0.1})}}},
      {"decoder", {{mixed, rows(2, {0.1, 0.2, 0.3})}, {one, rows(2, {0.1})}}},
      {"z0",
       {{law, {0.1, 0.2, 0.3, 0.4}}, {with(growing, {{"attention", "linear"}, {"z0", 1}}), 2}}},
      {"mu", {{target, {1, 2, 4}}}},
      {"delta", {{growing, {0.5, 1, 2}}}},
      {"v0", {{target, 0.2}}},
      {"layers", {{network, 1}}},
      {"d", {{network, 5}}},
      {"width", {{network, 3}}},
      {"layer-norm", {{network, true}}},
      {"train-attention", {{network, false}}},
      {"hierarchy", {{{{"d", 4}}, "tree"}}},
      {"M", {{network, 9}}},
      {"L", {{network, 9}}},
      {"latents", {{network, {5, 4}}}},
      {"children", {{network, {2, 3}}}},
      {"depth", {{tree, 2}}},
      {"rho", {{tree, 0.5}}},
      {"polarity", {{tree, {0.5, -0.5}}}},
      {"inputs", {{{{"d", 4}}, {{0, 1, 2}, {1, 2, 1}}}}},
      {"state", {{network, {{"b_O", {0.1, 0.2, 0.3}}}}}},
  };
}

Examples topic_examples(const std::string& folder) {
  const std::string path = (std::filesystem::path(folder) / "documents.txt").string();
  std::ofstream(path) << "0 1 2 END\n3 4 5 END\n";
  const Json wide = with(topics, {{"d_e", 3}});
  const auto rows = [](std::size_t count, std::size_t columns) {
    return Json(std::vector<std::vector<double>>(count, std::vector<double>(columns, 0.1)));
  };
  return {
      {"T", {{topics, 5}}},
      {"tau", {{topics, 3}}},
      {"v", {{topics, 2}}},
      {"p_m", {{topics, 0.3}}},
      {"p_c", {{topics, 0.3}}},
      {"p_r", {{topics, 0.3}}},
      {"lambda", {{with(topics, {{"value", "block"}}), 0.1}}},
      {"loss", {{topics, "cross-entropy"}}},
      {"d_a", {{topics, 6}}},
      {"temperature", {{topics, 1.5}}},
      {"label_noise", {{topics, 0.3}}},
      {"d_e", {{topics, 3}}},
      {"sigma", {{topics, 0.1}}},
      {"value", {{topics, "diagonal"}}},
      {"W_K", {{topics, rows(5, 13)}}},
      {"W_Q", {{topics, rows(5, 13)}}},
      {"W_V", {{topics, rows(13, 13)}}},
      {"W_E", {{wide, rows(3, 13)}, {topics, rows(3, 13)}}},
      {"state", {{topics, {{"d", 0.1}}}}},
      {"train", {{with(topics, {{"value", "block"}}), "V"}}},
      {"switch", {{topics, 5}}},
      {"N", {{topics, 9}}},
      {"longer", {{topics, 9}}},
      {"documents", {{topics, "lda"}}},
      {"concentration", {{with(topics, {{"documents", "lda"}}), 0.7}}},
      {"corpus", {{topics, path}}},
  };
}

Examples examples_of(const std::string& model, const std::string& folder) {
  if (model == "joma") return joma_examples();
  if (model == "scan-snap") return scan_snap_examples(folder);
  return model == "scb" ? scb_examples() : topic_examples(folder);
}

void write(std::string& text, const Vector<double>& numbers) {
  for (const double x : numbers) text += fmt::format(" {:.17g}", x);
}

struct Behaviour {
  std::string text;
  bool refused = false;
  bool operator==(const Behaviour&) const = default;
};

// All that a rung does near its start, or why it cannot be made.
Behaviour behaviour(const Model& model, const RungInfo& info, const Json& instance) try {
  const AnyRung<double> rung =
      model.rung(info.name, Parameters::parse(model.name(), instance.dump(), "example"), 1);
  std::string text = fmt::format("{} {}", fmt::join(rung.observables.columns, " "),
                                 fmt::join(rung.state_names, " "));
  write(text, rung.initial);
  write(text, rung.field.rates);
  std::vector<double> row(rung.observables.columns.size());
  const auto look = [&](const Vector<double>& x, double t) {
    rung.observables.read(x, t, row);
    write(text, Eigen::Map<const Vector<double>>(row.data(), std::ssize(row)));
  };
  if (rung.field.state_at) {
    for (const double t : {0.1, 0.5}) {
      const Vector<double> x = rung.field.state_at(t);
      write(text, x);
      look(x, t);
    }
    return {text};
  }
  look(rung.initial, 0);
  Vector<double> x = rung.initial;
  Vector<double> slope(x.size());
  for (const double t : {0.0, 10.0, 1e6}) {
    if (!rung.field.value) break;
    rung.field.value(x, slope, t);
    write(text, slope);
  }
  // The last steps of the algorithm in three parts rest.
  const Index batch = info.kind == RungKind::random ? 3 : 0;
  for (std::uint64_t step = 0; step < 4; ++step) {
    Stream stream(1, 0, step);
    if (rung.draws.step) {
      rung.draws.step(x, 0.1, stream, batch);
    } else {
      slope.resize(x.size());
      if (batch > 0) {
        rung.draws.sample(x, slope, stream, batch);
      } else {
        rung.field.value(x, slope, 0.1);
      }
      x += 0.1 * slope;
    }
    write(text, x);
    if (!rung.varying_length) look(x, 0.1);
  }
  return {text};
} catch (const InputError& error) {
  return {error.what(), true};
}

// Does it matter? A refusal counts for what is declared (a start that a closed form has not), but
// not against what is not: it is refused anyway.
bool changes(const Model& model, const RungInfo& rung, const std::string& name,
             const std::vector<Example>& examples, bool refusals_count) {
  return std::any_of(examples.begin(), examples.end(), [&](const Example& example) {
    const Behaviour given = behaviour(model, rung, with(example.instance, {{name, example.value}}));
    return (refusals_count || !given.refused) && given != behaviour(model, rung, example.instance);
  });
}

// Where the table and the rungs disagree.
std::vector<std::string> drifts(const Model& model, const std::vector<ParameterInfo>& table,
                                const Examples& examples) {
  std::vector<std::string> found;
  for (const ParameterInfo& parameter : table) {
    const auto own = examples.find(parameter.name);
    if (own == examples.end()) {
      found.push_back(parameter.name + " has no example here");
      continue;
    }
    for (const RungInfo& rung : model.rungs()) {
      // Reads what sgd reads, and refuses what it cannot follow.
      if (rung.kind == RungKind::moments) continue;
      const bool declared = parameter.rungs.empty() ||
                            std::find(parameter.rungs.begin(), parameter.rungs.end(), rung.name) !=
                                parameter.rungs.end();
      if (changes(model, rung, parameter.name, own->second, declared) == declared) continue;
      found.push_back(fmt::format(
          "{} {} {}", rung.name, parameter.name,
          declared ? "is declared and changes nothing" : "is not declared and changes the rung"));
    }
  }
  return found;
}

std::string temporary_folder() {
  std::string name = (std::filesystem::temp_directory_path() / "popgrad-test-XXXXXX").string();
  return ::mkdtemp(name.data());
}

}  // namespace

TEST_CASE("parameters: each changes the rungs that the table says, and no other",
          "[parameters][unsanitized]") {
  const std::string folder = temporary_folder();
  for (const Theory& theory : theories()) {
    const auto& model = theory.model;
    const Examples examples = examples_of(model->name(), folder);
    const std::vector<ParameterInfo>& table = model->parameters();
    for (const std::string& drift : drifts(*model, table, examples)) {
      UNSCOPED_INFO(model->name() << " " << drift);
      CHECK(drift.empty());
    }
    for (const auto& [name, example] : examples) {
      INFO(model->name() << " " << name);
      CHECK(std::any_of(table.begin(), table.end(),
                        [&n = name](const ParameterInfo& p) { return p.name == n; }));
    }
  }
  std::filesystem::remove_all(folder);
}

TEST_CASE("parameters: a table that drifts is noticed, in both directions", "[parameters]") {
  const std::string folder = temporary_folder();
  const Model& topic = find_model("topic");
  std::vector<ParameterInfo> table = topic.parameters();
  const auto entry = [&](const char* name) {
    return std::find_if(table.begin(), table.end(),
                        [&](const ParameterInfo& p) { return p.name == name; });
  };
  std::erase(entry("sigma")->rungs, "symmetric");
  entry("loss")->rungs.emplace_back("optimum");
  CHECK(drifts(topic, table, examples_of("topic", folder)) ==
        std::vector<std::string>{"optimum loss is declared and changes nothing",
                                 "symmetric sigma is not declared and changes the rung"});
  std::filesystem::remove_all(folder);
}

// The case above makes and runs the same rungs under the sanitizers.
TEST_CASE("parameters: the default stated in the table is the one used",
          "[parameters][unsanitized]") {
  const std::string folder = temporary_folder();
  for (const Theory& theory : theories()) {
    const auto& model = theory.model;
    const Examples examples = examples_of(model->name(), folder);
    for (const ParameterInfo& parameter : model->parameters()) {
      const bool plain = parameter.kind == "number" || parameter.kind == "count" ||
                         parameter.kind == "switch" || parameter.kind == "choice";
      const std::string& text = parameter.default_value;
      const bool constant = plain && text.find_first_of(" ;") == std::string::npos &&
                            text != "classes" && !text.empty();
      const Json list = parameter.kind == "vector" ? numbers_in(text) : Json();
      if (!constant && list.is_null()) continue;
      const Json told = constant ? Json(text) : list;
      for (const Example& example : examples.at(parameter.name)) {
        Json without = example.instance;
        without.erase(parameter.name);
        for (const RungInfo& rung : model->rungs()) {
          // Reads what sgd reads, and a step of it may take seconds.
          if (rung.kind == RungKind::moments) continue;
          INFO(model->name() << " " << rung.name << " --" << parameter.name << " " << text);
          CHECK(behaviour(*model, rung, without) ==
                behaviour(*model, rung, with(without, {{parameter.name, told}})));
        }
      }
    }
  }
  std::filesystem::remove_all(folder);
}

TEST_CASE("parameters: rules and special defaults are those of the declaration", "[parameters]") {
  constexpr NumberParameter rate{.name = "rate",
                                 .meaning = "of decay",
                                 .standard = "1/3",
                                 .special = {{{"for short runs", "2"}}},
                                 .range = above_up_to(0, 4)};
  Parameters p("toy");
  CHECK(read<double>(p, rate) == Approx(1.0 / 3).epsilon(1e-16));
  CHECK(read<double>(p, rate, "for short runs") == 2);
  CHECK_THROWS_AS(read<double>(p, rate, "for long runs"), std::logic_error);
  CHECK_THROWS_AS(read_or<double>(p, rate, 5.0), std::logic_error);
  const ParameterInfo info = info_of(rate);
  CHECK(info.help == "of decay, > 0 and <= 4");
  CHECK(info.default_value == "1/3; 2 for short runs");
  p.set("rate", "4.5");
  CHECK_THROWS_WITH(read<double>(p, rate), "toy: --rate 4.5 must be > 0 and <= 4");
  p.set("rate", "0");
  CHECK_THROWS_WITH(read<double>(p, rate), Catch::Contains("--rate 0 must be > 0"));
  p.set("rate", "4");
  CHECK(read<double>(p, rate) == 4);
}

}  // namespace parameters_test
