// Attention on a real text before, at and after the transition: the most frequent class with
// distinct tokens, the tokens it attends to most, at three times of the population flow.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "popgrad/base/error.hpp"
#include "popgrad/evidence/figure.hpp"
#include "popgrad/rungs/rung.hpp"
#include "popgrad/solving/solve.hpp"
#include "theorems/scan_snap/rungs/corpus.hpp"
#include "theorems/scan_snap/rungs/decoder.hpp"
#include "theorems/scan_snap/rungs/population_flow.hpp"

namespace popgrad::scan_snap::figures::text_attention_figure {
namespace {

constexpr Index classes_kept = 100;
constexpr std::size_t tokens_shown = 12;

// The class whose attention changes most between the first and the last state.
Index most_changed(const SequenceClasses<double>& classes, const Vector<double>& before,
                   const Vector<double>& after) {
  Index best = 0;
  double most = -1;
  for (Index n = 0; n < classes.classes(); ++n) {
    const Index begin = classes.first[static_cast<std::size_t>(n)];
    const Index count = classes.first[static_cast<std::size_t>(n + 1)] - begin;
    if (count < static_cast<Index>(tokens_shown)) continue;
    const Vector<double> a = before.segment(begin, count) / before.segment(begin, count).sum();
    const Vector<double> b = after.segment(begin, count) / after.segment(begin, count).sum();
    const double change = (a - b).lpNorm<1>();
    if (change > most) {
      most = change;
      best = n;
    }
  }
  return best;
}

// What gnuplot would read as the end of a field.
std::string quoted(std::string word) {
  std::replace(word.begin(), word.end(), '"', '\'');
  return "\"" + word + "\"";
}

std::vector<FigureFile> data(const FigureRequest& request) {
  if (request.data_file.empty()) {
    throw InputError(fmt::format(
        "popgrad figure {}: --data is missing: a text file with tokens between white space",
        request.name));
  }
  CorpusRequest corpus_request;
  corpus_request.file = request.data_file;
  corpus_request.classes = classes_kept;
  const Corpus corpus = read_corpus(corpus_request);
  TrainingInstance<double> instance;
  instance.classes = corpus.classes;
  instance.decoder_rate = 10;
  const PopulationFlow<double> flow(instance);
  const double t0 =
      transition_time(static_cast<double>(std::max<Index>(4, corpus.classes.tokens)),
                      instance.decoder_rate, static_cast<int>(corpus.classes.classes()));
  SolveRequest<double> solve_request;
  solve_request.end = 20 * t0;
  solve_request.save_at = {0, t0, 20 * t0};
  solve_request.relative_tolerance = 1e-6;
  solve_request.absolute_tolerance = 1e-9;
  solve_request.keep_states = true;
  solve_request.find_events = false;
  const Trajectory<double> run = solve(forget_type(flow), solve_request);
  require_usable(run.outcome, request.name);
  std::vector<Vector<double>> f;
  for (const Vector<double>& state : run.states) f.push_back(flow.features_at(state));
  const Index n = most_changed(corpus.classes, f.front(), f.back());
  const Index begin = corpus.classes.first[static_cast<std::size_t>(n)];
  const Index count = corpus.classes.first[static_cast<std::size_t>(n + 1)] - begin;
  for (Vector<double>& one : f) {
    const Vector<double> own = one.segment(begin, count);
    one = own / own.sum();
  }
  std::vector<Index> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), Index{0});
  const auto largest = [&](Index e) { return std::max(f.front()[e], f.back()[e]); };
  std::sort(order.begin(), order.end(), [&](Index a, Index b) { return largest(a) > largest(b); });
  order.resize(std::min(order.size(), tokens_shown));
  const auto word = [&](Index token) { return corpus.words[static_cast<std::size_t>(token)]; };
  FigureTable table, about;
  for (const Index e : order) {
    const auto entry = static_cast<std::size_t>(begin + e);
    table.add("word", quoted(word(corpus.classes.token[entry])), "distinct",
              flow.layout().entry_distinct[entry] ? 1 : 0, "before", f[0][e], "at_t0", f[1][e],
              "after", f[2][e]);
  }
  about.add("last", quoted(word(corpus.classes.query[static_cast<std::size_t>(n)])), "next",
            quoted(word(corpus.classes.next[static_cast<std::size_t>(n)])), "t0", t0, "end",
            20 * t0);
  return {table.file(request), about.file(request, "about")};
}

constexpr const char* script =
    R"gp(# .csv: word, 1 if distinct, attention before (t = 0), at t0, after (20 t0). -about.csv: last
# and next token of the class, t0, end.
height = 2.7
stats name.'-about.csv' every ::1 using 3 nooutput
t0 = STATS_max
stats name.'.csv' every ::1 using 3 nooutput
rows = STATS_records
# Long words would leave the picture.
short(word) = strlen(word) > 10 ? word[1:9].'…' : word
do for [kind in 'svg png pdf'] {
  eval terminal(kind, height)
  eval labels
  set output name.'.'.kind
  set lmargin at screen 0.14
  set rmargin at screen 0.93
  set bmargin at screen 0.22
  set tmargin at screen 0.9
  set termoption noenhanced
  last = ''; next = ''
  stats name.'-about.csv' every ::1 using (last = strcol(1), next = strcol(2), 1) nooutput
  set title sprintf("context of \"%s %s\"", last, next)
  set style data histograms
  set style histogram clustered gap 1
  set style fill solid 0.9 noborder
  set boxwidth 0.9 relative
  set xtics rotate by -45 scale 0 offset 0,0
  set yrange [0:*]
  set xrange [-0.7:rows-0.3]
  set ylabel 'attention on the token' offset 1.5+right,0
  set key top right samplen 1
  plot name.'.csv' every ::1 using 3:xtic(short(strcol(1))) linetype 6 title 'before, t = 0', \
       '' every ::1 using 4 linetype 1 title sprintf('at t0 = %.0f', t0), \
       '' every ::1 using 5 linetype 2 title sprintf('after, t = %.0f', 20*t0)
  unset output
}
)gp";

}  // namespace

FigureMaker figure() {
  return {.info = {.name = "scan-snap-text",
                   .title = "Attention on a real text before, at and after the transition",
                   .needs_data = true,
                   .shows = {"scan-snap.fates"}},
          .data = data,
          .script = script};
}

}  // namespace popgrad::scan_snap::figures::text_attention_figure
