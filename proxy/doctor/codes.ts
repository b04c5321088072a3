// Every code that the doctor reports: its level, the hop at fault, what it means, and what helps. docs/doctor.md has the
// same table, held by a test. A code keeps its meaning for good; a number that is no longer used is not used again.

/** Where a fault lies, in the order in which a call passes them. */
export const HOPS = [
  'client',
  'machine',
  'configuration',
  'proxy',
  'network',
  'gateway',
  'provider',
] as const;
export type Hop = (typeof HOPS)[number];

export type Level = 'error' | 'warning' | 'info';

interface CodeRule {
  readonly level: Level;
  readonly hop: Hop;
  readonly meaning: string;
  /** What helps in general; a finding mostly says it with its own names. */
  readonly fix: string;
}

const rule = (level: Level, hop: Hop, meaning: string, fix: string): CodeRule => ({
  level,
  hop,
  meaning,
  fix,
});

export const CODES = {
  'TL-1001': rule(
    'error',
    'machine',
    'This Node.js is older than the proxy needs.',
    'Run the Node.js that the package brings along, or a newer one.',
  ),
  'TL-1002': rule(
    'warning',
    'machine',
    'The process may open few files; each call needs two.',
    'Raise the limit: ulimit -n 65536, LimitNOFILE= in a systemd unit.',
  ),
  'TL-1003': rule(
    'warning',
    'machine',
    'The container has little memory for the proxy.',
    'Raise resources.limits.memory of the chart.',
  ),
  'TL-1004': rule(
    'warning',
    'machine',
    'This clock differs from those of the gateways.',
    'Synchronise the clock of this machine (timedatectl, chronyc tracking).',
  ),
  'TL-1101': rule(
    'error',
    'configuration',
    'The configuration cannot be served.',
    'Change the named line; throughline check shows every issue.',
  ),
  'TL-1102': rule(
    'warning',
    'configuration',
    'The configuration has something doubtful.',
    'Read the named line again.',
  ),
  'TL-1103': rule(
    'warning',
    'configuration',
    'A key stands in the file as plain text.',
    'Put it into a variable and write os.environ/NAME; then exchange the key.',
  ),
  'TL-1104': rule(
    'error',
    'configuration',
    'An environment variable that the file refers to is not set.',
    'Set the variable where the proxy runs.',
  ),
  'TL-1105': rule(
    'error',
    'configuration',
    'api_base is not spelled as its prefix asks: litellm_proxy/ takes it without /v1, openai/ with it.',
    'Write api_base as the finding says.',
  ),
  'TL-1106': rule(
    'error',
    'configuration',
    'A key has a blank, a line break or a character in it that no key has.',
    'Write the secret again without it; kubectl create secret --from-file keeps a newline at the end.',
  ),
  'TL-1107': rule(
    'error',
    'configuration',
    'Running requests may take longer than the process is given: it is killed in the middle of them.',
    'Raise terminationGracePeriodSeconds, or lower general_settings.drain_seconds.',
  ),
  'TL-1201': rule(
    'error',
    'machine',
    'The data directory cannot be used.',
    'Give it to the user of the process, on a local disk.',
  ),
  'TL-1202': rule(
    'error',
    'machine',
    'The data directory is on a network file system, where the locks of SQLite are not safe.',
    'Use a local disk or a block volume (ReadWriteOnce).',
  ),
  'TL-1203': rule(
    'warning',
    'machine',
    'The disk of the data directory is nearly full.',
    'Free space, or set general_settings.maximum_spend_logs_retention_period.',
  ),
  'TL-1204': rule(
    'warning',
    'machine',
    'The journal had damaged lines; they are set aside in damaged.log.',
    'Look at the lines, run throughline spend verify, then move the file away.',
  ),
  'TL-1205': rule(
    'warning',
    'machine',
    'Rows wait in the journal because the store does not take them.',
    'See that the database answers and has space; rows follow by themselves.',
  ),
  'TL-1206': rule(
    'error',
    'machine',
    'The store of spend rows cannot be reached.',
    'See database_url, its credential, and the network policy towards it.',
  ),
  'TL-1301': rule(
    'error',
    'proxy',
    'The proxy does not answer at this URL.',
    'Start it, or give the URL at which clients reach it.',
  ),
  'TL-1302': rule(
    'error',
    'proxy',
    'The proxy runs but takes no calls.',
    'Read the reason; readiness says it too.',
  ),
  'TL-1303': rule(
    'error',
    'client',
    'The proxy does not accept the key that the doctor was given.',
    'Give a key of this proxy, not of the gateway behind it.',
  ),
  'TL-1304': rule(
    'warning',
    'proxy',
    'Not all worker processes serve.',
    'Read the log for `a worker ended`; memory is the usual cause.',
  ),
  'TL-1305': rule(
    'error',
    'network',
    'Something in front of the proxy collects the events of a stream and passes them on in one piece.',
    'Switch buffering off there; nginx: proxy_http_version 1.1 and proxy_buffering off.',
  ),
  'TL-1306': rule(
    'warning',
    'configuration',
    'The last reload was refused; the proxy serves an older configuration.',
    'Mend the file; throughline check shows every issue.',
  ),
  'TL-1307': rule(
    'error',
    'network',
    'What answers at this URL is not this proxy.',
    'Check host, port and path of the URL, and what stands in front of the proxy.',
  ),
  'TL-1308': rule(
    'warning',
    'configuration',
    'The running proxy serves another configuration than this file.',
    'Reload (SIGHUP), or name the file that it was started with.',
  ),
  'TL-1309': rule(
    'error',
    'network',
    'Headers of the caller are removed in front of the proxy, so that calls have no session and no tags.',
    'Look at the Ingress or load balancer of the URL, and let x- headers pass.',
  ),
  'TL-1401': rule(
    'error',
    'network',
    'The name of the gateway does not resolve here.',
    'Check the host of api_base; in Kubernetes also the namespace, dnsConfig and egress to DNS.',
  ),
  'TL-1402': rule(
    'error',
    'network',
    'Nothing listens at this address.',
    'Check host and port of api_base, and that the gateway runs.',
  ),
  'TL-1403': rule(
    'error',
    'network',
    'No connection comes about: packets are dropped on the way.',
    'Check firewalls, routes and network policies; see whether an outgoing proxy is needed.',
  ),
  'TL-1404': rule(
    'error',
    'network',
    'The outgoing HTTP proxy does not let the connection through.',
    'Check HTTPS_PROXY and its credential, or name the gateway in NO_PROXY.',
  ),
  'TL-1405': rule(
    'error',
    'network',
    'The certificate of the gateway comes from an authority that is not known here.',
    'Name the file of that authority in ssl_verify of the entry, or in NODE_EXTRA_CA_CERTS and restart.',
  ),
  'TL-1406': rule(
    'error',
    'gateway',
    'The certificate of the gateway has expired, or is not valid yet.',
    'Have it renewed at the gateway; check the clock of this machine.',
  ),
  'TL-1407': rule(
    'error',
    'gateway',
    'The certificate of the gateway is for another name.',
    'Use one of the names of the certificate in api_base.',
  ),
  'TL-1408': rule(
    'error',
    'network',
    'TLS fails.',
    'See whether api_base needs http:// instead of https://, and which TLS versions are allowed.',
  ),
  'TL-1409': rule(
    'warning',
    'gateway',
    'The certificate of the gateway expires soon.',
    'Have it renewed at the gateway.',
  ),
  'TL-1410': rule(
    'error',
    'configuration',
    'A model of /model/new leads to a link-local or metadata address, which is refused.',
    'Use another address; see general_settings.runtime_models.',
  ),
  'TL-1501': rule(
    'error',
    'gateway',
    'The connection is open, but no answer comes.',
    'Look at the gateway: its load, its database, what it waits for.',
  ),
  'TL-1502': rule(
    'error',
    'configuration',
    'The gateway serves its API under another path than api_base says.',
    'Write api_base as the finding says.',
  ),
  'TL-1503': rule(
    'error',
    'configuration',
    'The gateway has no such path, and none of the usual ones answers.',
    'Look up the base URL of the API in the documentation of the gateway.',
  ),
  'TL-1504': rule(
    'error',
    'gateway',
    'The gateway does not accept the key of the entry.',
    'Put a valid key of that gateway into the variable that api_key names.',
  ),
  'TL-1505': rule(
    'error',
    'network',
    'A web page answers instead of the gateway: a login page, a web firewall, or another server.',
    'Use the address of the API itself, or have the firewall let this machine pass.',
  ),
  'TL-1506': rule(
    'error',
    'configuration',
    'The gateway does not know the model.',
    'Write the name as the gateway lists it; the key may also not be allowed to see it.',
  ),
  'TL-1507': rule(
    'info',
    'gateway',
    'The gateway has no list of models, so that names cannot be checked for free.',
    'Nothing to do; --send checks each entry with a call.',
  ),
  'TL-1508': rule(
    'error',
    'gateway',
    'The gateway, or a load balancer in front of it, fails.',
    'Look at the log of the gateway.',
  ),
  'TL-1509': rule(
    'warning',
    'gateway',
    'The gateway refuses for now: a limit or a budget is reached.',
    'Wait, or have the limit of this key raised at the gateway.',
  ),
  'TL-1510': rule(
    'warning',
    'gateway',
    'The clock of the gateway differs from this one.',
    'Synchronise both clocks; signed requests and tokens fail from 5 minutes on.',
  ),
  'TL-1511': rule(
    'error',
    'configuration',
    'The gateway redirects; calls are not sent elsewhere, because of the key in them.',
    'Put the address that it redirects to into api_base.',
  ),
  'TL-1512': rule(
    'error',
    'gateway',
    'The connection is closed without an answer, or the answer is not HTTP.',
    'Check the port and http:// or https://; look at what stands in front of the gateway.',
  ),
  'TL-1513': rule(
    'error',
    'configuration',
    'The gateway asks for a key, and the entry has none.',
    'Add api_key: os.environ/NAME to the entry.',
  ),
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
} as const satisfies Readonly<Record<string, CodeRule>>;

export type Code = keyof typeof CODES;
