// The entry of a candidate: the one header a CUDA candidate includes. C++17, only toolkit headers.
//
//   #include <kernelwright/candidate.h>
//   KW_ENTRY(kw::In x, kw::In w, kw::Out y, int64_t N, float eps, cudaStream_t stream) {
//     kernel<<<blocks, 256, 0, stream>>>(x.data<half>(), w.data<half>(), y.data<half>(), N, eps);
//   }
//
// Parameters are bound by *name* to the problem's inputs (kw::In), outputs (kw::Out), tensors updated in
// place (kw::InOut), axes and attributes (int, int64_t, float, double, bool); their order is free, inputs
// and scalars that are not needed may be left out, every output must be there. A cudaStream_t parameter
// (any name) is the stream the work belongs to.
//
// The entry is called once per workload shape, on the host, with no tensor contents: it describes the
// launches, memsets and device-to-device copies that compute the outputs. Pointers may be offset, stored
// in structs, passed inside tensor maps; they must not be read or written by host code. Workspace comes
// from cudaMalloc or cudaMallocAsync inside the entry.
//
// A view is DLPack-like: a device pointer, an element type, a rank, and shape and strides in elements
// (dimension 0 slowest in a contiguous tensor). Sub-byte types are packed, two elements a byte, first
// element in the low bits.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

struct __half;
struct __nv_bfloat16;
struct __nv_fp8_e4m3;
struct __nv_fp8_e5m2;
struct __nv_fp8_e8m0;

namespace kw {

// The order is part of the binary interface between a compiled candidate and the recorder.
enum class DType : int32_t {
  kBool, kInt8, kUInt8, kInt16, kUInt16, kInt32, kUInt32, kInt64, kUInt64,
  kFloat4E2M1, kFloat8E4M3, kFloat8E5M2, kFloat8E8M0, kFloat16, kBFloat16, kFloat32, kFloat64,
  kInt4, kUInt4,
};

inline constexpr int kMaxRank = 8;

constexpr int bits_of(DType type) {
  switch (type) {
    case DType::kFloat4E2M1: case DType::kInt4: case DType::kUInt4: return 4;
    case DType::kBool: case DType::kInt8: case DType::kUInt8: case DType::kFloat8E4M3:
    case DType::kFloat8E5M2: case DType::kFloat8E8M0: return 8;
    case DType::kInt16: case DType::kUInt16: case DType::kFloat16: case DType::kBFloat16: return 16;
    case DType::kInt32: case DType::kUInt32: case DType::kFloat32: return 32;
    case DType::kInt64: case DType::kUInt64: case DType::kFloat64: return 64;
  }
  return 0;
}

namespace detail {

struct TensorView {
  void* data;
  const char* name;
  DType dtype;
  int32_t rank;
  int64_t shape[kMaxRank];
  int64_t strides[kMaxRank];
};

// Provided by the recorder: ends the recording with a contract error that names the caller's line.
extern "C" [[noreturn]] void kw_contract_failed(const TensorView* view, const char* what, int32_t detail);

// The element type a C++ type stands for; -1: any of the same width (vectors, library types), -2: untyped.
template <typename T> struct DTypeOf { static constexpr int32_t value = -1; };
#define KW_DTYPE_OF(type, name) \
  template <> struct DTypeOf<type> { static constexpr int32_t value = static_cast<int32_t>(DType::name); };
KW_DTYPE_OF(bool, kBool)
KW_DTYPE_OF(int16_t, kInt16)
KW_DTYPE_OF(int32_t, kInt32)
KW_DTYPE_OF(long, kInt64)
KW_DTYPE_OF(long long, kInt64)
KW_DTYPE_OF(float, kFloat32)
KW_DTYPE_OF(double, kFloat64)
KW_DTYPE_OF(__half, kFloat16)
KW_DTYPE_OF(__nv_bfloat16, kBFloat16)
KW_DTYPE_OF(__nv_fp8_e4m3, kFloat8E4M3)
KW_DTYPE_OF(__nv_fp8_e5m2, kFloat8E5M2)
KW_DTYPE_OF(__nv_fp8_e8m0, kFloat8E8M0)
#undef KW_DTYPE_OF
template <> struct DTypeOf<void> { static constexpr int32_t value = -2; };
template <> struct DTypeOf<unsigned char> { static constexpr int32_t value = -2; };   // raw bytes
template <> struct DTypeOf<signed char> { static constexpr int32_t value = -2; };
template <> struct DTypeOf<char> { static constexpr int32_t value = -2; };

template <typename T> void check_type(const TensorView& view) {
  constexpr int32_t wanted = DTypeOf<std::remove_cv_t<T>>::value;
  if constexpr (wanted >= 0) {
    if (static_cast<int32_t>(view.dtype) != wanted) kw_contract_failed(&view, "type", wanted);
  } else if constexpr (wanted == -1) {
    // A vector or packed type covers whole elements.
    constexpr int bits = static_cast<int>(sizeof(T) * 8);
    if (bits % bits_of(view.dtype) != 0) kw_contract_failed(&view, "width", bits);
  }
}

// What In, Out and InOut share.
struct Tensor {
  explicit Tensor(const TensorView& view) : view_(view) {}
  DType dtype() const { return view_.dtype; }
  int rank() const { return view_.rank; }
  // Negative dimensions count from the last: shape(-1).
  int64_t shape(int dimension) const { return view_.shape[index(dimension)]; }
  int64_t stride(int dimension) const { return view_.strides[index(dimension)]; }
  const int64_t* shape() const { return view_.shape; }
  const int64_t* strides() const { return view_.strides; }
  int64_t size() const {  // elements
    int64_t product = 1;
    for (int i = 0; i < view_.rank; ++i) product *= view_.shape[i];
    return product;
  }
  bool contiguous() const {
    int64_t expected = 1;
    for (int i = view_.rank - 1; i >= 0; --i) {
      if (view_.shape[i] != 1 && view_.strides[i] != expected) return false;
      expected *= view_.shape[i];
    }
    return true;
  }

