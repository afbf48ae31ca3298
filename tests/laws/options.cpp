/// Values off the default of every parameter, model by model.

#include <catch2/catch.hpp>
#include <set>

#include "laws/cases.hpp"
#include "popgrad/evidence/theories.hpp"

namespace popgrad::laws {
namespace {

using List = Value::List;

Value numbers(std::initializer_list<const char*> values) {
  List list;
  for (const char* value : values) list.emplace_back(value);
  return list;
}

Value rows(std::initializer_list<std::initializer_list<const char*>> values) {
  List list;
  for (const auto& row : values) list.push_back(numbers(row));
  return list;
}

std::vector<Option> joma() {
  const Value law = rows(
      {{"0.5", "0.1", "0.2"}, {"0.2", "0.6", "0.1"}, {"0.3", "0", "0.3"}, {"0", "0.3", "0.4"}});
  const Value weights = rows({{"0.3", "-0.2", "0.1"},
                              {"-0.4", "0.5", "0.2"},
                              {"0.1", "0.2", "-0.6"},
                              {"0.7", "-0.1", "0.3"},
                              {"0.2", "0.4", "-0.3"}});
  const Value one_start = numbers({"0.3", "-0.2", "0.25", "0.1"});
  return {
      {"law or target",
       {{},
        {{"X", law}},
        {{"law", "uniform"}},
        {{"mu", numbers({"1.4", "0.9", "-1.1", "2"})}},
        {{"delta", numbers({"0.5", "-0.8", "1.1", "0.2"})}},
        {{"delta", numbers({"0.5", "-0.8", "1.1", "0.2"})}, {"v0", one_start}},
        {{"delta", numbers({"0.5", "-0.8", "1.1", "0.2"})},
         {"v0", one_start},
         {"attention", "linear"},
         {"z0", "0.4"}},
        {{"mu", rows({{"1.4", "0.9", "-1.1"}, {"0.3", "-0.6", "0.8"}})}},
        {{"delta", rows({{"0.4", "0.9", "-0.7"}, {"0.3", "-0.6", "0.8"}})}}}},
      {"attention", {{}, {{"attention", "softmax"}}, {{"attention", "linear"}}}},
      {"scale of logits", {{}, {{"temperature", "0.7"}}, {{"tau", "1.3"}}}},
      {"phi", {{}, {{"phi", "relu"}}, {{"phi", "gelu"}}, {{"phi", "tanh"}}}},
      {"residual", {{}, {{"residual", "false"}}}},
      {"normalise", {{}, {{"normalise", "true"}}}},
      {"class law", {{}, {{"class_law", numbers({"0.5", "0.2", "0.3"})}}}},
      {"weights", {{}, {{"units", "2"}}, {{"scale", "0.6"}}, {{"W0", weights}}}},
      {"output layer",
       {{},
        {{"decoder",
          rows({{"0.4", "-0.3", "0.6"}, {"0.2", "0.5", "-0.7"}, {"-0.5", "0.1", "0.8"}})}}}},
      {"length", {{}, {{"length", "3"}}}},
      {"label noise", {{}, {{"label_noise", "0.3"}}}},
      {"embeddings", {{}, {{"embedding-dimension", "6"}}}},
      {"logits", {{}, {{"z0", numbers({"0.4", "-0.5", "0.6", "0.35"})}}, {{"z0", "0.4"}}}},
      {"start", {{}, {{"v0", "0.3"}}}},
  };
}

std::vector<Option> multilayer() {
  const Record sets{{"M", "5"},
                    {"L", "6"},
                    {"latents", numbers({"4", "4", "3"})},
                    {"children", numbers({"2", "2", "2"})}};
  const Record tree{{"hierarchy", "tree"},
                    {"depth", "2"},
                    {"rho", "0.6"},
                    {"polarity", numbers({"0.5", "-0.3", "0.7"})}};
  const Value inputs = rows({{"0", "0", "1", "2"}, {"0", "3", "1", "4"}, {"2", "2", "3", "1"}});
  return {
      {"hierarchy", {sets, tree, {{"inputs", inputs}}, {{"inputs", inputs}, {"M", "7"}}}},
      {"layers", {{{"layers", "1"}}, {}, {{"layers", "3"}}}},
      {"dimension", {{{"d", "3"}}, {{"d", "4"}}}},
      {"width", {{{"width", "2"}}, {}}},
      {"attention", {{}, {{"attention", "exp"}}, {{"attention", "linear"}}}},
      {"phi", {{{"phi", "gelu"}}, {{"phi", "relu"}}, {{"phi", "linear"}}, {{"phi", "tanh"}}}},
      {"norm", {{}, {{"layer-norm", "true"}}}},
      {"frozen", {{}, {{"train-attention", "false"}}}},
  };
}

std::vector<Option> scan_snap() {
  const Value law = rows({{"0.5", "0.2", "0.3", "0", "0"},
                          {"0.25", "0.45", "0", "0.3", "0"},
                          {"0.3", "0.1", "0", "0.2", "0.4"}});
  const Value one_common = rows({{"0.5", "0.5", "0"}, {"0.5", "0", "0.5"}});
  return {
      {"law",
       {{{"P", law}},
        {},
        {{"P", one_common}, {"M", "5"}},
        {{"preset", "syn-medium"}, {"n_last", "2"}}}},
      {"queries", {{}, {{"psi", numbers({"4", "3", "4"})}}, {{"psi", numbers({"4", "3"})}}}},
      {"next", {{}, {{"next", numbers({"2", "4", "2"})}}, {{"next", numbers({"3", "1"})}}}},
      {"class law",
       {{},
        {{"class_law", numbers({"0.5", "0.2", "0.3"})}},
        {{"class_law", numbers({"0.3", "0.7"})}}}},
      {"vocabulary", {{}, {{"M", "8"}}}},
      {"rate of Y", {{}, {{"eta_Y", "1.7"}}}},
      {"rate of Z", {{}, {{"eta_Z", "0.6"}}}},
      {"length", {{}, {{"T", "3"}}}},
      {"label noise", {{}, {{"label_noise", "0.3"}}}},
      {"temperature", {{}, {{"temperature", "1.6"}}}},
      {"start", {{}, {{"start", "uniform"}}, {{"start", "zero"}}}},
      {"reading", {{}, {{"reading", "paper"}}}},
      {"watch", {{}, {{"watch", "0:0,1:1"}}}},
      {"growth", {{}, {{"track-growth", "true"}}, {{"track-growth", "false"}}}},
  };
}

std::vector<Option> scb() {
  const Value kernel = rows({{"0.6", "0.1", "0.3"}, {"0.3", "0.7", "0.2"}, {"0.1", "0.2", "0.5"}});
  const Value context =
      rows({{"0.3", "0.7", "0", "0"}, {"0", "0", "1", "0"}, {"0.2", "0", "0.3", "0.5"}});
  const Value swap = rows({{"0.3", "0.7"}, {"0.7", "0.3"}});
  const Value look = rows({{"1", "0", "0"}, {"0.4", "0.6", "0"}});
  return {
      {"law",
       {{{"P", kernel}, {"q", context}},
        {{"N", "3"}, {"T", "4"}, {"Q", "2"}},
        {{"N", "2"}, {"T", "4"}, {"Q", "3"}},
        {{"P", swap}, {"mu", numbers({"0.5", "0.5"})}, {"q", look}}}},
      {"attention", {{}, {{"attention", "softmax"}}}},
      {"rate of attention", {{}, {{"eta_A", "1.7"}}}},
      {"label noise", {{}, {{"label_noise", "0.3"}}}},
      {"temperature", {{}, {{"temperature", "1.6"}}}},
      {"query", {{}, {{"query_position", "last"}}}},
      {"projection", {{}, {{"project", "false"}}}},
      {"noise",
       {{},
        {{"noise", "constant"}},
        {{"noise", "calibrated"}, {"pilot", "50"}},
        {{"noise", "calibrated"}, {"pilot", "50"}, {"pilot_at", "start"}}}},
      {"noise of V", {{}, {{"sigma_V", "0.3"}}}},
      {"noise of attention", {{}, {{"sigma_A", "0.2"}}}},
      {"algorithm",
       {{},
        {{"algorithm", "three-part"}},
        {{"algorithm", "three-part"}, {"boost_until", "0.1"}},
        {{"algorithm", "three-part"},
         {"boost_steps", "2"},
         {"tau", "0.2"},
         {"eta_2", "0.05"},
         {"lambda", "0.6"},
         {"l1_steps", "3"}},
        {{"algorithm", "transfer"},
         {"boost_steps", "2"},
         {"tau", "0.2"},
         {"eta_2", "0.05"},
         {"lambda", "0.6"},
         {"l1_steps", "3"}}}},
      {"start",
       {{},
        {{"start", "uniform"}},
        {{"start", "transfer"}},
        {{"start", "transfer"}, {"theta", "0.8"}, {"correlation", "0.9"}}}},
  };
}

std::vector<Option> topic() {
  const auto size = [](const char* topics, const char* active, const char* words) {
    return Record{{"T", topics}, {"tau", active}, {"v", words}, {"d_a", "3"}};
  };
  return {
      {"size",
       {size("3", "2", "2"), size("4", "2", "3"), size("3", "1", "2"), size("5", "3", "1")}},
      {"selected", {{}, {{"p_m", "0.4"}}}},
      {"kept", {{}, {{"p_c", "0.3"}}}},
      {"random", {{}, {{"p_r", "0.25"}}, {{"p_r", "0"}}}},
      {"penalty", {{}, {{"lambda", "0.05"}}}},
      {"loss", {{}, {{"loss", "cross-entropy"}}}},
      {"key width", {{}, {{"d_a", "2"}}}},
      {"temperature", {{}, {{"temperature", "1.6"}}}},
      {"labels", {{}, {{"label_noise", "0.3"}}}},
      {"embeddings", {{}, {{"d_e", "4"}}}},
      {"scale", {{}, {{"sigma", "0.5"}}}},
      {"start",
       {{},
        {{"value", "identity"}},
        {{"value", "normal"}},
        {{"value", "block"}},
        {{"value", "diagonal"}}}},
      {"trained", {{}, {{"train", "V"}}, {{"train", "KQ"}}, {{"train", "VE"}}}},
      {"switch", {{}, {{"switch", "0.5"}}}},
      {"length", {{}, {{"N", "5"}}}},
  };
}

// Of the instance, the first option, what the rung reads.
std::vector<Option> read_by(const std::string& model, const std::string& rung,
                            std::vector<Option> options) {
  std::set<std::string> read;
  for (const ParameterInfo& info : find_model(model).parameters()) {
    if (info.is_read_by(rung)) read.insert(info.name);
  }
  for (Record& size : options.front().levels) {
    Record kept;
    for (const auto& [name, value] : size.entries()) {
      if (read.contains(name)) kept[name] = value;
    }
    size = kept;
  }
  return options;
}

// The closed form has one hidden unit.
void of_one_unit(std::vector<Option>& options) {
  for (Option& option : options) {
    if (option.name == "law or target") option.levels[1]["units"] = "1";
    if (option.name == "weights") {
      option.levels = {
          {}, {{"scale", "0.6"}}, {{"W0", rows({{"0.3"}, {"-0.4"}, {"0.1"}, {"0.7"}, {"0.2"}})}}};
    }
    if (option.name == "output layer") {
      option.levels = {{}, {{"decoder", rows({{"0.4"}, {"0.2"}, {"-0.5"}})}}};
    }
  }
}

}  // namespace

std::vector<Option> options_of(const std::string& model, const std::string& rung) {
  if (model == "joma" && rung.starts_with("multilayer")) return multilayer();
  if (model == "joma") {
    std::vector<Option> options = joma();
    // Four tokens are enough where the law can be given.
    const bool training = rung == "sgd" || rung == "gd" || rung == "flow";
    if (training) std::swap(options.front().levels[0], options.front().levels[1]);
    if (rung == "closed-form") of_one_unit(options);
    return options;
  }
  if (model == "scan-snap") {
    std::vector<Option> options = scan_snap();
    if (rung == "closed-form") std::swap(options.front().levels[0], options.front().levels[2]);
    return options;
  }
  if (model == "scb") return scb();
  if (model == "topic") return read_by(model, rung, topic());
  return {};
}

std::map<std::string, std::string> parameters_left_out(const std::string& model) {
  const char* const given = "a start; laws take states of their own";
  if (model == "joma") return {{"state", given}};
  const char* const supports = "the law by supports; tests/rungs/sparse_laws_test.cpp covers it";
  if (model == "scan-snap") {
    const char* const why = "read from a text; theorems/scan_snap/tests/corpus_test.cpp covers it";
    return {{"corpus", why},  {"window", why},        {"min-count", why},
            {"classes", why}, {"Y", given},           {"Z", given},
            {"state", given}, {"P_tokens", supports}, {"P_weights", supports}};
  }
  if (model == "scb")
    return {{"V", given},
            {"A", given},
            {"state", given},
            {"q_positions", supports},
            {"q_weights", supports}};
  if (model == "topic") {
    const char* const other_documents =
        "of documents of another law; theorems/topic/tests/documents_test.cpp covers it";
    return {
        {"W_E", given},
        {"state", given},
        {"corpus", "read from a file of documents; theorems/topic/tests/rungs_test.cpp covers it"},
        {"longer", other_documents},
        {"documents", other_documents},
        {"concentration", other_documents},
        {"W_K", given},
        {"W_Q", given},
        {"W_V", given}};
  }
  return {};
}

namespace {

/// Parameters that a rung reads only to refuse every value but one.
const std::map<std::string, std::string>& refused() {
  static const std::map<std::string, std::string> all{
      {"joma attended attention", "is exact for exp attention alone"},
      {"joma attended z0", "z follows from v for exp attention"},
      {"scan-snap closed-form preset", "growth alone has one common token, and is its default"},
      {"scan-snap closed-form n_last", "belongs to syn-medium"},
      {"scan-snap reduced class_law", "classes are one number h(t/K)"},
      {"scan-snap closed-form class_law", "classes are one number h(t/K)"},
      {"scb noisy attention", "has no Gaussian model of softmax"},
      {"scb noisy project", "has no Gaussian model without projection"},
      {"scb noisy-lumped attention", "has no Gaussian model of softmax"},
      {"scb noisy-lumped project", "has no Gaussian model without projection"},
      {"scb closed-form theta", "begins at mu 1'"},
      {"scb closed-form correlation", "begins at mu 1'"},
      {"scb hyperbola theta", "begins at mu 1'"},
      {"scb hyperbola correlation", "begins at mu 1'"},
      {"topic two-stage d_e", "has no stages of W_E"},
  };
  return all;
}

}  // namespace

TEST_CASE("laws: every parameter of every rung is off its default in some case", "[law]") {
  for (const Theory& theory : theories()) {
    const auto& model = theory.model;
    const auto left_out = parameters_left_out(model->name());
    for (const RungInfo& rung : model->rungs()) {
      if (rung.kind == RungKind::moments) continue;
      std::set<std::string> given;
      std::size_t count = 0;
      for (const Case& made : cases()) {
        if (!made.is(model->name(), rung.name)) continue;
        ++count;
        for (const auto& [name, value] : made.parameters.values().entries()) given.insert(name);
      }
      INFO(model->name() << " " << rung.name);
      INFO("a model without options has no cases: list them in tests/laws/options.cpp");
      CHECK(count > 0);
      if (count == 0) continue;
      for (const ParameterInfo& info : model->parameters()) {
        if (!info.is_read_by(rung.name) || left_out.contains(info.name)) continue;
        if (refused().contains(model->name() + " " + rung.name + " " + info.name)) {
          CHECK_FALSE(given.contains(info.name));
          continue;
        }
        INFO("parameter " << info.name << ": give it a level in tests/laws/options.cpp");
        CHECK(given.contains(info.name));
      }
    }
  }
}

}  // namespace popgrad::laws
