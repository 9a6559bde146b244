#include "agent/html.h"

#include "base/source_text.h"

namespace kw::agent {

void Html::add_text(std::string_view text) {
  for (const char c : printable_text(text)) {
    switch (c) {
      case '&': out_ += "&amp;"; break;
      case '<': out_ += "&lt;"; break;
      case '>': out_ += "&gt;"; break;
      case '"': out_ += "&quot;"; break;
      case '\'': out_ += "&#39;"; break;
      default: out_ += c;
    }
  }
}

}  // namespace kw::agent
