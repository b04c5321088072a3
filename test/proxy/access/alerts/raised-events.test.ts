// Marks of the events that have raised an alert.
import { readdirSync } from 'node:fs';
import t from 'tap';
import { RaisedEvents } from '../../../../proxy/access/alerts/raised-events.ts';
import { folder } from '../../../support/cli.ts';

t.test('marks of told events do not pile up', async (t) => {
  const dir = folder(t);
  const told = await RaisedEvents.open(dir);
  for (let n = 0; n < 5; n++) t.equal(await told.claim(`evt_${n}`), true);
  t.equal(await told.claim('evt_1'), false);
  await told.sweep(Date.now(), 2);
  t.equal(readdirSync(dir).length, 2);
  await told.sweep(Date.now() + 401 * 86_400_000);
  t.same(readdirSync(dir), []);
});
