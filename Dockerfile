# The team server: docs/operating/installation.md

FROM python:3.13-slim-trixie AS build
ENV UV_COMPILE_BYTECODE=1 \
    UV_LINK_MODE=copy \
    UV_PROJECT_ENVIRONMENT=/opt/coderag \
    UV_PYTHON_DOWNLOADS=never
RUN pip install --no-cache-dir uv==0.13.9
WORKDIR /src
# The dependencies are a layer of their own, which a change of the code leaves as it is.
COPY pyproject.toml uv.lock ./
ARG EXTRAS="--extra server --extra postgres --extra sources --extra telemetry --extra openai --extra anthropic --extra gemini"
RUN uv sync --frozen --no-dev --no-install-project ${EXTRAS}
COPY README.md LICENSE ./
COPY coderag coderag
COPY graphs graphs
COPY prompts prompts
COPY evals evals
RUN uv sync --frozen --no-dev --no-editable ${EXTRAS}

FROM python:3.13-slim-trixie
# git and ssh fetch repositories; pg_dump and pg_restore copy the database for backups.
RUN apt-get update \
 && apt-get install --yes --no-install-recommends ca-certificates git openssh-client postgresql-client \
 && rm -rf /var/lib/apt/lists/* \
 && groupadd --gid 10001 coderag \
 && useradd --uid 10001 --gid coderag --home-dir /data/home --no-create-home --shell /usr/sbin/nologin coderag \
 && install --directory --owner=coderag --group=coderag --mode=0700 /data /backups
COPY --from=build /opt/coderag /opt/coderag
# The root file system may be read-only: all that is written lies in /data, /backups and /tmp.
ENV PATH=/opt/coderag/bin:$PATH \
    HOME=/data/home \
    XDG_CACHE_HOME=/data/cache \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    CODERAG_SERVER_DATA=/data/server \
    CODERAG_SERVER_HOST=0.0.0.0 \
    CODERAG_SERVER_PORT=8080
WORKDIR /data
VOLUME ["/data", "/backups"]
USER 10001:10001
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=10s --start-period=60s --retries=3 \
    CMD ["python", "-c", "import os, urllib.request as r; r.urlopen(f'http://127.0.0.1:{os.environ[\"CODERAG_SERVER_PORT\"]}/readyz', timeout=8)"]
ENTRYPOINT ["coderag"]
CMD ["server", "start"]
