// A stand-in for a vendor's PyTorch backend (dispatch key PrivateUse1), for tests only.
//
// Its memory is the host's, and one thread computes what was queued, so a call returns before its work is done.
// COMPUTED operations are queued, those that are FALLING_BACK are left to the host by PyTorch's own fall-back,
// FAILING_LATE fail when their turn comes, expm1 computes in part on the host, and PyTorch refuses all others.

#include <ATen/ATen.h>
#include <ATen/EmptyTensor.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <ATen/native/CPUFallback.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/view_native.h>
#include <ATen/record_function.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <torch/library.h>

#include <condition_variable>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <queue>
#include <thread>

namespace {

using c10::Device;
using c10::DeviceType;
using c10::IValue;
using torch::jit::Stack;

constexpr auto KEYS = c10::DispatchKeySet(c10::DispatchKey::PrivateUse1);

const char* const COMPUTED[] = {
    "abs", "add.Tensor", "cos", "div.Tensor", "fill_.Scalar", "mm", "mul.Tensor", "neg", "sub.Tensor", "sum",
    "sum.dim_IntList", "zero_",
};
const char* const FALLING_BACK[] = {"cumsum"};
const char* const FAILING_LATE[] = {"erf"};

class Queue {
 public:
  void push(std::function<void()> task) {
    std::call_once(started_, [this] { std::thread([this] { work(); }).detach(); });
    std::lock_guard<std::mutex> lock(mutex_);
    tasks_.push(std::move(task));
    changed_.notify_all();
  }

  void wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return tasks_.empty(); });
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  }

 private:
  void work() {
    // What the stand-in computes is the device's work, not that of PyTorch on the host.
    at::RecordFunctionGuard unrecorded(false);
    at::NoGradGuard without_gradients;
    for (;;) {
      std::unique_lock<std::mutex> lock(mutex_);
      changed_.wait(lock, [this] { return !tasks_.empty(); });
      auto task = tasks_.front();
      lock.unlock();
      std::exception_ptr error;
      try {
        task();
      } catch (...) {
        error = std::current_exception();
      }
      task = nullptr;
      lock.lock();
      if (error && !error_) error_ = error;
      tasks_.pop();
      changed_.notify_all();
    }
  }

  std::once_flag started_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::queue<std::function<void()>> tasks_;
  std::exception_ptr error_;
};

// Never destroyed: its thread uses it until the process ends.
Queue& queue() {
  static auto* made = new Queue;
  return *made;
}

