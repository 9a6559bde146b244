// The database's schema, by version: migrations in order, the number of those done in user_version. Internal
// to store.
#pragma once

#include "store/database.h"

namespace kw::store {

// Brings the database, new or old, to the newest version, in one transaction. No other process may do so at
// the same time. Errors: kUnsupported for one that a newer program made, kInvalid for one of another program.
Status migrate(Database& database);

int64_t newest_version();

}  // namespace kw::store
