// Theorem    joma.latent-labels
// Status     derived here
// Source     Tian et al., JoMA, arXiv 2310.00535, Table 1 with the data of the authors' scripts
// Statement  where every class has one sequence, training on permuted labels, with the rows of W_O
//            and b_O permuted alike at the start, gives the same hidden units at all times: what
//            units say of latents is not due to the labels, and labels permuted are no null
// Hypotheses H1 one sequence a class; H2 labels permuted one to one
// Check      descent from both starts: largest difference of hidden units at the last position over
//            their root mean square, on the way and at the end; the error from a moved start
// Controls   labels permuted, rows of W_O and b_O left as they were; b_O alone left as it was
// Uses       rung multilayer-gd

#include "theorems/joma/checks/latent_networks.hpp"
#include "theorems/joma/checks/prelude.hpp"

namespace popgrad::joma::checks::latent_labels {
namespace {

constexpr double step_size = 0.01;
constexpr std::uint64_t steps = 50;  // at which hidden units are compared, twice
constexpr double moved = 1e-12;      // share of the start, above the roundings of all steps

enum class Rows { permuted, weights_alone, kept };

Index class_of(const SequenceData& data, Index sequence) {
  Index label = 0;
  data.target.col(sequence).maxCoeff(&label);
  return label;
}

// The start with the rows of the output layer where their classes have gone.
Vector<double> moved_start(const MultilayerFlow<double>& flow, const SequenceData& relabelled,
                           Rows rows) {
  Vector<double> start = flow.initial();
  const std::vector<NetworkBlock>& blocks = flow.network().blocks();
  for (const std::size_t back : {2U, 1U}) {  // W_O, b_O
    const NetworkBlock& block = blocks[blocks.size() - back];
    if (rows == Rows::kept || (rows == Rows::weights_alone && back == 1)) continue;
    const Matrix<double> before =
        start.segment(block.offset, block.rows * block.cols).reshaped(block.rows, block.cols);
    Matrix<double> after = before;
    for (Index i = 0; i < relabelled.sequences(); ++i) {
      after.row(class_of(relabelled, i)) = before.row(class_of(flow.instance().data, i));
    }
    start.segment(block.offset, block.rows * block.cols) = after.reshaped();
  }
  return start;
}

// Largest difference of the units of every layer after `steps` and twice as many, over their size.
// What roundings grow to shows in a start that is moved by more than they are.
std::vector<Quantity> differences(const MultilayerFlow<double>& flow,
                                  const MultilayerFlow<double>& relabelled, Rows rows) {
  const LatentTraining training{flow.instance(), step_size, steps};
  Vector<double> x = flow.initial();
  Vector<double> y = moved_start(flow, relabelled.instance().data, rows);
  Vector<double> beside = x;
  Stream stream(1, stream_of_drawn_instances, 42);
  for (double& entry : beside) entry *= 1 + moved * stream.normal();
  std::vector<Quantity> found;
  for (int times = 0; times < 2; ++times) {
    x = trained_network(flow, x, training);
    y = trained_network(relabelled, y, training);
    beside = trained_network(flow, beside, training);
    for (Index h = 0; h < flow.instance().shape.layers; ++h) {
      const Matrix<double> units = flow.hidden(x, h);
      const double size = units.norm() / std::sqrt(static_cast<double>(units.size()));
      const auto apart = [&](const Matrix<double>& other) {
        return (other - units).cwiseAbs().maxCoeff() / size;
      };
      Quantity difference(apart(relabelled.hidden(y, h)));
      difference.add(ErrorPart::solver(0, apart(flow.hidden(beside, h))));
      found.push_back(difference);
    }
  }
  return found;
}

void examine(const Setting& setting, Examination& it) {
  MultilayerInstance<double> instance = drawn_latent_network(setting);
  share_classes(instance, setting.count(shared_classes));
  instance.start = network_start(instance.shape, setting.seed);
  it.parameters = told_latent_network(setting);
  const Index spare = instance.data.sequences() - instance.data.classes();
  it.require(
      "one sequence a class", -static_cast<double>(spare),
      fmt::format("{} sequences, {} classes", instance.data.sequences(), instance.data.classes()));
  MultilayerInstance<double> relabelled = instance;
  Stream stream(setting.seed, stream_of_drawn_instances, 41);
  relabelled.data.target =
      instance.data.target(Eigen::all, cyclic_order(instance.data.sequences(), stream));
  const MultilayerFlow<double> flow(instance);
  const MultilayerFlow<double> other(relabelled);
  const auto with = [&](Rows rows) { return differences(flow, other, rows); };
  it.judge(
      Comparison{.what = "hidden units of permuted labels off those of the true ones",
                 .measured = with(Rows::permuted),
                 .predicted = {0.0},
                 .scale = {1.0},
                 .mistakes = {measures("rows-kept", [&] { return with(Rows::kept); }),
                              measures("biases-kept", [&] { return with(Rows::weights_alone); })}});
}

}  // namespace

Statement statement() {
  return {.id = "joma.latent-labels",
          .claim = "permuted labels leave the hidden units of the authors' data as they are",
          .paper = "arXiv 2310.00535, Table 1",
          .status = "derived here",
          .hypotheses = {"one sequence a class",
                         by_construction("labels permuted one to one",
                                         "a cyclic order of the sequences is drawn")},
          .reaches = {EvidenceKind::numerical},
          .controls = {{"rows-kept", "rows of W_O and b_O left as they were"},
                       {"biases-kept", "b_O left as it was"}},
          .knobs = knobs_of_latent_networks(),
          .examine = examine};
}

}  // namespace popgrad::joma::checks::latent_labels
