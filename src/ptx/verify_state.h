// The verifier's state, spread over verifier.cc (module and functions), verify_form.cc (which form an
// instruction is) and verify_operand.cc (whether its operands fit). Internal to ptx.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "ptx/forms.h"
#include "ptx/module.h"

namespace kw::ptx {

// An operand as one instruction's form wants it, slots already filled in.
struct Want {
  const OperandSpec* spec = nullptr;
  Type type = Type::kNone;
  std::vector<uint32_t> vectors;   // allowed sizes; empty: scalar. Fragments of one may be scalars too.
  bool scalar_too = false;
};

struct Match {
  const Form* form = nullptr;
  Space space = Space::kNone;      // the state space that a modifier names
  std::vector<Want> wants;
};

// What is known of one full name: the forms it is, or why it is none.
struct Meaning {
  std::vector<Match> matches;
  std::string problem, remedy;
  ErrorCode code = ErrorCode::kInvalid;
};

class Verifier {
 public:
  Verifier(const Module& module, size_t limit) : module_(module), limit_(limit) {}
  std::vector<Error> run();

 private:
  bool full() const { return errors_.size() >= limit_; }
  void report(Place place, size_t length, std::string message, std::string note, ErrorCode code = ErrorCode::kInvalid);

  void header();
  void variable(const Variable& variable);
  void initializer(const Variable& variable, const Initializer& value);
  void function(const Function& function);
  void block(const Function& function, const Block& block);
  void instruction(const Function& function, const Instruction& instruction);
  void call(const Function& function, const Instruction& instruction);
  void packing(const Function& function, const Instruction& instruction);

  // --- verify_form.cc
  const Meaning& meaning_of(const Instruction& instruction);
  Meaning find_meaning(const Instruction& instruction);

  // --- verify_operand.cc
  // Empty when the operands fit the match; otherwise says what is wrong, and `at` is the operand.
  std::string misfit(const Function& function, const Instruction& instruction, const Match& match, const Operand*& at) const;
  std::string misfit(const Function& function, const Instruction& instruction, const Match& match, const Want& want, const Operand& operand) const;
  std::string misfit_value(const Function& function, const Instruction& instruction, const Want& want, const Operand& operand, bool in_vector) const;
  std::string misfit_address(const Function& function, const Match& match, const Operand& operand) const;

  const Module& module_;
  size_t limit_;
  TargetName target_;
  int version_ = 0;
  std::vector<Error> errors_;
  std::unordered_map<std::string_view, Meaning> meanings_;   // by full name
  std::vector<std::unique_ptr<std::string>> names_;          // keys made here
  std::unordered_map<std::string_view, const CallPrototype*> prototypes_;  // of the function at hand
};

std::string_view in_words(Operand::Kind kind);

}  // namespace kw::ptx
