// What fmt keeps in its library, compiled into kw, so that it runs where there is no libfmt.so: these functions are found first, and
// a library that nothing is needed from is not asked for. Of versions other than 9 the library stays.
#include <fmt/format.h>

#if FMT_VERSION / 10000 == 9
#include <fmt/format-inl.h>

FMT_BEGIN_NAMESPACE
namespace detail {
// The templates that its headers declare to be elsewhere, as far as they are used.
template dragonbox::decimal_fp<float> dragonbox::to_decimal(float) noexcept;
template dragonbox::decimal_fp<double> dragonbox::to_decimal(double) noexcept;
template thousands_sep_result<char> thousands_sep_impl(locale_ref);
template char decimal_point_impl(locale_ref);
}  // namespace detail
FMT_END_NAMESPACE
#endif
