// A PTX module as data: what the parser makes, the printer writes back, the verifier checks and the
// emulator lowers. Grammar and meaning: PTX ISA 9.x (NVIDIA), sections 4 (syntax), 5 (state spaces,
// types, variables), 8-11 (instructions and directives).
//
// Names are resolved: an operand that names a register or a label carries its dense id within the
// function, whatever scope ({…}) declared it; one that names a variable carries the variable.
// Nothing is dropped: directives that do not matter to execution (.loc, .pragma, .section debug data)
// stay in the statement list with their text.
//
// A Module owns the text that all its string_views point into. Immutable after parsing; safe to share
// between threads.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace kw::ptx {

struct Place {  // both count from 1; 0 = made by the program, not read
  uint32_t line = 0;
  uint32_t column = 0;
};

enum class Space : uint8_t { kNone, kReg, kConst, kGlobal, kLocal, kParam, kShared, kTex };

// Fundamental and packed types (PTX ISA section 5.2). size_bits() gives the width.
enum class Type : uint8_t {
  kNone, kPred,
  kB1, kB8, kB16, kB32, kB64, kB128,
  kU4, kU8, kU16, kU32, kU64,
  kS4, kS8, kS16, kS32, kS64,
  kF16, kF16x2, kBF16, kBF16x2, kTF32, kF32, kF32x2, kF64,
  kE4M3, kE5M2, kE4M3x2, kE5M2x2, kE4M3x4, kE5M2x4,
  kE2M3, kE3M2, kE2M1, kE2M3x2, kE3M2x2, kE2M1x2, kE2M3x4, kE3M2x4, kE2M1x4,
  kUE8M0, kUE8M0x2, kUE4M3, kS2F6x2,
  kU16x2, kS16x2, kU8x4, kS8x4,
  kTexref, kSamplerref, kSurfref, kOther,
};
unsigned size_bits(Type type);
std::string_view name_of(Type type);         // "f16x2", without the dot
Type type_named(std::string_view name);      // kNone when it names no type

struct Initializer;                          // a value, a symbol (+offset), or a list of them
using InitializerList = std::vector<Initializer>;
struct Initializer {
  enum class Kind : uint8_t { kInteger, kFloat, kSymbol, kGenericSymbol, kMaskedSymbol, kList } kind = Kind::kInteger;
  uint64_t bits = 0;                         // integer value, or the bits of the float as a double
  std::string_view text;                     // as written
  std::string_view symbol;                   // variable or function
  int64_t offset = 0;
  uint64_t mask = 0;                         // 0xFF(symbol) forms
  InitializerList list;
};

// A declaration in any state space but .reg: .global, .const, .shared, .local, .param.
struct Variable {
  std::string_view name;
  Space space = Space::kNone;
  Type type = Type::kNone;
  uint32_t vector = 1;                       // .v2, .v4, .v8
  uint32_t align = 0;                        // bytes; 0 = natural
  std::vector<uint64_t> dims;                // empty: scalar; a 0 dim: unsized (extern [] )
  bool is_extern = false, is_visible = false, is_weak = false, is_common = false, is_managed = false;
  bool has_initializer = false;
  Initializer initializer;
  std::string_view attributes;               // text of .attribute(...) and .ptr qualifiers
  Place place;
  // The whole declaration as written, without a final ';' or ','. It may declare several variables: then
  // the others follow in order with `follows` set and no text. Empty when made by the program.
  std::string_view text;
  bool follows = false;
  uint64_t size_bytes() const;               // 0 when unsized
  uint32_t align_bytes() const;
};

struct Register {
  std::string_view name;                     // "%r17"
  Type type = Type::kNone;
  uint32_t vector = 1;
  Place place;
};

struct Operand {
  enum class Kind : uint8_t {
    kRegister,   // id; `element` 0..3 selects .x .y .z .w of a vector register (or .r .g .b .a),
                 // 4..7 the bytes .b0 .. .b3, 8 and 9 the halves .h0 .h1 of video instructions;
                 // 10 and 11: several bytes (.b3210) or halves (.h10), whose digits are in `bits` as
                 // hexadecimal digits behind a leading 1 (0x13210)
    kSpecial,    // name "%tid", element 0..3 for .x .y .z .w, -1 for none
    kInteger,    // bits (two's complement, 64 bits)
    kFloat32,    // bits: 0f…… literal
    kFloat64,    // bits: 0d…… or decimal literal, as a double
    kVariable,   // variable (address of), offset
    kFunction,   // name
    kLabel,      // id in Function::labels
    kAddress,    // [base + offset]; elements[0] is the base (register, variable or integer; a vector of
                 // coordinates follows as a further element); name is the offset as written, "+8";
                 // further elements are the parts after commas, as in [map, {x, y}]
    kVector,     // {a, b, …}
    kList,       // ( … ) of a call
    kPair,       // d|p
    kSink,       // _
    kName,       // any other identifier (call prototypes, targets lists)
  } kind = Kind::kSink;
  bool negated = false;                      // !p
  bool colour_letters = false;               // the element was written .r .g .b .a
  bool minus = false;                        // -reg is not PTX, but -symbol occurs
  int8_t element = -1;
  uint32_t id = 0;
  uint64_t bits = 0;
  int64_t offset = 0;
  std::string_view name;                     // as written, where it has one (also literals' text)
  const Variable* variable = nullptr;
  std::vector<Operand> elements;
  Place place;
};