struct Memory final : c10::Allocator {
  c10::DataPtr allocate(size_t bytes) override {
    void* start = std::malloc(bytes ? bytes : 1);
    return {start, start, &std::free, Device(DeviceType::PrivateUse1, 0)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &std::free; }
  void copy_data(void* to, const void* from, size_t bytes) const override { default_copy_data(to, from, bytes); }
};
Memory memory;
REGISTER_ALLOCATOR(DeviceType::PrivateUse1, &memory);

struct Guard final : c10::impl::DeviceGuardImplInterface {
  DeviceType type() const override { return DeviceType::PrivateUse1; }
  Device exchangeDevice(Device) const override { return getDevice(); }
  Device getDevice() const override { return {DeviceType::PrivateUse1, 0}; }
  void setDevice(Device) const override {}
  void uncheckedSetDevice(Device) const noexcept override {}
  c10::Stream getStream(Device device) const override { return c10::Stream(c10::Stream::DEFAULT, device); }
  c10::Stream exchangeStream(c10::Stream stream) const override { return getStream(stream.device()); }
  c10::DeviceIndex deviceCount() const noexcept override { return 1; }
  void synchronizeDevice(c10::DeviceIndex) const override { queue().wait(); }
};
C10_REGISTER_GUARD_IMPL(PrivateUse1, Guard);

struct Hooks final : at::PrivateUse1HooksInterface {
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
  bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
};

at::Tensor empty(c10::SymIntArrayRef size, std::optional<at::ScalarType> type, std::optional<at::Layout>,
                 std::optional<Device>, std::optional<bool>, std::optional<at::MemoryFormat> format) {
  return at::detail::empty_generic(C10_AS_INTARRAYREF_SLOW(size), &memory, KEYS, at::dtype_or_default(type), format);
}

at::Tensor empty_strided(c10::SymIntArrayRef size, c10::SymIntArrayRef stride, std::optional<at::ScalarType> type,
                         std::optional<at::Layout>, std::optional<Device>, std::optional<bool>) {
  return at::detail::empty_strided_generic(C10_AS_INTARRAYREF_SLOW(size), C10_AS_INTARRAYREF_SLOW(stride), &memory,
                                           KEYS, at::dtype_or_default(type));
}

at::Tensor as_strided(const at::Tensor& self, c10::SymIntArrayRef size, c10::SymIntArrayRef stride,
                      std::optional<c10::SymInt> offset) {
  auto start = offset ? std::optional<int64_t>(offset->guard_int(__FILE__, __LINE__)) : std::nullopt;
  return at::native::as_strided_tensorimpl(self, C10_AS_INTARRAYREF_SLOW(size), C10_AS_INTARRAYREF_SLOW(stride), start);
}

at::Tensor view(const at::Tensor& self, c10::SymIntArrayRef size) {
  return at::native::view(self, C10_AS_INTARRAYREF_SLOW(size));
}

// The same memory as a tensor of the host, which keeps the memory alive.
at::Tensor on_host(const at::Tensor& tensor) {
  if (tensor.device().type() != DeviceType::PrivateUse1) return tensor;
  return at::from_blob(tensor.data_ptr(), tensor.sizes(), tensor.strides(), [tensor](void*) {},
                       tensor.options().device(at::kCPU));
}

at::Tensor copy_from(const at::Tensor& self, const at::Tensor& target, bool) {
  queue().wait();
  at::RecordFunctionGuard unrecorded(false);
  on_host(target).copy_(on_host(self));
  return target;
}

at::Scalar local_scalar_dense(const at::Tensor& self) {
  queue().wait();
  at::RecordFunctionGuard unrecorded(false);
  return on_host(self).item();
}

using Change = std::function<at::Tensor(const at::Tensor&)>;

Stack changed(const Stack& stack, const Change& change) {
  Stack done;
  for (const auto& value : stack) done.emplace_back(value.isTensor() ? IValue(change(value.toTensor())) : value);
  return done;
}

// Says at once how the outputs look, and queues the computation of their values.
void compute(const c10::OperatorHandle& op, Stack* stack) {
  at::RecordFunctionGuard unrecorded(false);
  const auto inputs = torch::jit::pop(*stack, op.schema().arguments().size());
  if (op.schema().is_mutable()) {
    torch::jit::push(*stack, inputs[0]);
    queue().push([op, host = changed(inputs, on_host)]() mutable { op.callBoxed(&host); });
    return;
  }
  auto shapes = changed(inputs, [](const at::Tensor& each) {
    return at::empty_strided(each.sizes(), each.strides(), each.options().device(at::kMeta));
  });
  op.callBoxed(&shapes);
  const auto shape = shapes[0].toTensor();
  at::Tensor output = at::detail::empty_strided_generic(shape.sizes(), shape.strides(), &memory, KEYS, shape.scalar_type());
  torch::jit::push(*stack, output);
  queue().push([op, host = changed(inputs, on_host), to = on_host(output)]() mutable {
    op.callBoxed(&host);
    to.copy_(host[0].toTensor());
  });
}

void fail_late(const c10::OperatorHandle& op, Stack* stack) {
  const auto inputs = torch::jit::pop(*stack, op.schema().arguments().size());
  const auto& like = inputs[0].toTensor();
  torch::jit::push(*stack, at::detail::empty_generic(like.sizes(), &memory, KEYS, like.scalar_type(), std::nullopt));
  queue().push([] { TORCH_CHECK(false, "vendor: the kernel of erf failed on the device"); });
}

at::Tensor expm1(const at::Tensor& self) { return at::exp(self.cpu()).to(self.device()).sub(1); }

void fall_back(const c10::OperatorHandle& op, Stack* stack) { at::native::cpu_fallback(op, stack); }

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("empty.memory_format", &empty);
  m.impl("empty_strided", &empty_strided);
  m.impl("as_strided", &as_strided);
  m.impl("view", &view);
  m.impl("_copy_from", &copy_from);
  m.impl("_local_scalar_dense", &local_scalar_dense);
  m.impl("expm1", &expm1);
  for (auto name : COMPUTED) m.impl(name, torch::CppFunction::makeFromBoxedFunction<&compute>());
  for (auto name : FAILING_LATE) m.impl(name, torch::CppFunction::makeFromBoxedFunction<&fail_late>());
  for (auto name : FALLING_BACK) m.impl(name, torch::CppFunction::makeFromBoxedFunction<&fall_back>());
}

TORCH_LIBRARY(vendor, m) {
  m.def("synchronize() -> ()", [] { queue().wait(); });
}

const bool registered = [] {
  at::RegisterPrivateUse1HooksInterface(new Hooks);
  return true;
}();

}  // namespace
