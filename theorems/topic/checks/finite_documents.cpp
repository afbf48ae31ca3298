#include "theorems/topic/checks/finite_documents.hpp"

#include "popgrad/walks/ensemble.hpp"
#include "theorems/topic/checks/prelude.hpp"
#include "theorems/topic/rungs/document_bias.hpp"

namespace popgrad::topic::checks {

Vector<double> document_bias(const Training& training, const Vector<double>& x, bool of_variance) {
  const Layout layout(training);
  const Index size = training.law.vocabulary();
  Matrix<double> dvalue = Matrix<double>::Zero(size, size);
  Matrix<double> dlogits = Matrix<double>::Zero(size, size);
  add_document_bias(training.law, effective(layout, x), of_variance, 1, dvalue, dlogits);
  Vector<double> gradient = Vector<double>::Zero(layout.size());
  chain(layout, x, dvalue, dlogits, gradient);
  return -gradient;
}

AnyRung<double> flow_of_documents(const Training& training, bool of_variance) {
  AnyRung<double> rung = forget_type(PopulationFlow(training));
  rung.field.value = [inner = rung.field.value, training, of_variance](
                         const Vector<double>& x, Vector<double>& dx, const double& t) {
    inner(x, dx, t);
    dx += document_bias(training, x, of_variance) / static_cast<double>(training.document);
  };
  rung.clone = [training, of_variance] { return flow_of_documents(training, of_variance); };
  return rung;
}

Vector<double> end_of_descent(const AnyRung<double>& rung, const WalkRequest& request) {
  return walk(rung, rung.initial, request).front().last_state;
}

Quantity mean_along(const AnyRung<double>& rung, WalkRequest request, const Vector<double>& origin,
                    const Vector<double>& direction, double false_alarm) {
  std::vector<double> inverse;
  std::vector<Quantity> means;
  for (const Index batch : {4, 16}) {
    request.batch = batch;
    Matrix<double> along(request.runs, 1);
    const auto runs = walk(rung, rung.initial, request);
    for (std::size_t r = 0; r < runs.size(); ++r) {
      along(static_cast<Index>(r), 0) = (runs[r].last_state - origin).dot(direction);
    }
    inverse.push_back(1 / static_cast<double>(batch));
    means.push_back(sample_moments(along, false_alarm).mean.front());
    request.first_run += request.runs;
  }
  return limit_in(inverse, means);
}

}  // namespace popgrad::topic::checks
