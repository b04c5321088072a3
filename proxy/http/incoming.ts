// The former names of ../server/downstream-request.ts, for those that still use them.
export { DownstreamRequest as Incoming } from '../server/downstream-request.ts';
