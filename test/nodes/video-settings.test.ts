import assert from 'node:assert/strict';
import { RvmError } from '../../lib/error';
import { videoSettingsOf } from '../../nodes/rvm-cloud/cloud-video';

describe('what a cloud lets its video nodes do', () => {
  it('is four sessions, each relay of the service and none on this machine, where a flow does not say', () => {
    assert.deepEqual(videoSettingsOf({}), { sessions: 4, relayHosts: [], localRelays: false });
  });

  it('is what the flow says, texts of variables included', () => {
    const properties = { videoSessions: '8', relayHosts: 'a.example, 10.0.0.5', localRelays: 'true' };
    assert.deepEqual(videoSettingsOf(properties), {
      sessions: 8,
      relayHosts: ['a.example', '10.0.0.5'],
      localRelays: true,
    });
  });

  it('is four sessions for what is no number of them, a hundred at most, and whole ones', () => {
    const sessions = (videoSessions: unknown): number => videoSettingsOf({ videoSessions }).sessions;
    assert.deepEqual(['0', '-1', 'many', '2.7', '1e9'].map(sessions), [4, 4, 4, 2, 100]);
  });

  it('allows no relay at all where one of the hosts is none: without it the list could allow all', () => {
    for (const relayHosts of [
      'https://a.example',
      'a.example:554',
      '.example.com',
      '*',
      'a b',
      `${'a.'.repeat(127)}a`,
    ])
      assert.throws(
        () => videoSettingsOf({ relayHosts }),
        (error: unknown) => error instanceof RvmError && error.code === 'BAD_INPUT',
        relayHosts,
      );
  });
});
