// Why a request may be sent again. A file of its own, since those who throw it and those who catch it import each other.

/** The request did not reach the upstream in full, and no byte of a response came. */
export class Undelivered extends Error {
  override readonly name = 'Undelivered';
}
