// A plugin of clang-tidy: its checks visit our own declarations and no library's.
//
// clang-tidy matches every check against the whole translation unit and only then drops what lies
// in system headers: 45 s of checks on a source of ours that includes Boost, Eigen and JSON, 0.2 s
// of it on our code. This check runs on the root of the tree, before anything below it is visited,
// and narrows the visit; what is reported is the same. Declarations that come out of a precompiled
// header are left alone too, so they are never even loaded.
//
// clang-tidy calls checks of one node in the order of a hash of their names. This name comes before
// readability-simplify-boolean-expr, which visits all at the root by itself: after it, that check alone
// would take as long as all others together.

#include <clang-tidy/ClangTidyCheck.h>
#include <clang-tidy/ClangTidyModule.h>
#include <clang-tidy/ClangTidyModuleRegistry.h>
#include <clang/AST/ASTContext.h>
#include <clang/ASTMatchers/ASTMatchers.h>

#include <vector>

namespace {

using clang::ast_matchers::MatchFinder;

class OwnCode final : public clang::tidy::ClangTidyCheck {
 public:
  using ClangTidyCheck::ClangTidyCheck;

  void registerMatchers(MatchFinder* finder) override {
    finder->addMatcher(clang::ast_matchers::translationUnitDecl().bind("unit"), this);
  }

  void check(const MatchFinder::MatchResult& result) override {
    const clang::SourceManager& sources = *result.SourceManager;
    std::vector<clang::Decl*> own;
    for (clang::Decl* declaration : result.Context->getTranslationUnitDecl()->noload_decls()) {
      if (declaration->isFromASTFile()) continue;
      const clang::SourceLocation place = sources.getExpansionLoc(declaration->getLocation());
      if (place.isValid() && !sources.isInSystemHeader(place)) own.push_back(declaration);
    }
    result.Context->setTraversalScope(own);
  }
};

class Module final : public clang::tidy::ClangTidyModule {
 public:
  void addCheckFactories(clang::tidy::ClangTidyCheckFactories& factories) override {
    factories.registerCheck<OwnCode>("popgrad-scope");
  }
};

const clang::tidy::ClangTidyModuleRegistry::Add<Module> registration("popgrad",
                                                                     "visits only our own code");

}  // namespace
