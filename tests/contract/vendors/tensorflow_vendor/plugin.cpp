// A stand-in for a vendor's pluggable device of TensorFlow (StreamExecutor's C interface), for tests only.
//
// Its memory is the host's, and one thread computes what was queued, so an operation returns before its work is done.
// With VENDOR_FAULT "no device" it has none. With "early synchronize" it does not wait where TensorFlow asks for it, and
// adds single numbers at once: what waits for such an addition has not waited for the rest.

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <mutex>
#include <queue>
#include <string>
#include <thread>

#include "tensorflow/c/experimental/stream_executor/stream_executor.h"
#include "tensorflow/c/kernels.h"
#include "tensorflow/c/tf_datatype.h"
#include "tensorflow/c/tf_status.h"
#include "tensorflow/c/tf_tensor.h"

struct SP_Stream_st {};
struct SP_Event_st {
  std::atomic<bool> reached{true};
};
struct SP_Timer_st {};

namespace {

const char NAME[] = "VENDOR";
const int64_t MEMORY = 1ll << 30;

bool fault(const char* name) {
  const char* set = std::getenv("VENDOR_FAULT");
  return set && std::strcmp(set, name) == 0;
}

class Queue {
 public:
  Queue() { std::thread([this] { work(); }).detach(); }
  void push(std::function<void()> task) {
    std::lock_guard<std::mutex> lock(mutex_);
    tasks_.push(std::move(task));
    changed_.notify_all();
  }
  void wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return tasks_.empty(); });
  }

 private:
  void work() {
    for (;;) {
      std::unique_lock<std::mutex> lock(mutex_);
      changed_.wait(lock, [this] { return !tasks_.empty(); });
      auto task = tasks_.front();
      lock.unlock();
      task();
      lock.lock();
      tasks_.pop();
      changed_.notify_all();
    }
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  std::queue<std::function<void()>> tasks_;
};

// Never destroyed: its thread uses it until the process ends. All streams are one, so everything is in order.
Queue& queue() {
  static auto* made = new Queue;
  return *made;
}

void ok(TF_Status* status) { TF_SetStatus(status, TF_OK, ""); }

void synchronize(TF_Status* status) {
  if (!fault("early synchronize")) queue().wait();
  ok(status);
}

std::atomic<const void*> added_at_once{nullptr};
std::atomic<bool> copied_at_once{false};

void copy(void* to, const void* from, uint64_t size, TF_Status* status) {
  copied_at_once = from == added_at_once;
  if (copied_at_once) {
    std::memcpy(to, from, size);
  } else {
    queue().push([=] { std::memcpy(to, from, size); });
  }
  ok(status);
}

void copy_and_wait(void* to, const void* from, uint64_t size, TF_Status* status) {
  copy(to, from, size, status);
  queue().wait();
}

