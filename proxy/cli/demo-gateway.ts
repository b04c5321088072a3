// `throughline demo-gateway`: a scriptable external gateway to try things against.
import { describeBehaviours } from '../demo-gateway/behaviours.ts';
import { startDemoGateway } from '../demo-gateway/demo-gateway.ts';
import { CannotStart } from '../errors/cannot-start.ts';
import { onStop, portOf, type Define } from './terminal.ts';

const DESCRIPTION = `A gateway without models behind it: proxy-type interface at http://HOST:PORT, compat-type at http://HOST:PORT/compat/v1.`;

export const demoGateway: Define = (command, terminal) => {
  command
    .description(DESCRIPTION)
    .option('--port <n>', 'port (or PORT; default: 4010)')
    .option('--host <host>', 'address to bind', '127.0.0.1')
    .addHelpText(
      'after',
      `\nThe last word of the model name selects what it does:\n\n${describeBehaviours()}`,
    )
    .action(async ({ host, port }) => {
      const demo = await startDemoGateway({
        host,
        port: portOf(port, terminal, 4010),
        keepSeen: 1,
      }).catch((error: Error) => {
        throw new CannotStart(error.message);
      });
      const stopped = new Promise<void>((stop) => onStop(terminal, stop));
      terminal.out(
        `demo gateway: proxy-type api_base ${demo.url}, compat-type api_base ${demo.url}/compat/v1\n`,
      );
      await stopped;
      await demo.close();
    });
};
