// A form on its way to the server: busy until it is closed, or the error as a sentence where it was refused.
import { useState } from 'preact/hooks';
import { messageOf } from '../base/message.ts';

interface State {
  readonly busy: boolean;
  readonly error: string | null;
}

interface Sending extends State {
  /** `act` sends, and closes the form when it was taken. */
  readonly send: (act: () => Promise<void>) => Promise<void>;
}

export function useSending(): Sending {
  const [state, setState] = useState<State>({ busy: false, error: null });
  const send = async (act: () => Promise<void>): Promise<void> => {
    setState({ busy: true, error: null });
    try {
      await act();
    } catch (thrown) {
      setState({ busy: false, error: messageOf(thrown) });
    }
  };
  return { ...state, send };
}
