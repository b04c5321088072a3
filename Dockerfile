# The image of the proxy: the built program and its production packages on a slim Node, as a user without rights.
# docker build -t throughline . && docker run -p 4000:4000 -e PROXY_MASTER_KEY=sk-... -v ./gateway.yaml:/etc/litellm/config.yaml:ro throughline

# What the image begins with. node:26-slim has a shell and `sleep`, which hooks in values of an older chart call. Without
# them: --build-arg BASE=gcr.io/distroless/nodejs26-debian13 (https://github.com/GoogleContainerTools/distroless).
ARG BASE=node:26-slim

FROM node:26-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts
COPY tsconfig.json tsconfig.build.json ./
COPY schemas schemas
COPY config config
COPY proxy proxy
COPY platform platform
RUN npm run build

FROM node:26-slim AS packages
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --ignore-scripts
# The OpenTelemetry SDK is optional to the package and belongs to the image, in the versions of the lockfile. Its whole
# tree is in one scope, without install scripts.
COPY --from=build /app/node_modules/@opentelemetry node_modules/@opentelemetry
COPY bin/sbom.js bin/
RUN node bin/sbom.js --installed > sbom.cdx.json
# Two thirds of the bytes are never read: types, source maps, and the forms of the tokenizer for other loaders.
RUN find node_modules -type f \( -name '*.d.ts' -o -name '*.d.mts' -o -name '*.d.cts' -o -name '*.map' \) -delete \
  && rm -r node_modules/gpt-tokenizer/cjs node_modules/gpt-tokenizer/data node_modules/gpt-tokenizer/src
# A new volume takes over owner and mode of the folder it is mounted on. Made here, because the last stage may have no shell.
RUN mkdir -p var/throughline && chmod 700 var/throughline

# No RUN from here on: the base may have no shell.
FROM ${BASE}
ARG VERSION=0.1.0
ARG REVISION=
ARG CREATED=
LABEL org.opencontainers.image.title="throughline" \
      org.opencontainers.image.description="An LLM proxy that chains an agent platform to an external LLM gateway" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$REVISION" \
      org.opencontainers.image.created="$CREATED"
WORKDIR /app
# PATH: distroless has Node in /nodejs/bin. MALLOC_*, UV_* and NODE_OPTIONS: see bin/serving.js.
ENV PATH=/nodejs/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    NODE_ENV=production \
    MALLOC_ARENA_MAX=2 \
    MALLOC_TRIM_THRESHOLD_=131072 \
    UV_THREADPOOL_SIZE=16 \
    NODE_OPTIONS=--max-semi-space-size=8 \
    CONFIG_FILE_PATH=/etc/litellm/config.yaml \
    THROUGHLINE_DATA_DIR=/var/lib/throughline
COPY package.json LICENSE ./
COPY bin/throughline.js bin/install.js bin/serving.js bin/
COPY schemas/editor.json schemas/gateway.json schemas/
COPY config/samples config/samples
COPY --from=packages /app/sbom.cdx.json ./
COPY --from=packages /app/node_modules node_modules
COPY --from=build /app/dist dist
COPY console/dist console/dist
COPY --from=packages --chown=10001:10001 /app/var /var/lib
# A number, because Kubernetes' runAsNonRoot cannot look a name up.
USER 10001:10001
VOLUME /var/lib/throughline
EXPOSE 4000
# The first SIGTERM lets running requests end; docker stop --time must be above general_settings.drain_seconds.
STOPSIGNAL SIGTERM
# Without --start-interval, which Podman 4 and Docker before 25 do not know: they would refuse the whole file.
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 \
  CMD ["node", "/app/bin/throughline.js", "healthcheck"]
ENTRYPOINT ["node", "/app/bin/throughline.js"]
CMD ["serve"]
