# PyTorch 2.9.0: predictions for a GPU, on the CPU. Every pin is in cpu.lock, created from cpu.in by 'make lock'.
FROM python:3.10-slim-bookworm AS environment
COPY images/installer.lock images/torch/2.9.0/cpu.lock /locks/
# Nothing is compiled in the container, so headers and static libraries are removed.
RUN python -m pip install --no-cache-dir --require-hashes --requirement /locks/installer.lock \
    && uv venv /opt/environment \
    && uv pip sync --python /opt/environment --require-hashes --no-cache --compile-bytecode /locks/cpu.lock \
    && find /opt/environment \( -name include -o -name '*.a' \) -prune -exec rm -r {} +

FROM python:3.10-slim-bookworm
COPY --from=environment /opt/environment /opt/environment
ENV PATH=/opt/environment/bin:$PATH HOME=/tmp USER=portbench PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
RUN python -c "import torch; assert torch.__version__.partition('+')[0] == '2.9.0', torch.__version__" \
    && install -d -o 65532 -g 65532 /results
WORKDIR /opt/portbench
COPY images/as-owner /usr/local/bin/
COPY schema schema
COPY runners runners

ARG PORTBENCH_RUNNER_COMMIT=""
ENV PORTBENCH_RUNNER_COMMIT=$PORTBENCH_RUNNER_COMMIT
ARG PORTBENCH_SOURCE_SHA256=""
LABEL org.opencontainers.image.title="portbench torch 2.9.0 gpu-predicted" \
      org.opencontainers.image.version="2.9.0" \
      org.opencontainers.image.revision="$PORTBENCH_RUNNER_COMMIT" \
      org.opencontainers.image.licenses="Apache-2.0" \
      portbench.framework="torch" \
      portbench.version="2.9.0" \
      portbench.device="gpu-predicted" \
      portbench.source_sha256="$PORTBENCH_SOURCE_SHA256"
USER 65532:65532
ENTRYPOINT ["as-owner", "python", "-m", "runners", "--framework", "torch", "--device", "gpu-predicted"]
CMD ["--manifest", "manifests/study/torch.json", "--out", "/results"]
