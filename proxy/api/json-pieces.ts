// JSON of long lists, made in parts so that other requests go on.
import { mapInTurns } from '../base/turns.ts';

const ROWS_PER_TURN = 50;

/** A JSON document that is text already. */
export class JsonText {
  readonly bytes: Buffer;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }
}

/** An array of what `row` makes of each item, in their order. */
export async function jsonList<T>(
  items: readonly T[],
  row: (item: T, index: number) => unknown,
): Promise<JsonText> {
  const texts = await mapInTurns(
    items,
    (item, index) => Buffer.from(`${index === 0 ? '' : ','}${JSON.stringify(row(item, index))}`),
    ROWS_PER_TURN,
  );
  return new JsonText(Buffer.concat([Buffer.from('['), ...texts, Buffer.from(']')]));
}
