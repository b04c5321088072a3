// Faults of calls that ask for a fault by name, and of recordings of calls.
import { client, proxy } from './fault-rule.ts';

export const FAULT_FINDING_FAULTS = {
  chaos_denied: client(
    403,
    'The model name asks for a fault (`chaos/<fault>/<model>`), and the key is no test key.',
    'Use a key whose metadata say `allow_chaos: true`; for the master key set general_settings.allow_chaos.',
    'auth_error',
  ),
  unknown_chaos: client(
    400,
    'The model name asks for a fault that there is not, or names no model behind it.',
    'GET /v1/models?include_chaos=true lists the names; docs/find-a-fault.md explains each.',
  ),
  capsules_off: client(
    400,
    'No call can be recorded.',
    'Add general_settings.capsules to the configuration and restart.',
  ),
  capsule_not_found: client(
    404,
    'There is no recording under way, and no capsule on this server, of this id.',
    'GET /capsules lists them; other servers have files of their own.',
  ),
  capsules_unwritable: proxy(
    503,
    'The folder of capsules cannot be read or written.',
    'Make general_settings.capsules.directory a folder that the process may write; calls are served meanwhile.',
  ),
} as const;