struct Guard { bool present = false; bool negated = false; uint32_t register_id = 0; };

struct Instruction {
  Guard guard;
  std::string_view opcode;                   // "mma"
  std::vector<std::string_view> modifiers;   // "sync", "aligned", "m16n8k16", … in order, "shared::cta" whole
  std::vector<Operand> operands;
  Place place;
  uint32_t loc = 0;                          // index into Module::locations, 0 = none
  bool has(std::string_view modifier) const;
  std::string full_name() const;             // "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
};

struct Label { std::string_view name; Place place; };

struct LabelDefinition { uint32_t id = 0; Place place; };
struct RegisterDeclaration {                 // .reg .b32 %r<10>, as written, for the printer
  Type type = Type::kNone; uint32_t vector = 1;
  struct Item { std::string_view name; int64_t range = -1; };  // range < 0: a single register
  std::vector<Item> items;
  Place place;
};
struct BranchTargets {                       // .branchtargets, or .calltargets when `calls`
  std::string_view label;
  std::vector<Operand> targets;
  Place place;
  bool calls = false;
};
struct CallPrototype {                       // `text` begins with .callprototype and ends before the ';'
  std::string_view label;
  std::vector<Variable> returns, params;
  bool noreturn = false;
  std::string_view text;                     // as written
  Place place;
};
struct Directive { std::string_view text; Place place; };      // .loc, .pragma, .section … as written
struct Block;
using BlockPtr = std::unique_ptr<Block>;
using Statement = std::variant<Instruction, LabelDefinition, RegisterDeclaration, const Variable*,
                               BranchTargets, CallPrototype, Directive, BlockPtr>;
struct Block { std::vector<Statement> statements; Place begin, end; };

struct Function {
  std::string_view name;
  bool is_entry = false, is_extern = false, is_visible = false, is_weak = false;
  bool has_body = false, noreturn = false;
  std::vector<const Variable*> returns, params;   // .param or .reg (then Variable::space is kReg)
  struct Limit { std::string_view name; std::vector<uint64_t> values; };
  std::vector<Limit> limits;                       // maxntid, reqntid, minnctapersm, maxnreg, reqnctapercluster …
  std::string_view attributes;                     // all directives between parameters and body, as written
  std::string_view header;                         // from the linkage to the body or ';', as written
  Block body;
  // Registers of all scopes; Operand::id indexes it. Those of a range (%r<9>) are here once they are used.
  std::vector<Register> registers;
  std::vector<Label> labels;                       // every label, all scopes
  std::deque<Variable> variables;                  // params, and everything declared inside the body
  Place place;
};

// .loc. `file` indexes Module::files (it is not the number that .loc names). `inlined_at` indexes
// Module::locations: the call that was inlined here, always an earlier entry; 0 = not inlined.
struct SourceLocation { uint32_t file = 0, line = 0, column = 0, inlined_at = 0; };
struct SourceFile { uint32_t index = 0; std::string_view name; };

// Items of the module scope, in the order of the text.
using ModuleItem = std::variant<const Variable*, Function*, Directive>;

struct Module {
  std::shared_ptr<const std::string> text;
  std::string file_name;                           // for messages
  int version_major = 0, version_minor = 0;
  std::string_view target;                         // "sm_90a"
  std::vector<std::string_view> target_options;    // "debug", "texmode_independent"
  int address_size = 64;
  std::deque<Variable> variables;
  std::deque<Function> functions;
  std::vector<ModuleItem> items;
  std::vector<SourceFile> files;                   // .file
  std::vector<SourceLocation> locations{{}};       // .loc, [0] = none
  std::deque<std::string> interned;                // text made by the program, not read
  const Function* find_function(std::string_view name) const;   // prefers one with a body
  const Variable* find_variable(std::string_view name) const;
  std::string_view intern(std::string text);
};

}  // namespace kw::ptx
