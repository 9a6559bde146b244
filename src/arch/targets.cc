// The table of targets. Sources of the reference parts, by product:
//   V100: "NVIDIA Tesla V100 GPU Architecture" whitepaper and V100 SXM2 datasheet.
//   Xavier, Orin, Thor: Jetson AGX Xavier, AGX Orin and Jetson T5000 datasheets and technical briefs.
//   T4: "NVIDIA Turing GPU Architecture" whitepaper, T4 datasheet.
//   A100 80 GB SXM: "NVIDIA A100 Tensor Core GPU Architecture" whitepaper, A100 datasheet.
//   A10: A10 datasheet; "NVIDIA Ampere GA102 GPU Architecture" whitepaper.
//   L40S: L40S datasheet; "NVIDIA Ada GPU Architecture" whitepaper.
//   H100 SXM5: "NVIDIA H100 Tensor Core GPU Architecture" whitepaper, H100 datasheet.
//   B200, B300: HGX platform and Blackwell Ultra datasheets (per GPU, dense).
//   RTX 5090: "NVIDIA RTX Blackwell GPU Architecture" whitepaper. GB10: DGX Spark datasheet.
// Figures that no such document states are left out (0).
#include "arch/target.h"

namespace kw::arch {
namespace {

constexpr int kKiB = 1024;
constexpr int64_t kMiB = 1024 * 1024;

template <typename... Features>
constexpr uint32_t bits(Features... features) {
  return ((1u << static_cast<uint32_t>(features)) | ...);
}

constexpr uint32_t k72 = bits(Feature::kMmaInt8);
constexpr uint32_t k75 = k72 | bits(Feature::kMmaInt4, Feature::kLdmatrix);
constexpr uint32_t k80 = k75 | bits(Feature::kCpAsync, Feature::kMmaBf16, Feature::kMmaF64, Feature::kMmaSparse,
                                    Feature::kRedux);
constexpr uint32_t k89 = k80 | bits(Feature::kFp8);
constexpr uint32_t k90 = k89 | bits(Feature::kCluster, Feature::kBulkCopy);
constexpr uint32_t k90a = k90 | bits(Feature::kWgmma, Feature::kSetmaxnreg);
constexpr uint32_t k100 = k90 | bits(Feature::kPackedF32);
constexpr uint32_t k100a = k100 | bits(Feature::kSetmaxnreg, Feature::kTcgen05, Feature::kNarrowConvert);
constexpr uint32_t k120 = k100;
constexpr uint32_t k120a = k120 | bits(Feature::kSetmaxnreg, Feature::kMmaBlockScale, Feature::kNarrowConvert);

// Volta and Turing give shared memory in units of 256 bytes and reserve none; later ones reserve 1 KiB for each block.
constexpr Limits limits_before_80(int warps, int blocks, int shared_kib) {
  Limits limits;
  limits.warps_per_sm = warps;
  limits.threads_per_sm = warps * 32;
  limits.blocks_per_sm = blocks;
  limits.shared_per_sm_bytes = shared_kib * kKiB;
  limits.shared_per_block_optin_bytes = shared_kib * kKiB;
  limits.shared_unit_bytes = 256;
  return limits;
}

constexpr Limits limits_from_80(int warps, int blocks, int shared_kib, int cluster = 0, int cluster_most = 0) {
  Limits limits = limits_before_80(warps, blocks, shared_kib);
  limits.shared_per_block_optin_bytes = (shared_kib - 1) * kKiB;
  limits.shared_reserved_bytes = kKiB;
  limits.shared_unit_bytes = 128;
  limits.cluster_blocks = cluster;
  limits.cluster_blocks_nonportable = cluster_most;
  return limits;
}

constexpr Limits k70Limits = limits_before_80(64, 32, 96);
constexpr Limits k75Limits = limits_before_80(32, 16, 64);
constexpr Limits k80Limits = limits_from_80(64, 32, 164);
constexpr Limits k86Limits = limits_from_80(48, 16, 100);
constexpr Limits k87Limits = limits_from_80(48, 16, 164);
constexpr Limits k89Limits = limits_from_80(48, 24, 100);
constexpr Limits k90Limits = limits_from_80(64, 32, 228, 8, 16);
constexpr Limits k110Limits = limits_from_80(48, 24, 228, 8, 16);
constexpr Limits k120Limits = limits_from_80(48, 24, 100, 8, 8);

constexpr ReferencePart kV100{.product = "V100 SXM2 32 GB", .sm_count = 80, .l2_bytes = 6 * kMiB, .boost_mhz = 1530,
                              .dram_gbps = 900, .fp32_tflops = 15.7, .fp64_tflops = 7.8, .tensor_fp16_tflops = 125};
constexpr ReferencePart kXavier{.product = "Jetson AGX Xavier", .sm_count = 8, .l2_bytes = kMiB / 2,
                                .boost_mhz = 1377, .dram_gbps = 137, .fp32_tflops = 1.4, .tensor_fp16_tflops = 11,
                                .tensor_int8_tops = 22};
constexpr ReferencePart kT4{.product = "T4", .sm_count = 40, .l2_bytes = 4 * kMiB, .boost_mhz = 1590,
                            .dram_gbps = 320, .fp32_tflops = 8.1, .fp64_tflops = 0.25, .tensor_fp16_tflops = 65,
                            .tensor_int8_tops = 130};
constexpr ReferencePart kA100{.product = "A100 SXM4 80 GB", .sm_count = 108, .l2_bytes = 40 * kMiB,
                              .boost_mhz = 1410, .dram_gbps = 2039, .fp32_tflops = 19.5, .fp64_tflops = 9.7,
                              .tensor_fp16_tflops = 312, .tensor_tf32_tflops = 156, .tensor_int8_tops = 624,
                              .tensor_fp64_tflops = 19.5};
constexpr ReferencePart kA10{.product = "A10", .sm_count = 72, .l2_bytes = 6 * kMiB, .boost_mhz = 1695,
                             .dram_gbps = 600, .fp32_tflops = 31.2, .tensor_fp16_tflops = 125,
                             .tensor_tf32_tflops = 62.5, .tensor_int8_tops = 250};
constexpr ReferencePart kOrin{.product = "Jetson AGX Orin 64 GB", .sm_count = 16, .l2_bytes = 4 * kMiB,
                              .boost_mhz = 1300, .dram_gbps = 204.8, .fp32_tflops = 5.3,
                              .tensor_fp16_tflops = 42.5, .tensor_int8_tops = 85};
constexpr ReferencePart kL40S{.product = "L40S", .sm_count = 142, .l2_bytes = 96 * kMiB, .boost_mhz = 2520,
                              .dram_gbps = 864, .fp32_tflops = 91.6, .tensor_fp16_tflops = 362,
                              .tensor_tf32_tflops = 183, .tensor_fp8_tflops = 733, .tensor_int8_tops = 733};
constexpr ReferencePart kH100{.product = "H100 SXM5 80 GB", .sm_count = 132, .l2_bytes = 50 * kMiB,
                              .boost_mhz = 1980, .dram_gbps = 3350, .fp32_tflops = 66.9, .fp64_tflops = 33.5,
                              .tensor_fp16_tflops = 989.4, .tensor_tf32_tflops = 494.7,
                              .tensor_fp8_tflops = 1978.9, .tensor_int8_tops = 1978.9, .tensor_fp64_tflops = 66.9};
constexpr ReferencePart kB200{.product = "B200 (HGX)", .sm_count = 148, .l2_bytes = 126 * kMiB, .dram_gbps = 8000,
                              .fp32_tflops = 75, .fp64_tflops = 37, .tensor_fp16_tflops = 2250,
                              .tensor_tf32_tflops = 1125, .tensor_fp8_tflops = 4500, .tensor_fp4_tflops = 9000,
                              .tensor_int8_tops = 4500, .tensor_fp64_tflops = 37};
constexpr ReferencePart kB300{.product = "B300 (HGX)", .sm_count = 148, .l2_bytes = 126 * kMiB, .dram_gbps = 8000,
                              .fp32_tflops = 75, .fp64_tflops = 1.2, .tensor_fp16_tflops = 2250,
                              .tensor_tf32_tflops = 1125, .tensor_fp8_tflops = 4500, .tensor_fp4_tflops = 13500};
constexpr ReferencePart kThor{.product = "Jetson T5000 (Thor)", .sm_count = 20, .l2_bytes = 32 * kMiB,
                              .boost_mhz = 1575, .dram_gbps = 273, .tensor_fp8_tflops = 517,
                              .tensor_fp4_tflops = 1035};
constexpr ReferencePart kRtx5090{.product = "GeForce RTX 5090", .sm_count = 170, .l2_bytes = 96 * kMiB,
                                 .boost_mhz = 2407, .dram_gbps = 1792, .fp32_tflops = 104.8,
                                 .tensor_fp16_tflops = 209.5, .tensor_tf32_tflops = 104.8,
                                 .tensor_fp8_tflops = 419, .tensor_fp4_tflops = 1676, .tensor_int8_tops = 838};
constexpr ReferencePart kGb10{.product = "GB10 (DGX Spark)", .sm_count = 48, .l2_bytes = 24 * kMiB,
                              .dram_gbps = 273, .tensor_fp4_tflops = 500};

// name, major, minor, variant, first PTX version, features, limits, reference part
const std::vector<Target>& table() {
  static const std::vector<Target> targets = {
      {"sm_70", 7, 0, '\0', 6, 0, 0, k70Limits, kV100},
      {"sm_72", 7, 2, '\0', 6, 1, k72, k70Limits, kXavier},
      {"sm_75", 7, 5, '\0', 6, 3, k75, k75Limits, kT4},
      {"sm_80", 8, 0, '\0', 7, 0, k80, k80Limits, kA100},
      {"sm_86", 8, 6, '\0', 7, 1, k80, k86Limits, kA10},
      {"sm_87", 8, 7, '\0', 7, 4, k80, k87Limits, kOrin},
      {"sm_89", 8, 9, '\0', 7, 8, k89, k89Limits, kL40S},
      {"sm_90", 9, 0, '\0', 7, 8, k90, k90Limits, kH100},
      {"sm_90a", 9, 0, 'a', 8, 0, k90a, k90Limits, kH100},
      {"sm_100", 10, 0, '\0', 8, 6, k100, k90Limits, kB200},
      {"sm_100f", 10, 0, 'f', 8, 8, k100a, k90Limits, kB200},
      {"sm_100a", 10, 0, 'a', 8, 6, k100a, k90Limits, kB200},
      {"sm_103", 10, 3, '\0', 8, 8, k100, k90Limits, kB300},
      {"sm_103f", 10, 3, 'f', 8, 8, k100a, k90Limits, kB300},
      {"sm_103a", 10, 3, 'a', 8, 8, k100a, k90Limits, kB300},
      {"sm_110", 11, 0, '\0', 9, 0, k100, k110Limits, kThor},
      {"sm_110f", 11, 0, 'f', 9, 0, k100a, k110Limits, kThor},
      {"sm_110a", 11, 0, 'a', 9, 0, k100a, k110Limits, kThor},
      {"sm_120", 12, 0, '\0', 8, 7, k120, k120Limits, kRtx5090},
      {"sm_120f", 12, 0, 'f', 8, 8, k120a, k120Limits, kRtx5090},
      {"sm_120a", 12, 0, 'a', 8, 7, k120a, k120Limits, kRtx5090},
      {"sm_121", 12, 1, '\0', 8, 8, k120, k120Limits, kGb10},
      {"sm_121f", 12, 1, 'f', 8, 8, k120a, k120Limits, kGb10},
      {"sm_121a", 12, 1, 'a', 8, 8, k120a, k120Limits, kGb10},
  };
  return targets;
}

}  // namespace

const std::vector<Target>& all_targets() { return table(); }

}  // namespace kw::arch
