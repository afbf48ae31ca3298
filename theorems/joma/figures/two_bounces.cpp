// For some mu attention entropy along the reduced flow falls and comes back more than once.

#include <vector>

#include "popgrad/evidence/figure.hpp"
#include "theorems/joma/figures/entropy_curve.hpp"

namespace popgrad::joma::figures::two_bounces_figure {
namespace {

constexpr const char* all = "two bounces";

// Attention becomes sparse and uniform twice before it stays.
ReducedInstance<double> instance() {
  const std::vector<double> target{1.63, 1.77, 1.79, 1.82, 1.83, 1.83, 4.23, 4.25};
  ReducedInstance<double> made;
  const auto d = static_cast<Index>(target.size());
  made.nonlinear = true;
  made.target = Eigen::Map<const Vector<double>>(target.data(), d);
  made.start = Matrix<double>::Constant(d, 1, 0.05);
  made.logits = Vector<double>::Zero(d);
  made.tau = 3.0;
  made.attention = Attention::softmax;
  return made;
}

std::vector<FigureFile> data(const FigureRequest& request) {
  FigureTable table;
  FigureTable marks;
  const Trajectory<double> flow = entropy_curve(instance(), 1.0, 100.0, request.name);
  add_entropy(table, all, flow);
  marks.block(all);
  for (const Event<double>& event : flow.events) {
    marks.add("t", event.t, "attention_entropy", event.value);
  }
  return {table.file(request), marks.file(request, "extrema")};
}

Picture picture() {
  return {
      .height = 1.9,
      .left = 0.19,
      .panels = {{.title = "μ = 1.63, 1.77, 1.79, 1.82, 1.83, 1.83, 4.23, 4.25",
                  .x = {.label = "time t = learning rate × steps",
                        .range = "6:60",
                        .logarithmic = true,
                        .tics = "(6, 10, 20, 30, 60)"},
                  .y = {.label = "attention entropy (nats)",
                        .range = "0.7535:0.7575",
                        .tics = "0.001",
                        .format = "%.3f"},
                  .curves = {plot::line("t", "attention_entropy").of(all).colour(2),
                             plot::points("t", "attention_entropy")
                                 .in("extrema")
                                 .of(all)
                                 .coloured("black")
                                 .mark(7, 0.7),
                             plot::texts("t", "[attention_entropy] + ($0 == 1 ? 0.0002 : -0.0002)",
                                         "sprintf('%.6f', [attention_entropy])")
                                 .in("extrema")
                                 .of(all)}}}};
}

}  // namespace

FigureMaker figure() {
  return {.info = {.name = "joma-two-bounces",
                   .title = "Attention entropy may fall and bounce back twice",
                   .shows = {"joma.entropy-bounce"}},
          .data = data,
          .picture = picture};
}

}  // namespace popgrad::joma::figures::two_bounces_figure
