import assert from 'node:assert/strict';
import type { ListedMessage } from '../../lib/inbox/model';
import { matches } from '../../lib/inbox/store/stored-message';
import { parseTerms } from '../../lib/text';

const MESSAGE: ListedMessage = {
  receivedTime: '2026-03-04T05:06:07.000Z',
  station: 'north',
  state: 'delivered',
  attempts: 1,
  messageId: 'message-1',
  deliveryId: 'delivery-1',
  endpointId: ':/remote-monitoring',
  canRetry: false,
  event: {
    alarmId: 'alarm-1',
    cameraName: 'Gate 1',
    cameraId: 'camera-1',
    cameraRemoteId: 'remote-1',
    locationName: 'Harbour Depot',
    locationId: 'location-1',
    eventRuleName: 'Person in yard',
    eventClass: 'intrusion',
  },
};

describe('an event matches what somebody looks for', () => {
  const matching = ['gate', 'HARBOUR gate', 'yard 1', 'intrusion', 'north', 'Night desk', ' ', ''];
  const ids = ['alarm-1', 'message-1', 'delivery-1', 'camera-1', 'remote-1', 'location-1'];
  for (const search of [...matching, ...ids])
    it(`with ${JSON.stringify(search)}`, () => assert.ok(matches(MESSAGE, parseTerms(search), 'Night desk')));

  it('not with a number that an id alone has: it is that of another camera', () => {
    const event = { ...MESSAGE.event, alarmId: '7f6a2c1e-0b7d-4c77' };
    assert.equal(matches({ ...MESSAGE, event }, parseTerms('gate 7')), false);
    assert.ok(matches({ ...MESSAGE, event }, parseTerms('gate 7f6a')));
  });

  for (const search of ['gate south', 'delivered', 'remote-monitoring'])
    it(`not with ${JSON.stringify(search)}`, () =>
      assert.equal(matches(MESSAGE, parseTerms(search), 'Night desk'), false));
});
