// Every other function of the toolkit's runtime: an error that names it. The list is made when configuring:
// the functions of cuda_runtime_api.h less those that a file of this folder defines. This file must not see
// the declarations, since the definitions here take no arguments; the C calling convention allows that.
namespace kw::runtime {
int unsupported_call(const char* name);
}

extern "C" {
#define KW_UNSUPPORTED(name) \
  int name() { return kw::runtime::unsupported_call(#name); }
#include "cuda_unsupported.inc"
#undef KW_UNSUPPORTED
}
