import assert from 'node:assert/strict';
import type { Inbox } from '../../lib/inbox/inbox';
import { setMeter } from '../../lib/meter';
import { eventFilter, type FilterIds } from '../../lib/message/event-filter';
import { signed, type Signed } from './sample';
import { ReceiverUnderTest } from './receiver-under-test';

describe('a webhook that takes some events only', () => {
  let receiver: ReceiverUnderTest;
  let answers: string[];
  beforeEach(() => {
    answers = [];
    const nothing = (): void => undefined;
    setMeter({
      answered: (answer) => answers.push(answer),
      delivered: nothing,
      problem: nothing,
      requested: nothing,
      failed: nothing,
      videoBegan: nothing,
      videoEnded: nothing,
      firstFrame: nothing,
      committed: nothing,
      spilled: nothing,
    });
  });
  afterEach(async () => {
    setMeter(undefined);
    await receiver.close();
  });

  const start = async (ids: Partial<FilterIds>): Promise<void> => {
    receiver = await ReceiverUnderTest.start({ endpoint: { filter: eventFilter(ids) } });
  };
  async function post(message: Signed): Promise<void> {
    assert.equal((await receiver.post(message)).status, 200);
  }
  const filteredIds = async (inbox: Inbox = receiver.endpoint.inbox): Promise<(string | null)[]> =>
    (await inbox.list({ state: 'filtered', limit: 9 })).messages.map(({ messageId }) => messageId);

  it('answers 200 to another, keeps it once however often it comes, and tells no output of it', async () => {
    await start({ cameras: ['cam-1'] });
    const other = signed({ messageId: 'other' }, { cameraId: 'cam-2', cameraRemoteId: 'r-2' });
    for (const message of [other, other]) await post(message);
    await post(signed({ messageId: 'mine' }, { cameraId: 'cam-1' }));
    await receiver.delivered(1);
    assert.deepEqual(
      receiver.deliveries.map(({ message }) => message.envelope.messageId),
      ['mine'],
    );
    assert.deepEqual([await filteredIds(), receiver.problems], [['other'], []]);
    assert.deepEqual(answers, ['filtered', 'repeat', 'accepted']);
  });

  it('filters the end of an alarm as its begin', async () => {
    await start({ cameras: ['cam-1'] });
    const of = { alarmId: 'one', cameraId: 'cam-2', cameraRemoteId: 'r-2' };
    await post(signed({ messageId: 'begin' }, of));
    await post(signed({ messageId: 'end' }, { ...of, eventEndTime: '2026-03-04T05:06:07' }));
    assert.deepEqual(await filteredIds(), ['end', 'begin']);
  });

  it('takes what lacks the field that is asked for, with a warning', async () => {
    await start({ cameras: ['cam-1'] });
    await post(signed({}, { cameraId: null, cameraRemoteId: null }));
    await receiver.delivered(1);
    const [delivery] = receiver.deliveries;
    assert.deepEqual(delivery?.message.warnings, ['not-filtered']);
  });

  it('takes events of class health by their class alone', async () => {
    await start({ classes: ['security'] });
    await post(signed({ messageId: 'health' }, { eventClass: 'health' }));
    await post(signed({ messageId: 'security' }, { eventClass: 'security' }));
    await receiver.delivered(1);
    assert.deepEqual(await filteredIds(), ['health']);
  });

  it('takes an alarm whose class and site are spelt in another way than its filters', async () => {
    await start({ classes: ['security'], sites: ['Köln'.normalize('NFC')] });
    await post(signed({}, { eventClass: ' Security', locationName: 'Köln'.normalize('NFD') }));
    await receiver.delivered(1);
    assert.deepEqual([await filteredIds(), receiver.deliveries[0]?.message.warnings], [[], []]);
  });

  it('filters no message of an unknown type, for that is no event', async () => {
    await start({ cameras: ['cam-1'] });
    await post(signed({ payloadType: 'Unknown' }, { cameraId: 'cam-2', cameraRemoteId: 'r-2' }));
    assert.deepEqual([receiver.problems.map(({ kind }) => kind), await filteredIds()], [['other'], []]);
  });
});
