import assert from 'node:assert/strict';
import type { Node, NodeStatus } from 'node-red';
import { RvmError } from '../../lib/error';
import { FailureStatus } from '../../nodes/support/input';

describe('the status of a node that answers messages', () => {
  let looks: number;
  let shown: NodeStatus[];
  let status: FailureStatus;

  beforeEach(() => {
    looks = 0;
    shown = [];
    const node: Pick<Node, 'status'> = {
      status: (told) => void (typeof told === 'object' && shown.push(told)),
    };
    status = new FailureStatus(node, () => {
      looks += 1;
      return { fill: 'green', shape: 'dot', text: 'connected' };
    });
  });

  it('is not worked out again for a message that succeeds after others', () => {
    for (let count = 0; count < 100; count += 1) status.ended(undefined);
    assert.deepEqual([looks, shown], [0, []]);
  });

  it('is not worked out again for a message that fails as the one before', () => {
    status.ended(new RvmError('TIMEOUT', 'late'));
    const before = looks;
    for (let count = 0; count < 100; count += 1) status.ended(new RvmError('TIMEOUT', 'late'));
    assert.deepEqual([looks, shown.length], [before, 1]);
  });

  it('is its own again after a success', () => {
    status.ended(new RvmError('TIMEOUT', 'late'));
    status.ended(undefined);
    assert.deepEqual(
      shown.map(({ fill }) => fill),
      ['red', 'green'],
    );
  });
});
