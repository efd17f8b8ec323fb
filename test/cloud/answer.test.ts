import assert from 'node:assert/strict';
import { Answer } from '../../lib/cloud/http/answer';
import { replaceMethod } from '../support/time/patience';

const BODY = JSON.stringify({ code: 'Broken', message: 'it is the-secret', errors: { field: [] } });

function answerOf(status: number): Answer {
  return new Answer({
    status,
    url: new URL('https://service.example/system'),
    relation: 'system',
    headers: {},
    body: Buffer.from(BODY),
    attempt: 1,
    secrets: () => ['the-secret'],
    quotesNothing: false,
  });
}

describe('an answer that is an error', () => {
  for (const status of [400, 401, 403, 500]) {
    it(`is read once for decisions and once to be told, however often it is asked: ${status}`, () => {
      let readings = 0;
      const putBack = replaceMethod<JSON>(
        JSON,
        'parse',
        (parse) =>
          function (text, ...more) {
            if (text === BODY) readings += 1;
            return parse.call(this, text, ...more);
          },
      );
      try {
        const answer = answerOf(status);
        for (let turn = 0; turn < 3; turn += 1) {
          assert.equal(answer.refused, status === 401 || status === 403);
          const { serverCode, serverMessage } = answer.statusError().cause;
          assert.deepEqual([serverCode, serverMessage], ['Broken', '***']);
        }
      } finally {
        putBack();
      }
      assert.equal(readings, 2);
    });
  }
});
