// The calls about keys and users: their paths, and what the audit calls each.
import { adminChanges, changes, reads, readsBody, type CallRow } from './call-row.ts';
import { blockKey, deleteKeys, resetSpend, updateKey } from './keys-change.ts';
import { generateKey, generateServiceKey } from './keys-generate.ts';
import { listAliases, listKeys } from './keys-list.ts';
import { keyHealth, keyInfo, keysInfo } from './keys-read.ts';
import { regenerateKey } from './keys-regenerate.ts';
import { deleteUsers, updateUser } from './users-change.ts';
import { createUser } from './users-new.ts';
import { listUsers, userAlone, userInfo } from './users-read.ts';

export const KEY_ROUTES: readonly CallRow[] = [
  changes('key_generate', '/key/generate', generateKey),
  changes('key_generate', '/key/service-account/generate', generateServiceKey),
  reads('/key/info', keyInfo),
  readsBody('/v2/key/info', keysInfo, 'object'),
  reads('/key/list', listKeys),
  reads('/key/aliases', listAliases),
  changes('key_update', '/key/update', updateKey),
  changes('key_delete', '/key/delete', deleteKeys),
  changes('key_block', '/key/block', blockKey(true)),
  changes('key_unblock', '/key/unblock', blockKey(false)),
  changes('key_regenerate', '/key/regenerate', regenerateKey),
  changes('key_regenerate', '/key/{key}/regenerate', regenerateKey),
  changes('key_reset_spend', '/key/{key}/reset_spend', resetSpend),
  readsBody('/key/health', keyHealth, 'object'),
  adminChanges('user_new', '/user/new', createUser),
  reads('/user/info', userInfo),
  reads('/v2/user/info', userAlone),
  reads('/user/list', listUsers),
  reads('/user/get_users', listUsers),
  changes('user_update', '/user/update', updateUser),
  adminChanges('user_delete', '/user/delete', deleteUsers),
];
