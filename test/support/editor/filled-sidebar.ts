import { newMessage } from '../../../lib/inbox/store/stored-message';
import { proven } from '../../inbox/samples';
import { FilledFile } from '../inbox/filled-file';
import { PATH, PHRASE, station, webhookFlow } from '../node-red/flows';
import type { FlowNode } from '../node-red/node-red';

export const STATIONS = 15;
/** Of those, the ones with which something is wrong. */
export const TROUBLED = 2;
export const EVENTS = 5000;
/** Of those, dead letters; and how many of these nobody settled, which can be delivered again. */
export const DEAD = 200;
export const EXHAUSTED = 150;
/** Of one event, the oldest. */
export const ODD_CAMERA = 'Cold store 7';

/** The key of the path of the flow in Node-RED's own server. */
const ENDPOINT = `:${PATH}`;
const SITES = ['Harbour Depot', 'North Yard', 'Old Mill', 'Solar Park East'];
const RULES = ['Person in yard', 'Vehicle at gate', 'Line crossed', 'Loitering'];
const SECOND = 1000;

/** An inbox as it is after a busy night: events of many stations, and more dead letters than anybody has dealt with. */
export function filledInbox(): FilledFile {
  const file = new FilledFile();
  const begin = Date.now() - EVENTS * SECOND;
  const messages = Array.from({ length: EVENTS }, (_, index) =>
    newMessage(
      proven(
        {
          cameraName: index === 0 ? ODD_CAMERA : `Gate ${(index % 9) + 1}`,
          locationName: SITES[index % SITES.length],
          eventRuleName: RULES[index % RULES.length],
        },
        {
          endpointId: ENDPOINT,
          stationKey: keyOf(index % STATIONS),
          receivedTime: new Date(begin + index * SECOND).toISOString(),
        },
      ),
    ),
  );
  const ids = file.accept(messages);
  // The newest of them, a few among those that were settled.
  const isDead = (index: number): boolean => index >= EVENTS - 2 * DEAD && index % 2 === 0;
  file.ask('lease', { endpoint: ENDPOINT, limit: EVENTS, health: EVENTS, ordered: false });
  let dead = 0;
  for (const [index, deliveryId] of ids.entries()) {
    if (!isDead(index)) file.ask('finish', { deliveryId, state: 'delivered', give: false });
    else if (dead < EXHAUSTED) file.ask('lapse', { deliveryId, again: 'lease', maxAttempts: 1 });
    else file.ask('finish', { deliveryId, state: 'dead', give: false });
    if (isDead(index)) dead += 1;
  }
  file.close();
  return file;
}

/** A flow with that inbox, and as many Central Stations. Nothing settles its events by itself. */
export function busyFlow({ folder }: FilledFile): FlowNode[] {
  const further = Array.from({ length: STATIONS - 1 }, (_, index) => index + 1).map((number) =>
    station({
      id: `station${number}`,
      key: keyOf(number),
      name: `Branch ${number}`,
      credentials: {
        username: number <= TROUBLED ? '${RVM_NOT_SET}' : '',
        password: '',
        secret: `${PHRASE} ${number}`,
      },
    }),
  );
  const webhook = { inbox: 'inbox', handledWhen: 'settled', redeliverAfter: 600, maxAttempts: 1 };
  const settle = { id: 'settle', type: 'rvm-settle', z: 'tab', x: 0, y: 0, wires: [[], []] };
  const inbox = { id: 'inbox', type: 'rvm-inbox', name: '', folder };
  const cloud = { url: 'sandbox', sandboxEvents: 0, credentials: {} };
  const north = { name: 'Branch 0', key: keyOf(0), credentials: { secret: PHRASE } };
  return webhookFlow({ webhook, cloud, station: north }, ...further, inbox, settle);
}

function keyOf(number: number): string {
  return `branch-${number}`;
}
