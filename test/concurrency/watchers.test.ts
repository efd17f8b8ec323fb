import assert from 'node:assert/strict';
import { ChangeListeners } from '../../lib/concurrency/signals';

describe('those who watch something', () => {
  it('are told of each change, in the order in which they asked, until they ask no more', () => {
    const watchers = new ChangeListeners();
    const told: string[] = [];
    const end = watchers.add(() => told.push('one'));
    watchers.add(() => told.push('two'));
    watchers.notify();
    end();
    watchers.notify();
    assert.deepEqual(told, ['one', 'two', 'two']);
  });

  it('are told even where one before them fails; its error comes to who told them', () => {
    const watchers = new ChangeListeners();
    let told = 0;
    watchers.add(() => {
      throw new Error('the status could not be shown');
    });
    watchers.add(() => (told += 1));
    assert.throws(() => watchers.notify(), /the status could not be shown/);
    assert.equal(told, 1);
  });
});
