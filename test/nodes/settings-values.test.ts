import assert from 'node:assert/strict';
import { variableIn } from '../../lib/text';
import { isUsablePhrase } from '../../lib/webhook/proof/receiving-station';
import { videoSettingsOf } from '../../nodes/rvm-cloud/cloud-video';
import { remarksOn, type SecretRemark } from '../../nodes/support/rules';
import { unsetTogether, unsetVariableError, unsetVariables } from '../../nodes/support/settings';

describe('a value that stands for an environment variable', () => {
  for (const value of ['${NAME}', '$(NAME)', ' ${NAME} '])
    it(`is ${JSON.stringify(value)}: for the settings, and as a phrase that proves nothing`, () => {
      assert.equal(variableIn(value), 'NAME');
      assert.deepEqual(unsetVariables({ other: 1, value }), ['NAME']);
      assert.equal(isUsablePhrase(value), false);
    });

  for (const value of ['${NAME', 'x${NAME}', '${A}${B}', '$NAME', '${}', '$()', 7])
    it(`is not ${JSON.stringify(value)}: for the settings and as a phrase alike`, () => {
      assert.equal(variableIn(value), undefined);
      assert.equal(unsetVariables({ value }), undefined);
      assert.equal(isUsablePhrase(String(value)), true);
    });
});

describe('environment variables that are not set', () => {
  it('are named all, in the order of the properties, and each once', () => {
    const cloud = unsetVariables({ url: '${URL}', timeout: 5 }, { apiKey: '$(KEY)' });
    const station = unsetVariables(
      { cloud: 'cloud' },
      { username: '${NAME}', password: '${KEY}' },
      undefined,
    );
    assert.deepEqual(cloud, ['URL', 'KEY']);
    assert.deepEqual(unsetTogether(station, cloud, undefined), ['NAME', 'KEY', 'URL']);
    assert.equal(unsetTogether(undefined, []), undefined);
  });

  it('are told in one sentence, which says what to do', () => {
    const { code, message } = unsetVariableError(['URL', 'KEY']);
    assert.equal(code, 'CONFIG_MISSING');
    assert.match(message, /^The environment variables URL, KEY are not set: set them /);
    assert.match(unsetVariableError(['KEY']).message, /^The environment variable KEY is not set: set it /);
  });
});

describe('what a cloud lets its video nodes do', () => {
  it('is four sessions, each relay of the service and none on this machine, where a flow does not say', () =>
    assert.deepEqual(videoSettingsOf({}), { sessions: 4, relayHosts: [], localRelays: false }));

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
    const wrong = ['https://a.example', 'a.example:554', '.example.com', '*', 'a b', `${'a.'.repeat(127)}a`];
    for (const host of wrong)
      assert.throws(
        () => videoSettingsOf({ relayHosts: host }),
        { name: 'RvmError', code: 'BAD_INPUT' },
        host,
      );
  });
});

describe('the remarks on a Shared Secret Phrase', () => {
  const CASES: [string, string, SecretRemark[]][] = [
    ['a long one of many characters', 'correct horse battery staple', []],
    ['none', '', []],
    ['one that ends with a space', 'correct horse battery staple ', ['edges']],
    ['one with a no-break space', 'correct\u00a0horse battery staple', ['invisible']],
    ['one with a zero-width space', 'correct horse\u200b battery staple', ['invisible']],
    ['one with a tab inside', 'correct\thorse battery staple', ['invisible']],
    ['one with the apostrophe of a word processor', 'the keeper\u2019s own long phrase', ['typographic']],
    ['one with the quotes of a mail program', '\u201ccorrect horse battery staple\u201d', ['typographic']],
    ['one with a typed apostrophe', "the keeper's own long phrase", []],
    ['a short one', 'Tr0ub4dor&3', ['weak']],
    ['a long one of few characters', 'abababababababababab', ['weak']],
    ['one in another script', 'правильная лошадь батарея', []],
  ];
  for (const [what, phrase, remarks] of CASES)
    it(`of ${what}: ${remarks.join(', ') || 'nothing'}`, () => assert.deepEqual(remarksOn(phrase), remarks));
});
