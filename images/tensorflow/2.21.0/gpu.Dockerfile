# tensorflow 2.21.0, gpu. Created by 'portbench lock' from images/Dockerfile.jinja and gpu.setup: change it there.

FROM python:3.11-slim-bookworm AS environment
COPY images/describe.py images/install images/installer.lock images/tensorflow/2.21.0/gpu.lock /locks/
# Nothing is compiled in the container, so headers and static libraries are removed. describe.py compiles the
# modules, and gives all files one age: so the layer is the same in every build.
RUN --mount=type=cache,target=/root/.cache/uv \
    python -m pip install --no-cache-dir --require-hashes --requirement /locks/installer.lock \
    && export PYTHONHASHSEED=0 UV_LINK_MODE=copy UV_PYTHON=/usr/local/bin/python3.11 \
    && /locks/install tensorflow/2.21.0/gpu /opt/environment \
    && find /opt/environment \( -name include -o -name '*.a' \) -prune -exec rm -r {} + \
    && python /locks/describe.py environment /opt/environment /locks/gpu /made

FROM python:3.11-slim-bookworm AS runner
COPY images/as-owner /made/usr/local/bin/
COPY schema /made/opt/portbench/schema
COPY runners /made/opt/portbench/runners
ARG PORTBENCH_RUNNER_COMMIT=""
RUN --mount=type=bind,target=/clone \
    python /clone/images/describe.py image /clone images/tensorflow/2.21.0/gpu.Dockerfile /made

FROM python:3.11-slim-bookworm
COPY --from=environment /made /
ENV PATH=/opt/environment/bin:$PATH HOME=/tmp USER=portbench PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
# TensorFlow opens CUDA 12 and cuDNN 9 by name: they are installed as wheels, and ldconfig gets their folders.
RUN ls -d /opt/environment/lib/python3.11/site-packages/nvidia/*/lib >/etc/ld.so.conf.d/nvidia.conf \
    && ldconfig \
    && python -c "import ctypes; [ctypes.CDLL(name) for name in 'libcudart.so.12 libcublas.so.12 libcublasLt.so.12 \
        libcufft.so.11 libcusolver.so.11 libcusparse.so.12 libcudnn.so.9'.split()]"
RUN --mount=type=tmpfs,target=/tmp \
    python -c "import tensorflow; assert tensorflow.__version__.partition('+')[0] == '2.21.0', tensorflow.__version__"
COPY --from=runner /made /
WORKDIR /opt/portbench

ARG PORTBENCH_RUNNER_COMMIT=""
ARG PORTBENCH_SOURCE_SHA256=""
ARG PORTBENCH_SOURCE_URL=""
LABEL org.opencontainers.image.title="portbench tensorflow 2.21.0 gpu" \
      org.opencontainers.image.version="2.21.0" \
      org.opencontainers.image.revision="$PORTBENCH_RUNNER_COMMIT" \
      org.opencontainers.image.source="$PORTBENCH_SOURCE_URL" \
      org.opencontainers.image.licenses="Apache-2.0" \
      portbench.framework="tensorflow" \
      portbench.version="2.21.0" \
      portbench.device="gpu" \
      portbench.sbom="/opt/environment/sbom.cdx.json" \
      portbench.source_sha256="$PORTBENCH_SOURCE_SHA256"
USER 65532:65532
ENV PORTBENCH_MANIFEST=manifests/study/tensorflow.json PORTBENCH_OUT=/results
ENTRYPOINT ["as-owner", "python", "-m", "runners", "--framework", "tensorflow", "--device", "gpu"]
