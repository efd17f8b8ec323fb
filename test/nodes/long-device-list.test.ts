import assert from 'node:assert/strict';
import { cloud, station } from '../support/node-red/flows';
import { NODE_RED_VERSIONS } from '../support/suite/lanes';
import { entrance, functionNode, inject, NodeRed, probes, watched } from '../support/node-red/node-red';
import { camera, ScriptedService } from '../support/service/scripted-service';
import { caller } from '../support/node-red/station-flow';
import { turnMeter } from '../support/node-red/turn-meter';
import { longestTurnAllowed } from '../support/time/event-loop';

const CAMERAS = 20_000;

const COUNTER = functionNode(
  'counter',
  `if (Array.isArray(msg.payload)) return { mark: msg.mark, count: msg.payload.length };
if (msg.parts.index === msg.parts.count - 1) return { mark: msg.mark, count: msg.parts.count };
return null;`,
  'result',
);

for (const version of NODE_RED_VERSIONS)
  describe(`list devices with ${CAMERAS} cameras in Node-RED ${version}`, () => {
    const nodeRed = NodeRed.ofGroup({ version });
    let service: ScriptedService;
    let mark = 0;

    before(async () => {
      service = await ScriptedService.start();
      service.devices = Array.from({ length: CAMERAS }, (_, index) =>
        camera(`0e9f0c1a-0000-e911-8000-${String(index).padStart(12, '0')}`, `Camera ${index}`, {
          siteName: `Site ${index % 100}`,
          manufacturer: 'Somebody',
          capabilities: { ptz: index % 4 === 0, audio: false, resolutions: [[1920, 1080]] },
        }),
      );
      const { apiKey, username, password } = service;
      const wires = [['counter'], []];
      await nodeRed.deploy(
        watched(
          cloud({ url: service.url, deviceRefresh: 0, credentials: { apiKey } }),
          station({ credentials: { username, password, secret: '' } }),
          ...['array', 'each'].flatMap((output) => [
            ...entrance(output, `list-${output}`),
            caller('rvm-list-devices', { id: `list-${output}`, output, search: 'camera', wires }),
          ]),
          ...entrance('ask', 'meter'),
          turnMeter('turns'),
          COUNTER,
          ...probes('result', 'turns'),
        ),
      );
      await nodeRed.until(() => nodeRed.statuses('list-each').at(-1) === 'connected v3', 'the list', 60);
      await through('array', 'result');
    });

    after(() => service.close());

    async function through(entry: string, at: string): Promise<Record<string, unknown>> {
      mark += 1;
      const mine = mark;
      await inject(nodeRed, entry, { mark: mine, event: { alarmId: 'some', cameraId: 'some' } });
      return nodeRed.message(at, (seen) => seen.mark === mine, 60);
    }

    for (const output of ['array', 'each'])
      it(`lets all others run between slices of its work, with output ${output}`, async function () {
        this.retries(2);
        await through('ask', 'turns');
        assert.equal((await through(output, 'result')).count, CAMERAS);
        const turns = (await through('ask', 'turns')).payload as number[];
        const [longest = 0, ...others] = turns.toSorted((one, other) => other - one);
        const usual = others[Math.floor(others.length / 10)] ?? 0;
        assert.ok(turns.length > 5, `${turns.length} turns`);
        // In one piece it would be some hundred milliseconds. The longest may have met a garbage collection.
        const allowed = longestTurnAllowed();
        assert.ok(usual <= allowed, `usually up to ${usual} ms, of ${allowed}`);
        assert.ok(longest < 5 * allowed, `${longest} ms at most, of ${5 * allowed}`);
      });
  });
