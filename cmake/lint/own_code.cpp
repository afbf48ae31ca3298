// A plugin of clang-tidy: its checks visit our own declarations and no library's.
//
// clang-tidy matches every check against the whole translation unit and only then drops what lies
// in system headers: 45 s of checks on a source of ours that includes Boost, Eigen and JSON, 0.2 s
// of it on our code. This check runs on the root of the tree, before anything below it is visited,
// and narrows the visit; what is reported is the same. Declarations that come out of a precompiled
// header are left alone too, so they are never even loaded.
//
// It also reports what a compiler and clang-tidy look for in the main file only, since sources are compiled several in
// a unit: constants of a source that nothing reads, and using-declarations that nothing uses.
//
// clang-tidy calls checks of one node in the order of a hash of their names. This name comes before
// readability-simplify-boolean-expr, which visits all at the root by itself: after it, that check alone
// would take as long as all others together.

#include <clang-tidy/ClangTidyCheck.h>
#include <clang-tidy/ClangTidyModule.h>
#include <clang-tidy/ClangTidyModuleRegistry.h>
#include <clang/AST/ASTContext.h>
#include <clang/AST/RecursiveASTVisitor.h>
#include <clang/ASTMatchers/ASTMatchers.h>

#include <set>
#include <vector>

namespace {

using clang::ast_matchers::MatchFinder;

// All that own code names.
class Named final : public clang::RecursiveASTVisitor<Named> {
 public:
  bool shouldVisitTemplateInstantiations() const { return false; }
  bool VisitDeclRefExpr(clang::DeclRefExpr* e) { return add(e->getDecl()); }
  bool VisitOverloadExpr(clang::OverloadExpr* e) {
    for (const clang::NamedDecl* each : e->decls()) add(each);
    return true;
  }
  bool VisitTypeLoc(clang::TypeLoc place) {
    const clang::Type* type = place.getTypePtr();
    if (const auto* of = llvm::dyn_cast<clang::UsingType>(type)) add(of->getFoundDecl());
    if (const auto* of = llvm::dyn_cast<clang::TagType>(type)) add(of->getDecl());
    if (const auto* of = llvm::dyn_cast<clang::TypedefType>(type)) add(of->getDecl());
    if (const auto* of = llvm::dyn_cast<clang::TemplateSpecializationType>(type))
      add(of->getTemplateName());
    if (const auto* of = llvm::dyn_cast<clang::DeducedTemplateSpecializationType>(type))
      add(of->getTemplateName());
    return true;
  }
  bool TraverseTemplateName(clang::TemplateName name) { return add(name); }
  [[nodiscard]] bool has(const clang::UsingDecl& declaration) const {
    for (const clang::UsingShadowDecl* shadow : declaration.shadows()) {
      if (all_.count(shadow->getTargetDecl()->getCanonicalDecl()) != 0) return true;
    }
    return false;
  }

 private:
  bool add(const clang::NamedDecl* found) {
    all_.insert(found->getUnderlyingDecl()->getCanonicalDecl());
    if (const auto* function = llvm::dyn_cast<clang::FunctionDecl>(found->getUnderlyingDecl())) {
      if (const auto* of = function->getPrimaryTemplate()) all_.insert(of->getCanonicalDecl());
    }
    if (const auto* made =
            llvm::dyn_cast<clang::ClassTemplateSpecializationDecl>(found->getUnderlyingDecl())) {
      all_.insert(made->getSpecializedTemplate()->getCanonicalDecl());
    }
    if (const auto* made =
            llvm::dyn_cast<clang::VarTemplateSpecializationDecl>(found->getUnderlyingDecl())) {
      all_.insert(made->getSpecializedTemplate()->getCanonicalDecl());
    }
    return true;
  }
  bool add(clang::TemplateName name) {
    if (const clang::TemplateDecl* found = name.getAsTemplateDecl()) add(found);
    return true;
  }
  std::set<const clang::Decl*> all_;
};

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
    Named named;
    for (clang::Decl* declaration : own) named.TraverseDecl(declaration);
    for (const clang::Decl* declaration : own) report_unused(*declaration, named, sources);
    result.Context->setTraversalScope(own);
  }

 private:
  // Made by a call that changes an object, as a declaration on the sheet of a statement: it has a use without a reader.
  static bool changes_another(const clang::VarDecl& variable) {
    const clang::Expr* made = variable.getInit();
    const auto* call = made == nullptr
                           ? nullptr
                           : llvm::dyn_cast<clang::CXXMemberCallExpr>(made->IgnoreImplicit());
    return call != nullptr && !call->getMethodDecl()->isConst();
  }

  void report_unused(const clang::Decl& declaration, const Named& named,
                     const clang::SourceManager& sources) {
    if (const auto* inside = llvm::dyn_cast<clang::NamespaceDecl>(&declaration)) {
      for (const clang::Decl* each : inside->noload_decls()) report_unused(*each, named, sources);
      return;
    }
    const clang::SourceLocation place = declaration.getLocation();
    if (place.isMacroID() || !sources.getFilename(place).endswith(".cpp")) return;
    if (const auto* names = llvm::dyn_cast<clang::UsingDecl>(&declaration)) {
      if (!named.has(*names)) diag(place, "nothing uses %0") << names;
    }
    const auto* variable = llvm::dyn_cast<clang::VarDecl>(&declaration);
    if (variable != nullptr && !variable->isReferenced() && !variable->isInline() &&
        !variable->isInvalidDecl() && variable->getType().isConstQualified() &&
        !variable->isExternallyVisible() && !changes_another(*variable)) {
      diag(place, "nothing reads %0") << variable;
    }
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