void create_stream_executor(const SP_Platform*, SE_CreateStreamExecutorParams* params, TF_Status* status) {
  auto* se = params->stream_executor;
  se->struct_size = SP_STREAMEXECUTOR_STRUCT_SIZE;
  se->allocate = [](const SP_Device*, uint64_t size, int64_t, SP_DeviceMemoryBase* memory) {
    memory->struct_size = SP_DEVICE_MEMORY_BASE_STRUCT_SIZE;
    memory->opaque = std::aligned_alloc(64, (size + 63) / 64 * 64);
    memory->size = size;
  };
  se->deallocate = [](const SP_Device*, SP_DeviceMemoryBase* memory) {
    queue().wait();
    std::free(memory->opaque);
    memory->opaque = nullptr;
    memory->size = 0;
  };
  se->host_memory_allocate = [](const SP_Device*, uint64_t size) { return std::aligned_alloc(64, (size + 63) / 64 * 64); };
  se->host_memory_deallocate = [](const SP_Device*, void* memory) { std::free(memory); };
  se->get_allocator_stats = [](const SP_Device*, SP_AllocatorStats*) -> TF_Bool { return 0; };
  se->device_memory_usage = [](const SP_Device*, int64_t* free, int64_t* total) -> TF_Bool {
    *free = *total = MEMORY;
    return 1;
  };
  se->create_stream = [](const SP_Device*, SP_Stream* stream, TF_Status* status) {
    *stream = new SP_Stream_st;
    ok(status);
  };
  se->destroy_stream = [](const SP_Device*, SP_Stream stream) { delete stream; };
  se->create_stream_dependency = [](const SP_Device*, SP_Stream, SP_Stream, TF_Status* status) { ok(status); };
  se->get_stream_status = [](const SP_Device*, SP_Stream, TF_Status* status) { ok(status); };
  se->create_event = [](const SP_Device*, SP_Event* event, TF_Status* status) {
    *event = new SP_Event_st;
    ok(status);
  };
  se->destroy_event = [](const SP_Device*, SP_Event event) {
    queue().wait();
    delete event;
  };
  se->get_event_status = [](const SP_Device*, SP_Event event) {
    return event->reached ? SE_EVENT_COMPLETE : SE_EVENT_PENDING;
  };
  se->record_event = [](const SP_Device*, SP_Stream, SP_Event event, TF_Status* status) {
    if (copied_at_once) return ok(status);
    event->reached = false;
    queue().push([event] { event->reached = true; });
    ok(status);
  };
  se->wait_for_event = [](const SP_Device* const, SP_Stream, SP_Event, TF_Status* const status) { ok(status); };
  se->create_timer = [](const SP_Device*, SP_Timer* timer, TF_Status* status) {
    *timer = new SP_Timer_st;
    ok(status);
  };
  se->destroy_timer = [](const SP_Device*, SP_Timer timer) { delete timer; };
  se->start_timer = [](const SP_Device*, SP_Stream, SP_Timer, TF_Status* status) { ok(status); };
  se->stop_timer = [](const SP_Device*, SP_Stream, SP_Timer, TF_Status* status) { ok(status); };
  se->memcpy_dtoh = [](const SP_Device*, SP_Stream, void* to, const SP_DeviceMemoryBase* from, uint64_t size,
                       TF_Status* status) { copy(to, from->opaque, size, status); };
  se->memcpy_htod = [](const SP_Device*, SP_Stream, SP_DeviceMemoryBase* to, const void* from, uint64_t size,
                       TF_Status* status) { copy(to->opaque, from, size, status); };
  se->memcpy_dtod = [](const SP_Device*, SP_Stream, SP_DeviceMemoryBase* to, const SP_DeviceMemoryBase* from,
                       uint64_t size, TF_Status* status) { copy(to->opaque, from->opaque, size, status); };
  se->sync_memcpy_dtoh = [](const SP_Device*, void* to, const SP_DeviceMemoryBase* from, uint64_t size,
                            TF_Status* status) { copy_and_wait(to, from->opaque, size, status); };
  se->sync_memcpy_htod = [](const SP_Device*, SP_DeviceMemoryBase* to, const void* from, uint64_t size,
                            TF_Status* status) { copy_and_wait(to->opaque, from, size, status); };
  se->sync_memcpy_dtod = [](const SP_Device*, SP_DeviceMemoryBase* to, const SP_DeviceMemoryBase* from, uint64_t size,
                            TF_Status* status) { copy_and_wait(to->opaque, from->opaque, size, status); };
  se->block_host_for_event = [](const SP_Device*, SP_Event, TF_Status* status) {
    synchronize(status);
  };
  se->block_host_until_done = [](const SP_Device*, SP_Stream, TF_Status* status) {
    synchronize(status);
  };
  se->synchronize_all_activity = [](const SP_Device*, TF_Status* status) {
    synchronize(status);
  };
  se->mem_zero = [](const SP_Device*, SP_Stream, SP_DeviceMemoryBase* at, uint64_t size, TF_Status* status) {
    queue().push([to = at->opaque, size] { std::memset(to, 0, size); });
    ok(status);
  };
  se->memset = [](const SP_Device*, SP_Stream, SP_DeviceMemoryBase* at, uint8_t value, uint64_t size,
                  TF_Status* status) {
    queue().push([to = at->opaque, value, size] { std::memset(to, value, size); });
    ok(status);
  };
  se->memset32 = [](const SP_Device*, SP_Stream, SP_DeviceMemoryBase* at, uint32_t value, uint64_t size,
                    TF_Status* status) {
    queue().push([to = static_cast<uint32_t*>(at->opaque), value, size] { std::fill(to, to + size / 4, value); });
    ok(status);
  };
  se->host_callback = [](const SP_Device*, SP_Stream, SE_StatusCallbackFn callback, void* argument) -> TF_Bool {
    queue().push([=] {
      auto* status = TF_NewStatus();
      callback(argument, status);
      TF_DeleteStatus(status);
    });
    return 1;
  };
  ok(status);
}

