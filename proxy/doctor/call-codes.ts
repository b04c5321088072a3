// Codes of calls that cost money, TL-16xx; a part of codes.ts.
import { rule } from './code-rule.ts';

export const CALL_CODES = {
  'TL-1601': rule(
    'error',
    'gateway',
    'The gateway refuses the call.',
    'Read what it says; try the model at the gateway itself.',
  ),
  'TL-1602': rule(
    'info',
    'provider',
    'The model takes no tools. The chain is in order: without tools the same call is answered.',
    'Use another model for agents, or state supports_function_calling: false.',
  ),
  'TL-1603': rule(
    'error',
    'proxy',
    'The tool call arrives from the gateway directly, but not through the proxy.',
    'Run throughline explain for this model and report what it says.',
  ),
  'TL-1604': rule(
    'warning',
    'gateway',
    'The stream states no usage, so that spend can only be estimated.',
    'Switch usage in streams on at the gateway, or set general_settings.estimate_missing_usage.',
  ),
  'TL-1605': rule(
    'warning',
    'gateway',
    'The stream arrives in one piece at its end: somebody behind the proxy collects it.',
    'Switch buffering off at the gateway or in front of it; nginx: proxy_http_version 1.1 and proxy_buffering off.',
  ),
  'TL-1606': rule(
    'warning',
    'gateway',
    'The stream ends without the event that marks its end.',
    'Update the gateway; look for a timeout on the way that cuts streams.',
  ),
  'TL-1607': rule(
    'error',
    'network',
    'Headers are removed between this machine and the gateway.',
    'Look at what stands in front of the gateway; nginx drops names with underscores.',
  ),
  'TL-1608': rule(
    'error',
    'proxy',
    'The call works at the gateway directly, but not through the proxy.',
    'Read what the proxy answers; its log has a line with the call id.',
  ),
  'TL-1609': rule(
    'error',
    'network',
    'The call works at the gateway directly, but what stands in front of the proxy answers in its place.',
    'Look at the Ingress or load balancer of the URL.',
  ),
  'TL-1610': rule(
    'info',
    'provider',
    'The model answered in text although a tool was offered; that is its choice, not a fault of the chain.',
    'Try a model that is made for tools.',
  ),
  'TL-1611': rule(
    'error',
    'provider',
    'The gateway passes on an error of the provider behind it.',
    'Look at the account, the quota and the status page of the provider.',
  ),
  'TL-1612': rule(
    'warning',
    'proxy',
    'The proxy itself adds much to the time to the first byte.',
    'See throughline_event_loop_lag_seconds, the CPU limit of the pod and the queue of the entry; then add workers or a replica.',
  ),
  'TL-1613': rule(
    'warning',
    'network',
    'Calls through the proxy take much longer to the first byte than the same calls directly, and not in the proxy.',
    'Look at what stands in front of the proxy, and at where the proxy runs: it may be further from the gateway than this machine.',
  ),
} as const;
