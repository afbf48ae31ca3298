#include "theorems/joma/checks/latent_networks.hpp"
#include "theorems/joma/checks/prelude.hpp"

namespace popgrad::joma::checks::latent_labels {
namespace {

Statement sheet{.id = "joma.latent-labels",
                .paper = "arXiv 2310.00535, Table 1",
                .status = "derived here",
                .about = "full-batch descent",
                .theorem = R"(
Where every class has one sequence, as in the data of the authors' scripts, training on permuted
labels, with the rows of W_O and b_O permuted alike at the start, gives the same hidden units at
all times: what units say of latents does not depend on which label a sequence has, and labels permuted
are no null.
Units are compared at the last position, on the way and at the end.)",
                .hypotheses = {one_sequence_a_class},
                .reaches = {EvidenceKind::numerical},
                .no_rival = "a symmetry of descent",
                .false_version = "rows-kept",
                .knobs = knobs_of_latent_networks()};

const Clause same_units = sheet.clause(
    "permuted labels, the output layer's rows permuted alike, leave hidden units as they are");

const Hypothesis one_to_one = sheet.assume(
    by_construction("labels permuted one to one", "a cyclic order of the sequences is drawn"));

const Control rows_kept = sheet.control(
    "rows-kept",
    "labels play no part from one and the same start: rows of `W_O`, `b_O` left as they were");
const Control biases_kept = sheet.control("biases-kept", "`b_O` left as it was");

const Knob shared = sheet.knob(shared_classes);

constexpr double step_size = 0.02;
constexpr std::uint64_t steps = 40;  // at which hidden units are compared, twice
constexpr double moved = 1e-10;      // share of the start, above the roundings of all steps

enum class Rows { permuted, weights_only, kept };

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
    if (rows == Rows::kept || (rows == Rows::weights_only && back == 1)) continue;
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

// Hidden units of every layer after `steps` and after twice as many.
std::vector<Matrix<double>> units_on_the_way(const MultilayerFlow<double>& flow, Vector<double> x) {
  std::vector<Matrix<double>> units;
  for (int times = 0; times < 2; ++times) {
    x = trained_network(flow, x, {flow.instance(), step_size, steps});
    for (Index h = 0; h < flow.instance().shape.layers; ++h) units.push_back(flow.hidden(x, h));
  }
  return units;
}

void examine(const Setting& setting, Examination& it) {
  MultilayerInstance<double> instance = examined_latent_network(setting, it);
  instance.start = network_start(instance.shape, setting.seed);
  MultilayerInstance<double> relabelled = instance;
  Stream stream(setting.seed, stream_of_drawn_instances, 41);
  relabelled.data.target =
      instance.data.target(Eigen::all, cyclic_order(instance.data.sequences(), stream));
  const MultilayerFlow<double> flow(instance);
  const MultilayerFlow<double> other(relabelled);
  const std::vector<Matrix<double>> own = units_on_the_way(flow, flow.initial());
  // What roundings grow to shows in a start that is moved by more than they are.
  Vector<double> nearby = flow.initial();
  Stream shift(1, stream_of_drawn_instances, 42);
  for (double& entry : nearby) entry *= 1 + moved * shift.normal();
  const std::vector<Matrix<double>> moved_on = units_on_the_way(flow, nearby);
  // Largest difference of the units of a layer, over their size.
  const auto with = [&](Rows rows) {
    const std::vector<Matrix<double>> others =
        units_on_the_way(other, moved_start(flow, relabelled.data, rows));
    std::vector<Quantity> found;
    for (std::size_t i = 0; i < own.size(); ++i) {
      const double size = own[i].norm() / std::sqrt(static_cast<double>(own[i].size()));
      const auto apart = [&](const Matrix<double>& units) {
        return (units - own[i]).cwiseAbs().maxCoeff() / size;
      };
      found.push_back({apart(others[i]), {ErrorPart::solver(0, apart(moved_on[i]))}});
    }
    return found;
  };
  it.judge(same_units, equal("hidden units of permuted labels off those of the true ones",
                             with(Rows::permuted), 0)
                           .in_units_of(1)
                           .unless(rows_kept, [&] { return with(Rows::kept); })
                           .unless(biases_kept, [&] { return with(Rows::weights_only); }));
}

}  // namespace

Statement statement() { return sheet.checked_by(examine); }

}  // namespace popgrad::joma::checks::latent_labels