// What a kernel sees of a tensor. Its memory is reused only by work that is queued later.
struct View {
  float* data;
  int64_t elements;
  int64_t rows;     // of all but the last axis
  int64_t columns;  // of the last axis
};

TF_Tensor* input(TF_OpKernelContext* context, int index, TF_Status* status) {
  TF_Tensor* tensor = nullptr;
  TF_GetInput(context, index, &tensor, status);
  return tensor;
}

View view(const TF_Tensor* tensor) {
  const int axes = TF_NumDims(tensor);
  const int64_t elements = TF_TensorElementCount(tensor);
  const int64_t columns = axes ? TF_Dim(tensor, axes - 1) : 1;
  return {static_cast<float*>(TF_TensorData(tensor)), elements, columns ? elements / columns : 0, columns};
}

View output(TF_OpKernelContext* context, std::initializer_list<int64_t> shape, const TF_Tensor* like, TF_Status* status) {
  int64_t dims[8];
  int axes = 0;
  if (like) {
    axes = TF_NumDims(like);
    for (int axis = 0; axis < axes; ++axis) dims[axis] = TF_Dim(like, axis);
  } else {
    for (auto size : shape) dims[axes++] = size;
  }
  int64_t elements = 1;
  for (int axis = 0; axis < axes; ++axis) elements *= dims[axis];
  TF_Tensor* made = TF_AllocateOutput(context, 0, TF_FLOAT, dims, axes, elements * sizeof(float), status);
  auto seen = view(made);
  TF_DeleteTensor(made);
  return seen;
}

template <typename F>
void elementwise(TF_OpKernelContext* context, F compute) {
  auto* status = TF_NewStatus();
  auto* left = input(context, 0, status);
  auto* right = input(context, 1, status);
  const auto a = view(left), b = view(right);
  if (a.elements != b.elements && b.elements != 1) {
    TF_SetStatus(status, TF_UNIMPLEMENTED, "vendor: no broadcasting");
    TF_OpKernelContext_Failure(context, status);
  } else {
    const auto to = output(context, {}, left, status);
    if (to.elements == 1 && fault("early synchronize")) {
      *to.data = compute(*a.data, *b.data);
      added_at_once = to.data;
    } else {
      queue().push([=] {
        for (int64_t i = 0; i < to.elements; ++i) to.data[i] = compute(a.data[i], b.data[b.elements == 1 ? 0 : i]);
      });
    }
  }
  TF_DeleteTensor(left);
  TF_DeleteTensor(right);
  TF_DeleteStatus(status);
}

void add(void*, TF_OpKernelContext* context) {
  elementwise(context, [](float a, float b) { return a + b; });
}

void multiply(void*, TF_OpKernelContext* context) {
  elementwise(context, [](float a, float b) { return a * b; });
}

void matrix_product(void*, TF_OpKernelContext* context) {
  auto* status = TF_NewStatus();
  auto* left = input(context, 0, status);
  auto* right = input(context, 1, status);
  const auto a = view(left), b = view(right);
  const auto to = output(context, {a.rows, b.columns}, nullptr, status);
  queue().push([=] {
    std::fill(to.data, to.data + to.elements, 0.0f);
    for (int64_t row = 0; row < a.rows; ++row)
      for (int64_t k = 0; k < a.columns; ++k)
        for (int64_t column = 0; column < b.columns; ++column)
          to.data[row * b.columns + column] += a.data[row * a.columns + k] * b.data[k * b.columns + column];
  });
  TF_DeleteTensor(left);
  TF_DeleteTensor(right);
  TF_DeleteStatus(status);
}

