import type { Define } from './terminal.ts';
export const init: Define = () => undefined;
