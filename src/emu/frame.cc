#include "emu/frame.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <new>

#include "emu/observer.h"

namespace kw::emu {
namespace {

void set_lanes(uint8_t* to, uint32_t bytes_per_lane, uint64_t bits) {
  switch (bytes_per_lane) {
    case 0: {
      const Mask value = bits != 0 ? kFull : 0;
      std::memcpy(to, &value, 4);
      break;
    }
    case 1: std::memset(to, static_cast<int>(bits & 0xff), kLanes); break;
    case 2: std::fill_n(reinterpret_cast<uint16_t*>(to), kLanes, static_cast<uint16_t>(bits)); break;
    case 4: std::fill_n(reinterpret_cast<uint32_t*>(to), kLanes, static_cast<uint32_t>(bits)); break;
    case 8: std::fill_n(reinterpret_cast<uint64_t*>(to), kLanes, bits); break;
    default:
      for (int i = 0; i < kLanes; ++i) {
        reinterpret_cast<uint64_t*>(to)[2 * i] = bits;
        reinterpret_cast<uint64_t*>(to)[2 * i + 1] = 0;
      }
  }
}

}  // namespace

Bytes allocate_bytes(size_t bytes) {
  void* p = std::aligned_alloc(64, (bytes + 127) / 64 * 64);
  if (p == nullptr) throw std::bad_alloc();
  return Bytes(static_cast<uint8_t*>(p));
}

void prepare_bank(const Code& code, uint8_t* bank, bool fresh) {
  if (fresh) {
    for (const ConstantSlot& c : code.constants) set_lanes(bank + c.offset, c.bytes_per_lane, c.bits);
  }
  for (const SlotRange& range : code.cleared) std::memset(bank + range.offset, 0, range.bytes);
}

void release_frame(WarpState& s, Frame* frame) {
  for (size_t i = s.frames.size(); i-- > 0;) {
    if (s.frames[i].get() != frame) continue;
    s.frame_bytes -= frame->code->bank_bytes;
    s.spare_frames.push_back(std::move(s.frames[i]));
    s.frames[i] = std::move(s.frames.back());
    s.frames.pop_back();
    return;
  }
}

Frame* new_frame(WarpState& s, const Code& code, CodeCounts* counts) {
  std::unique_ptr<Frame> frame;
  for (size_t i = s.spare_frames.size(); i-- > 0;) {
    if (s.spare_frames[i]->code != &code) continue;
    frame = std::move(s.spare_frames[i]);
    s.spare_frames[i] = std::move(s.spare_frames.back());
    s.spare_frames.pop_back();
    prepare_bank(code, frame->bank, false);
    break;
  }
  if (frame == nullptr) {
    if (s.spare_frames.size() > 64) s.spare_frames.clear();
    frame = std::make_unique<Frame>();
    frame->own_bank = allocate_bytes(code.bank_bytes);
    frame->bank = frame->own_bank.get();
    prepare_bank(code, frame->bank, true);
  }
  s.frame_bytes += code.bank_bytes;
  frame->tops.reset();
  frame->code = &code;
  frame->counts = counts;
  s.frames.push_back(std::move(frame));
  return s.frames.back().get();
}

void pass_values(Warp& w, const Frame& caller, const Frame& callee, const std::vector<CallSite::Argument>& outer,
                 const std::vector<Code::Parameter>& inner, bool inward, Mask lanes) {
  for (size_t i = 0; i < outer.size() && i < inner.size(); ++i) {
    const CallSite::Argument& a = outer[i];
    const Code::Parameter& p = inner[i];
    if (p.in_register && p.offset == kNone) continue;
    const uint32_t bytes = std::min(a.bytes, p.bytes);
    for (Mask m = lanes; m != 0; m &= m - 1) {
      const uint32_t lane = static_cast<uint32_t>(std::countr_zero(m));
      uint8_t* thread = w.local + size_t{lane} * w.local_stride;
      uint8_t* outside = a.in_register ? caller.bank + callee.call->more[a.more_index] + size_t{lane} * a.bytes
                                       : thread + caller.local_frame + a.frame_offset;
      uint8_t* inside = p.in_register ? callee.bank + p.offset + size_t{lane} * p.bytes
                                      : thread + callee.local_frame + p.offset;
      if (a.in_register && a.bytes == 0) continue;   // predicates cannot be passed in PTX
      if (inward) {
        std::memcpy(inside, outside, bytes);
      } else {
        std::memcpy(outside, inside, bytes);
      }
    }
    const bool into_memory = inward ? !p.in_register : !a.in_register;
    if (into_memory && bytes != 0 && w.block->observer != nullptr) {
      uint64_t offsets[kLanes];
      std::fill_n(offsets, kLanes, uint64_t{inward ? callee.local_frame + p.offset : caller.local_frame + a.frame_offset});
      w.block->observer->passed(w, *callee.call, offsets, lanes, bytes);
    }
  }
}

}  // namespace kw::emu
