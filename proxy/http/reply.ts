// The former names of ../server/downstream-response.ts, for those that still use them.
export {
  DownstreamResponse as Reply,
  type ResponseWatcher as ReplyWatcher,
} from '../server/downstream-response.ts';