// Of all axes alone.
void sum(void*, TF_OpKernelContext* context) {
  auto* status = TF_NewStatus();
  auto* values = input(context, 0, status);
  const auto a = view(values);
  const auto to = output(context, {}, nullptr, status);
  queue().push([=] {
    double total = 0;
    for (int64_t i = 0; i < a.elements; ++i) total += a.data[i];
    *to.data = static_cast<float>(total);
  });
  TF_DeleteTensor(values);
  TF_DeleteStatus(status);
}

void fill(void*, TF_OpKernelContext* context) {
  auto* status = TF_NewStatus();
  auto* dims = input(context, 0, status);
  auto* value = input(context, 1, status);
  const auto* sizes = static_cast<int32_t*>(TF_TensorData(dims));
  const bool matrix = TF_TensorElementCount(dims) == 2;
  const auto to = output(context, {sizes[0], matrix ? sizes[1] : 1}, nullptr, status);
  const auto from = view(value);
  queue().push([=] { std::fill(to.data, to.data + to.elements, *from.data); });
  TF_DeleteTensor(dims);
  TF_DeleteTensor(value);
  TF_DeleteStatus(status);
}

void register_kernel(const char* op, void (*compute)(void*, TF_OpKernelContext*), const char* in_host_memory) {
  auto* status = TF_NewStatus();
  auto* builder = TF_NewKernelBuilder(op, NAME, nullptr, compute, nullptr);
  TF_KernelBuilder_TypeConstraint(builder, "T", TF_FLOAT, status);
  if (in_host_memory) TF_KernelBuilder_HostMemory(builder, in_host_memory);
  TF_RegisterKernelBuilder(op, builder, status);
  TF_DeleteStatus(status);
}

}  // namespace

extern "C" void SE_InitPlugin(SE_PlatformRegistrationParams* params, TF_Status* status) {
  auto* platform = params->platform;
  platform->struct_size = SP_PLATFORM_STRUCT_SIZE;
  platform->name = NAME;
  platform->type = NAME;
  platform->use_bfc_allocator = 1;
  platform->force_memory_growth = 1;
  auto* functions = params->platform_fns;
  functions->struct_size = SP_PLATFORM_FNS_STRUCT_SIZE;
  functions->get_device_count = [](const SP_Platform*, int* count, TF_Status* status) {
    *count = fault("no device") ? 0 : 1;
    ok(status);
  };
  functions->create_device = [](const SP_Platform*, SE_CreateDeviceParams* params, TF_Status* status) {
    params->device->struct_size = SP_DEVICE_STRUCT_SIZE;
    params->device->hardware_name = "Vendor One";
    params->device->device_vendor = "Vendor";
    params->device->pci_bus_id = "0000:00:00.0";
    ok(status);
  };
  functions->destroy_device = [](const SP_Platform*, SP_Device*) {};
  functions->create_device_fns = [](const SP_Platform*, SE_CreateDeviceFnsParams* params, TF_Status* status) {
    params->device_fns->struct_size = SP_DEVICE_FNS_STRUCT_SIZE;
    ok(status);
  };
  functions->destroy_device_fns = [](const SP_Platform*, SP_DeviceFns*) {};
  functions->create_stream_executor = create_stream_executor;
  functions->destroy_stream_executor = [](const SP_Platform*, SP_StreamExecutor*) {};
  functions->create_timer_fns = [](const SP_Platform*, SP_TimerFns* functions, TF_Status* status) {
    functions->struct_size = SP_TIMER_FNS_STRUCT_SIZE;
    functions->nanoseconds = [](SP_Timer) -> uint64_t { return 0; };
    ok(status);
  };
  functions->destroy_timer_fns = [](const SP_Platform*, SP_TimerFns*) {};
  params->destroy_platform = [](SP_Platform*) {};
  params->destroy_platform_fns = [](SP_PlatformFns*) {};
  ok(status);
}

extern "C" void TF_InitKernel() {
  register_kernel("AddV2", add, nullptr);
  register_kernel("Mul", multiply, nullptr);
  register_kernel("MatMul", matrix_product, nullptr);
  register_kernel("Sum", sum, "reduction_indices");
  register_kernel("Fill", fill, "dims");
}
