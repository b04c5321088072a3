// Faults of upstreams: no connection, no response in time, or one that is broken; a part of the table in codes.ts.
import { upstream } from './fault-rule.ts';
import type { FaultRule } from './fault-rule.ts';

export const UPSTREAM_FAULTS = {
  upstream_unreachable: upstream(
    503,
    'No connection to the upstream could be made (refused, name unknown, TLS).',
    'Check api_base and the gateway.',
  ),
  upstream_broken: upstream(
    503,
    'The upstream closed the connection before it responded, or its response is not HTTP, or cannot be translated into the protocol of the call.',
    'Look at the gateway; the request may have reached it.',
  ),
  bad_upstream_answer: upstream(
    502,
    'What a stream holds is not of its protocol, so it cannot be translated; or the model wrote a tool call that cannot be read, or whose arguments are no JSON. Sent as the last event of the stream.',
    'Send the request again; check with `supported_endpoints` that the upstream speaks this protocol.',
  ),
  stream_broken: upstream(
    503,
    'The response was cut after it had begun; sent as the last event of the stream.',
    'Send the request again.',
  ),
  stream_truncated: upstream(
    503,
    'The stream ended without its terminal event; sent as the last event of the stream.',
    'Send the request again; look at the gateway.',
  ),
  connect_timeout: upstream(
    504,
    'No connection stood within connect_timeout.',
    'Check the network path to api_base.',
    'timeout_error',
  ),
  first_byte_timeout: upstream(
    504,
    'The upstream sent no response within timeout (stream_timeout for streams).',
    'Raise it on the deployment if the model is that slow.',
    'timeout_error',
  ),
  first_token_timeout: upstream(
    504,
    'The stream of the upstream held no token within ttft_timeout.',
    'Raise it on the deployment if the model thinks that long; add a deployment or a fallback that can take over.',
    'timeout_error',
  ),
  idle_timeout: upstream(
    504,
    'The upstream fell silent for idle_timeout in the middle of its response.',
    'Raise it on the deployment if the model pauses that long.',
    'timeout_error',
  ),
  total_timeout: upstream(
    504,
    'The response was not complete within total_timeout.',
    'Raise it on the deployment for longer responses.',
    'timeout_error',
  ),
} as const satisfies Record<string, FaultRule>;
