# The image of the proxy: the built program and its production packages on a slim Node, as a user without rights.
# docker build -t throughline . && docker run -p 4000:4000 -e PROXY_MASTER_KEY=sk-... -v ./gateway.yaml:/etc/litellm/config.yaml:ro throughline

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

FROM node:26-slim
WORKDIR /app
# MALLOC_ARENA_MAX and NODE_OPTIONS: see bin/memory.js.
ENV NODE_ENV=production \
    MALLOC_ARENA_MAX=2 \
    NODE_OPTIONS=--max-semi-space-size=8 \
    CONFIG_FILE_PATH=/etc/litellm/config.yaml \
    THROUGHLINE_DATA_DIR=/var/lib/throughline
COPY package.json LICENSE ./
COPY bin bin
COPY schemas schemas
COPY config/samples config/samples
COPY --from=packages /app/node_modules node_modules
COPY --from=build /app/dist dist
# A new volume takes over owner and mode of the folder it is mounted on.
RUN install -d -o 10001 -g 10001 -m 700 /var/lib/throughline
# A number, because Kubernetes' runAsNonRoot cannot look a name up.
USER 10001:10001
VOLUME /var/lib/throughline
EXPOSE 4000
ENTRYPOINT ["node", "/app/bin/throughline.js"]
CMD ["serve"]
