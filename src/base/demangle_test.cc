#include "base/demangle.h"

#include <gtest/gtest.h>

namespace kw {
namespace {

TEST(ReadableName, OfKernelsAndTheirVariables) {
  const std::pair<const char*, const char*> cases[] = {
      {"saxpy", "saxpy"},
      {"", ""},
      {"_Z", "_Z"},
      {"_Z5saxpyfPKfPf", "saxpy"},
      {"_ZN55_GLOBAL__N__65581500_20_attention_forward_cu_5a31c2d6_914attention_sm80EPK6__halfS2_S2_PS0_if", "attention_sm80"},
      {"_ZZN58_GLOBAL__N__65581500_20_attention_forward_cu_f9087ac3_295914attention_sm80EPK6__halfS2_S2_PS0_ifE6v_tile", "v_tile"},
      {"_ZN56_INTERNAL_65581500_20_attention_forward_cu_f9087ac3_295958_GLOBAL__N__65581500_20_attention_forward_cu_f9087ac3_29599load_tileEP6__halfPKS1_i",
       "load_tile"},
      {"_ZN2ab4gemmILi128ELb1EfEEvPKT1_S3_PS1_", "ab::gemm<128, true, float>"},
      {"_Z4fillIfEvPT_S0_i", "fill<float>"},
      {"_ZZ4fillIfEvPT_iE5stage", "stage"},
      {"_ZN3SumIfE3runEPKf", "Sum<float>::run"},
      {"_Zbroken", "_Zbroken"},
      {"_Z99short", "_Z99short"},
  };
  for (const auto& [mangled, readable] : cases) EXPECT_EQ(readable_name(mangled), readable) << mangled;
}

TEST(ReadableName, OfOneThatUnfoldsWithoutEndIsItsIdentifiers) {
  std::string bomb = "_ZN2ns1kE1aIiS_E";  // pairs of pairs of pairs …
  for (int i = 0; i < 60; ++i) bomb += "1pIS" + std::string(1, static_cast<char>(i < 26 ? 'A' + i : '0' + i % 10)) + "_S_E";
  EXPECT_EQ(readable_name(bomb), "ns::k");
  EXPECT_EQ(readable_name("_Z3abc" + std::string(5000, 'i')), "abc");
  EXPECT_EQ(readable_name("_Z99999999999999999999999999k"), "_Z99999999999999999999999999k");
}

TEST(ReadableName, OfThousandsOfCharactersLosesItsMiddle) {
  const std::string long_name = readable_name(std::string(3000, 'a') + "_end");
  EXPECT_EQ(long_name.size(), 160 + std::string("…").size());
  EXPECT_TRUE(long_name.ends_with("a_end"));
  EXPECT_LT(readable_name("_Z1kI" + std::string("1a") + std::string(900, 'i') + "EvT_").size(), 200u);
  std::string umlauts;
  for (int i = 0; i < 500; ++i) umlauts += "ä";
  EXPECT_EQ(readable_name(umlauts).find("\xa4…\xc3") != std::string::npos, true);
}

}  // namespace
}  // namespace kw
