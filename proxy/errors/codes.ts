// The closed table of faults on the request path. One row = one code = one status; a test compares docs/errors.md with it
// in both directions. Texts never contain "429" or "rate limit" where that is not meant: client SDKs match
// on those words whatever the status is.

import { client, proxy, type FaultRule } from './fault-rule.ts';
import { FAULT_FINDING_FAULTS } from './fault-finding-codes.ts';
import { CONSOLE_FAULTS } from './console-codes.ts';
import { MANAGEMENT_FAULTS } from './management-codes.ts';
import { REALTIME_FAULTS } from './realtime-codes.ts';
import { UPSTREAM_FAULTS } from './upstream-codes.ts';

export type { FaultSource } from './fault-rule.ts';

export const FAULTS = {
  missing_api_key: client(
    401,
    'The request carries no key.',
    'Send the key as `Authorization: Bearer <key>` (or api-key, x-api-key, x-goog-api-key, x-litellm-api-key).',
    'auth_error',
  ),
  invalid_api_key: client(
    401,
    'The key is not one that this proxy accepts.',
    'Check that the client uses a key of this proxy, not the key of the gateway behind it.',
    'auth_error',
  ),
  key_blocked: client(
    401,
    'The virtual key is blocked.',
    'Ask an administrator; POST /key/unblock undoes it.',
    'auth_error',
  ),
  key_expired: client(
    401,
    'The virtual key has reached the end of its duration.',
    'Use another key; an administrator can give this one more time by POST /key/update.',
    'expired_key',
  ),
  team_blocked: client(
    401,
    'The team of the virtual key is blocked.',
    'Ask an administrator; POST /team/unblock undoes it.',
    'auth_error',
  ),
  team_removed: client(
    401,
    'The team of the virtual key was taken out of the configuration file, and with it what the key may spend and call.',
    'State the team again, or give the key another one, or none, by POST /key/update.',
    'auth_error',
  ),
  admin_key_required: client(
    403,
    'The key is known, but it makes LLM calls and reads listings only (general_settings.inference_keys, keys of conversations, virtual keys of no proxy_admin).',
    'Use the master key for spend rows, metrics, health details and model administration.',
    'auth_error',
  ),
  route_denied: client(
    403,
    'The virtual key does not open this route: by its key_type, or by its allowed_routes.',
    'Use another key, or let an administrator change this one.',
    'auth_error',
  ),
  key_model_access_denied: client(
    403,
    'The list of models of the virtual key does not have this one, or what serves it is of another team (model_info.team_id).',
    'GET /v1/models lists what the key may call; an administrator can add to it by POST /key/update.',
    'key_model_access_denied',
  ),
  team_model_access_denied: client(
    403,
    'The list of models of the team of the key does not have this one.',
    'GET /v1/models lists what the key may call; an administrator can add to it by POST /team/update.',
    'team_model_access_denied',
  ),
  user_model_access_denied: client(
    403,
    'The list of models of the user of the key does not have this one.',
    'GET /v1/models lists what the key may call; an administrator can add to it by POST /user/update.',
    'user_model_access_denied',
  ),
  org_model_access_denied: client(
    403,
    'The list of models of the organization of the key does not have this one.',
    'GET /v1/models lists what the key may call; an administrator can add to it by POST /organization/update.',
    'org_model_access_denied',
  ),
  address_not_allowed: client(
    403,
    'The address of the caller is not in general_settings.allowed_ips.',
    'Add it there; behind a load balancer set use_x_forwarded_for and trusted_proxies as well.',
    'auth_error',
  ),
  route_not_found: client(
    404,
    'There is no such path on this port. Paths are compared as they are sent, without decoding.',
    'See docs/endpoints.md; the base URL of an OpenAI client ends in /v1. With general_settings.admin_port, metrics, spend and administration are on that port alone.',
  ),
  method_not_allowed: client(
    405,
    'The path exists, the method does not.',
    'Use a method of the `allow` header.',
  ),
  bad_request_target: client(
    400,
    'The request target is not a plain path (absolute URL, `*`, control or non-ASCII characters).',
    'Send `POST /v1/...` to the proxy itself; it is not a forward proxy.',
  ),
  bad_framing: client(
    400,
    'The request could be read in two ways: two Host headers, an odd Transfer-Encoding, a body on a GET.',
    'Send one Host and either Content-Length or `Transfer-Encoding: chunked`.',
  ),
  malformed_request: client(
    400,
    'The bytes are not an HTTP/1.1 request.',
    'Check the client or what is between.',
  ),
  too_many_headers: client(
    431,
    'More headers, or longer ones, than are allowed.',
    'Send fewer; raise general_settings.max_request_headers if they are needed.',
  ),
  credentials_in_query: client(
    400,
    'The query string carries a key, which would end up in logs along the way.',
    'Send the key in a header.',
  ),
  duplicate_parameter: client(
    400,
    'A query parameter that goes upstream stands twice; two servers could read different values.',
    'Send it once.',
  ),
  duplicate_credentials: client(
    400,
    'A header that carries a key stands twice; two servers could read different keys.',
    'Send it once.',
  ),
  host_not_allowed: client(
    421,
    'The Host header names neither this machine nor a host that is allowed: a web page could reach the proxy by such a name (DNS rebinding).',
    'Call it as localhost or 127.0.0.1, or list the name in general_settings.allowed_hosts.',
  ),
  cross_origin_request: client(
    415,
    'A web page of another origin sent a body that browsers do not ask about first, and no key; or it opens a WebSocket without one (status 403).',
    'Send `content-type: application/json`, or a key; list the origin in general_settings.cors.',
  ),
  body_too_large: client(
    413,
    'The request body is larger than allowed.',
    'Send less, or raise general_settings.max_request_size_mb; the routes of the proxy itself have bounds of their own.',
  ),
  body_timeout: client(408, 'The body did not arrive in time.', 'Check the network; send again.'),
  unsupported_media_type: client(
    415,
    'The body is of a kind this endpoint does not take.',
    'Send `content-type: application/json` (multipart/form-data for uploads).',
  ),
  compressed_body: client(
    415,
    'The request body is compressed, which is not enabled.',
    'Send it plain, or set general_settings.accept_compressed_requests.',
  ),
  bad_compressed_body: client(400, 'The compressed request body cannot be inflated.', 'Send it plain.'),
  body_not_json: client(400, 'The request body is not JSON.', 'The message names the place.'),
  body_not_object: client(400, 'The request body is JSON, but not an object.', 'Send one JSON object.'),
  body_too_deep: client(
    400,
    'The request body is nested deeper than allowed.',
    'Flatten it, or raise general_settings.max_json_depth.',
  ),
  body_too_complex: client(
    400,
    'The body has more top-level members, a longer name or number, or more in members that the proxy reads than it takes: 10,000 members, names of 1,024 bytes, 256 KiB of `metadata`, `tags` and the like; or more than 100,000 values, where it is built as a whole: translated calls, and the routes of the proxy itself.',
    'Send less of it; the message names the place.',
  ),
  body_not_utf8: client(
    400,
    'The request body is not valid UTF-8.',
    'Encode it as UTF-8, without a byte-order mark.',
  ),
  duplicate_member: client(
    400,
    'A member that the proxy acts on stands twice in the body; two parsers could disagree about it.',
    'Send it once.',
  ),
  bad_multipart: client(400, 'The multipart body is malformed.', 'The message names the place.'),
  missing_model: client(400, 'The request names no model.', 'Send `model`; GET /v1/models lists the names.'),
  invalid_member: client(400, 'A member of the body has a wrong type.', 'The message names it.'),
  untranslatable_member: client(
    400,
    'The upstream speaks another protocol than the caller, and that protocol has no place for this member.',
    'Leave out the member that the message names; with litellm_settings.drop_params it is dropped and named in a response header.',
  ),
  endpoint_not_translated: client(
    400,
    'The upstream speaks another protocol than the caller, and that protocol has nothing like this endpoint.',
    'Ask for a model whose gateway speaks the API of the endpoint.',
  ),
  invalid_header: client(400, 'A header that the proxy acts on has a wrong value.', 'The message names it.'),
  missing_end_user: client(
    400,
    'The call states no end user, and general_settings.enforce_user_param asks for one.',
    'Send `user` in the body.',
  ),
  blocked_end_user: client(
    400,
    'The end user of the call is in litellm_settings.blocked_user_list.',
    'Ask the operator.',
  ),
  client_tags_refused: client(
    400,
    'The call states tags, and general_settings.reject_clientside_metadata_tags is on.',
    'Leave out the member or header that the message names.',
  ),
  parameter_not_allowed: client(
    400,
    'A member of the body steers the gateway behind the proxy: its model, key, address, route, retries, mocks, callbacks, caches, guardrails or prices.',
    'Leave it out; or the operator allows it with `allowed_client_parameters`, in general_settings or on the deployment.',
  ),
  model_not_found: client(
    404,
    'No deployment of the configuration has this name.',
    'GET /v1/models lists the names.',
  ),
  provider_required: client(
    400,
    'A wildcard deployment passes names on to a gateway that wants `provider/model`; this name has no provider.',
    'Ask for `provider/model`, e.g. `anthropic/claude-sonnet-4-5`.',
  ),
  response_not_found: client(
    404,
    'No response with this id was made through this proxy with this key: in the path, or as `previous_response_id`.',
    'Check the id and the key; ids are known as long as their spend records are kept.',
  ),
  invalid_parameter: client(
    400,
    'A query parameter is missing or wrong.',
    'The message names it.',
    'bad_request',
  ),
  invalid_model_entry: client(
    400,
    'The deployment is not valid, by the same rules as the file.',
    'The message lists every issue.',
  ),
  model_id_not_found: client(404, 'No runtime model has this id.', 'GET /model/info lists the ids.'),
  model_in_config: client(
    400,
    'The deployment is in the configuration file, which the API cannot edit.',
    'Edit the file; it is reloaded at once.',
  ),
  ...FAULT_FINDING_FAULTS,
  ...MANAGEMENT_FAULTS,
  ...CONSOLE_FAULTS,
  budget_exceeded: client(
    422,
    'A budget of the call has no room for what it may cost; the text says which (that of the proxy has no name), what is left and when it begins anew.',
    'Lower max_tokens, wait until the budget begins anew, or have it raised. The status is litellm_settings.budget_exceeded_status_code.',
    'budget_exceeded',
  ),
  missing_parameter: client(
    400,
    'The call lacks a member without which its endpoint has nothing to do: `messages`, `input`, `prompt`, ...; the text names it.',
    'Add it to the body.',
  ),
  session_calls_used_up: client(
    422,
    'The conversation has made as many calls as `max_iterations` in the metadata of its key allows.',
    'Begin another conversation, or have the number raised. The status is litellm_settings.budget_exceeded_status_code.',
    'budget_exceeded',
  ),
  rate_limit_exceeded: client(
    429,
    'A limit of the key, or of its user, team, end user or organization is reached (requests or tokens per minute, calls at a time); the text says which.',
    'Send the request again after `retry-after`; have the limit raised; general_settings.limit_queue_seconds lets calls wait instead.',
    'rate_limit_error',
  ),
  doctor_running: client(
    409,
    'A run of the doctor that makes calls is under way; there is one at a time.',
    'Wait for it, then read GET /doctor.',
  ),
  idempotency_mismatch: client(
    422,
    'The Idempotency-Key was used for another request.',
    'Use a new key for each request, and the same one only to send a request again unchanged.',
    'idempotency_error',
  ),
  idempotency_conflict: client(
    409,
    'The call with this Idempotency-Key was made, and its response cannot be given again: a stream, one that was too large, or one that nobody got.',
    'The message names the call and how it ended; its row has the cost. Use a new key to make, and pay, it again.',
    'idempotency_error',
  ),
  conversation_stopped: client(
    400,
    'The runaway brake has stopped the conversation: its agent goes in circles, or spends far more than before.',
    'Write a new message in the conversation, which lets it go on; or an administrator resumes it with `POST /conversations/{id}/brake/resume`. docs/brake.md explains the rules.',
    'runaway_conversation',
  ),
  conversation_not_found: client(
    404,
    'The runaway brake knows no such conversation of this key.',
    'Check the id: it is the `session_id` of the spend rows, or `first-message:...` of `GET /conversations/braked`.',
  ),
  alert_not_found: client(
    404,
    'There is no alert of this id.',
    'Take one of `GET /alerts`: it lists those of the last 90 days.',
  ),
  brake_off: client(400, 'The runaway brake is off.', 'Add the section `brake` to the configuration.'),
  client_gone: client(
    499,
    'The client left before the response was complete.',
    'Nothing; recorded only.',
    'client_gone',
  ),
  client_timeout: client(
    408,
    'The upstream sent no response within the time that the client gave it (x-litellm-timeout, x-litellm-stream-timeout).',
    'Give it more time. It does not count against the deployment.',
    'timeout_error',
  ),

  journal_unwritable: proxy(
    503,
    'The spend journal cannot be written (disk full?), and requests without a record are not served.',
    'Free space in the data directory; or set general_settings.journal.when_unwritable to serve.',
  ),
  budget_unverified: proxy(
    503,
    'The call has a budget, and the store that knows what was spent does not answer.',
    'Try again; see the log of the proxy. With general_settings.allow_requests_on_db_unavailable such calls are served.',
  ),
  counters_unavailable: proxy(
    503,
    'The call has limits, a budget or an Idempotency-Key, the counters that servers share do not answer, and the configuration says to refuse then.',
    'Try again; see the log of the proxy. Without the fail_closed_* settings of general_settings each server allows its share; without idempotency.fail_closed it knows its own calls.',
  ),
  store_unavailable: proxy(
    503,
    'The store does not respond, so rows cannot be read or models stored.',
    'See the log of the proxy; requests are still served and recorded in the journal.',
  ),
  internal_error: proxy(
    500,
    'A bug in the proxy.',
    'Report the call id; the log of the proxy has the stack.',
    'internal_server_error',
  ),
  overloaded: proxy(
    503,
    'All places for calls of this model, or of the whole proxy, are taken, and its queue is full or took too long; or the process lags (max_event_loop_lag_ms), or has no file descriptor left for a connection.',
    'Send the request again after `retry-after`; raise max_parallel_requests, max_queued_requests or max_queue_seconds; add deployments, workers or replicas.',
    'overloaded_error',
  ),
  shutting_down: proxy(
    503,
    'The proxy was told to stop, and the response was not complete when its time was over.',
    'Send the request again; let responses take longer with general_settings.drain_seconds.',
  ),
  interrupted: proxy(
    500,
    'The process ended before the response was complete.',
    'Nothing; recorded by recovery only.',
  ),

  ...REALTIME_FAULTS,
  ...UPSTREAM_FAULTS,
} as const satisfies Record<string, FaultRule>;

export type FaultCode = keyof typeof FAULTS;
