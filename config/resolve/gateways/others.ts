// Headers that steer gateways and servers which have no dialect of their own here, and those by which a proxy in front
// states the client, the caller or the target: a server behind believes them, so a client may not write them.
import type { Steering } from './gateway.ts';

const cloudflare: Steering = {
  kind: 'Cloudflare',
  steers: ['cf-*'], // cf-aig-authorization, -byok-alias, -skip-cache, -max-attempts, ...; cf-connecting-ip, cf-access-*
  describes: ['cf-aig-metadata'],
};

const helicone: Steering = {
  kind: 'Helicone',
  steers: ['helicone-*', 'x-helicone-*'], // helicone-auth, -target-url, -openai-api-base, -fallbacks, -model-override, ...
  describes: ['helicone-property-*', 'helicone-session-*', 'helicone-user-id', 'helicone-request-id'],
};

const kong: Steering = {
  kind: 'Kong',
  steers: ['kong-*', 'x-kong-*', 'x-consumer-*', 'x-credential-*', 'x-anonymous-consumer', 'x-userinfo'],
  describes: [],
};

/** Envoy, its AI gateway and the inference extension of the Kubernetes Gateway API. */
const envoy: Steering = {
  kind: 'Envoy',
  steers: ['x-envoy-*', 'x-ai-eg-*', 'x-gateway-destination-*', 'x-gateway-inference-*', 'x-gateway-model-*'],
  describes: [],
};

const openrouter: Steering = {
  kind: 'OpenRouter',
  steers: ['x-openrouter-*'], // caching and beta switches
  describes: ['x-openrouter-title', 'x-openrouter-categories'],
};

/** Traceloop's hub, Vercel's AI gateway, Traefik and Fastly. */
const edges: Steering = {
  kind: 'an edge',
  steers: ['x-traceloop-pipeline', 'ai-gateway-*', 'x-vercel-*', 'x-traefik-*', 'fastly-*'],
  describes: [],
};

/** Providers read project, guardrail, capacity and signature from headers. */
const providers: Steering = {
  kind: 'a provider',
  steers: [
    'x-goog-*',
    'x-vertex-ai-*',
    'x-amz-*',
    'x-amzn-*',
    'x-ms-*',
    'azureml-model-deployment',
    'ocp-apim-*',
  ],
  describes: [
    'x-goog-api-client',
    'x-amzn-trace-id',
    'x-amzn-requestid',
    'x-ms-client-request-id',
    'x-ms-useragent',
  ],
};

/** vLLM and llm-d: rank and address of the worker that computes. */
const inferenceServers: Steering = {
  kind: 'an inference server',
  steers: ['x-data-parallel-*', 'x-prefiller-*', 'x-encoder-hosts-ports'],
  describes: [],
};

/** The kind of headers that are no gateway's own. */
export const ANY_SERVER = 'any server';

const anyServer: Steering = {
  kind: ANY_SERVER,
  steers: [
    // The target, read by frameworks and rewriting proxies.
    'x-original-*',
    'x-rewrite-*',
    'x-host',
    'x-http-host-override',
    'x-http-method',
    'x-http-method-override',
    'x-method-override',
    'x-http-destinationurl',
    'x-accel-*',
    'x-sendfile-*',
    'x-script-name',
    'proxy', // becomes HTTP_PROXY where a server speaks CGI (CVE-2016-5385)
    // The client: RFC 7239 and what came before it.
    'forwarded',
    'forwarded-*',
    'x-forwarded',
    'x-forwarded-*',
    'x-forwarder-for',
    'x-real-*',
    'x-client-ip',
    'x-client-port',
    'x-cluster-client-ip',
    'x-originating-ip',
    'x-source-ip',
    'x-true-client-ip',
    'true-client-ip',
    'client-ip',
    'x-azure-*',
    'x-appengine-*',
    'x-scheme',
    'x-url-scheme',
    'via',
    // The caller, as an authenticating proxy states it.
    'remote-*',
    'x-remote-*',
    'x-user',
    'x-username',
    'x-user-name',
    'x-user-email',
    'x-user-role',
    'x-user-roles',
    'x-user-group',
    'x-user-groups',
    'x-groups',
    'x-roles',
    'x-auth-request-*',
    'x-authenticated-*',
    'x-auth-user',
    'x-webauth-*',
    'x-vouch-*',
    'x-authentik-*',
    'x-pomerium-*',
    'tailscale-user-*',
    'x-endpoint-api-userinfo',
    'x-apigateway-api-userinfo',
    'x-jwt-assertion',
    'x-client-cert',
    'x-client-cert-*',
    'x-ssl-*',
    'ssl-client-*',
    'client-cert',
    'client-cert-chain', // RFC 9440
  ],
  describes: [],
};

export const OTHER_STEERING: readonly Steering[] = [
  cloudflare,
  helicone,
  kong,
  envoy,
  openrouter,
  edges,
  providers,
  inferenceServers,
  anyServer,
];
