// problem: problems/vector_add.problem
// verdict: contract-violation
// rung: record
// says: KW_ENTRY
