// A language model behind HTTP: a wire's bodies over one POST per attempt, streamed, bounded and cancellable.
#pragma once

#include <memory>

#include "llm/http.h"
#include "llm/wire.h"

namespace kw::llm {

// `base` is the address below which the wire's path lies.
std::unique_ptr<Provider> http_provider(std::unique_ptr<Wire> wire, Url base, Server server,
                                        const Limits& limits);

}  // namespace kw::llm
