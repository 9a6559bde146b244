// problem: problems/vector_add.problem
// verdict: wrong
// rung: smallest
// says: an element never written is NaN
#include <kernelwright/candidate.h>
KW_ENTRY(kw::Out y) { (void)y; }
