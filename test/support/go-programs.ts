// Programs in Go that tests start for a moment: what a collection frees is never needed. A run of helm costs a third less.
export const WITHOUT_COLLECTIONS = { GOGC: 'off', GOMEMLIMIT: '1GiB' };
