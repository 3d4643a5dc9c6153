# JAX 0.4.13: predictions for TPUs, on the CPU. Every pin is in cpu.lock, created from
# cpu.in by 'make lock'. The stage 'compiler' is the same in all such files and uses the lock of the TPU compiler.
FROM python:3.11-slim-bookworm AS compiler
COPY images/installer.lock images/jax/0.10.2/tpu.lock /locks/
# Nothing is compiled in the container, so headers and static libraries are removed.
RUN python -m pip install --no-cache-dir --require-hashes --requirement /locks/installer.lock \
    && uv venv --python /usr/local/bin/python3.11 /opt/compiler \
    && uv pip sync --python /opt/compiler --require-hashes --no-cache --compile-bytecode /locks/tpu.lock \
    && find /opt/compiler /usr/local/lib/python3.11 \( -name include -o -name '*.a' \) -prune -exec rm -r {} +

FROM python:3.10-slim-bookworm AS environment
COPY images/installer.lock images/jax/0.4.13/cpu.lock /locks/
RUN python -m pip install --no-cache-dir --require-hashes --requirement /locks/installer.lock \
    && uv venv /opt/environment \
    && uv pip sync --python /opt/environment --require-hashes --no-cache --compile-bytecode /locks/cpu.lock \
    && find /opt/environment \( -name include -o -name '*.a' \) -prune -exec rm -r {} +

FROM python:3.10-slim-bookworm
# The compiler's Python, next to the framework's if they differ: their files have different names.
COPY --from=compiler /usr/local/bin/python3.11 /usr/local/bin/
COPY --from=compiler /usr/local/lib/libpython3.11.so.1.0 /usr/local/lib/
COPY --from=compiler /usr/local/lib/python3.11 /usr/local/lib/python3.11
COPY --from=compiler /opt/compiler /opt/compiler
COPY --from=environment /opt/environment /opt/environment
ENV PATH=/opt/environment/bin:$PATH HOME=/tmp USER=portbench PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
ENV PORTBENCH_TPU_COMPILER=/opt/compiler/bin/python
RUN ldconfig \
    && "$PORTBENCH_TPU_COMPILER" -c "import ctypes, jax, libtpu; ctypes.CDLL(libtpu.get_library_path())" \
    && python -c "import jax; assert jax.__version__.partition('+')[0] == '0.4.13', jax.__version__" \
    && install -d -o 65532 -g 65532 /results
WORKDIR /opt/portbench
COPY images/as-owner /usr/local/bin/
COPY schema schema
COPY runners runners

ARG PORTBENCH_RUNNER_COMMIT=""
ENV PORTBENCH_RUNNER_COMMIT=$PORTBENCH_RUNNER_COMMIT
ARG PORTBENCH_SOURCE_SHA256=""
LABEL org.opencontainers.image.title="portbench jax 0.4.13 tpu-aot" \
      org.opencontainers.image.version="0.4.13" \
      org.opencontainers.image.revision="$PORTBENCH_RUNNER_COMMIT" \
      org.opencontainers.image.licenses="Apache-2.0" \
      portbench.framework="jax" \
      portbench.version="0.4.13" \
      portbench.device="tpu-aot" \
      portbench.source_sha256="$PORTBENCH_SOURCE_SHA256"
USER 65532:65532
ENTRYPOINT ["as-owner", "python", "-m", "runners", "--framework", "jax", "--device", "tpu-v5e"]
CMD ["--manifest", "manifests/study/jax.json", "--out", "/results"]
