# torch 2.15.0, mps-predicted. Created by 'portbench lock' from images/Dockerfile.jinja: change it there.

FROM python:3.12-slim-bookworm AS environment
COPY images/describe.py images/install images/installer.lock images/torch/2.15.0/cpu.lock /locks/
# Nothing is compiled in the container, so headers and static libraries are removed. describe.py compiles the
# modules, and gives all files one age: so the layer is the same in every build.
RUN --mount=type=cache,target=/root/.cache/uv \
    python -m pip install --no-cache-dir --require-hashes --requirement /locks/installer.lock \
    && export PYTHONHASHSEED=0 UV_LINK_MODE=copy UV_PYTHON=/usr/local/bin/python3.12 \
    && /locks/install torch/2.15.0/cpu /opt/environment \
    && find /opt/environment \( -name include -o -name '*.a' \) -prune -exec rm -r {} + \
    && python /locks/describe.py environment /opt/environment /locks/cpu /made

FROM python:3.12-slim-bookworm AS runner
COPY images/as-owner /made/usr/local/bin/
COPY schema /made/opt/portbench/schema
COPY runners /made/opt/portbench/runners
ARG PORTBENCH_RUNNER_COMMIT=""
RUN --mount=type=bind,target=/clone \
    python /clone/images/describe.py image /clone images/torch/2.15.0/mps-predicted.Dockerfile /made

FROM python:3.12-slim-bookworm
COPY --from=environment /made /
ENV PATH=/opt/environment/bin:$PATH HOME=/tmp USER=portbench PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
RUN --mount=type=tmpfs,target=/tmp \
    python -c "import torch; assert torch.__version__.partition('+')[0] == '2.15.0', torch.__version__"
COPY --from=runner /made /
WORKDIR /opt/portbench

ARG PORTBENCH_RUNNER_COMMIT=""
ARG PORTBENCH_SOURCE_SHA256=""
ARG PORTBENCH_SOURCE_URL=""
LABEL org.opencontainers.image.title="portbench torch 2.15.0 mps-predicted" \
      org.opencontainers.image.version="2.15.0" \
      org.opencontainers.image.revision="$PORTBENCH_RUNNER_COMMIT" \
      org.opencontainers.image.source="$PORTBENCH_SOURCE_URL" \
      org.opencontainers.image.licenses="Apache-2.0" \
      portbench.framework="torch" \
      portbench.version="2.15.0" \
      portbench.device="mps-predicted" \
      portbench.sbom="/opt/environment/sbom.cdx.json" \
      portbench.source_sha256="$PORTBENCH_SOURCE_SHA256"
USER 65532:65532
ENV PORTBENCH_MANIFEST=manifests/study/torch.json PORTBENCH_OUT=/results
ENTRYPOINT ["as-owner", "python", "-m", "runners", "--framework", "torch", "--device", "mps-predicted"]
