#include "popgrad/evidence/survey.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <limits>

#include "popgrad/scalars/random.hpp"

namespace popgrad {
namespace {

constexpr std::uint32_t stream_of_survey = 0x5A4E7U;

void count_instance(const Finding& finding, const Setting& setting, Survey& counts) {
  ++counts.instances;
  const Examination& found = finding.examination;
  switch (finding.verdict) {
    case Verdict::not_applicable:
      ++counts.not_applicable;
      if (const EvaluatedHypothesis* broken = found.broken()) {
        Survey::Exclusion& exclusion = counts.broken[broken->text];
        if (exclusion.instances++ == 0) exclusion.example = broken->by_how_much;
      }
      return;
    case Verdict::holds:
      ++counts.holds;
      break;
    case Verdict::violated:
      ++counts.violated;
      for (const Evidence& item : found.evidence) {
        if (item.verdict != Verdict::violated) continue;
        counts.violations.push_back({setting.seed, setting.chosen, item});
        break;
      }
      break;
    case Verdict::inconclusive: {
      ++counts.inconclusive;
      if (finding.unconfirmed()) ++counts.unconfirmed;
      std::string why = finding.failure;
      if (finding.unconfirmed()) why = "a miss that was not confirmed";
      for (const Evidence& item : found.evidence) {
        if (why.empty() && item.verdict == Verdict::inconclusive) why = item.what;
      }
      if (const auto alike = finding.not_distinguished(); why.empty() && !alike.empty()) {
        why = fmt::format("not distinguished from {}", fmt::join(alike, ", "));
      }
      for (const EvaluatedHypothesis& h : found.hypotheses) {
        if (why.empty() && h.met == Truth::undecided) why = "hypothesis " + h.text;
      }
      ++counts.undecided[why];
      break;
    }
  }
  const auto count_refuted = [&](const auto& all) {
    for (const auto& [own, against] : all) {
      if (against.conclusion() == Verdict::violated) ++counts.refuted[std::string(own.name)];
    }
  };
  count_refuted(finding.controls);
  count_refuted(finding.rivals);
}

}  // namespace

double Survey::power(std::string_view name) const {
  if (applicable() == 0) return std::numeric_limits<double>::quiet_NaN();
  const auto found = refuted.find(name);
  const std::size_t count = found == refuted.end() ? 0 : found->second;
  return static_cast<double>(count) / static_cast<double>(applicable());
}

Verdict verdict_of(const Survey& survey) {
  if (survey.violated > 0) return Verdict::violated;
  if (survey.holds > 0) return Verdict::holds;
  return survey.applicable() == 0 ? Verdict::not_applicable : Verdict::inconclusive;
}

std::map<std::string, double, std::less<>> drawn_knobs(const Statement& statement,
                                                       std::uint64_t seed) {
  std::map<std::string, double, std::less<>> point;
  Stream stream(seed, stream_of_survey, 0);
  for (const Knob& knob : statement.knobs) {
    if (knob.breaks.empty()) point.emplace(knob.name, value_at(knob, stream.uniform()));
  }
  return point;
}

Survey survey(const Statement& statement, const SurveyRequest& request) {
  Survey counts;
  const auto begin = std::chrono::steady_clock::now();
  const Examination derived = derive(statement);
  for (std::size_t i = 0; i < request.instances; ++i) {
    Setting setting = request.setting;
    setting.seed += i;
    for (const auto& [name, value] : drawn_knobs(statement, setting.seed)) {
      setting.chosen.emplace(name, value);
    }
    setting.false_alarm /= static_cast<double>(request.instances);
    const Finding finding = check(statement, setting, &derived);
    if (finding.cut_short) {
      counts.stopped = true;
      break;
    }
    count_instance(finding, setting, counts);
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
    counts.seconds = spent.count();
    if (request.on_progress && request.on_progress(counts.instances)) {
      counts.stopped = true;
      break;
    }
    if (counts.seconds > request.seconds) break;
  }
  return counts;
}

}  // namespace popgrad
