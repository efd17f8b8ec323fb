import assert from 'node:assert/strict';
import type { VideoSource } from '../../lib/video/sessions/session-slots';
import { missingRecordings, nameClient, noteRecording } from '../../nodes/support/recent-video';

describe('cameras without a recording', () => {
  it('are known by ids and names that no message makes longer than a line, for the inbox keeps what was found', () => {
    const client = {};
    nameClient(client, 'north');
    const event = { cameraId: 'i'.repeat(100_000), cameraName: 'n'.repeat(100_000) };
    const source = { client, wanted: { mode: 'event', event } } as unknown as VideoSource;
    noteRecording(source, 'VIDEO_NOT_YET');
    const [[id, { camera }] = ['', { camera: '' }]] = missingRecordings();
    assert.deepEqual([id.length, camera.length], ['north/'.length + 200, 200]);
    noteRecording(source, undefined);
    assert.equal(missingRecordings().size, 0);
  });
});
