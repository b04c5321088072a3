// Options of the HTTP servers that tests write: an idle connection stays open to the end of the test. Node closes it after
// 5 s, which on a busy machine is between two calls, and the second one may be on its way just then.
export const KEEPS_IDLE = { keepAliveTimeout: 0 } as const;
