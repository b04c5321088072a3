// `throughline demo-gateway`: a scriptable external gateway to try things against.
import { parseArgs } from 'node:util';
import { describeBehaviours } from '../demo/behaviours.ts';
import { startDemoGateway } from '../demo/gateway.ts';
import { CannotStart } from '../errors/cannot-start.ts';
import { portOf, type Command } from './terminal.ts';

const USAGE = `throughline demo-gateway [--port N] [--host H]

A gateway without models behind it: proxy-type face at http://HOST:PORT, compat-type face at http://HOST:PORT/compat/v1.
The last word of the model name selects what it does:

${describeBehaviours()}
`;

export const demoGateway: Command = {
  name: 'demo-gateway',
  summary: 'run a scriptable external gateway',
  usage: USAGE,
  run: async (args, terminal) => {
    const options = { port: { type: 'string' }, host: { type: 'string' } } as const;
    const { values } = parseArgs({ args: [...args], options });
    const host = values.host ?? '127.0.0.1';
    const demo = await startDemoGateway({
      host,
      port: portOf(values.port, terminal, 4010),
      keepSeen: 1,
    }).catch((error: Error) => {
      throw new CannotStart(error.message);
    });
    terminal.out(
      `demo gateway: proxy-type api_base ${demo.url}, compat-type api_base ${demo.url}/compat/v1\n`,
    );
    await new Promise<void>((stop) => {
      for (const kind of ['stop', 'interrupt'] as const) terminal.onSignal(kind, stop);
    });
    await demo.close();
    return 0;
  },
};
