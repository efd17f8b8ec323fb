import assert from 'node:assert/strict';
import { remarksOn, type SecretRemark } from '../../nodes/support/rules';

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
  for (const [what, phrase, remarks] of CASES) {
    it(`of ${what}: ${remarks.join(', ') || 'nothing'}`, () => {
      assert.deepEqual(remarksOn(phrase), remarks);
    });
  }
});
