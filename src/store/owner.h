// Which process something belongs to, so that another can tell whether it still lives. Internal to store.
// Linux.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace kw::store {

// "HOST START": what besides its pid makes this process one of its kind.
std::string this_process();

std::string_view host_of(std::string_view owner);

// Of this host: whether the process of that pid is the owner. One that has ended and whose parent does not
// care is dead.
bool process_lives(int64_t pid, const std::string& owner);

}  // namespace kw::store
