// The former place of ../bodies/body-memory.ts, for those that still import it from here.
export { headroomOf, roomy, roomyBuffer } from '../bodies/body-memory.ts';
