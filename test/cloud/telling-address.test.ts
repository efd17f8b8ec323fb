import assert from 'node:assert/strict';
import { identifiesCamera } from '../../lib/cloud/cameras/camera-cache';

const ID = '0e9f0c1a-0000-e911-8000-00000000000a';
const REMOTE = '4xIx1DMwMLSwMDW2tDBKNNBLTsw1MBASCDilIfJR0W3apqrIovO_tncAAA';
const SYSTEM = new URL('https://service.example/eu-1/system');

function tells(address: string, ids: readonly string[] = [ID, REMOTE]): boolean {
  return identifiesCamera(new URL(address, SYSTEM), ids, SYSTEM);
}

describe('an address that is to be used again after a restart', () => {
  for (const [what, address] of [
    ['has the id of the camera in its path', `/eu-1/cameras/${ID}/rtsp`],
    ['has it in capitals, or in braces', `/cameras/%7B${ID.toUpperCase()}%7D/rtsp`],
    ['has the remote id of the camera', `/sources/${REMOTE}/video/2`],
    ['has it as a parameter', `/rtsp?camera=${REMOTE}`],
    ['has no camera in it at all', '/rtsp'],
    ['has nothing but the way to the service in it', '/eu-1/v2/video/rtsp_sessions'],
  ] as const) {
    it(`${what}: it may be`, () => assert.equal(tells(address), true));
  }

  for (const [what, address] of [
    ['counts cameras', '/eu-1/list/17/rtsp'],
    ['has a name in it', '/rtsp/Gate'],
    ['has an id of something else', '/sources/7c7a3f0e-0000-e911-8000-00000000000a/rtsp'],
    ['has a part of the id only', `/rtsp/${ID.slice(0, 8)}`],
    ['has the remote id in other letters', `/rtsp/${REMOTE.toLowerCase()}`],
    ['has a parameter that is no id', `/rtsp/${ID}?ticket=1`],
    ['has a session in its path', `/s/5f0e7c9ab2d14c33aa/cameras/${ID}/rtsp`],
    ['has a parameter within its path', `/rtsp/${ID};session=1`],
    ['cannot be read', `/rtsp/${ID}/%ff`],
  ] as const) {
    it(`${what}: it may not be`, () => assert.equal(tells(address), false));
  }

  it('has steps in it that are those of the base URL, whatever they look like: it may be', () => {
    const system = new URL('https://service.example/remote-monitoring-2024/rest.svc/system');
    const address = new URL('/remote-monitoring-2024/rest.svc/rtsp', system);
    assert.equal(identifiesCamera(address, [ID], system), true);
    assert.equal(identifiesCamera(new URL(`${address.href}/${ID}`), [ID], system), true);
    assert.equal(identifiesCamera(new URL('/remote-monitoring-2025/rtsp', system), [ID], system), false);
  });

  it('has an id that is a small number: it may not be, for that may be a place in a list', () => {
    assert.equal(tells('/cameras/17/rtsp', ['17']), false);
    assert.equal(tells('/cameras/19038417/rtsp', ['19038417']), true);
  });
});
