import assert from 'node:assert/strict';
import path from 'node:path';
import type { NodeAPI, NodeInitializer } from 'node-red';
import helper from 'node-red-node-test-helper';
import { readyStations } from '../../lib/webhook/proof/receiving-station';
import { ServedStations } from '../../nodes/rvm-webhook-in/served-stations';
import { cloud, PHRASE, station } from '../support/node-red/flows';
import { ROOT } from '../support/node-red/node-red';

const NODES = ['rvm-cloud', 'rvm-central-station'].map(
  (type) => require(path.join(ROOT, 'dist', `${type}.js`)) as NodeInitializer,
);

describe('the Central Stations that a webhook in serves', () => {
  let RED: NodeAPI;
  let served: ServedStations;
  /** How many can judge a message, at each change that is told. */
  let told: number[];
  before(async () => {
    // Settings of the helper cannot be asked.
    helper.init(require.resolve('node-red'), { get: () => undefined });
    await helper.startServer();
  });
  afterEach(() => helper.unload());
  after(() => helper.stopServer());

  const ready = (): number => readyStations(served.receiving()).ready.length;

  /** Their nodes are built, and the flows about to start. */
  async function load(...flows: object[]): Promise<void> {
    const keepApi: NodeInitializer = (api) => {
      RED = api;
    };
    await helper.load([keepApi, ...NODES], flows, { station: { secret: PHRASE } });
    told = [];
    served = new ServedStations(RED, { station: 'station' });
    served.watch(() => told.push(ready()));
  }

  it('judge nothing before the flows have started, and tell when they do', async () => {
    await load(cloud(), station());
    assert.equal(ready(), 0);
    served.flowsStarted();
    assert.deepEqual(told, [1]);
  });

  it('judge nothing from the moment in which the flows stop', async () => {
    await load(cloud(), station());
    served.flowsStarted();
    served.flowsStopping();
    assert.equal(ready(), 0);
    assert.equal(served.mayJudge(), true);
    served.flowsStarted();
    assert.deepEqual(told, [1, 1]);
  });

  it('tell when one of the sandbox has entered it, and so has its phrase', async () => {
    await load(cloud({ url: 'sandbox', sandboxEvents: 0 }), station());
    const entered = new Promise<void>((resolve) => {
      served.watch(() => {
        if (ready() === 1) resolve();
      });
    });
    served.flowsStarted();
    await entered;
    assert.equal(told.at(-1), 1);
  });
});
