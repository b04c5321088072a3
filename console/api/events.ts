// Server-Sent Events of a response: an answer of a model, rows as they come.

export interface ServerEvent {
  /** '' = it has none. */
  readonly name: string;
  /** Where to go on from after a break; '' = it has none. */
  readonly id: string;
  readonly data: string;
}

/** The events as they come, without those that carry no data. */
export async function* eventsOf(response: Response): AsyncGenerator<ServerEvent> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  if (reader === undefined) return;
  let rest = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const events = (rest + value).split(/\r?\n\r?\n/);
    rest = events.pop() ?? '';
    for (const event of events) {
      const read = eventIn(event);
      if (read !== null) yield read;
    }
  }
}

function eventIn(text: string): ServerEvent | null {
  const values = (name: string): readonly string[] =>
    text
      .split(/\r?\n/)
      .flatMap((line) => (line.startsWith(`${name}:`) ? [line.slice(name.length + 1).trim()] : []));
  const data = values('data');
  if (data.length === 0) return null;
  return { name: values('event').at(-1) ?? '', id: values('id').at(-1) ?? '', data: data.join('\n') };
}