 protected:
  int index(int dimension) const {
    const int i = dimension < 0 ? dimension + view_.rank : dimension;
    if (i < 0 || i >= view_.rank) kw_contract_failed(&view_, "dimension", dimension);
    return i;
  }
  TensorView view_;
};

}  // namespace detail

struct In : detail::Tensor {
  using Tensor::Tensor;
  // T must be the element type, a type of a multiple of its width (float4, half2, a library's own), or
  // void or a char type for raw bytes.
  template <typename T = void> const T* data() const {
    detail::check_type<T>(view_);
    return static_cast<const T*>(view_.data);
  }
};

struct Out : detail::Tensor {
  using Tensor::Tensor;
  template <typename T = void> T* data() const {
    detail::check_type<T>(view_);
    return static_cast<T*>(view_.data);
  }
};

struct InOut : Out {
  using Out::Out;
};

namespace detail {

enum class ArgumentKind : int32_t { kIn, kOut, kInOut, kInt32, kInt64, kFloat32, kFloat64, kBool, kStream };

struct Value {
  ArgumentKind kind;
  TensorView tensor;
  int64_t integer;     // kInt32, kInt64, kBool
  double real;         // kFloat32, kFloat64
  cudaStream_t stream;
};

template <typename T> struct Bind;
template <> struct Bind<In> { static constexpr auto kind = ArgumentKind::kIn; static In get(const Value& v) { return In(v.tensor); } };
template <> struct Bind<Out> { static constexpr auto kind = ArgumentKind::kOut; static Out get(const Value& v) { return Out(v.tensor); } };
template <> struct Bind<InOut> { static constexpr auto kind = ArgumentKind::kInOut; static InOut get(const Value& v) { return InOut(v.tensor); } };
template <> struct Bind<int> { static constexpr auto kind = ArgumentKind::kInt32; static int get(const Value& v) { return static_cast<int>(v.integer); } };
template <> struct Bind<long> { static constexpr auto kind = ArgumentKind::kInt64; static long get(const Value& v) { return static_cast<long>(v.integer); } };
template <> struct Bind<long long> { static constexpr auto kind = ArgumentKind::kInt64; static long long get(const Value& v) { return v.integer; } };
template <> struct Bind<float> { static constexpr auto kind = ArgumentKind::kFloat32; static float get(const Value& v) { return static_cast<float>(v.real); } };
template <> struct Bind<double> { static constexpr auto kind = ArgumentKind::kFloat64; static double get(const Value& v) { return v.real; } };
template <> struct Bind<bool> { static constexpr auto kind = ArgumentKind::kBool; static bool get(const Value& v) { return v.integer != 0; } };
template <> struct Bind<cudaStream_t> { static constexpr auto kind = ArgumentKind::kStream; static cudaStream_t get(const Value& v) { return v.stream; } };
template <typename T> struct Bind<const T> : Bind<T> {};
template <typename T> struct Bind<const T&> : Bind<T> {};

struct Entry {
  int32_t abi;                 // kEntryAbi
  int32_t count;
  const ArgumentKind* kinds;   // count of them
  const char* parameters;      // the parameter list as written, for the names
  void (*invoke)(const Value* values);
};
inline constexpr int32_t kEntryAbi = 1;

// Provided by the recorder.
extern "C" int kw_register_entry(const Entry* entry);

template <auto function, typename... Args> struct EntryOf {
  static constexpr ArgumentKind kinds[sizeof...(Args) == 0 ? 1 : sizeof...(Args)] = {Bind<Args>::kind...};
  template <size_t... I> static void call(const Value* values, std::index_sequence<I...>) {
    (void)values;
    function(Bind<Args>::get(values[I])...);
  }
  static void invoke(const Value* values) { call(values, std::index_sequence_for<Args...>{}); }
  static int enroll(const char* parameters) {
    static const Entry entry{kEntryAbi, static_cast<int32_t>(sizeof...(Args)), kinds, parameters, &invoke};
    return kw_register_entry(&entry);
  }
};
template <auto function, typename... Args> int enroll(void (*)(Args...), const char* parameters) {
  return EntryOf<function, Args...>::enroll(parameters);
}

}  // namespace detail
}  // namespace kw

#define KW_ENTRY(...)                                                                                        \
  static void kw_entry_function(__VA_ARGS__);                                                                \
  static const int kw_entry_enrolled =                                                                       \
      ::kw::detail::enroll<&kw_entry_function>(&kw_entry_function, #__VA_ARGS__);                            \
  static void kw_entry_function(__VA_ARGS__)
