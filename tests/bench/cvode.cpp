#include "cvode.hpp"

#include <cvode/cvode.h>
#include <nvector/nvector_serial.h>
#include <sundials/sundials_context.h>
#include <sunlinsol/sunlinsol_spgmr.h>
#include <sunnonlinsol/sunnonlinsol_fixedpoint.h>

#include <memory>
#include <stdexcept>
#include <string>

namespace popgrad::bench {
namespace {

using Rhs = std::function<void(const Vector<double>&, Vector<double>&)>;

struct Problem {
  const Rhs* rhs;
  Vector<double> x, dx;
};

void require(int flag, const char* what) {
  if (flag < 0)
    throw std::runtime_error(std::string("CVODE: ") + what + " failed, flag " +
                             std::to_string(flag));
}

int evaluate(realtype /*t*/, N_Vector x, N_Vector dx, void* data) {
  auto& problem = *static_cast<Problem*>(data);
  const Index n = problem.x.size();
  problem.x = Eigen::Map<const Vector<double>>(N_VGetArrayPointer(x), n);
  (*problem.rhs)(problem.x, problem.dx);
  Eigen::Map<Vector<double>>(N_VGetArrayPointer(dx), n) = problem.dx;
  return 0;
}

}  // namespace

CvodeResult integrate_with_cvode(const Rhs& rhs, const Vector<double>& initial, double end,
                                 double relative, double absolute, bool stiff) {
  SUNContext context = nullptr;
  require(SUNContext_Create(nullptr, &context), "SUNContext_Create");
  Problem problem{&rhs, initial, Vector<double>(initial.size())};
  CvodeResult result;
  result.state = initial;
  N_Vector state = N_VMake_Serial(initial.size(), result.state.data(), context);
  void* solver = CVodeCreate(stiff ? CV_BDF : CV_ADAMS, context);
  SUNLinearSolver linear = nullptr;
  SUNNonlinearSolver nonlinear = nullptr;
  const auto release = [&] {
    CVodeFree(&solver);
    if (linear != nullptr) SUNLinSolFree(linear);
    if (nonlinear != nullptr) SUNNonlinSolFree(nonlinear);
    N_VDestroy(state);
    SUNContext_Free(&context);
  };
  try {
    require(CVodeInit(solver, evaluate, 0.0, state), "CVodeInit");
    require(CVodeSetUserData(solver, &problem), "CVodeSetUserData");
    require(CVodeSStolerances(solver, relative, absolute), "CVodeSStolerances");
    require(CVodeSetMaxNumSteps(solver, 1'000'000), "CVodeSetMaxNumSteps");
    if (stiff) {
      linear = SUNLinSol_SPGMR(state, SUN_PREC_NONE, 0, context);
      require(CVodeSetLinearSolver(solver, linear, nullptr), "CVodeSetLinearSolver");
    } else {
      nonlinear = SUNNonlinSol_FixedPoint(state, 0, context);
      require(CVodeSetNonlinearSolver(solver, nonlinear), "CVodeSetNonlinearSolver");
    }
    require(CVodeSetStopTime(solver, end), "CVodeSetStopTime");
    realtype reached = 0;
    require(CVode(solver, end, state, &reached, CV_NORMAL), "CVode");
    require(CVodeGetNumSteps(solver, &result.steps), "CVodeGetNumSteps");
    require(CVodeGetNumRhsEvals(solver, &result.evaluations), "CVodeGetNumRhsEvals");
  } catch (...) {
    release();
    throw;
  }
  release();
  return result;
}

}  // namespace popgrad::bench
